"""Many rows through one tree or several by machine code, for processes that have a compiler.

It says of one row what :mod:`learners.trees.batch` says of arrays; tests hold the two together. What a step reads of a
node is one record of 32 bytes, and most steps have no branch in the code: a threshold and a set of codes are looked
into alike, and of the two the one that a node does not have says nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from learners._accel import lean_inner_kernel, lean_kernel
from learners.trees.branching import (
    BRANCH,
    CODE,
    FEATURE,
    FIRST_CHILD,
    LEVEL_COUNT,
    LEVEL_START,
    MISSING_BRANCH,
    N_CHILDREN,
    OTHER_BRANCH,
    SHARE,
    SPLIT,
    TEST,
    branch_of,
)
from learners.trees.division_room import DivisionRoom, division_room, sort_leaves
from learners.trees.nodes import LEAF, LEVELS, THRESHOLD
from learners.trees.problem import Records, records
from learners.types import FloatArray, Int32Array, IntArray

#: A node: a value above ``threshold``, or a code of which ``codes`` holds the bit, leads to the node after ``first``,
#: another to ``first``; a missing one to ``absent``. A leaf leads to itself. Of a ``rare`` node the tree is asked.
_NODE = np.dtype(
    [
        ("threshold", "<f8"),
        ("codes", "<u8"),
        ("first", "<i4"),
        ("absent", "<i4"),
        ("column", "<i4"),
        ("rare", "<i4"),
    ],
    align=True,
)
#: The lowest bit of ``codes`` is that of unseen levels, the highest that of all codes beyond the largest.
_LARGEST_CODE = 61
#: Rows that walk side by side.
_LANES = 8


class WalkedNodes(NamedTuple):
    """Nodes laid out for machine code, beside the arrays of their :class:`learners.trees.traverse.PackedTree`."""

    records: Records
    links: Int32Array
    splits: FloatArray
    levels: Int32Array


class WalkedRows(NamedTuple):
    """Rows that walk.

    Attributes:
        cells: all rows' cells in the order of memory, read-only.
        starts: where those of each row begin, shape (m,).
        by_column: how far apart the columns are.
    """

    cells: FloatArray
    starts: IntArray
    by_column: int


class CompiledWalk:
    """The way of many rows through nodes; the arrays are those of :class:`learners.trees.traverse.PackedTree`."""

    def __init__(self, links: Int32Array, splits: FloatArray, levels: Int32Array) -> None:
        self._nodes = WalkedNodes(records(len(links), _NODE), links, splits, levels)
        lay_nodes(self._nodes)

    def descended(self, roots: IntArray, cells: FloatArray, rows: IntArray) -> IntArray:
        """Where some rows end, each from a node of its own; see :meth:`learners.trees.batch.BatchWalk.descend_from`."""
        nodes: IntArray = roots.astype(np.int64)  # a copy
        walk_rows(self._nodes, _walked(cells, rows), nodes, np.empty(_LANES, np.int64))
        return nodes

    def descended_each(self, roots: IntArray, cells: FloatArray) -> IntArray:
        """Where all rows end from each of some nodes, shape (roots, n)."""
        n_rows = cells.shape[1]
        nodes = np.repeat(roots.astype(np.int64, copy=False), n_rows).reshape(-1, n_rows)
        rows, lanes = _walked(cells, np.arange(n_rows)), np.empty(_LANES, np.int64)
        for own in nodes:
            walk_rows(self._nodes, rows, own, lanes)
        return nodes

    def divided(self, roots: IntArray, cells: FloatArray, rows: IntArray, answers: FloatArray) -> FloatArray:
        """What is answered to rows that are divided; see :meth:`learners.trees.batch.BatchWalk.divided`."""
        out = np.empty((len(rows), answers.shape[1]))
        nodes, answers = roots.astype(np.int64, copy=False), np.ascontiguousarray(answers)
        divide_rows(self._nodes, _walked(cells, rows), nodes, answers, division_room(len(self._nodes.links)), out)
        return out


def _walked(cells: FloatArray, rows: IntArray) -> WalkedRows:
    """Some rows of a batch, shape (d, n), in one piece."""
    flat = cells.ravel("K").view()
    flat.flags.writeable = False  # whatever it was, kernels compile once
    by_column, by_row = (stride // cells.itemsize for stride in cells.strides)
    return WalkedRows(flat, rows * by_row, by_column)


@lean_kernel
def lay_nodes(tree: WalkedNodes) -> None:
    """Fill the records."""
    links = tree.links
    for node in range(links.shape[0]):
        record = tree.records[node]
        record.threshold = math.inf
        record.first = node
        record.absent = node
        test = links[node, TEST]
        if test == LEAF:
            continue
        record.first = links[node, FIRST_CHILD]
        record.column = links[node, FEATURE]
        if links[node, MISSING_BRANCH] >= 0:
            record.absent = links[node, FIRST_CHILD] + links[node, MISSING_BRANCH]
        if test == THRESHOLD:
            record.threshold = tree.splits[node, SPLIT]
        elif is_set_of_codes(tree, node):
            record.codes = codes_on_the_right(tree, node)
        else:
            record.rare = 1


@lean_inner_kernel
def is_set_of_codes(tree: WalkedNodes, node: int) -> bool:
    """Whether a node divides all codes in two, and lists none that is large."""
    links = tree.links
    if links[node, TEST] != LEVELS or links[node, N_CHILDREN] != 2 or links[node, OTHER_BRANCH] < 0:
        return False
    count = links[node, LEVEL_COUNT]
    return bool(count == 0 or tree.levels[links[node, LEVEL_START] + count - 1, CODE] <= _LARGEST_CODE)


@lean_inner_kernel
def codes_on_the_right(tree: WalkedNodes, node: int) -> np.uint64:
    """A bit for each code that the second child gets, those not listed included."""
    others = np.uint64(tree.links[node, OTHER_BRANCH])
    bits = np.uint64(0) - others
    start = tree.links[node, LEVEL_START]
    for entry in range(start, start + tree.links[node, LEVEL_COUNT]):
        differs = np.uint64(tree.levels[entry, BRANCH]) ^ others
        bits ^= differs << np.uint64(tree.levels[entry, CODE] + 1)
    return bits


@lean_inner_kernel
def next_node(tree: WalkedNodes, rows: WalkedRows, start: int | np.int64, node: np.uint64) -> np.uint64:
    """Where a row goes from a node; the node itself at a leaf and where the row's value decides nothing."""
    record = tree.records[node]
    value = rows.cells[np.uint64(start + np.int64(record.column) * rows.by_column)]
    if math.isnan(value):
        return np.uint64(record.absent)
    if record.rare != 0:
        branch = branch_of(tree.links, tree.splits, tree.levels, int(node), value)
        return node if branch < 0 else np.uint64(record.first + branch)
    bit = np.uint64(np.int64(min(max(value, -1.0), _LARGEST_CODE + 1.0)) + 1)
    goes_right = np.uint64(value > record.threshold) | ((np.uint64(record.codes) >> bit) & np.uint64(1))
    return np.uint64(np.uint64(record.first) + goes_right)


@lean_kernel
def walk_rows(tree: WalkedNodes, rows: WalkedRows, nodes: IntArray, lanes: IntArray) -> None:
    """Move each row down from the node where it is, to a leaf or to the first node at which its value decides nothing.

    Args:
        nodes: where each row is, shape (m,); gets where it ends.
        lanes: room for the rows that walk side by side: while one waits for the memory, others are moved.
    """
    n_rows = np.uint64(nodes.shape[0])
    count = np.uint64(min(lanes.shape[0], nodes.shape[0]))
    for own in range(lanes.shape[0]):
        lanes[own] = own
    following = count
    while count > 0:
        lane = np.uint64(0)
        while lane < count:
            one = np.uint64(lanes[lane])
            node = np.uint64(nodes[one])
            after = next_node(tree, rows, rows.starts[one], node)
            nodes[one] = np.int64(after)
            if after != node:
                lane += np.uint64(1)
            elif following < n_rows:
                lanes[lane] = np.int64(following)
                following += np.uint64(1)
                lane += np.uint64(1)
            else:
                count -= np.uint64(1)
                lanes[lane] = lanes[count]


@lean_kernel
def divide_rows(
    tree: WalkedNodes, rows: WalkedRows, nodes: IntArray, answers: FloatArray, room: DivisionRoom, out: FloatArray
) -> None:
    """The mean of the answers of the leaves that each row reaches, weighted by its shares, heaviest first.

    Args:
        nodes: where each row is, shape (m,).
        answers: by node, shape (N, K).
        out: gets the means, shape (m, K).
    """
    for one in range(nodes.shape[0]):
        found = reach_leaves(tree, rows, rows.starts[one], nodes[one], room)
        sort_leaves(room, found)
        for k in range(answers.shape[1]):
            total = 0.0
            for leaf in range(found):
                total += room.shares[leaf] * answers[room.leaves[leaf], k]
            out[one, k] = total


@lean_inner_kernel
def reach_leaves(
    tree: WalkedNodes, rows: WalkedRows, start: int | np.int64, root: int | np.int64, room: DivisionRoom
) -> int:
    """Fill ``leaves`` and ``shares`` of a row from a node on; returns how many."""
    room.waiting[0] = root
    room.waiting_shares[0] = 1.0
    waiting = 1
    found = 0
    while waiting > 0:
        waiting -= 1
        share = room.waiting_shares[waiting]
        before = np.uint64(room.waiting[waiting])
        node = next_node(tree, rows, start, before)
        while node != before:
            before = node
            node = next_node(tree, rows, start, before)
        if tree.links[node, TEST] == LEAF:
            room.leaves[found] = np.int64(node)
            room.shares[found] = share
            found += 1
            continue
        first = tree.links[node, FIRST_CHILD]
        for child in range(first, first + tree.links[node, N_CHILDREN]):
            if tree.splits[child, SHARE] > 0.0:
                room.waiting[waiting] = child
                room.waiting_shares[waiting] = share * tree.splits[child, SHARE]
                waiting += 1
    return found
