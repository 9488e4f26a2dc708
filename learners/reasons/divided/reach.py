"""How near to the wanted answer a row may come at most if some of its columns may have any value.

The others stay as they are: what is known takes one branch, what is not known is divided by the branches' shares. So a
node's answers are at most those of its branch, the mean of its children's, or, where a column may have any value, the
best of its children's. Each test is given the best branch by itself, so the bound may be too high, never too low. It
is found for many sets of columns at once, among the nodes that they reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from learners.trees.branching import FIRST_CHILD, N_CHILDREN, SHARE
from learners.trees.combined.tests import CombinedTests
from learners.trees.estimator import FittedTree
from learners.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Bound:
    """What one set of columns may reach.

    Attributes:
        highest: of the answers at the root, shape (J,).
        columns: those that are tested on the way, whether free or not.
        free: by node that tests a free column the highest answers below it.
    """

    highest: FloatArray
    columns: frozenset[int]
    free: dict[int, FloatArray]


#: By depth the sets, the nodes that they reach, whether these are free, and how many children they lead to.
Level: TypeAlias = tuple[IntArray, IntArray, BoolArray, IntArray]


class Reach:
    """The bounds of one row.

    Args:
        learner: a fitted tree.
        row: shape (d,).
        worth: of each node's answer, as linear functions of it, shape (N, J).

    Attributes:
        below: where the row goes from each node; the node itself at a leaf and where it is divided.
        visited: nodes that have been looked at so far.
    """

    def __init__(self, learner: FittedTree, row: FloatArray, worth: FloatArray) -> None:
        packed = learner.packed_tree_
        self.below = packed.steps(row)
        self.visited = 0
        self._combined: CombinedTests = packed.combined
        self._worth = worth
        self._n_columns = len(learner.columns_)
        self._share = packed.splits[:, SHARE]
        self._leaf = learner.tree_.feature < 0
        self._first = packed.links[:, FIRST_CHILD].astype(np.intp)
        self._count = np.where(self._leaf, 0, packed.links[:, N_CHILDREN])
        #: Which tests of several values look at which column, so that their value depends on it.
        self._looks_at = np.zeros((len(self._combined), self._n_columns), np.bool_)
        self._looks_at[np.repeat(np.arange(len(self._combined)), self._combined.n_terms), self._combined.feature] = True
        #: A leaf's is one more, which is never free.
        self._feature = np.where(self._leaf, self._n_columns + len(packed.combined), learner.tree_.feature)

    def may_divide(self, unknown: BoolArray) -> bool:
        """Whether some test leaves the row undecided, or may do so if other columns change: a count of terms.

        Args:
            unknown: which columns stay so, shape (d,).
        """
        if ((self.below == np.arange(len(self.below))) & ~self._leaf).any():
            return True
        counts = (self._combined.need > 0) & (self._looks_at & unknown).any(axis=1)
        return bool(np.append(np.append(np.zeros(self._n_columns, np.bool_), counts), False)[self._feature].any())

    def bounds(self, sets: Sequence[frozenset[int]]) -> list[Bound]:
        """The bound of each set of columns."""
        free = self._free(sets)
        levels = self._levels(free)
        reached = np.zeros_like(free)
        found: list[dict[int, FloatArray]] = [{} for _ in sets]
        worth, below = np.empty((0, self._worth.shape[1])), np.empty(0, np.intp)
        for owners, nodes, is_free, counts in reversed(levels):
            reached[owners, self._feature[nodes]] = True
            worth, below = self._lifted(nodes, is_free, counts, worth, below), nodes
            for place in np.flatnonzero(is_free).tolist():
                found[owners[place]][int(nodes[place])] = worth[place]
        return [Bound(worth[place], self._columns(flags), found[place]) for place, flags in enumerate(reached)]

    def levels(self, sets: Sequence[frozenset[int]]) -> list[Level]:
        """The nodes that are reached where a set's columns have any values."""
        return self._levels(self._free(sets))

    def _free(self, sets: Sequence[frozenset[int]]) -> BoolArray:
        """Which tests look at a free column, by set."""
        free = np.zeros((len(sets), self._n_columns + len(self._combined) + 1), np.bool_)
        for place, columns in enumerate(sets):
            free[place, list(columns)] = True
            free[place, self._n_columns : -1] = self._looks_at[:, list(columns)].any(axis=1)
        return free

    def _levels(self, free: BoolArray) -> list[Level]:
        """By depth the sets, the nodes that they reach, whether these are free, and how many children they lead to."""
        owners, nodes = np.arange(len(free)), np.zeros(len(free), np.intp)
        levels = []
        while len(nodes):
            is_free = free[owners, self._feature[nodes]]
            spread = is_free | (self.below[nodes] == nodes)
            counts = np.where(spread, self._count[nodes], 1)
            levels.append((owners, nodes, is_free, counts))
            self.visited += len(nodes)
            firsts = np.where(spread, self._first[nodes], self.below[nodes])
            ends = np.cumsum(counts)
            owners = np.repeat(owners, counts)
            nodes = np.arange(len(owners)) + np.repeat(firsts - ends + counts, counts)
        return levels

    def _lifted(
        self, nodes: IntArray, is_free: BoolArray, counts: IntArray, worth: FloatArray, below: IntArray
    ) -> FloatArray:
        """The worth of nodes from that of the nodes one level below."""
        own = self._worth[nodes]
        inner = np.flatnonzero(counts)
        if len(inner):
            starts = np.cumsum(counts[inner]) - counts[inner]
            divided = ~is_free[inner] & (self.below[nodes[inner]] == nodes[inner])
            best = np.maximum.reduceat(worth, starts, axis=0)
            mean = np.add.reduceat(worth * self._share[below, None], starts, axis=0)
            own[inner] = np.where(divided[:, None], mean, best)
        return own

    def _columns(self, flags: BoolArray) -> frozenset[int]:
        """The columns that flagged tests look at."""
        found: set[int] = set()
        for feature in np.flatnonzero(flags[:-1]).tolist():
            if feature < self._n_columns:
                found.add(feature)
            else:
                found |= {term.feature for term in self._combined.tests[feature - self._n_columns].terms}
        return frozenset(found)
