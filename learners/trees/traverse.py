"""From the root to a leaf: the one traversal that predicts, explains, and assigns rows.

A :class:`PackedTree` lays a tree out for walking: what a step reads of a node lies in one row of 8
integers. :func:`branch_of` alone decides where a row goes. A row with nothing missing walks a
single path. A row whose tested value is missing (or unseen, with no branch for other levels) goes
down every branch with its share, and its answer is the weighted mean over the leaves that it
reaches, added up from the heaviest to the lightest, then by leaf id.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners._accel import inner_kernel, kernel, lean_inner_kernel, lean_kernel
from learners.table import Column, Kind
from learners.trees.nodes import LEAF, THRESHOLD, Nodes
from learners.types import FloatArray, Int32Array, IntArray

#: A threshold on codes, where a code below 0 is an unseen level and no number.
CODE_THRESHOLD = 3
#: What :func:`branch_of` says where the value decides nothing.
MISSING_VALUE, UNSEEN_LEVEL = -1, -2

TEST, FEATURE, FIRST_CHILD, N_CHILDREN, MISSING_BRANCH, OTHER_BRANCH, LEVEL_START, LEVEL_COUNT = range(8)
SPLIT, SHARE = 0, 1
CODE, BRANCH = 0, 1


@dataclass(frozen=True)
class PackedTree:
    """A tree of N nodes laid out for walking; every array is C-ordered.

    Attributes:
        links: int32 (N, 8), see the constants from ``TEST`` to ``LEVEL_COUNT``.
        splits: float64 (N, 2), the threshold and the node's share of its parent.
        levels: int32 (L, 2), code and branch, sorted by code within a node.
        answers: float64 (N, K), class probabilities; or (N, 1) the mean.
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
        nodes, undecided = self._descended(cells)
        out = self.answers[nodes]
        if len(undecided) > 0:
            divided_batch(self.links, self.splits, self.levels, self.answers, cells, undecided, out)
        return out

    def predict_row(self, row: FloatArray, out: FloatArray) -> None:
        """Write the answer for one row, float64 (d,) and writable, into ``out``, float64 (K,)."""
        if not plain_answer(self.links, self.splits, self.levels, self.answers, row, out):
            divided_answer(self.links, self.splits, self.levels, self.answers, row, out)

    def leaves(self, cells: FloatArray) -> Int32Array:
        """For each row of a batch the leaf with its largest share, the lowest id among equals."""
        nodes, undecided = self._descended(cells)
        for row in undecided:
            nodes[row] = self.reach(np.array(cells[:, row]))[0][0]
        return nodes

    def _descended(self, cells: FloatArray) -> tuple[Int32Array, IntArray]:
        """Where each row gets by its values alone, and the rows that have not come to a leaf by them."""
        nodes = np.empty(cells.shape[1], np.int32)
        descend_batch(self.links, self.splits, self.levels, cells, nodes)
        return nodes, np.flatnonzero(self.links[nodes, TEST] != LEAF)

    def reach(self, row: FloatArray) -> tuple[Int32Array, FloatArray]:
        """The leaves that one row reaches and its share in each, in the order in which they are added up."""
        reached: tuple[Int32Array, FloatArray] = reach_leaves(self.links, self.splits, self.levels, row)
        return reached


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
    if regression:
        answers = np.ascontiguousarray(nodes.value[:, :1])
    else:
        answers = nodes.value / nodes.value.sum(axis=1, keepdims=True)
    return PackedTree(
        links=links,
        splits=np.column_stack((nodes.threshold, nodes.fraction)),
        levels=np.column_stack((nodes.level_codes, nodes.level_branch)).astype(np.int32),
        answers=answers,
    )


@lean_inner_kernel
def branch_of(links: Int32Array, splits: FloatArray, levels: Int32Array, node: int, value: float) -> int:
    """The branch of an inner node that a value takes, or ``MISSING_VALUE`` or ``UNSEEN_LEVEL``."""
    test = links[node, TEST]
    if math.isnan(value):
        return links[node, MISSING_BRANCH] if links[node, MISSING_BRANCH] >= 0 else MISSING_VALUE
    if test == THRESHOLD:
        return 0 if value <= splits[node, SPLIT] else 1
    if test == CODE_THRESHOLD:
        if value < 0.0:
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
    other = links[node, OTHER_BRANCH]
    return other if other >= 0 else UNSEEN_LEVEL


@lean_inner_kernel
def descend(links: Int32Array, splits: FloatArray, levels: Int32Array, row: FloatArray, node: int) -> int:
    """Walk from a node while the values decide; returns the leaf or the first node they do not decide."""
    while links[node, TEST] != LEAF:
        branch = branch_of(links, splits, levels, node, row[links[node, FEATURE]])
        if branch < 0:
            return node
        node = links[node, FIRST_CHILD] + branch
    return node


@inner_kernel
def collect_leaves(
    links: Int32Array, splits: FloatArray, levels: Int32Array, row: FloatArray
) -> tuple[Int32Array, FloatArray]:
    """All leaves that a row reaches with a positive share, in the order of the walk, and the shares."""
    stack = np.zeros(64, np.int32)
    shares = np.ones(64)
    nodes = np.zeros(64, np.int32)
    weights = np.zeros(64)
    size = 1
    count = 0
    while size > 0:
        size -= 1
        share = shares[size]
        node = descend(links, splits, levels, row, stack[size])
        if links[node, TEST] == LEAF:
            if count == nodes.shape[0]:
                nodes = np.concatenate((nodes, nodes))
                weights = np.concatenate((weights, weights))
            nodes[count] = node
            weights[count] = share
            count += 1
            continue
        while size + links[node, N_CHILDREN] > stack.shape[0]:
            stack = np.concatenate((stack, stack))
            shares = np.concatenate((shares, shares))
        first = links[node, FIRST_CHILD]
        for child in range(first + links[node, N_CHILDREN] - 1, first - 1, -1):
            if splits[child, SHARE] > 0.0:
                stack[size] = child
                shares[size] = share * splits[child, SHARE]
                size += 1
    return nodes[:count], weights[:count]


@lean_inner_kernel
def comes_first(nodes: Int32Array, weights: FloatArray, one: int, other: int) -> bool:
    """Whether entry ``one`` is heavier than ``other``, or as heavy with the lower id."""
    if weights[one] != weights[other]:
        return bool(weights[one] > weights[other])
    return bool(nodes[one] < nodes[other])


@kernel
def reach_leaves(
    links: Int32Array, splits: FloatArray, levels: Int32Array, row: FloatArray
) -> tuple[Int32Array, FloatArray]:
    """The leaves that a row reaches, the largest share first, of equal shares the lowest id (merge sort)."""
    nodes, weights = collect_leaves(links, splits, levels, row)
    count = nodes.shape[0]
    order = np.arange(count)
    spare = np.arange(count)
    width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            one = low
            other = middle
            for target in range(low, high):
                if one < middle and (other >= high or comes_first(nodes, weights, order[one], order[other])):
                    spare[target] = order[one]
                    one += 1
                else:
                    spare[target] = order[other]
                    other += 1
        order, spare = spare, order
        width *= 2
    return nodes[order], weights[order]


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


@kernel
def divided_answer(
    links: Int32Array, splits: FloatArray, levels: Int32Array, answers: FloatArray, row: FloatArray, out: FloatArray
) -> None:
    """Write the answer for any row: the mean of the leaves that it reaches, weighted by its shares."""
    nodes, weights = reach_leaves(links, splits, levels, row)
    for k in range(out.shape[0]):
        out[k] = 0.0
    for i in range(nodes.shape[0]):
        for k in range(out.shape[0]):
            out[k] += weights[i] * answers[nodes[i], k]


@kernel
def divided_batch(
    links: Int32Array,
    splits: FloatArray,
    levels: Int32Array,
    answers: FloatArray,
    cells: FloatArray,
    rows: IntArray,
    out: FloatArray,
) -> None:
    """Write the answers for some rows of a batch; ``cells`` is (d, n), ``out`` (n, K)."""
    row = np.empty(cells.shape[0])
    for i in rows:
        for j in range(cells.shape[0]):
            row[j] = cells[j, i]
        divided_answer(links, splits, levels, answers, row, out[i])


@lean_kernel
def descend_batch(
    links: Int32Array, splits: FloatArray, levels: Int32Array, cells: FloatArray, nodes: Int32Array
) -> None:
    """Where the values of each of n rows lead to; ``cells`` is (d, n). The numeric test is written out for speed."""
    for i in range(cells.shape[1]):
        node = 0
        while links[node, TEST] != LEAF:
            value = cells[links[node, FEATURE], i]
            if links[node, TEST] == THRESHOLD and not math.isnan(value):
                branch = np.int64(value > splits[node, SPLIT])
            else:
                branch = np.int64(branch_of(links, splits, levels, node, value))
            if branch < 0:
                break
            node = links[node, FIRST_CHILD] + branch
        nodes[i] = node
