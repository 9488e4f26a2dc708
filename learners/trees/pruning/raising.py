"""Error-based pruning with subtree raising: a node may also be replaced by its heaviest branch.

C4.5's third choice beside "keep the subtree" and "make it a leaf" (Quinlan 1993, chapter 4; in
the order and with the constants of Weka's J48). All training rows of the node then run down the
raised branch, so its leaves are estimated anew, and the raised subtree is pruned once more.

Where no tested value is missing, only the rows of the other branches have to run: a row is among
those at most log2(n) times on its way up, since the raised branch is the heaviest. With missing
values the shares of the branches change with the rows, so all rows of the node run again: rows
times depth squared at worst, which only trees of hundreds of levels feel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from learners._accel import inner_kernel, kernel
from learners.table import Column
from learners.trees.criteria import impurity_sum
from learners.trees.nodes import LEAF, LEVELS, THRESHOLD, Nodes
from learners.trees.pruning.compaction import cut
from learners.trees.pruning.error_based import SLACK, SMALL, check_confidence, estimated_errors, normal_quantile
from learners.trees.setup import has_gaps
from learners.trees.traverse import (
    CODE_THRESHOLD,
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
    pack,
)
from learners.types import BoolArray, FloatArray, Int32Array, IntArray


class _Tree(NamedTuple):
    """The tree that changes, laid out for :func:`~learners.trees.traverse.branch_of`, and its statistics."""

    links: Int32Array
    splits: FloatArray
    levels: Int32Array
    rows: IntArray
    weight: FloatArray
    value: FloatArray


class _Data(NamedTuple):
    cells: FloatArray  # (d, n)
    codes: IntArray  # (n,) class of each row


class _Entries(NamedTuple):
    """Rows with their weights, as two growing lists."""

    row: list[int]
    weight: list[float]


class _Pool(NamedTuple):
    """The rows of each leaf as linked lists: ``head[leaf]`` is an entry, ``following`` leads on; -1 ends."""

    head: IntArray
    row: list[int]
    weight: list[float]
    following: list[int]
    free: IntArray  # (1,) head of the list of unused entries


class _State(NamedTuple):
    """Of each node the estimated errors of its pruned subtree, and whether that is out of date; room for sums."""

    estimate: FloatArray
    stale: BoolArray
    changed: BoolArray  # got another test or other rows
    sums: FloatArray  # (n,), all zeros between uses


class _How(NamedTuple):
    """What running rows down a branch does.

    ``changing``: the nodes' statistics change. ``adding``: the rows come on top of those that are
    there. ``keeping``: the leaves' lists take them. ``limit``: errors above it need not be exact.
    """

    changing: bool
    adding: bool
    keeping: bool
    confidence: float
    quantile: float
    limit: float


def prune_with_raising(
    nodes: Nodes,
    columns: Sequence[Column],
    cells: FloatArray,
    codes: IntArray | Int32Array,
    weights: FloatArray,
    *,
    criterion: int,
    confidence: float = 0.25,
) -> Nodes:
    """Replace subtrees by a leaf or by their heaviest branch where that is estimated no worse.

    Args:
        nodes: a classification tree grown on the rows that follow.
        columns: d columns.
        cells: training cells by column, shape (d, n), as :func:`learners.trees.setup.by_column` gives them.
        codes: class code of each row, shape (n,).
        weights: weight of each row, shape (n,).
        criterion: ``ENTROPY`` or ``GINI``, in which impurities and gains are measured anew.
        confidence: in (0, 0.5]; smaller values prune more.

    Returns:
        The pruned tree. Where a branch was raised, the statistics are those of the rows that now
        get there; ``gain`` is the impurity less the mean impurity of the children.

    Raises:
        ParameterError: confidence out of its range.
    """
    check_confidence(confidence)
    packed = pack(nodes, columns, regression=False)
    tree = _Tree(packed.links, packed.splits, packed.levels, nodes.rows.copy(), nodes.weight.copy(), nodes.value.copy())
    tested = np.unique(nodes.feature[nodes.feature >= 0])
    complete = not has_gaps(cells[tested], [not columns[index].is_numeric for index in tested])
    data = _Data(cells, codes.astype(np.int64))
    raised = _prune(tree, data, weights.astype(np.float64), complete, confidence, normal_quantile(confidence))
    pruned = cut(_unpacked(nodes, tree, raised), tree.links[:, TEST] == LEAF)
    return _measured(pruned, criterion)


def _unpacked(nodes: Nodes, tree: _Tree, raised: BoolArray) -> Nodes:
    """The changed tree as a node array; tests of leaves are still those from before.

    The impurity of a node with other rows than before, and the gain of one with another test or
    other rows, are NaN.
    """
    test = np.minimum(tree.links[:, TEST], LEVELS).astype(np.int8)
    test[tree.links[:, TEST] == CODE_THRESHOLD] = THRESHOLD
    return replace(
        nodes,
        test=test,
        feature=tree.links[:, FEATURE],
        threshold=tree.splits[:, SPLIT],
        first_child=tree.links[:, FIRST_CHILD],
        n_children=tree.links[:, N_CHILDREN],
        missing_branch=tree.links[:, MISSING_BRANCH],
        other_branch=tree.links[:, OTHER_BRANCH],
        fraction=tree.splits[:, SHARE],
        level_start=tree.links[:, LEVEL_START],
        level_count=tree.links[:, LEVEL_COUNT],
        rows=tree.rows,
        weight=tree.weight,
        value=tree.value,
        impurity=np.where((tree.value == nodes.value).all(axis=1), nodes.impurity, np.nan),
        gain=np.where(raised, np.nan, nodes.gain),
    )


def _measured(nodes: Nodes, criterion: int) -> Nodes:
    """Fill in the impurities and gains that are NaN."""
    impurity, gain = nodes.impurity.copy(), nodes.gain.copy()
    for node in np.flatnonzero(np.isnan(impurity)):
        impurity[node] = float(impurity_sum(nodes.value[node], criterion)) / float(nodes.value[node].sum())
    inner = nodes.test != LEAF
    below = np.zeros(nodes.n_nodes)
    np.add.at(below, nodes.parent[1:], (nodes.weight * impurity)[1:])
    decrease = np.maximum(impurity - below / np.maximum(nodes.weight, SMALL), 0.0)
    gain = np.where(inner, np.where(np.isnan(gain), decrease, gain), 0.0)
    return replace(nodes, impurity=impurity, gain=gain)


@kernel
def _prune(
    tree: _Tree, data: _Data, weights: FloatArray, complete: bool, confidence: float, quantile: float
) -> BoolArray:
    """Post-order over the stale part of the tree; a raised node is put back on the stack.

    Returns:
        Which nodes got another test or other rows.
    """
    n_nodes = tree.weight.shape[0]
    none = np.full(n_nodes, -1, dtype=np.int64)
    pool = _Pool(none, [0][:0], [0.0][:0], [0][:0], np.full(1, -1, dtype=np.int64))
    state = _State(
        np.zeros(n_nodes),
        np.ones(n_nodes, dtype=np.bool_),
        np.zeros(n_nodes, dtype=np.bool_),
        np.zeros(weights.shape[0]),
    )
    everything = _Entries([0][:0], [0.0][:0])
    for row in range(weights.shape[0]):
        if weights[row] > 0:
            everything.row.append(row)
            everything.weight.append(weights[row])
    _descend(tree, data, 0, everything, pool, state, _How(False, False, True, confidence, quantile, np.inf))
    stack = [(0, False)]
    while len(stack) > 0:
        node, ready = stack.pop()
        if tree.links[node, TEST] != LEAF and not ready:
            stack.append((node, True))
            for child in _children(tree, node):
                if state.stale[child]:
                    stack.append((child, False))
        else:
            state.stale[node] = False
            if _replaced(tree, data, node, pool, state, _How(False, complete, False, confidence, quantile, np.inf)):
                stack.append((node, False))
    return state.changed


@inner_kernel
def _replaced(tree: _Tree, data: _Data, node: int, pool: _Pool, state: _State, how: _How) -> bool:
    """Choose among subtree, leaf and heaviest branch; true if the branch was raised, to be pruned again."""
    as_leaf = estimated_errors(tree.weight[node], tree.value[node], how.confidence, how.quantile)
    state.estimate[node] = as_leaf
    if tree.links[node, TEST] == LEAF:
        return False
    heaviest, as_tree = _children(tree, node).start, 0.0
    for child in _children(tree, node):
        as_tree += state.estimate[child]
        if tree.weight[child] >= tree.weight[heaviest] - SMALL:
            heaviest = child  # of equally heavy branches the last, as J48 does
    without = heaviest if how.adding else -1
    as_branch = as_leaf
    if tree.links[heaviest, TEST] != LEAF:
        entries = _collected(tree, pool, node, without, state.sums, False)
        limit = max(as_leaf, as_tree) + 1.0
        trial = _How(False, how.adding, False, how.confidence, how.quantile, limit)
        as_branch = _descend(tree, data, heaviest, entries, pool, state, trial)
    if as_leaf <= as_tree + SLACK + SMALL and as_leaf <= as_branch + SLACK + SMALL:
        _make_leaf(tree, pool, node)
        return False
    if as_branch <= as_tree + SLACK + SMALL:
        entries = _collected(tree, pool, node, without, state.sums, True)
        _adopt(tree, node, heaviest)
        change = _How(True, how.adding, True, how.confidence, how.quantile, np.inf)
        _descend(tree, data, node, entries, pool, state, change)
        return True
    state.estimate[node] = as_tree
    return False


@inner_kernel
def _descend(tree: _Tree, data: _Data, start: int, entries: _Entries, pool: _Pool, state: _State, how: _How) -> float:
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
                _change(tree, node, _counts(tree, data, entries, begin), len(entries.row) - begin, how.adding)
        if tree.links[node, TEST] != LEAF:
            _share_out(tree, data, node, entries, begin, stack, how)
            continue
        if not how.changing:
            counts = _counts(tree, data, entries, begin)
            if how.adding:
                errors -= state.estimate[node]
                counts += tree.value[node]
            errors += estimated_errors(counts.sum(), counts, how.confidence, how.quantile)
            if errors > how.limit and not how.adding:
                return errors
        while len(entries.row) > begin:
            row, weight = entries.row.pop(), entries.weight.pop()
            if how.keeping:
                _attach(pool, node, row, weight)
    return errors


@inner_kernel
def _counts(tree: _Tree, data: _Data, entries: _Entries, begin: int) -> FloatArray:
    """Class weights of the top segment."""
    counts = np.zeros(tree.value.shape[1])
    for index in range(begin, len(entries.row)):
        counts[data.codes[entries.row[index]]] += entries.weight[index]
    return counts


@inner_kernel
def _change(tree: _Tree, node: int, counts: FloatArray, n_rows: int, adding: bool) -> None:
    if not adding:
        tree.weight[node], tree.rows[node] = 0.0, 0
        if n_rows > 0:
            tree.value[node] = 0.0
    if n_rows > 0:
        tree.value[node] += counts
        tree.weight[node] += counts.sum()
        tree.rows[node] += n_rows


@inner_kernel
def _share_out(
    tree: _Tree, data: _Data, node: int, entries: _Entries, begin: int, stack: list[tuple[int, int]], how: _How
) -> None:
    """Replace the segment of a node by the segments of its children."""
    size, width = len(entries.row) - begin, len(_children(tree, node))
    rows, weights = np.empty(size, dtype=np.int64), np.empty(size)
    branches = np.empty(size, dtype=np.int64)
    known = np.zeros(width)
    for index in range(size - 1, -1, -1):
        rows[index], weights[index] = entries.row.pop(), entries.weight.pop()
        cell = data.cells[tree.links[node, FEATURE], rows[index]]
        branches[index] = branch_of(tree.links, tree.splits, tree.levels, node, cell)
        if branches[index] >= 0:
            known[branches[index]] += weights[index]
    first = _children(tree, node).start
    if how.adding:
        known += tree.weight[first : first + width]
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
def _children(tree: _Tree, node: int) -> range:
    first = int(np.int64(tree.links[node, FIRST_CHILD]))
    return range(first, first + int(np.int64(tree.links[node, N_CHILDREN])))


@inner_kernel
def _collected(tree: _Tree, pool: _Pool, node: int, without: int, sums: FloatArray, taking: bool) -> _Entries:
    """The rows in the leaves below a node, each once, less those of the branch ``without`` (-1: none).

    ``taking`` empties the leaves' lists. ``sums`` is all zeros before and after.
    """
    found = _Entries([0][:0], [0.0][:0])
    stack = [node]
    while len(stack) > 0:
        here = stack.pop()
        if tree.links[here, TEST] != LEAF:
            for child in _children(tree, here):
                if child != without:
                    stack.append(child)
            continue
        entry, last = pool.head[here], -1
        while entry >= 0:
            if sums[pool.row[entry]] == 0:
                found.row.append(pool.row[entry])
            sums[pool.row[entry]] += pool.weight[entry]
            last, entry = entry, pool.following[entry]
        if taking and last >= 0:
            pool.following[last] = pool.free[0]
            pool.free[0], pool.head[here] = pool.head[here], -1
    for row in found.row:
        found.weight.append(sums[row])
        sums[row] = 0.0
    return found


@inner_kernel
def _attach(pool: _Pool, leaf: int, row: int, weight: float) -> None:
    entry = pool.free[0]
    if entry >= 0:
        pool.free[0] = pool.following[entry]
        pool.row[entry], pool.weight[entry], pool.following[entry] = row, weight, pool.head[leaf]
    else:
        entry = len(pool.row)
        pool.row.append(row)
        pool.weight.append(weight)
        pool.following.append(pool.head[leaf])
    pool.head[leaf] = entry


@inner_kernel
def _make_leaf(tree: _Tree, pool: _Pool, node: int) -> None:
    """Turn a node into a leaf that takes over the rows of the leaves below it."""
    stack = [node]
    head = -1
    while len(stack) > 0:
        here = stack.pop()
        if tree.links[here, TEST] != LEAF:
            for child in _children(tree, here):
                stack.append(child)
            continue
        entry, last = pool.head[here], -1
        while entry >= 0:
            last, entry = entry, pool.following[entry]
        if last >= 0:
            pool.following[last], head = head, pool.head[here]
    tree.links[node, TEST] = LEAF
    pool.head[node] = head


@inner_kernel
def _adopt(tree: _Tree, node: int, child: int) -> None:
    """Put the child's test and children in the place of the node's own."""
    tree.links[node] = tree.links[child]
    tree.splits[node, SPLIT] = tree.splits[child, SPLIT]
