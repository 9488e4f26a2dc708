"""The flat node array: the contract among growing, pruning, predicting, explaining, drawing, exporting.

Layout: structure of arrays, one entry a node. Node 0 is the root. The children of a node are
consecutive, ``first_child[i] .. first_child[i] + n_children[i] - 1``, and have larger ids than it,
so one pass over ascending ids sees parents first, over descending ids children first. A branch is
the position of a child among its siblings.

Tests (``test[i]``):

* ``LEAF``: none; ``n_children`` is 0.
* ``THRESHOLD``: numeric value or ordinal code ``x <= threshold`` takes branch 0, else branch 1.
* ``LEVELS``: the code is looked up among this node's own sorted codes
  ``level_codes[level_start[i] : level_start[i] + level_count[i]]``; the entry at the same place of
  ``level_branch`` is the branch. A code that is not there takes ``other_branch[i]``, or, where that
  is -1, counts as missing. Multiway, one-against-rest and subset splits are all of this form:
  one-against-rest lists one code (branch 0) with ``other_branch`` 1; a subset split lists the codes
  that occurred, other codes take the heavier branch; a multiway split lists the codes that
  occurred, and where known levels did not, one more child of weight 0 holds the parent's
  distribution and is ``other_branch``.

  A test on a numeric or ordinal column that lists no code asks whether the value is known at all:
  known ones take branch 0, which is ``other_branch``, missing ones branch 1.
* ``INTERVALS``: a numeric value takes the first branch whose ``upper`` it does not exceed. The
  branches are intervals in ascending order, the last one is open; an interval in which no row of the
  node lies is a child of weight 0 with the parent's distribution. A branch for missing values may
  come after the last interval, with ``upper`` infinite too.

A missing value follows ``missing_branch[i]``; where that is -1 it follows every child with the
share ``fraction`` of that child. A level that the model does not know, and for which a test has no
``other_branch``, is treated as missing. Further test kinds add a number here and arrays of their own.

A test of several values at once (:mod:`learners.trees.combined`) is a ``THRESHOLD`` on a column of the tree's
own: with d columns in the table, ``feature`` d + k is the value of the k-th of ``combined``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from learners.trees.combined.tests import NO_TESTS, CombinedTests
from learners.types import Array, BoolArray, FloatArray, Int8Array, Int32Array, IntArray

LEAF, THRESHOLD, LEVELS, INTERVALS = range(4)


@dataclass(frozen=True)
class Nodes:
    """A tree of N nodes; K values a node (class weights, or mean and variance for regression).

    Attributes:
        test: int8 (N,), which test the node holds.
        feature: int32 (N,), the tested column; -1 in a leaf.
        threshold: float64 (N,), see ``THRESHOLD``; NaN elsewhere.
        upper: float64 (N,), of the branches of ``INTERVALS``; NaN elsewhere.
        first_child, n_children, parent: int32 (N,); -1, 0 and -1 where there is none.
        depth: int32 (N,), 0 at the root.
        missing_branch, other_branch: int32 (N,), branch numbers or -1.
        fraction: float64 (N,), the node's share of its parent's known weight; 1 at the root.
        level_start, level_count: int32 (N,), the node's slice of the two arrays that follow.
        level_codes, level_branch: int32 (L,).
        rows: int64 (N,), training rows of positive weight that reached the node, fractions counted whole.
        weight: float64 (N,), their total weight.
        value: float64 (N, K), class weights, of a fitted tree with the pseudo-counts of its leaf estimate
            (see :mod:`learners.trees.leaves`); or mean (or median) and variance.
        impurity: float64 (N,), of the node under the criterion; gain: float64 (N,), of its test.
        combined: the tests of several values; each belongs to one node, and they are in the nodes' order.
    """

    test: Int8Array
    feature: Int32Array
    threshold: FloatArray
    first_child: Int32Array
    n_children: Int32Array
    parent: Int32Array
    depth: Int32Array
    missing_branch: Int32Array
    other_branch: Int32Array
    fraction: FloatArray
    level_start: Int32Array
    level_count: Int32Array
    level_codes: Int32Array
    level_branch: Int32Array
    rows: IntArray
    weight: FloatArray
    value: FloatArray
    impurity: FloatArray
    gain: FloatArray
    upper: FloatArray
    combined: CombinedTests = NO_TESTS

    @property
    def n_nodes(self) -> int:
        return int(self.test.shape[0])

    # Kept, since whoever asks for a large tree part by part gets them with each part.
    @cached_property
    def n_leaves(self) -> int:
        return int(np.count_nonzero(self.test == LEAF))

    @cached_property
    def greatest_depth(self) -> int:
        """Number of tests on the longest path."""
        return int(self.depth.max())

    @cached_property
    def total_depth(self) -> int:
        """Number of tests on all paths together."""
        return int(self.depth[self.leaves()].sum())

    @cached_property
    def divides_missing(self) -> bool:
        """Whether some test sends a missing value down every branch."""
        return bool((self.missing_branch[self.n_children > 0] < 0).any())

    @cached_property
    def answer_range(self) -> tuple[float, float]:
        """The least and the greatest mean (or median) of the leaves of a regression tree."""
        answers = self.value[self.leaves(), 0]
        return float(answers.min()), float(answers.max())

    def shares(self) -> FloatArray:
        """Class shares of each node, float64 (N, K): what every reader of a classification tree shows."""
        shares: FloatArray = self.value / _row_sums(self.value)[:, None]
        return shares

    def shares_of(self, chosen: list[int]) -> FloatArray:
        """The same of n nodes, float64 (n, K)."""
        values = self.value[chosen]
        shares: FloatArray = values / values.sum(axis=1, keepdims=True)
        return shares

    def children(self, node: int) -> range:
        first = int(self.first_child[node])
        return range(first, first + int(self.n_children[node]))

    def leaves(self) -> IntArray:
        """Ids of the leaves, ascending."""
        return np.flatnonzero(self.test == LEAF)

    @cached_property
    def leaves_beneath(self) -> IntArray:
        """Number of leaves beneath each node, 1 for a leaf; int64 (N,)."""
        counts: IntArray = np.equal(self.n_children, 0).astype(np.int64)
        for level in reversed(self._by_depth()[1:]):
            np.add.at(counts, self.parent[level], counts[level])
        return counts

    @cached_property
    def first_leaf_as_read(self) -> IntArray:
        """By node the place of its first leaf in :attr:`leaves_as_read`, where all of its leaves follow; int64 (N,)."""
        counts = self.leaves_beneath
        before = np.cumsum(counts) - counts
        place = np.zeros(self.n_nodes, np.int64)
        for level in self._by_depth()[1:]:
            above = self.parent[level]
            place[level] = place[above] + before[level] - before[self.first_child[above]]
        return place

    @cached_property
    def leaves_as_read(self) -> Int32Array:
        """Ids of the leaves in the order in which the tree is read, depth first."""
        leaves = self.leaves()
        order = np.empty(len(leaves), np.int32)
        order[self.first_leaf_as_read[leaves]] = leaves
        return order

    def _by_depth(self) -> list[IntArray]:
        """The nodes of each depth; no recursion, and no compiler in a process that answers."""
        return np.split(np.argsort(self.depth, kind="stable"), np.cumsum(np.bincount(self.depth))[:-1])

    def levels_of(self, node: int) -> tuple[Int32Array, Int32Array]:
        """The node's own codes and the branch of each."""
        span = slice(int(self.level_start[node]), int(self.level_start[node] + self.level_count[node]))
        return self.level_codes[span], self.level_branch[span]

    def child_bounds(self, numeric: BoolArray, ids: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """What the test above each node asks of its numeric or ordinal column: ``low < cell <= high``.

        Open where it asks for a level or is none; of a branch for missing values alone, which no value
        takes, ``low`` is infinite.

        Args:
            numeric: bool (d,), which columns of the table are.
            ids: of the nodes that are asked for, ascending; None for all.

        Returns:
            float64 each, of the shape of ``ids``.
        """
        numeric = np.append(numeric, np.ones(len(self.combined), np.bool_))
        chosen = np.arange(self.n_nodes) if ids is None else ids
        low, high = np.full(len(chosen), -np.inf), np.full(len(chosen), np.inf)
        below = chosen > 0
        node = chosen[below]
        above = self.parent[node]
        test, branch = self.test[above], node - self.first_child[above]
        threshold = self.threshold[above]
        lows, highs = low[below], high[below]
        lows[(test == THRESHOLD) & (branch == 1)] = threshold[(test == THRESHOLD) & (branch == 1)]
        highs[(test == THRESHOLD) & (branch == 0)] = threshold[(test == THRESHOLD) & (branch == 0)]
        inside = test == INTERVALS
        lows[inside & (branch > 0)] = self.upper[node - 1][inside & (branch > 0)]
        highs[inside] = self.upper[node][inside]
        absent = (test == LEVELS) & numeric[self.feature[above]] & (branch != self.other_branch[above])
        lows[absent], highs[absent] = np.inf, -np.inf
        low[below], high[below] = lows, highs
        return low, high

    def with_combined(self, tests: CombinedTests) -> Nodes:
        """The tree with those of some tests that its nodes hold, numbered in the nodes' order.

        Args:
            tests: by which the features from d on are numbered so far.
        """
        if not len(tests):
            return self
        d = int(tests.n_columns)
        holding = np.flatnonzero(self.feature >= d)
        feature = self.feature.copy()
        feature[holding] = d + np.arange(len(holding))
        return replace(self, feature=feature, combined=tests.taken((self.feature[holding] - d).astype(np.int64)))

    def own_arrays(self) -> dict[str, Array]:
        """The arrays by name, without those of the combined tests."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != _COMBINED}

    def to_arrays(self) -> dict[str, Array]:
        return self.own_arrays() | self.combined.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> Nodes:
        """The inverse of :meth:`to_arrays`; of trees from before there were intervals, too."""
        given = {"upper": np.full(len(arrays["test"]), np.nan)} | arrays
        own = {field.name: given[field.name] for field in fields(cls) if field.name != _COMBINED}
        return cls(**own, combined=CombinedTests.from_arrays(arrays))


def _row_sums(values: FloatArray) -> FloatArray:
    """The sums of few numbers a row, column by column as numpy adds up to seven, but in a third of the time."""
    sums: FloatArray
    if not 0 < values.shape[1] < _ADDED_IN_TURN:
        sums = values.sum(axis=1)
        return sums
    sums = values[:, 0].copy()
    for column in values.T[1:]:
        sums += column
    return sums


#: From so many numbers on numpy adds several partial sums.
_ADDED_IN_TURN = 8
_COMBINED = "combined"
