"""What a tree's tests make of a region of a row's values: the branch that all of it takes, or the parts that differ.

A region gives cells to the columns that change; the others keep the row's own values, missing ones among them. So a
test may be decided for the whole region, leave all of it undecided (the row is divided), or cut it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from learners.reasons.regions.path_regions import HalfSpace, PathRegions, narrowed
from learners.reasons.regions.regions import Cells, Levels, Numbers, Region
from learners.trees.combined.tests import CombinedTest
from learners.trees.estimator import FittedTree
from learners.types import FloatArray

#: A row that is divided among a test's branches.
DIVIDED = -1


@dataclass(frozen=True)
class Part:
    """Some values of the changed columns: cells of each, and sums that they satisfy, by the node that tests it."""

    region: Region
    sums: dict[int, HalfSpace]


class MixedTests:
    """The tests of a tree, asked about one row.

    Args:
        learner: a fitted tree.
        paths: of it.
        row: shape (d,).
    """

    def __init__(self, learner: FittedTree, paths: PathRegions, row: FloatArray) -> None:
        self._nodes = learner.tree_
        self._n_columns = len(learner.columns_)
        self._row = row
        self._paths = paths
        self._children = lru_cache(maxsize=None)(self._cells_of_children)
        self._terms = lru_cache(maxsize=None)(self._cells_of_terms)

    def branch(self, node: int, part: Part) -> int | None:
        """The branch that a part takes at a node, :data:`DIVIDED`, or None where it takes several."""
        feature = int(self._nodes.feature[node])
        if feature >= self._n_columns:
            return self._combined_branch(node, self._nodes.combined.tests[feature - self._n_columns], part)
        own = part.region[feature]
        touched = [
            branch
            for branch, cells in self._children(node)
            if own.narrowed(cells) is not None  # type: ignore[arg-type]
        ]
        return touched[0] if len(touched) == 1 else None

    def pieces(self, node: int, part: Part) -> list[Part]:
        """A part that takes several branches at a node, cut so that the pieces differ in it."""
        feature = int(self._nodes.feature[node])
        if feature < self._n_columns:
            cut = [narrowed(part.region, feature, cells) for _, cells in self._children(node)]
            return [Part(part.region | {feature: cells}, part.sums) for cells in cut if cells is not None]
        test = self._nodes.combined.tests[feature - self._n_columns]
        if test.is_sum:
            threshold = float(self._nodes.threshold[node])
            sides = (HalfSpace(test, threshold, above, unknown=False) for above in (False, True))
            return [Part(part.region, part.sums | {node: side}) for side in sides]
        column, cells = next(
            (column, cells)
            for column, cells in self._terms(node)
            if column in part.region and self._term(column, cells, part) is None
        )
        whole = part.region[column]
        inside, outside = narrowed(part.region, column, cells), whole.without(cells)  # type: ignore[arg-type]
        return [Part(part.region | {column: one}, part.sums) for one in (inside, *outside) if one is not None]

    def _cells_of_children(self, node: int) -> list[tuple[int, Cells]]:
        """By branch the cells that take it, and at last those that take none and divide the row."""
        first, count = int(self._nodes.first_child[node]), int(self._nodes.n_children[node])
        cells = [self._paths.cells(node, child) for child in range(first, first + count)]
        found = list(enumerate(cells))
        flags = [one.flags for one in cells if isinstance(one, Levels)]
        if flags and not (taken := np.any(flags, axis=0)).all():
            found.append((DIVIDED, Levels(~taken)))
        return found

    def _cells_of_terms(self, node: int) -> list[tuple[int, Cells]]:
        """The known cells for which each term of a count holds."""
        test = self._nodes.combined.tests[int(self._nodes.feature[node]) - self._n_columns]
        return [(term.feature, self._paths.term_cells(term, holds=True, unknown=False)) for term in test.terms]

    def _combined_branch(self, node: int, test: CombinedTest, part: Part) -> int | None:
        if test.is_sum:
            if any(math.isnan(self._row[term.feature]) and term.feature not in part.region for term in test.terms):
                return int(self._nodes.missing_branch[node])
            side = part.sums.get(node)
            return None if side is None else int(side.above)
        held = open_ = unknown = 0
        for term, (column, cells) in zip(test.terms, self._terms(node), strict=True):
            if column in part.region:
                state = self._term(column, cells, part)
                held, open_ = held + (state is True), open_ + (state is None)
            else:
                own = term.holds(float(self._row[column]))
                held, unknown = held + (own is True), unknown + (own is None)
        if held >= test.need:
            return 0
        if held + open_ + unknown < test.need:
            return 1
        return None if open_ else int(self._nodes.missing_branch[node])

    def _term(self, column: int, cells: Cells, part: Part) -> bool | None:
        """Whether a term holds for all of a changed column's cells, for none, or for some."""
        own = part.region[column]
        if own.narrowed(cells) is None:  # type: ignore[arg-type]
            return False
        return None if own.without(cells) else True  # type: ignore[arg-type]


def changed_cells(row: FloatArray, columns: frozenset[int], n_levels: list[int | None]) -> Region:
    """All known cells of some columns of a row.

    Args:
        row: shape (d,).
        columns: that change.
        n_levels: of each column; None of numeric ones.
    """
    region: Region = {}
    for column in columns:
        count = n_levels[column]
        if count is None:
            region[column] = Numbers(missing=False)
            continue
        flags = np.append(np.ones(count, np.bool_), [False, False])
        if row[column] >= 0:
            flags[int(row[column])] = False
        region[column] = Levels(flags)
    return region
