"""Error-based pruning with subtree raising: a node may also be replaced by its heaviest branch.

C4.5's third choice beside "keep the subtree" and "make it a leaf" (Quinlan 1993, chapter 4; in
the order and with the constants of Weka's J48). All training rows of the node then run down the
raised branch, so its leaves are estimated anew, and the raised subtree is pruned once more.

Of rows with missing values all of a node run again when its branch is raised, since the branches' shares change with
the rows; else only those of the other branches do: a row is among those at most log2(n) times on its way up, since
the raised branch is the heaviest. What is raised is estimated anew, node by node. For what is only tried see
:mod:`learners.trees.pruning.raising_trial`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from learners._accel import inner_kernel, kernel
from learners.table import Column
from learners.trees.branching import (
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
)
from learners.trees.cells import has_gaps, read_only
from learners.trees.criteria import impurity_sum
from learners.trees.nodes import LEAF, LEVELS, THRESHOLD, Nodes
from learners.trees.pruning.compaction import cut
from learners.trees.pruning.error_based import SLACK, SMALL, check_confidence, estimated_errors, normal_quantile
from learners.trees.pruning.raising_rows import (
    Data,
    Entries,
    How,
    Pool,
    State,
    Tree,
    adopt,
    children_of,
    collected,
    descend,
    make_leaf,
)
from learners.trees.pruning.raising_trial import errors_of_branch
from learners.trees.traverse import pack
from learners.types import BoolArray, FloatArray, Int32Array, IntArray


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
        cells: training cells by column, shape (d, n), as :func:`learners.trees.cells.by_column` gives them.
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
    tree = Tree(packed.links, packed.splits, packed.levels, nodes.rows.copy(), nodes.weight.copy(), nodes.value.copy())
    tested = np.unique(nodes.feature[nodes.feature >= 0])
    coded = [not column.is_numeric for column in columns] + [False] * len(nodes.combined)
    extended = read_only(nodes.combined.extended(cells))
    divided = _may_be_divided(nodes, extended, tested, coded)
    data = Data(extended, codes.astype(np.int64), divided, bool(0 < divided.mean() <= 0.5))
    raised = _prune(tree, data, weights.astype(np.float64), confidence, normal_quantile(confidence))
    pruned = cut(_unpacked(nodes, tree, raised), tree.links[:, TEST] == LEAF)
    return _measured(pruned, criterion)


def _may_be_divided(nodes: Nodes, cells: FloatArray, tested: IntArray | Int32Array, coded: list[bool]) -> BoolArray:
    """Of each row whether some test might send it down several branches; none where no tested value is missing."""
    divided = np.zeros(cells.shape[1], dtype=np.bool_)
    if not has_gaps(cells[tested], [coded[index] for index in tested]):
        return divided
    for index in tested.tolist():
        divided |= np.isnan(cells[index]) | (coded[index] & (cells[index] < 0))
    at = np.flatnonzero((nodes.test == LEVELS) & (nodes.other_branch < 0))
    for index in np.unique(nodes.feature[at]).tolist():
        own = at[nodes.feature[at] == index]
        divided |= ~np.isin(cells[index], _listed_by_all(nodes, own))
    return divided


def _listed_by_all(nodes: Nodes, at: IntArray) -> Int32Array:
    """The codes that each of some nodes lists."""
    codes, counts = np.unique(np.concatenate([nodes.levels_of(node)[0] for node in at.tolist()]), return_counts=True)
    listed: Int32Array = codes[counts == len(at)]
    return listed


def _unpacked(nodes: Nodes, tree: Tree, raised: BoolArray) -> Nodes:
    """The changed tree as a node array; tests of leaves are still those from before.

    The impurity of a node with other rows than before, and the gain of one with another test or
    other rows, are NaN.
    """
    test = tree.links[:, TEST].astype(np.int8)
    test[test == CODE_THRESHOLD] = THRESHOLD
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
def _prune(tree: Tree, data: Data, weights: FloatArray, confidence: float, quantile: float) -> BoolArray:
    """Post-order over the stale part of the tree; a raised node is put back on the stack.

    Returns:
        Which nodes got another test or other rows.
    """
    n_nodes, n_rows = tree.weight.shape[0], weights.shape[0]
    complete = not data.divided.any()
    none = np.full(n_nodes, -1, dtype=np.int64)
    pool = Pool(none, [0][:0], [0.0][:0], [0][:0], np.full(1, -1, dtype=np.int64), none.copy(), [0][:0])
    state = State(
        np.zeros(n_nodes),
        np.zeros(n_nodes),
        np.ones(n_nodes, dtype=np.bool_),
        np.zeros(n_nodes, dtype=np.bool_),
        np.zeros(n_nodes, dtype=np.bool_),
        tree.weight if complete else np.zeros(n_nodes),
        tree.value if complete else np.zeros_like(tree.value),
        np.zeros(n_rows),
    )
    everything = Entries([0][:0], [0.0][:0])
    for row in range(n_rows):
        if weights[row] > 0:
            everything.row.append(row)
            everything.weight.append(weights[row])
    descend(tree, data, 0, everything, pool, state, How(False, False, True, confidence, quantile, np.inf))
    if data.apart:
        _set_bases(tree, data, pool, state)
    stack = [(0, False)]
    while len(stack) > 0:
        node, ready = stack.pop()
        if tree.links[node, TEST] != LEAF and not ready:
            stack.append((node, True))
            for child in children_of(tree, node):
                if state.stale[child]:
                    stack.append((child, False))
        else:
            state.stale[node] = False
            if _replaced(tree, data, node, pool, state, How(False, complete, False, confidence, quantile, np.inf)):
                stack.append((node, False))
    return state.changed


@inner_kernel
def _set_bases(tree: Tree, data: Data, pool: Pool, state: State) -> None:
    """What stays at each node and whether rows are there that may be divided; children before parents."""
    for node in range(tree.weight.shape[0] - 1, -1, -1):
        entry = pool.head[node]
        while entry >= 0:
            row = pool.row[entry]
            if data.divided[row]:
                state.has_divided[node] = True
            else:
                state.base_value[node, data.codes[row]] += pool.weight[entry]
            entry = pool.following[entry]
        for child in children_of(tree, node):
            state.base_value[node] += state.base_value[child]
            state.has_divided[node] = state.has_divided[node] or state.has_divided[child]
        state.base_weight[node] = state.base_value[node].sum()


@inner_kernel
def _replaced(tree: Tree, data: Data, node: int, pool: Pool, state: State, how: How) -> bool:
    """Choose among subtree, leaf and heaviest branch; true if the branch was raised, to be pruned again.

    ``how.adding``: no row may be divided.
    """
    as_leaf = estimated_errors(tree.weight[node], tree.value[node], how.confidence, how.quantile)
    state.estimate[node] = as_leaf
    if data.apart:
        value = state.base_value[node]
        state.least[node] = estimated_errors(state.base_weight[node], value, how.confidence, how.quantile)
    if tree.links[node, TEST] == LEAF:
        return False
    heaviest, as_tree = children_of(tree, node).start, 0.0
    for child in children_of(tree, node):
        as_tree += state.estimate[child]
        if tree.weight[child] >= tree.weight[heaviest] - SMALL:
            heaviest = child  # of equally heavy branches the last, as J48 does
    as_branch = as_leaf
    if tree.links[heaviest, TEST] != LEAF:
        as_branch = errors_of_branch(tree, data, node, heaviest, pool, state, how, (as_leaf, as_tree))
    if as_leaf <= as_tree + SLACK + SMALL and as_leaf <= as_branch + SLACK + SMALL:
        make_leaf(tree, pool, node)
        return False
    if as_branch <= as_tree + SLACK + SMALL:
        entries = collected(tree, pool, node, heaviest if how.adding else -1, state, True)
        adopt(tree, node, heaviest)
        change = How(True, how.adding, True, how.confidence, how.quantile, np.inf)
        descend(tree, data, node, entries, pool, state, change)
        return True
    state.estimate[node] = as_tree
    if data.apart:
        state.least[node] = 0.0
        for child in children_of(tree, node):
            state.least[node] += state.least[child]
    return False
