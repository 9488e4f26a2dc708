"""From the root to a leaf: the one traversal that predicts, explains, and assigns rows.

A :class:`PackedTree` lays a tree out for walking: what a step reads of a node lies in one row of 8
integers. :mod:`learners.trees.branching` decides where a row goes; :mod:`learners.trees.batch` says the same of
arrays, for batches and for rows that are divided. A row with nothing missing walks a single path.
A row whose tested value is missing (or unseen, with no branch for other levels) goes down every
branch with its share, and its answer is the weighted mean over the leaves that it reaches, added up
from the heaviest to the lightest, then by leaf id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from learners.table import Column, Kind
from learners.trees.batch import BatchWalk
from learners.trees.branching import (
    CODE_THRESHOLD,
    FEATURE,
    FIRST_CHILD,
    LEVEL_COUNT,
    LEVEL_START,
    MISSING_BRANCH,
    N_CHILDREN,
    OTHER_BRANCH,
    TEST,
    plain_answer,
)
from learners.trees.combined.tests import NO_TESTS, CombinedTests
from learners.trees.nodes import THRESHOLD, Nodes
from learners.trees.walk_layout import WalkLayout
from learners.types import FloatArray, Int8Array, Int32Array, IntArray

#: Nodes that are laid out together: few enough for what is written of them to stay in the cache.
_NODES_AT_ONCE = 8192


@dataclass(frozen=True)
class PackedTree:
    """A tree of N nodes laid out for walking; every array is C-ordered.

    Attributes:
        links: int32 (N, 8), see :mod:`learners.trees.branching`.
        splits: float64 (N, 3), the threshold; the node's share of its parent; and the upper end of the interval
            by which its parent leads to it.
        levels: int32 (L, 2), code and branch, sorted by code within a node.
        answers: float64 (N, K), class probabilities; or (N, 1) the mean or median.
        combined: the tests of several values; the features that follow the table's.
    """

    links: Int32Array
    splits: FloatArray
    levels: Int32Array
    answers: FloatArray
    combined: CombinedTests = NO_TESTS

    def predict(self, cells: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Answers for a batch.

        Args:
            cells: the table's cells by column, shape (d, n), as :func:`learners.trees.cells.by_column` gives them.
            rows: the rows asked for, shape (m,); None for all.

        Returns:
            float64 (m, K).
        """
        nodes, undecided = self.descended(cells, rows)
        out = self.answers.take(nodes, axis=0)
        if len(undecided) > 0:
            divided = undecided if rows is None else rows[undecided]
            out[undecided] = self.walk.divided(cells, divided, self.answers, nodes[undecided])
        return out

    def predict_row(self, row: FloatArray, out: FloatArray) -> None:
        """Write the answer for one row, float64 (d,) and writable, into ``out``, float64 (K,)."""
        if len(self.combined):
            out[:] = self.predict(row.reshape(-1, 1))[0]
        elif not plain_answer(self.links, self.splits, self.levels, self.answers, row, out):
            out[:] = self.walk.divided(row.reshape(-1, 1), np.zeros(1, np.intp), self.answers)[0]

    def leaves(self, cells: FloatArray) -> Int32Array:
        """For each row of a batch the leaf with its largest share, the lowest id among equals."""
        nodes, undecided = self.descended(cells)
        owners, leaves, _ = self.walk.reach(cells, undecided, nodes[undecided])
        nodes[undecided] = leaves[np.searchsorted(owners, np.arange(len(undecided)))]
        return nodes.astype(np.int32)

    def descended(self, cells: FloatArray, rows: IntArray | None = None) -> tuple[IntArray, IntArray]:
        """The node that each row of a batch gets to by its values alone, and the places of those for which that is no
        leaf; of all rows, or of some.
        """
        nodes = self.walk.descend(cells, rows)
        return nodes, self.walk.undecided(nodes)

    def reach(self, row: FloatArray) -> tuple[IntArray, FloatArray]:
        """The leaves that one row reaches and its share in each, in the order in which they are added up."""
        _, leaves, shares = self.walk.reach(row.reshape(-1, 1), np.zeros(1, np.intp))
        return leaves, shares

    @property
    def layout(self) -> WalkLayout:
        """What walking reads of each node."""
        return self.walk.layout

    def steps(self, row: FloatArray) -> IntArray:
        """Where one row goes from each node, shape (N,); the same node at a leaf and where its value is undecided."""
        return self.walk.steps(row)

    @cached_property
    def walk(self) -> BatchWalk:
        """The way of batches, of several trees from any of their roots."""
        return BatchWalk(self.links, self.splits, self.levels, self.combined)

    def placed(self, cells: FloatArray, rows: IntArray) -> tuple[Int32Array, IntArray, FloatArray]:
        """Which share of which row lies in which leaf; a row that is not divided has one entry.

        Args:
            cells: as for :meth:`predict`.
            rows: the rows asked for, shape (m,).

        Returns:
            Leaves, rows and shares, each of shape (entries,), in no order that matters.
        """
        owners, leaves, shares = self.walk.reach(cells, rows)
        return leaves.astype(np.int32), rows[owners], shares


def pack(nodes: Nodes, columns: Sequence[Column], *, regression: bool, answers: FloatArray | None = None) -> PackedTree:
    """Lay out a tree over these columns for walking; ``answers`` are its :func:`node_answers`, if there already."""
    test = tests_by_kind(nodes, columns)
    links = np.empty((nodes.n_nodes, 8), np.int32)
    for first in range(0, nodes.n_nodes, _NODES_AT_ONCE):
        part = slice(first, first + _NODES_AT_ONCE)
        for place, values in (
            (TEST, test),
            (FEATURE, nodes.feature),
            (FIRST_CHILD, nodes.first_child),
            (N_CHILDREN, nodes.n_children),
            (MISSING_BRANCH, nodes.missing_branch),
            (OTHER_BRANCH, nodes.other_branch),
            (LEVEL_START, nodes.level_start),
            (LEVEL_COUNT, nodes.level_count),
        ):
            links[part, place] = values[part]
    return PackedTree(
        links=links,
        splits=np.column_stack((nodes.threshold, nodes.fraction, nodes.upper)),
        levels=np.column_stack((nodes.level_codes, nodes.level_branch)).astype(np.int32),
        answers=node_answers(nodes, regression=regression) if answers is None else answers,
        combined=nodes.combined,
    )


def tests_by_kind(nodes: Nodes, columns: Sequence[Column]) -> Int8Array:
    """Which test each node holds, a threshold on an ordinal column being ``CODE_THRESHOLD``."""
    ordinal = np.array([column.kind is Kind.ORDINAL for column in columns] + [False] * len(nodes.combined), np.bool_)
    if not ordinal.any():
        return nodes.test
    on_codes = (nodes.test == THRESHOLD) & ordinal[np.maximum(nodes.feature, 0)]
    return np.where(on_codes, np.int8(CODE_THRESHOLD), nodes.test)


def node_answers(nodes: Nodes, *, regression: bool) -> FloatArray:
    """What each node answers, shape (N, K): class shares, or (N, 1) the mean or median."""
    return np.ascontiguousarray(nodes.value[:, :1]) if regression else nodes.shares()
