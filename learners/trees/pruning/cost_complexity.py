"""Cost-complexity pruning: CART's nested sequence of trees and the alpha at which each begins.

Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees" (1984), chapter 3. A
tree's cost is the risk of its leaves plus alpha times their number. A node becomes a leaf at the
alpha where that costs no more than the best pruned form of its subtree. The risk of a node is what
its rows lose by the best decision for all of them, as in the book, or their impurity.

As alpha grows, the best form of a subtree loses one descendant's subtree after another: a list of
steps (alpha, rise of impurity, fall of leaves). A node's own alpha lies where its line meets that
list: steps beyond it never happen. With the steps in mergeable heaps, largest alpha on top, each
step is pushed once and popped once, so the whole takes N log N however deep the tree is.
"""

from __future__ import annotations

import numpy as np

from learners._accel import inner_kernel, kernel
from learners.decisions import expected_utility, regrets
from learners.errors import ParameterError
from learners.trees.nodes import LEAF, Nodes
from learners.trees.pruning.compaction import cut
from learners.types import BoolArray, FloatArray, Int8Array, Int32Array, IntArray

#: Alphas that differ by less than this share of the largest are one step: rounding, not a difference.
TIE = 1e-12


def impurity_risks(nodes: Nodes) -> FloatArray:
    """Impurity of each node by its share of the training weight, float64 (N,)."""
    risks: FloatArray = nodes.impurity * (nodes.weight / nodes.weight[0])
    return risks


def error_risks(nodes: Nodes, utility: FloatArray | None = None) -> FloatArray:
    """What the training rows of each node lose by the best decision for all of them, by the training weight, (N,).

    Args:
        nodes: of a classification tree without leaf estimates.
        utility: shape (K, K), see :mod:`learners.decisions`; ``None``: a wrong decision loses 1.
    """
    if utility is None:
        losses = nodes.weight - nodes.value.max(axis=1)
    else:
        losses = expected_utility(nodes.value, regrets(utility, len(utility))).min(axis=1)
    risks: FloatArray = losses / nodes.weight[0]
    return risks


def cost_complexity_path(nodes: Nodes, risks: FloatArray | None = None) -> tuple[FloatArray, FloatArray, IntArray]:
    """The alphas at which the best pruned tree changes, the total risk of its leaves from there on, and their number.

    Args:
        nodes: any tree.
        risks: shape (N,); ``None``: :func:`impurity_risks`.

    Returns:
        Three arrays of one length; the first alpha is 0, the last leaves the root alone. Nodes with
        the same alpha are pruned in one step, as CART does.
    """
    risks = impurity_risks(nodes) if risks is None else risks
    alpha, rise, fall, happens = _pruning_steps(nodes.test, nodes.parent, nodes.n_children, risks)
    order = np.flatnonzero(happens)
    order = order[np.argsort(alpha[order], kind="stable")]
    total = float(risks[nodes.test == LEAF].sum())
    alphas = np.concatenate(([0.0], alpha[order]))
    totals = total + np.concatenate(([0.0], np.cumsum(rise[order])))
    last_of_step = np.append(np.diff(alphas) > TIE * alphas[-1], True)
    first_of_step = np.insert(last_of_step[:-1], 0, True)
    leaves = nodes.n_leaves - np.concatenate(([0], np.cumsum(fall[order])))
    return alphas[first_of_step], totals[last_of_step], leaves[last_of_step]


def prune_cost_complexity(nodes: Nodes, *, alpha: float, risks: FloatArray | None = None) -> Nodes:
    """The smallest tree that is best at this price of a leaf.

    Args:
        nodes, risks: as for :func:`cost_complexity_path`.
        alpha: >= 0, in the unit of the risks.

    Raises:
        ParameterError: alpha is negative or no number.
    """
    if not alpha >= 0:
        raise ParameterError(f"alpha must be >= 0; it is {alpha}", field="alpha")
    alphas, slack = node_alphas(nodes, risks)
    return cut(nodes, alphas <= alpha + slack)


def node_alphas(nodes: Nodes, risks: FloatArray | None = None) -> tuple[FloatArray, float]:
    """The price of a leaf from which each node is one, infinite for leaves, and how far prices may round."""
    risks = impurity_risks(nodes) if risks is None else risks
    alphas, _, _, _ = _pruning_steps(nodes.test, nodes.parent, nodes.n_children, risks)
    finite = alphas[np.isfinite(alphas)]
    return alphas, TIE * float(finite.max(initial=0.0))


@kernel
def _pruning_steps(
    test: Int8Array, parent: Int32Array, n_children: Int32Array, risk: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray, BoolArray]:
    """Each inner node's alpha, the rise of risk and fall of leaves then, and whether it still stands.

    Children before parents. ``heap[node]`` is the top of the heap of the steps below the node;
    ``pruned_risk`` and ``pruned_leaves`` describe the subtree after all these steps.
    """
    count = test.shape[0]
    alpha = np.full(count, np.inf)
    rise = np.zeros(count)
    fall = np.zeros(count, dtype=np.int64)
    happens = np.zeros(count, dtype=np.bool_)
    heap = np.full(count, -1, dtype=np.int64)
    links = np.full((2, count), -1, dtype=np.int64)
    rank = np.zeros(count, dtype=np.int64)
    path = np.empty(128, dtype=np.int64)
    pruned_risk = np.zeros(count)
    for node in range(count - 1, -1, -1):
        if test[node] != LEAF:
            below, leaves = pruned_risk[node], n_children[node]
            top = heap[node]
            price = max((risk[node] - below) / (leaves - 1), 0.0) if leaves > 1 else 0.0
            while top >= 0 and alpha[top] >= price:
                below -= rise[top]
                leaves += fall[top]
                happens[top] = False
                top = _merged(links[0, top], links[1, top], alpha, links, rank, path)
                price = max((risk[node] - below) / (leaves - 1), 0.0)
            alpha[node], rise[node], fall[node] = price, risk[node] - below, leaves - 1
            happens[node] = True
            heap[node] = _merged(node, top, alpha, links, rank, path)
        if parent[node] >= 0:
            pruned_risk[parent[node]] += risk[node]
            heap[parent[node]] = _merged(heap[parent[node]], heap[node], alpha, links, rank, path)
    return alpha, rise, fall, happens


@inner_kernel
def _merged(first: int, second: int, key: FloatArray, links: IntArray, rank: IntArray, path: IntArray) -> int:
    """Merge two leftist heaps, largest key on top; -1 is the empty heap.

    ``links[0]`` is the heavier side, so the right spine that is walked has at most log2(N) nodes;
    ``path`` is room for two of them.
    """
    length = 0
    while first >= 0 and second >= 0:
        if key[first] < key[second]:
            first, second = second, first
        path[length] = first
        length += 1
        first = links[1, first]
    below = first if first >= 0 else second
    for index in range(length - 1, -1, -1):
        node = path[index]
        links[1, node] = below
        left, right = links[0, node], links[1, node]
        if left < 0 or rank[left] < rank[right]:
            links[0, node], links[1, node] = right, left
        short = links[1, node]
        rank[node] = 0 if short < 0 else rank[short] + 1
        below = node
    return below
