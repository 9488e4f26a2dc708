"""The chi-square statistic of a test: whether its branches differ in class by more than chance.

With the class weights n_jk of the branches j, their sums n_j and n_k and the total n, the deviation
is the sum over j and k of ``(n_jk - e_jk)^2 / e_jk`` where ``e_jk = n_j n_k / n``. If the test has
nothing to do with the class it follows the chi-square distribution with
``(branches - 1) (classes - 1)`` degrees of freedom; branches and classes without rows do not count.
Both pruning and the growers' stop rule take statistic and critical values from here.

The critical values come from scipy, which the service has for its intervals anyway; scipy is
imported when they are asked for, so a process that only answers does without it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from learners._accel import kernel, lean_inner_kernel
from learners.errors import ParameterError
from learners.types import FloatArray, Int32Array, IntArray


def chi_square(branches: ArrayLike) -> tuple[float, int]:
    """Deviation and degrees of freedom of branches given by their class weights, shape (branches, K)."""
    weights = np.asarray(branches, dtype=np.float64)
    deviation, freedom = _of_branches(np.ascontiguousarray(weights))
    return float(deviation), int(freedom)


def critical_values(freedom: ArrayLike, significance: float) -> FloatArray:
    """The deviations that chance exceeds with this probability; infinite for 0 degrees of freedom.

    Args:
        freedom: degrees of freedom, whole numbers >= 0 of any shape.
        significance: in (0, 1], e.g. 0.05.

    Raises:
        ParameterError: significance out of its range.
    """
    from scipy.special import chdtri

    if not 0 < significance <= 1:
        raise ParameterError(f"significance must be > 0 and <= 1; it is {significance}", field="significance")
    degrees = np.asarray(freedom, dtype=np.float64)
    found = chdtri(np.maximum(degrees, 1), significance)
    return np.asarray(np.where(degrees > 0, found, np.inf), dtype=np.float64)


@lean_inner_kernel
def chi_square_of(value: FloatArray, first: int, count: int, totals: FloatArray) -> tuple[float, int]:
    """The same of ``value[first : first + count]``; ``totals`` is room for K numbers."""
    n_classes = totals.shape[0]
    weight = 0.0
    for k in range(n_classes):
        totals[k] = 0.0
    for branch in range(first, first + count):
        for k in range(n_classes):
            totals[k] += value[branch, k]
            weight += value[branch, k]
    branches = 0
    deviation = 0.0
    for branch in range(first, first + count):
        size = 0.0
        for k in range(n_classes):
            size += value[branch, k]
        if size > 0.0:
            branches += 1
            deviation += _deviation(value[branch], size, totals, weight)
    classes = 0
    for k in range(n_classes):
        if totals[k] > 0.0:
            classes += 1
    return deviation, max(branches - 1, 0) * max(classes - 1, 0)


@lean_inner_kernel
def _deviation(counts: FloatArray, size: float, totals: FloatArray, weight: float) -> float:
    """What one branch of weight ``size`` adds to the deviation."""
    deviation = 0.0
    for k in range(totals.shape[0]):
        if totals[k] > 0.0:
            expected = size * (totals[k] / weight)
            difference = counts[k] - expected
            deviation += difference * (difference / expected)
    return deviation


@kernel
def _of_branches(weights: FloatArray) -> tuple[float, int]:
    return chi_square_of(weights, 0, weights.shape[0], np.zeros(weights.shape[1]))


@kernel
def chi_squares(
    value: FloatArray, weight: FloatArray, first_child: Int32Array, n_children: Int32Array
) -> tuple[FloatArray, IntArray]:
    """Deviation and degrees of freedom of each node's test, both of shape (N,); 0 for leaves.

    A child of weight 0 holds its parent's class weights but no rows, and does not count.
    """
    count = value.shape[0]
    deviation = np.zeros(count)
    freedom = np.zeros(count, np.int64)
    totals = np.zeros(value.shape[1])
    for node in range(count):
        n_branches = n_children[node]
        if n_branches == 0:
            continue
        branches = np.zeros((n_branches, value.shape[1]))
        for branch in range(n_branches):
            child = first_child[node] + branch
            if weight[child] > 0.0:
                for k in range(value.shape[1]):
                    branches[branch, k] = value[child, k]
        deviation[node], freedom[node] = chi_square_of(branches, 0, n_branches, totals)
    return deviation, freedom
