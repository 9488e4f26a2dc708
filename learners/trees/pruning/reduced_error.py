"""Reduced-error pruning: subtrees that do not pay on rows kept back from growing become leaves.

A node's loss is what the kept-back rows that reach it would lose if it were a leaf; rows divided by
missing values count with their shares at each leaf. Two orders are offered:

* ``bottom-up`` (Quinlan 1987): from the leaves upwards a subtree is cut where its leaves lose no less
  than its root as a leaf. This is the smallest tree of least loss.
* ``best-first``: again and again the one node is cut that saves most, the nearest to the root among
  equals, as long as no loss rises.

Best first looks like a queue whose entries change with every cut. But the node that is cut saves at
least as much as any node above it would, so once it is cut none above it saves more than nothing,
and after a second cut that saves something below it, it never will. So one pass over the nodes in
order of their first saving does it, and each node is looked at three times at most.
"""

from __future__ import annotations

import numpy as np

from learners._accel import kernel
from learners.trees.nodes import Nodes
from learners.trees.pruning.compaction import cut
from learners.types import Array, BoolArray, FloatArray, Int32Array, IntArray

BOTTOM_UP, BEST_FIRST = "bottom-up", "best-first"
#: Losses nearer than this share of the largest are equal: fractions of rows round.
_TIE = 1e-12


def prune_reduced_error(nodes: Nodes, losses: FloatArray, *, order: str = BOTTOM_UP) -> Nodes:
    """Cut where that does not raise the loss on kept-back rows.

    Args:
        nodes: any tree.
        losses: shape (N,), each node's loss as a leaf; see :func:`class_losses` and :func:`squared_losses`.
        order: ``bottom-up`` or ``best-first``.
    """
    slack = _TIE * float(np.max(losses, initial=0.0))
    if order == BOTTOM_UP:
        return cut(nodes, _bottom_up(nodes.parent, nodes.n_children, losses, slack))
    savings = _savings(nodes.parent, nodes.n_children, losses)
    by_saving = np.argsort(-savings, kind="stable")
    return cut(nodes, _best_first(nodes.parent, nodes.first_child, nodes.n_children, savings, by_saving, slack))


def class_losses(
    nodes: Nodes,
    entries: tuple[Array, IntArray, FloatArray],
    codes: IntArray,
    weights: FloatArray,
    decided: IntArray,
    lost: FloatArray,
) -> FloatArray:
    """What rows would lose at each node by its decision.

    Args:
        nodes: a classification tree.
        entries: leaves, rows and shares of the kept-back rows (:meth:`learners.trees.traverse.PackedTree.placed`).
        codes, weights: by row, shape (n,).
        decided: code of the class that each node decides for, shape (N,).
        lost: shape (K, K), what a decision loses for each true class.
    """
    leaves, rows, shares = entries
    n_classes = len(lost)
    places = leaves.astype(np.int64) * n_classes + codes[rows]
    counts: FloatArray = np.bincount(places, shares * weights[rows], nodes.n_nodes * n_classes).astype(np.float64)
    sums = counts.reshape(nodes.n_nodes, n_classes)
    _add_to_parents(sums, nodes.parent)
    losses: FloatArray = np.einsum("nk,nk->n", sums, lost[decided])
    return losses


def squared_losses(
    nodes: Nodes, entries: tuple[Array, IntArray, FloatArray], target: FloatArray, weights: FloatArray
) -> FloatArray:
    """The sum of squared errors of rows at each node against its mean; arguments as for :func:`class_losses`."""
    leaves, rows, shares = entries
    middle = nodes.value[0, 0]  # near zero, squares round less
    numbers, own = target[rows] - middle, shares * weights[rows]
    moments = [np.bincount(leaves, own * numbers**power, nodes.n_nodes) for power in range(3)]
    sums: FloatArray = np.column_stack(moments).astype(np.float64)
    _add_to_parents(sums, nodes.parent)
    means = nodes.value[:, 0] - middle
    losses: FloatArray = np.maximum(sums[:, 2] - 2 * means * sums[:, 1] + means**2 * sums[:, 0], 0.0)
    return losses


@kernel
def _add_to_parents(sums: FloatArray, parent: Int32Array) -> None:
    for node in range(sums.shape[0] - 1, 0, -1):
        for k in range(sums.shape[1]):
            sums[parent[node], k] += sums[node, k]


@kernel
def _bottom_up(parent: Int32Array, n_children: Int32Array, losses: FloatArray, slack: float) -> BoolArray:
    """Where the pruned subtree loses no less than the node as a leaf; children before parents."""
    at = np.zeros(losses.shape[0], np.bool_)
    below = np.zeros(losses.shape[0])
    for node in range(losses.shape[0] - 1, -1, -1):
        if n_children[node] == 0 or losses[node] <= below[node] + slack:
            at[node] = True
            below[node] = losses[node]
        if parent[node] >= 0:
            below[parent[node]] += below[node]
    return at


@kernel
def _savings(parent: Int32Array, n_children: Int32Array, losses: FloatArray) -> FloatArray:
    """By how much the loss falls if a node of the whole tree is cut; minus infinity for leaves."""
    below = np.zeros(losses.shape[0])
    savings = np.full(losses.shape[0], -np.inf)
    for node in range(losses.shape[0] - 1, -1, -1):
        if n_children[node] == 0:
            below[node] = losses[node]
        else:
            savings[node] = below[node] - losses[node]
        if parent[node] >= 0:
            below[parent[node]] += below[node]
    return savings


@kernel
def _best_first(
    parent: Int32Array,
    first_child: Int32Array,
    n_children: Int32Array,
    savings: FloatArray,
    by_saving: IntArray,
    slack: float,
) -> BoolArray:
    """The nodes to cut, in the order of their savings; then those that cost nothing, from the root downwards."""
    count = savings.shape[0]
    at = np.zeros(count, np.bool_)
    gone = np.zeros(count, np.bool_)
    cuts_below = np.zeros(count, np.int8)
    stack = np.empty(count, np.int64)
    left = savings.copy()
    for node in by_saving:
        if savings[node] <= slack:
            break
        if gone[node] or cuts_below[node] > 0:
            continue
        at[node] = True
        above = parent[node]
        while above >= 0 and cuts_below[above] < 2:
            cuts_below[above] += 1
            left[above] = left[above] - savings[node] if cuts_below[above] == 1 else -np.inf
            above = parent[above]
        size = 1
        stack[0] = node
        while size > 0:
            size -= 1
            one = stack[size]
            for child in range(first_child[one], first_child[one] + n_children[one]):
                if not at[child]:
                    stack[size] = child
                    size += 1
                gone[child] = True
    for node in range(count):
        if n_children[node] > 0 and left[node] >= -slack:
            at[node] = True
    return at
