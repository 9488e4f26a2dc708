"""What the paths to a tree's leaves ask of a row, where tests of several values are among them.

A test on one column leaves a set of its cells. A count of terms that shall hold, or shall not, asks that at least so
many of some sets of cells hold: fewer than M of N terms hold if at least N - M + 1 of their opposites do. A sum asks
for a half-space. Where the tree sends rows whose value is not known down one branch, the sets on that branch take the
missing value in, and a sum is satisfied without its value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from learners.reasons.regions.regions import Cells, Levels, Numbers, Region
from learners.reasons.regions.stretches import Stretches, stretches_of_terms
from learners.table import Column
from learners.trees.combined.tests import CODE, LEVELS, CombinedTest, Term
from learners.trees.estimator import FittedTree
from learners.trees.nodes import LEVELS as TESTS_LEVELS
from learners.trees.nodes import Nodes
from learners.types import FloatArray


@dataclass(frozen=True, eq=False)
class AtLeast:
    """At least ``need`` of some sets of cells shall hold."""

    need: int
    sets: tuple[tuple[int, Cells], ...]

    def holds(self, cells: FloatArray) -> bool:
        """Whether a row satisfies it."""
        return sum(one.holds(float(cells[feature])) for feature, one in self.sets) >= self.need


@dataclass(frozen=True, eq=False)
class HalfSpace:
    """A weighted sum shall be at most a threshold, or above it; ``unknown``: a sum without its value will do."""

    test: CombinedTest
    threshold: float
    above: bool
    unknown: bool

    def holds(self, cells: FloatArray) -> bool:
        """Whether a row satisfies it, by the sum that the tree itself finds."""
        value = self.test.value(cells)
        if math.isnan(value):
            return self.unknown
        return (value > self.threshold) == self.above


@dataclass(frozen=True, eq=False)
class Path:
    """All that a leaf asks."""

    leaf: int
    region: Region
    counts: tuple[AtLeast, ...]
    sums: tuple[HalfSpace, ...]


class PathRegions:
    """The paths of a tree, each made when it is first asked for; cells that divide a row satisfy no branch."""

    def __init__(self, nodes: Nodes, columns: tuple[Column, ...]) -> None:
        self._nodes = nodes
        self._columns = columns
        numeric = np.array([column.is_numeric for column in columns], dtype=np.bool_)
        self._low, self._high = nodes.child_bounds(numeric)
        self._known: dict[int, Path | None] = {}
        self._terms: dict[tuple[Term, bool, bool], Cells] = {}

    def path(self, leaf: int) -> Path | None:
        """What a leaf asks; None where nothing satisfies it."""
        if leaf not in self._known:
            self._known[leaf] = self._made(leaf)
        return self._known[leaf]

    @cached_property
    def every(self) -> list[Path]:
        """Those of all leaves that some row satisfies."""
        return [path for leaf in self._nodes.leaves().tolist() if (path := self.path(leaf)) is not None]

    @cached_property
    def sets(self) -> list[tuple[int, Cells]]:
        """The sets of cells of all counts, each once."""
        return list(
            {(feature, cells): None for path in self.every for one in path.counts for feature, cells in one.sets}
        )

    @cached_property
    def stretches(self) -> Stretches:
        """Those between the thresholds of single numbers."""
        return stretches_of_terms(self._nodes, self._columns)

    def _made(self, leaf: int) -> Path | None:
        nodes, d = self._nodes, len(self._columns)
        region: Region = {}
        counts: list[AtLeast] = []
        sums: list[HalfSpace] = []
        node = leaf
        while node > 0:
            above = int(nodes.parent[node])
            feature = int(nodes.feature[above])
            asked: list[tuple[int, Cells]]
            if feature < d:
                asked = [(feature, self.cells(above, node))]
            else:
                asked = self._combined(above, node, nodes.combined.tests[feature - d], counts, sums)
            for place, cells in asked:
                left = narrowed(region, place, cells)
                if left is None:
                    return None
                region[place] = left
            node = above
        return Path(leaf, region, tuple(counts[::-1]), tuple(sums[::-1]))

    def _takes_unknown(self, above: int, node: int) -> bool:
        """Whether a value that does not decide leads to a child."""
        return int(self._nodes.missing_branch[above]) == node - int(self._nodes.first_child[above])

    def cells(self, above: int, node: int) -> Cells:
        """The cells of a tested column that lead from a node to a child."""
        nodes, column = self._nodes, self._columns[self._nodes.feature[above]]
        unknown = self._takes_unknown(above, node)
        if column.is_numeric:
            return Numbers(float(self._low[node]), float(self._high[node]), unknown)
        codes = np.arange(len(column.levels))
        if nodes.test[above] != TESTS_LEVELS:
            flags = (codes > self._low[node]) & (codes <= self._high[node])
            return Levels(np.append(flags, [unknown, unknown]))
        branch, other = node - int(nodes.first_child[above]), int(nodes.other_branch[above])
        rest = unknown if other < 0 else other == branch
        flags = np.full(len(codes), rest)
        listed, branches = nodes.levels_of(above)
        flags[listed] = branches == branch
        return Levels(np.append(flags, [rest, unknown]))

    def _combined(
        self, above: int, node: int, test: CombinedTest, counts: list[AtLeast], sums: list[HalfSpace]
    ) -> list[tuple[int, Cells]]:
        """Note what a combined test asks on the way to a child; returns what it asks of single columns."""
        unknown = self._takes_unknown(above, node)
        holds = node == int(self._nodes.first_child[above])  # values up to the threshold
        if test.is_sum:
            sums.append(HalfSpace(test, float(self._nodes.threshold[above]), not holds, unknown))
            return [] if unknown else [(term.feature, Numbers(missing=False)) for term in test.terms]
        need = test.need if holds else len(test.terms) - test.need + 1
        sets = [(term.feature, self.term_cells(term, holds=holds, unknown=unknown)) for term in test.terms]
        if need == len(sets):
            return sets
        counts.append(AtLeast(need, tuple(sets)))
        return []

    def term_cells(self, term: Term, *, holds: bool, unknown: bool) -> Cells:
        """The cells for which a term holds, or does not; it mirrors :meth:`Term.holds`."""
        key = term, holds, unknown
        if key not in self._terms:
            self._terms[key] = self._cells_of(term, holds=holds, unknown=unknown)
        return self._terms[key]

    def _cells_of(self, term: Term, *, holds: bool, unknown: bool) -> Cells:
        column, opposite = self._columns[term.feature], term.negated == holds
        if column.is_numeric:
            low, high = (term.number, math.inf) if opposite else (-math.inf, term.number)
            return Numbers(low, high, unknown)
        codes = np.arange(len(column.levels))
        flags = np.isin(codes, term.codes) if term.kind == LEVELS else codes <= term.number
        unseen = unknown if term.kind == CODE else opposite
        return Levels(np.append(flags ^ opposite, [unseen, unknown]))


def narrowed(region: Region, feature: int, test: Cells) -> Cells | None:
    """The cells of a column that a region and a test leave; None if there are none."""
    whole = region.get(feature)
    return test if whole is None else whole.narrowed(test)  # type: ignore[arg-type]


def paths_of(learner: FittedTree) -> PathRegions:
    """The paths of a fitted tree, made once for each."""
    known = _known.get(learner)
    if known is None or known[0] is not learner.tree_:
        known = _known[learner] = (learner.tree_, PathRegions(learner.tree_, learner.columns_))
    return known[1]


_known: WeakKeyDictionary[FittedTree, tuple[Nodes, PathRegions]] = WeakKeyDictionary()
