"""What a node answers: class shares with or without pseudo-counts, or the mean or median of numbers.

This is the one place where estimates are made. They go into the node array itself: for classes
``value`` then holds class weights plus pseudo-counts, and :meth:`~learners.trees.nodes.Nodes.shares`,
from which predictions, explanations, rules, SQL and drawings take their numbers, divides by their sum.
``weight`` stays the rows' own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learners._accel import kernel
from learners.trees.nodes import Nodes
from learners.types import Array, FloatArray, Int32Array, IntArray

RAW, LAPLACE, M_ESTIMATE = "raw", "laplace", "m-estimate"
#: Weights nearer than this share of their sum are equal: fractions of rows round.
_TIE = 1e-9


def with_estimate(nodes: Nodes, estimate: str, m: float) -> Nodes:
    """Add the pseudo-counts of an estimate to every node's class weights.

    With n_k of a node's weight n in class k, and K classes (those without rows too):

    * ``raw``: n_k / n.
    * ``laplace``: (n_k + 1) / (n + K), Laplace's rule of succession.
    * ``m-estimate``: (n_k + m p_k) / (n + m) with the training class shares p_k (Cestnik 1990).

    A node without rows holds its parent's class weights, and so gets its parent's estimate.
    """
    if estimate == RAW:
        return nodes
    n_classes = nodes.value.shape[1]
    prior = np.ones(n_classes) if estimate == LAPLACE else m * nodes.value[0] / nodes.value[0].sum()
    return replace(nodes, value=nodes.value + prior)


def with_medians(
    nodes: Nodes, leaves: Array, rows: IntArray, shares: FloatArray, target: FloatArray, weights: FloatArray
) -> Nodes:
    """Put the weighted median of its rows in the place of each node's mean.

    The median is the least target up to which half of the weight lies; where that is exactly half,
    the middle between it and the next (so of 1, 2, 5, 9 it is 3.5). The variance stays that about the mean.

    Args:
        nodes: a regression tree.
        leaves, rows, shares: which share of which training row lies in which leaf, shape (entries,).
        target, weights: by row, shape (n,).
    """
    reading, last = reading_order(nodes.first_child, nodes.n_children, nodes.parent)
    by_leaf = np.lexsort((target[rows], reading[leaves]))
    place = reading[leaves][by_leaf]
    numbers, own = target[rows][by_leaf], (weights[rows] * shares)[by_leaf]
    starts, ends = np.searchsorted(place, reading), np.searchsorted(place, last)
    medians = range_medians(numbers, own, starts, ends)
    value = nodes.value.copy()
    held = ends > starts
    value[held, 0] = medians[held]
    for node in np.flatnonzero(~held):  # parents come first
        value[node, 0] = value[nodes.parent[node], 0]
    return replace(nodes, value=value)


@kernel
def reading_order(first_child: Int32Array, n_children: Int32Array, parent: Int32Array) -> tuple[IntArray, IntArray]:
    """The nodes' places when the tree is read depth first, and the place after all that lies below each."""
    count = parent.shape[0]
    size = np.ones(count, np.int64)
    for node in range(count - 1, 0, -1):
        size[parent[node]] += size[node]
    place = np.zeros(count, np.int64)
    for node in range(count):
        following = place[node] + 1
        for child in range(first_child[node], first_child[node] + n_children[node]):
            place[child] = following
            following += size[child]
    return place, place + size


def range_medians(numbers: FloatArray, weights: FloatArray, starts: IntArray, ends: IntArray) -> FloatArray:
    """The weighted median of ``numbers[start:end]`` for each pair, 0 where that is empty.

    All ranges descend together through the levels of a wavelet tree over the ranks of the numbers,
    of which only the current level is kept: (entries + ranges) log(distinct numbers).
    """
    distinct, ranks = np.unique(numbers, return_inverse=True)
    totals = np.concatenate(([0.0], np.cumsum(weights)))
    half = (totals[ends] - totals[starts]) / 2
    slack = _TIE * half
    low = _ranks_reaching(ranks, weights, starts, ends, half - slack, len(distinct))
    high = _ranks_reaching(ranks, weights, starts, ends, half + slack, len(distinct))
    medians: FloatArray = distinct[low] / 2 + distinct[high] / 2
    same = low == high
    medians[same] = distinct[low[same]]  # halves of the least doubles round
    return np.where(ends > starts, medians, 0.0)


def _ranks_reaching(
    ranks: IntArray, weights: FloatArray, starts: IntArray, ends: IntArray, wanted: FloatArray, n_ranks: int
) -> IntArray:
    """For each range the least rank up to which the weight exceeds ``wanted``."""
    found = np.zeros(len(starts), dtype=np.int64)
    for bit in range(max(n_ranks - 1, 0).bit_length() - 1, -1, -1):
        high = (ranks >> bit) & 1 == 1
        zeros_before = np.concatenate(([0], np.cumsum(~high)))
        weight_before = np.concatenate(([0.0], np.cumsum(np.where(high, 0.0, weights))))
        zeros_start, zeros_end = zeros_before[starts], zeros_before[ends]
        below = weight_before[ends] - weight_before[starts]
        has_high = (ends - starts) > (zeros_end - zeros_start)
        goes_high = ((below <= wanted) & has_high) | (zeros_end == zeros_start)
        n_zeros = int(zeros_before[-1])
        found = np.where(goes_high, found | (1 << bit), found)
        wanted = np.where(goes_high, wanted - below, wanted)
        starts = np.where(goes_high, n_zeros + starts - zeros_start, zeros_start)
        ends = np.where(goes_high, n_zeros + ends - zeros_end, zeros_end)
        order = np.argsort(high, kind="stable")
        ranks, weights = ranks[order], weights[order]
    return np.minimum(found, n_ranks - 1)  # an empty range has found anything
