"""From the root to a leaf: the one traversal that predicts, explains, and assigns rows.

A :class:`PackedTree` lays a tree out for walking: what a step reads of a node lies in one row of 8
integers. :func:`branch_of` decides where a row goes; :mod:`learners.trees.batch` says the same of
arrays, for batches and for rows that are divided. A row with nothing missing walks a single path.
A row whose tested value is missing (or unseen, with no branch for other levels) goes down every
branch with its share, and its answer is the weighted mean over the leaves that it reaches, added up
from the heaviest to the lightest, then by leaf id.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from learners._accel import lean_inner_kernel, lean_kernel
from learners.table import Column, Kind
from learners.trees.nodes import INTERVALS, LEAF, LEVELS, THRESHOLD, Nodes
from learners.types import FloatArray, Int32Array, IntArray

if TYPE_CHECKING:
    from learners.trees.batch import BatchWalk

#: A threshold on codes, where a code below 0 is an unseen level and no number.
CODE_THRESHOLD = 4
#: What :func:`branch_of` says where the value decides nothing.
MISSING_VALUE, UNSEEN_LEVEL = -1, -2

TEST, FEATURE, FIRST_CHILD, N_CHILDREN, MISSING_BRANCH, OTHER_BRANCH, LEVEL_START, LEVEL_COUNT = range(8)
SPLIT, SHARE, UPPER = range(3)
CODE, BRANCH = 0, 1


@dataclass(frozen=True)
class PackedTree:
    """A tree of N nodes laid out for walking; every array is C-ordered.

    Attributes:
        links: int32 (N, 8), see the constants from ``TEST`` to ``LEVEL_COUNT``.
        splits: float64 (N, 3), the threshold; the node's share of its parent; and the upper end of the interval
            by which its parent leads to it.
        levels: int32 (L, 2), code and branch, sorted by code within a node.
        answers: float64 (N, K), class probabilities; or (N, 1) the mean or median.
    """

    links: Int32Array
    splits: FloatArray
    levels: Int32Array
    answers: FloatArray

    def predict(self, cells: FloatArray) -> FloatArray:
        """Answers for a batch.

        Args:
            cells: the table's cells by column, shape (d, n), as :func:`learners.trees.setup.by_column` gives them.

        Returns:
            float64 (n, K).
        """
        nodes, undecided = self.descended(cells)
        out = self.answers[nodes]
        if len(undecided) > 0:
            out[undecided] = self._walk.divided(cells, undecided, self.answers)
        return out

    def predict_row(self, row: FloatArray, out: FloatArray) -> None:
        """Write the answer for one row, float64 (d,) and writable, into ``out``, float64 (K,)."""
        if not plain_answer(self.links, self.splits, self.levels, self.answers, row, out):
            out[:] = self._walk.divided(row.reshape(-1, 1), np.zeros(1, np.intp), self.answers)[0]

    def leaves(self, cells: FloatArray) -> Int32Array:
        """For each row of a batch the leaf with its largest share, the lowest id among equals."""
        nodes, undecided = self.descended(cells)
        owners, leaves, _ = self._walk.reach(cells, undecided)
        nodes[undecided] = leaves[np.searchsorted(owners, np.arange(len(undecided)))]
        return nodes.astype(np.int32)

    def descended(self, cells: FloatArray) -> tuple[IntArray, IntArray]:
        """The node that each row of a batch gets to by its values alone, and the rows for which that is no leaf."""
        nodes = self._walk.descend(cells)
        return nodes, self._walk.undecided(nodes)

    def reach(self, row: FloatArray) -> tuple[IntArray, FloatArray]:
        """The leaves that one row reaches and its share in each, in the order in which they are added up."""
        _, leaves, shares = self._walk.reach(row.reshape(-1, 1), np.zeros(1, np.intp))
        return leaves, shares

    @cached_property
    def _walk(self) -> BatchWalk:
        from learners.trees.batch import BatchWalk

        return BatchWalk(self.links, self.splits, self.levels)

    def placed(self, cells: FloatArray, rows: IntArray) -> tuple[Int32Array, IntArray, FloatArray]:
        """Which share of which row lies in which leaf; a row that is not divided has one entry.

        Args:
            cells: as for :meth:`predict`.
            rows: the rows asked for, shape (m,).

        Returns:
            Leaves, rows and shares, each of shape (entries,), in no order that matters.
        """
        owners, leaves, shares = self._walk.reach(cells, rows)
        return leaves.astype(np.int32), rows[owners], shares


def pack(nodes: Nodes, columns: Sequence[Column], *, regression: bool) -> PackedTree:
    """Lay out a tree over these columns for walking."""
    links = np.zeros((nodes.n_nodes, 8), np.int32)
    links[:, TEST] = nodes.test
    ordinal = np.array([column.kind is Kind.ORDINAL for column in columns], dtype=np.bool_)
    links[(nodes.test == THRESHOLD) & ordinal[np.maximum(nodes.feature, 0)], TEST] = CODE_THRESHOLD
    for place, values in (
        (FEATURE, nodes.feature),
        (FIRST_CHILD, nodes.first_child),
        (N_CHILDREN, nodes.n_children),
        (MISSING_BRANCH, nodes.missing_branch),
        (OTHER_BRANCH, nodes.other_branch),
        (LEVEL_START, nodes.level_start),
        (LEVEL_COUNT, nodes.level_count),
    ):
        links[:, place] = values
    answers = np.ascontiguousarray(nodes.value[:, :1]) if regression else nodes.shares()
    return PackedTree(
        links=links,
        splits=np.column_stack((nodes.threshold, nodes.fraction, nodes.upper)),
        levels=np.column_stack((nodes.level_codes, nodes.level_branch)).astype(np.int32),
        answers=answers,
    )


@lean_inner_kernel
def branch_of(links: Int32Array, splits: FloatArray, levels: Int32Array, node: int, value: float) -> int:
    """The branch of an inner node that a value takes, or ``MISSING_VALUE`` or ``UNSEEN_LEVEL``."""
    nothing = MISSING_VALUE
    if not math.isnan(value):
        branch = branch_of_known(links, splits, levels, node, value)
        if branch >= 0:
            return branch
        nothing = UNSEEN_LEVEL
    missing = int(links[node, MISSING_BRANCH])
    return missing if missing >= 0 else nothing


@lean_inner_kernel
def branch_of_known(links: Int32Array, splits: FloatArray, levels: Int32Array, node: int, value: float) -> int:
    """The branch that a value takes which is not missing, or ``UNSEEN_LEVEL``."""
    test = links[node, TEST]
    if test == INTERVALS:
        return interval_of(links, splits, node, value)
    if test != LEVELS:
        if test == CODE_THRESHOLD and value < 0.0:
            return UNSEEN_LEVEL
        return 0 if value <= splits[node, SPLIT] else 1
    low = links[node, LEVEL_START]
    high = low + links[node, LEVEL_COUNT]
    end = high
    while low < high:
        middle = (low + high) // 2
        if levels[middle, CODE] < value:
            low = middle + 1
        else:
            high = middle
    if low < end and levels[low, CODE] == value:
        return int(levels[low, BRANCH])
    other = int(links[node, OTHER_BRANCH])
    return other if other >= 0 else UNSEEN_LEVEL


@lean_inner_kernel
def interval_of(links: Int32Array, splits: FloatArray, node: int, value: float) -> int:
    """The first branch whose interval does not end before a value."""
    first = int(links[node, FIRST_CHILD])
    low = 0
    high = int(links[node, N_CHILDREN]) - 1
    while low < high:
        middle = (low + high) // 2
        if value <= splits[first + middle, UPPER]:
            high = middle
        else:
            low = middle + 1
    return low


@lean_inner_kernel
def descend(links: Int32Array, splits: FloatArray, levels: Int32Array, row: FloatArray, node: int) -> int:
    """Walk from a node while the values decide; returns the leaf or the first node they do not decide."""
    while links[node, TEST] != LEAF:
        branch = branch_of(links, splits, levels, node, row[links[node, FEATURE]])
        if branch < 0:
            return node
        node = links[node, FIRST_CHILD] + branch
    return node


@lean_kernel
def plain_answer(
    links: Int32Array, splits: FloatArray, levels: Int32Array, answers: FloatArray, row: FloatArray, out: FloatArray
) -> bool:
    """Write the answer for a row whose values lead to one leaf; false, and nothing written, for any other."""
    node = descend(links, splits, levels, row, 0)
    if links[node, TEST] != LEAF:
        return False
    for k in range(out.shape[0]):
        out[k] = answers[node, k]
    return True
