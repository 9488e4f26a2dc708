"""Impurities and what a test gains by them: entropy (bits), Gini, variance, and C4.5's gain ratio.

Weights stand for counts throughout. Inside the grower an impurity is always held as its *sum*
(weight times impurity), because sums of children compare with that of their parent without a
division.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from learners._accel import lean_inner_kernel, lean_kernel
from learners.types import FloatArray

ENTROPY, GINI, VARIANCE = 0, 1, 2
CRITERIA = {
    "entropy": ENTROPY,
    "gain-ratio": ENTROPY,
    "gini": GINI,
    "variance": VARIANCE,
    "deviation": VARIANCE,  # the same sums; how they are judged is told apart by ``Rules.by_deviation``
}


@lean_inner_kernel
def weighted_log(weight: float) -> float:
    """``w log2 w``, 0 where w is 0."""
    if weight <= 0.0:
        return 0.0
    return weight * math.log2(weight)


@lean_kernel
def impurity_sum(stats: FloatArray, criterion: int) -> float:
    """Weight times impurity of a set of rows.

    Args:
        stats: the K class weights; for variance the three sums of w, w t and w t^2.
        criterion: ``ENTROPY``, ``GINI`` or ``VARIANCE``.
    """
    if criterion == VARIANCE:
        if stats[0] <= 0.0:
            return 0.0
        return float(max(stats[2] - stats[1] * stats[1] / stats[0], 0.0))
    total = 0.0
    inner = 0.0
    for k in range(stats.shape[0]):
        weight = stats[k]
        total += weight
        inner += weight * weight if criterion == GINI else weighted_log(weight)
    if total <= 0.0:
        return 0.0
    spread = total - inner / total if criterion == GINI else weighted_log(total) - inner
    return max(spread, 0.0)


@lean_inner_kernel
def total_weight(stats: FloatArray, criterion: int) -> float:
    """The weight of the rows that ``stats`` (see :func:`impurity_sum`) sums up."""
    if criterion == VARIANCE:
        return float(stats[0])
    total = 0.0
    for k in range(stats.shape[0]):
        total += stats[k]
    return total


def entropy(weights: ArrayLike) -> float:
    """Entropy of a distribution in bits; the weights need not sum to 1."""
    stats = np.asarray(weights, dtype=np.float64)
    return _mean(stats, ENTROPY)


def gini(weights: ArrayLike) -> float:
    """Gini impurity: the chance that two rows drawn with replacement differ in class."""
    stats = np.asarray(weights, dtype=np.float64)
    return _mean(stats, GINI)


def variance(values: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Weighted variance about the weighted mean (divided by the weight, not by weight less 1)."""
    numbers = np.asarray(values, dtype=np.float64)
    shares = np.ones_like(numbers) if weights is None else np.asarray(weights, dtype=np.float64)
    mean = np.average(numbers, weights=shares)
    return float(np.average((numbers - mean) ** 2, weights=shares))


def conditional_entropy(branches: Sequence[ArrayLike]) -> float:
    """Mean entropy of the branches, each given by its class weights, weighted by their weight."""
    stats = [np.asarray(branch, dtype=np.float64) for branch in branches]
    total = sum(float(branch.sum()) for branch in stats)
    return sum(float(impurity_sum(branch, ENTROPY)) for branch in stats) / total


def information_gain(branches: Sequence[ArrayLike]) -> float:
    """Bits by which a test with these branches lowers the entropy of the class."""
    return max(entropy(_pooled(branches)) - conditional_entropy(branches), 0.0)


def gini_gain(branches: Sequence[ArrayLike]) -> float:
    """Decrease of the Gini impurity by a test with these branches."""
    pooled = _pooled(branches)
    inside = sum(float(impurity_sum(np.asarray(branch, dtype=np.float64), GINI)) for branch in branches)
    return max(gini(pooled) - inside / float(pooled.sum()), 0.0)


def split_information(weights: ArrayLike) -> float:
    """Entropy of the branches themselves; rows whose value is missing are one more branch (C4.5)."""
    return entropy(weights)


def gain_ratio(branches: Sequence[ArrayLike]) -> float:
    """Information gain over split information; 0 where the split information is 0 (one branch)."""
    information = split_information([float(np.sum(branch)) for branch in branches])
    return information_gain(branches) / information if information > 0 else 0.0


def _pooled(branches: Sequence[ArrayLike]) -> FloatArray:
    pooled: FloatArray = np.sum([np.asarray(branch, dtype=np.float64) for branch in branches], axis=0)
    return pooled


def _mean(stats: FloatArray, criterion: int) -> float:
    total = float(stats.sum())
    return float(impurity_sum(stats, criterion)) / total if total > 0 else 0.0
