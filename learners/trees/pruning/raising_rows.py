"""The rows of a tree that is being pruned: run down branches, kept by leaf, collected again.

For :mod:`~learners.trees.pruning.raising`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners._accel import inner_kernel
from learners.trees.branching import FEATURE, FIRST_CHILD, N_CHILDREN, SHARE, SPLIT, TEST, branch_of
from learners.trees.nodes import LEAF
from learners.trees.pruning.error_based import estimated_errors
from learners.types import BoolArray, FloatArray, Int32Array, IntArray


class Tree(NamedTuple):
    """The tree that changes, laid out for :func:`~learners.trees.branching.branch_of`, and its statistics."""

    links: Int32Array
    splits: FloatArray
    levels: Int32Array
    rows: IntArray
    weight: FloatArray
    value: FloatArray


class Data(NamedTuple):
    """The training rows."""

    cells: FloatArray  # (d, n)
    codes: IntArray  # (n,) class of each row
    divided: BoolArray  # (n,) whether some test may divide the row; all others go one way and go it whole
    apart: bool  # those that may be divided are kept apart from the others: there are some, and not most


class Entries(NamedTuple):
    """Rows with their weights, as two growing lists."""

    row: list[int]
    weight: list[float]


class Pool(NamedTuple):
    """The rows of each leaf as linked lists: ``head[leaf]`` is an entry, ``following`` leads on; -1 ends.

    ``divided_head`` and ``divided_following`` lead through those entries alone whose rows may be divided.
    """

    head: IntArray
    row: list[int]
    weight: list[float]
    following: list[int]
    free: IntArray  # (1,) head of the list of unused entries
    divided_head: IntArray
    divided_following: list[int]


class State(NamedTuple):
    """What is known of each node beside the tree, and room for sums.

    ``base_weight`` and ``base_value`` are those of the rows that stay where they are when others are added: of
    all rows where none may be divided (the tree's own arrays), else of those that may not, where these are kept apart.
    """

    estimate: FloatArray  # errors of the pruned subtree
    least: FloatArray  # the same with those rows alone that stay where they are; kept where some may be divided
    stale: BoolArray  # that is out of date
    changed: BoolArray  # got another test or other rows
    has_divided: BoolArray  # rows that may be divided are there
    base_weight: FloatArray
    base_value: FloatArray
    sums: FloatArray  # (n,), all zeros between uses


class How(NamedTuple):
    """What running rows down a branch does.

    ``changing``: the nodes' statistics change. ``adding``: the rows come on top of those that stay
    there. ``keeping``: the leaves' lists take them. ``limit``: errors above it need not be exact.
    """

    changing: bool
    adding: bool
    keeping: bool
    confidence: float
    quantile: float
    limit: float


@inner_kernel
def descend(tree: Tree, data: Data, start: int, entries: Entries, pool: Pool, state: State, how: How) -> float:
    """Run rows from ``start`` down to the leaves; returns the estimated errors below ``start`` with them.

    The segments of the nodes on the stack lie end to end in ``entries``; the top one is replaced
    by those of its children.
    """
    errors = state.estimate[start] if how.adding else 0.0
    stack = [(start, 0)]
    while len(stack) > 0:
        node, begin = stack.pop()
        if how.changing:
            state.stale[node] = True
            state.changed[node] = True
            if node != start:
                change(tree, data, node, entries, begin, state, how.adding)
        if tree.links[node, TEST] != LEAF:
            share_out(tree, data, node, entries, begin, stack, state, how)
            continue
        if not how.changing:
            counts = class_weights(tree, data, entries, begin)
            if how.adding:
                errors -= state.estimate[node]
                counts += state.base_value[node] * (state.base_weight[node] > 0)  # of an empty leaf, its parent's
            errors += estimated_errors(counts.sum(), counts, how.confidence, how.quantile)
            if errors > how.limit and not how.adding:
                return errors
        while len(entries.row) > begin:
            row, weight = entries.row.pop(), entries.weight.pop()
            if how.keeping:
                attach(pool, node, row, weight, data.apart and data.divided[row])
    return errors


@inner_kernel
def class_weights(tree: Tree, data: Data, entries: Entries, begin: int) -> FloatArray:
    """Class weights of the top segment."""
    counts = np.zeros(tree.value.shape[1])
    for index in range(begin, len(entries.row)):
        counts[data.codes[entries.row[index]]] += entries.weight[index]
    return counts


@inner_kernel
def change(tree: Tree, data: Data, node: int, entries: Entries, begin: int, state: State, adding: bool) -> None:
    """Give a node the class weights of the top segment, or add them to its own."""
    n_rows = len(entries.row) - begin
    if not adding:
        tree.weight[node], tree.rows[node] = 0.0, 0
        if data.apart:
            set_base(data, node, entries, begin, state)
    if n_rows > 0:
        if tree.rows[node] == 0:
            tree.value[node] = 0.0  # it was the parent's
        counts = class_weights(tree, data, entries, begin)
        tree.value[node] += counts
        tree.weight[node] += counts.sum()
        tree.rows[node] += n_rows


@inner_kernel
def set_base(data: Data, node: int, entries: Entries, begin: int, state: State) -> None:
    """Take what stays at a node from the rows of the top segment, which are all that are there."""
    state.base_value[node] = 0.0
    state.has_divided[node] = False
    for index in range(begin, len(entries.row)):
        row = entries.row[index]
        if data.divided[row]:
            state.has_divided[node] = True
        else:
            state.base_value[node, data.codes[row]] += entries.weight[index]
    state.base_weight[node] = state.base_value[node].sum()


@inner_kernel
def share_out(
    tree: Tree,
    data: Data,
    node: int,
    entries: Entries,
    begin: int,
    stack: list[tuple[int, int]],
    state: State,
    how: How,
) -> None:
    """Replace the segment of a node by the segments of its children."""
    size, width = len(entries.row) - begin, len(children_of(tree, node))
    rows, weights = np.empty(size, dtype=np.int64), np.empty(size)
    branches = np.empty(size, dtype=np.int64)
    known = np.zeros(width)
    for index in range(size - 1, -1, -1):
        rows[index], weights[index] = entries.row.pop(), entries.weight.pop()
        cell = data.cells[tree.links[node, FEATURE], rows[index]]
        branches[index] = branch_of(tree.links, tree.splits, tree.levels, node, cell)
        if branches[index] >= 0:
            known[branches[index]] += weights[index]
    first = children_of(tree, node).start
    if how.adding:
        known += state.base_weight[first : first + width]
    total = known.sum()
    for branch in range(width):
        share = known[branch] / total if total > 0 else 1.0 / width
        if how.changing:
            tree.splits[first + branch, SHARE] = share
            if not how.adding and known[branch] == 0:
                tree.value[first + branch] = tree.value[node]
        position = len(entries.row)
        for index in range(size):
            if branches[index] == branch or (branches[index] < 0 and share > 0):
                entries.row.append(rows[index])
                entries.weight.append(weights[index] if branches[index] == branch else weights[index] * share)
        if len(entries.row) > position or (how.changing and not how.adding):
            stack.append((first + branch, position))


@inner_kernel
def children_of(tree: Tree, node: int) -> range:
    """Ids of a node's children."""
    first = int(np.int64(tree.links[node, FIRST_CHILD]))
    return range(first, first + int(np.int64(tree.links[node, N_CHILDREN])))


@inner_kernel
def collected(tree: Tree, pool: Pool, node: int, without: int, state: State, taking: bool) -> Entries:
    """The rows in the leaves below a node, each once; of the branch ``without`` (-1: none) those that may be divided.

    ``taking`` empties the leaves' lists.
    """
    found = Entries([0][:0], [0.0][:0])
    stack = [(node, True)]
    while len(stack) > 0:
        here, everything = stack.pop()
        if tree.links[here, TEST] != LEAF:
            for child in children_of(tree, here):
                all_there = everything and child != without
                if all_there or state.has_divided[child]:
                    stack.append((child, all_there))
            continue
        entry, last = pool.head[here] if everything else pool.divided_head[here], -1
        while entry >= 0:
            row = pool.row[entry]
            if state.sums[row] == 0:
                found.row.append(row)
            state.sums[row] += pool.weight[entry]
            last, entry = entry, pool.following[entry] if everything else pool.divided_following[entry]
        if taking and last >= 0:
            pool.following[last] = pool.free[0]
            pool.free[0], pool.head[here] = pool.head[here], -1
            pool.divided_head[here] = -1
    for row in found.row:
        found.weight.append(state.sums[row])
        state.sums[row] = 0.0
    return found


@inner_kernel
def attach(pool: Pool, leaf: int, row: int, weight: float, apart: bool) -> None:
    """Put a row into a leaf's list, and into that of rows kept apart if it is one."""
    entry = pool.free[0]
    if entry >= 0:
        pool.free[0] = pool.following[entry]
        pool.row[entry], pool.weight[entry], pool.following[entry] = row, weight, pool.head[leaf]
    else:
        entry = len(pool.row)
        pool.row.append(row)
        pool.weight.append(weight)
        pool.following.append(pool.head[leaf])
        pool.divided_following.append(-1)
    pool.head[leaf] = entry
    if apart:
        pool.divided_following[entry] = pool.divided_head[leaf]
        pool.divided_head[leaf] = entry


@inner_kernel
def joined(head: IntArray, following: list[int], leaf: int, before: int) -> int:
    """The list of a leaf with another one after it."""
    entry, last = head[leaf], -1
    while entry >= 0:
        last, entry = entry, following[entry]
    if last < 0:
        return before
    following[last] = before
    return int(head[leaf])


@inner_kernel
def make_leaf(tree: Tree, pool: Pool, node: int) -> None:
    """Turn a node into a leaf that takes over the rows of the leaves below it."""
    stack = [node]
    head, divided_head = -1, -1
    while len(stack) > 0:
        here = stack.pop()
        if tree.links[here, TEST] != LEAF:
            for child in children_of(tree, here):
                stack.append(child)
            continue
        head = joined(pool.head, pool.following, here, head)
        divided_head = joined(pool.divided_head, pool.divided_following, here, divided_head)
    tree.links[node, TEST] = LEAF
    pool.head[node], pool.divided_head[node] = head, divided_head


@inner_kernel
def adopt(tree: Tree, node: int, child: int) -> None:
    """Put the child's test and children in the place of the node's own."""
    tree.links[node] = tree.links[child]
    tree.splits[node, SPLIT] = tree.splits[child, SPLIT]
