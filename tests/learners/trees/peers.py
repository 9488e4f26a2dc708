"""scikit-learn's trees as node arrays, so that prunings can be compared on the very same tree."""

from collections import deque

import numpy as np

from learners.trees.nodes import LEAF, THRESHOLD, Nodes


def nodes_of_peer(tree, *, classification=True):
    """A fitted ``sklearn.tree`` tree renumbered breadth first; the second value maps our ids to its ids."""
    order, links = _breadth_first(tree)
    inner = tree.children_left[order] >= 0
    n_nodes = len(order)
    weight = tree.weighted_n_node_samples[order]
    value = tree.value[order][:, 0, :]
    parent = np.array([link[0] for link in links], dtype=np.int32)
    values = value * weight[:, None] if classification else np.column_stack([value[:, 0], tree.impurity[order]])
    depth = np.zeros(n_nodes, dtype=np.int32)
    for node in range(1, n_nodes):
        depth[node] = depth[parent[node]] + 1
    nodes = Nodes(
        test=np.where(inner, THRESHOLD, LEAF).astype(np.int8),
        feature=np.where(inner, tree.feature[order], -1).astype(np.int32),
        threshold=np.where(inner, tree.threshold[order], np.nan),
        first_child=np.array([link[1] for link in links], dtype=np.int32),
        n_children=np.where(inner, 2, 0).astype(np.int32),
        parent=parent,
        depth=depth,
        missing_branch=np.full(n_nodes, -1, dtype=np.int32),
        other_branch=np.full(n_nodes, -1, dtype=np.int32),
        fraction=np.where(parent >= 0, weight / weight[parent], 1.0),
        level_start=np.zeros(n_nodes, dtype=np.int32),
        level_count=np.zeros(n_nodes, dtype=np.int32),
        level_codes=np.zeros(0, dtype=np.int32),
        level_branch=np.zeros(0, dtype=np.int32),
        rows=tree.n_node_samples[order].astype(np.int64),
        weight=weight,
        value=values,
        impurity=tree.impurity[order],
        gain=np.zeros(n_nodes),
        upper=np.full(n_nodes, np.nan),
    )
    return nodes, order


def _breadth_first(tree):
    order, links, queue = [0], [[-1, -1]], deque([0])
    while queue:
        mine = queue.popleft()
        left, right = tree.children_left[order[mine]], tree.children_right[order[mine]]
        if left >= 0:
            links[mine][1] = len(order)
            for child in (left, right):
                links.append([mine, -1])
                queue.append(len(order))
                order.append(child)
    return np.array(order), links


def chain(n_leaves, class_weights):
    """A left-deep tree on one column: the inner node at depth k sends ``x <= k`` to a leaf.

    ``class_weights`` has shape (n_leaves, K); the last leaf is the end of the chain.
    """
    n_nodes = 2 * n_leaves - 1
    ids = np.arange(n_nodes)
    inner = np.zeros(n_nodes, dtype=bool)
    inner[0:-1:2] = True  # 0 -> (1 leaf, 2 inner), 2 -> (3 leaf, 4 inner), ...
    value = np.zeros((n_nodes, class_weights.shape[1]))
    value[1::2] = class_weights[:-1]
    value[-1] = class_weights[-1]
    for node in range(n_nodes - 3, -1, -2):
        value[node] = value[node + 1] + value[node + 2]
    weight = value.sum(axis=1)
    parent = np.where(ids % 2 == 1, ids - 1, ids - 2).astype(np.int32)
    parent[0] = -1
    shares = value / weight[:, None]
    return Nodes(
        test=np.where(inner, THRESHOLD, LEAF).astype(np.int8),
        feature=np.where(inner, 0, -1).astype(np.int32),
        threshold=np.where(inner, ids / 2, np.nan),
        first_child=np.where(inner, ids + 1, -1).astype(np.int32),
        n_children=np.where(inner, 2, 0).astype(np.int32),
        parent=parent,
        depth=((ids + 1) // 2).astype(np.int32),
        missing_branch=np.full(n_nodes, -1, dtype=np.int32),
        other_branch=np.full(n_nodes, -1, dtype=np.int32),
        fraction=np.where(parent >= 0, weight / weight[parent], 1.0),
        level_start=np.zeros(n_nodes, dtype=np.int32),
        level_count=np.zeros(n_nodes, dtype=np.int32),
        level_codes=np.zeros(0, dtype=np.int32),
        level_branch=np.zeros(0, dtype=np.int32),
        rows=np.rint(weight).astype(np.int64),
        weight=weight,
        value=value,
        impurity=1 - (shares**2).sum(axis=1),
        gain=np.zeros(n_nodes),
        upper=np.full(n_nodes, np.nan),
    )
