"""Many rows through one tree or several by machine code, for processes that have a compiler.

It says of one row what :mod:`learners.trees.batch` says of arrays; tests hold the two together. What a step reads of a
node is one record of 32 bytes (:mod:`learners.trees.walked_nodes`), and most steps have no branch in the code: a
threshold and a set of codes are looked into alike, and of the two the one that a node does not have says nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from learners._accel import lean_inner_kernel, lean_kernel
from learners.trees.branching import N_CHILDREN, branch_of
from learners.trees.division_room import DivisionRoom, division_room, sort_leaves
from learners.trees.walked_nodes import END, LARGEST_CODE, RARE, NodeArrays, WalkedNodes, lay_nodes, node_records
from learners.types import FloatArray, Int32Array, IntArray

#: Rows that walk side by side.
LANES = 8


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
        arrays, laid = NodeArrays.of_links(links, splits, levels), node_records(len(links))
        lay_nodes(arrays, laid, 0, len(links))
        self._nodes = WalkedNodes(laid, arrays.fraction, links, splits, levels)

    def descended(self, roots: IntArray, cells: FloatArray, rows: IntArray) -> IntArray:
        """Where some rows end, each from a node of its own; see :meth:`learners.trees.batch.BatchWalk.descend_from`."""
        nodes: IntArray = roots.astype(np.int64)  # a copy
        own = np.arange(len(rows))
        walk_rows(self._nodes, walked(cells, rows), own, nodes, np.empty(LANES, np.int64))
        return nodes

    def descended_each(self, roots: IntArray, cells: FloatArray) -> IntArray:
        """Where all rows end from each of some nodes, shape (roots, n)."""
        n_rows = cells.shape[1]
        nodes = np.repeat(roots.astype(np.int64, copy=False), n_rows).reshape(-1, n_rows)
        own, lanes = np.arange(n_rows), np.empty(LANES, np.int64)
        rows = walked(cells, own)
        for reached in nodes:
            walk_rows(self._nodes, rows, own, reached, lanes)
        return nodes

    def divided(self, roots: IntArray, cells: FloatArray, rows: IntArray, answers: FloatArray) -> FloatArray:
        """What is answered to rows that are divided; see :meth:`learners.trees.batch.BatchWalk.divided`."""
        out = np.empty((len(rows), answers.shape[1]))
        nodes, answers = roots.astype(np.int64, copy=False), np.ascontiguousarray(answers)
        divide_rows(self._nodes, walked(cells, rows), nodes, answers, division_room(len(self._nodes.records)), out)
        return out


def walked(cells: FloatArray, rows: IntArray) -> WalkedRows:
    """Some rows of a batch, shape (d, n), in one piece."""
    flat = cells.ravel("K").view()
    flat.flags.writeable = False  # whatever it was, kernels compile once
    by_column, by_row = (stride // cells.itemsize for stride in cells.strides)
    return WalkedRows(flat, rows * by_row, by_column)


@lean_inner_kernel
def next_node(tree: WalkedNodes, rows: WalkedRows, start: int | np.int64, node: np.uint64) -> np.uint64:
    """Where a row goes from a node; the node itself at a leaf and where the row's value decides nothing."""
    record = tree.records[node]
    value = rows.cells[np.uint64(start + np.int64(record.column) * rows.by_column)]
    if math.isnan(value):
        return np.uint64(record.absent)
    if record.kind == RARE:
        branch = branch_of(tree.links, tree.splits, tree.levels, int(node), value)
        return node if branch < 0 else np.uint64(record.first + branch)
    goes_right = np.uint64(value > record.threshold) | np.uint64((np.uint64(record.codes) & bit_of(value)) != 0)
    return np.uint64(np.uint64(record.first) + goes_right)


@lean_inner_kernel
def bit_of(value: float) -> np.uint64:
    """The bit that stands for a known value where that is a code."""
    return np.uint64(1) << np.uint64(np.int64(min(max(value, -1.0), LARGEST_CODE + 1.0)) + 1)


@lean_kernel
def walk_rows(tree: WalkedNodes, rows: WalkedRows, own: IntArray, nodes: IntArray, lanes: IntArray) -> None:
    """Move rows down from the nodes where they are, to a leaf or to the first node at which a value decides nothing.

    Args:
        own: the rows' places in ``rows``, shape (m,).
        nodes: where each row is, shape (m,); gets where it ends.
        lanes: room for the rows that walk side by side: while one waits for the memory, others are moved.
    """
    walk_lanes(tree, rows, own, nodes, lanes)


@lean_inner_kernel
def walk_lanes(tree: WalkedNodes, rows: WalkedRows, own: IntArray, nodes: IntArray, lanes: IntArray) -> None:
    """The same for other kernels."""
    n_rows = np.uint64(nodes.shape[0])
    count = np.uint64(min(lanes.shape[0], nodes.shape[0]))
    for place in range(lanes.shape[0]):
        lanes[place] = place
    following = count
    while count > 0:
        lane = np.uint64(0)
        while lane < count:
            one = np.uint64(lanes[lane])
            node = np.uint64(nodes[one])
            after = next_node(tree, rows, rows.starts[np.uint64(own[one])], node)
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
        divide_row(tree, rows.starts[one], nodes[one], rows, answers, room, out[one])


@lean_inner_kernel
def divide_row(
    tree: WalkedNodes,
    start: int | np.int64,
    node: int | np.int64,
    rows: WalkedRows,
    answers: FloatArray,
    room: DivisionRoom,
    out: FloatArray,
) -> None:
    """The same of one row."""
    found = reach_leaves(tree, rows, start, node, room)
    sort_leaves(room, found)
    for k in range(answers.shape[1]):
        total = 0.0
        for leaf in range(found):
            total += room.shares[leaf] * answers[room.leaves[leaf], k]
        out[k] = total


@lean_inner_kernel
def reach_leaves(
    tree: WalkedNodes, rows: WalkedRows, start: int | np.int64, root: int | np.int64, room: DivisionRoom
) -> int:
    """Fill ``leaves`` and ``shares`` of a row from a node on; returns how many.

    All nodes where the row is are left in turns: while one waits for the memory, others are moved.
    """
    room.waiting[0] = root
    room.waiting_shares[0] = 1.0
    waiting = 1
    found = 0
    while waiting > 0:
        place = np.uint64(0)
        while place < np.uint64(waiting):
            before = np.uint64(room.waiting[place])
            node = next_node(tree, rows, start, before)
            if node != before:
                room.waiting[place] = np.int64(node)
                place += np.uint64(1)
                continue
            share = room.waiting_shares[place]
            waiting -= 1
            room.waiting[place] = room.waiting[np.uint64(waiting)]
            room.waiting_shares[place] = room.waiting_shares[np.uint64(waiting)]
            record = tree.records[node]
            if record.kind == END:
                room.leaves[found] = np.int64(node)
                room.shares[found] = share
                found += 1
                continue
            first = record.first
            for child in range(first, first + (tree.links[node, N_CHILDREN] if record.kind == RARE else 2)):
                if tree.shares[child] > 0.0:
                    room.waiting[waiting] = child
                    room.waiting_shares[waiting] = share * tree.shares[child]
                    waiting += 1
    return found
