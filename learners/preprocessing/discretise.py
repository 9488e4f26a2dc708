"""Cutting a numeric column into intervals: of equal width, of equal frequency, or by classes (MDL).

All give cut points c_1 < c_2 < ...; a value x lies in the interval i with ``c_i < x <= c_(i+1)``, and the
first and the last interval are open. So there may be fewer intervals than asked for, never an empty
or a doubled one where the column has that few values; equal values are never parted.
"""

from __future__ import annotations

import math

import numpy as np

from learners.types import FloatArray, IntArray

_TIE = 1e-12


def equal_width(values: FloatArray, bins: int) -> FloatArray:
    """Cuts at equal distances between the least and the largest value.

    Args:
        values: known numbers, shape (n,), in any order.
        bins: number of intervals.
    """
    if not len(values):
        return np.empty(0)
    low, high = float(values.min()), float(values.max())
    share = np.arange(1, bins) / bins
    cuts = np.unique(low * (1.0 - share) + high * share)  # no difference, which could overflow
    return cuts[(cuts >= low) & (cuts < high)]


def equal_frequency(values: FloatArray, weights: FloatArray, bins: int) -> FloatArray:
    """Cuts halfway between neighbouring values, the i-th where the weight below is nearest to i/bins of all.

    Of two equally near ones the lower is taken; two that fall together are one.
    """
    distinct, cumulated = _distinct(values, weights[:, None])
    if len(distinct) < 2:
        return np.empty(0)
    below = cumulated[1:-1, 0]
    wanted = cumulated[-1, 0] * np.arange(1, bins) / bins
    after = np.clip(np.searchsorted(below, wanted * (1.0 - _TIE)), 0, len(below) - 1)
    before = np.maximum(after - 1, 0)
    nearer = wanted - below[before] <= (below[after] - wanted) * (1.0 + _TIE)
    return _between(distinct, np.unique(np.where(nearer, before, after)))


def minimum_length(values: FloatArray, codes: IntArray, weights: FloatArray, n_classes: int) -> FloatArray:
    """Cuts by least class entropy, again and again until a cut is not worth its description.

    Source: Fayyad and Irani, Multi-interval discretization of continuous-valued attributes for classification
    learning (IJCAI 1993). A cut of N rows is accepted if its gain exceeds
    ``(log2(N - 1) + log2(3^k - 2) - k H + k_1 H_1 + k_2 H_2) / N``, with entropies H in bits and numbers k of
    classes that occur in all rows and on its two sides. Weights count as rows.

    Args:
        values, weights: shape (n,).
        codes: the rows' classes, shape (n,).
        n_classes: K.
    """
    by_class = np.zeros((len(values), n_classes))
    by_class[np.arange(len(values)), codes] = weights
    distinct, cumulated = _distinct(values, by_class)
    places: list[int] = []
    waiting = [(0, len(distinct))]
    while waiting:
        first, end = waiting.pop()
        place = _best_cut(cumulated[first : end + 1])
        if place is not None:
            places.append(first + place)
            waiting += [(first, first + place + 1), (first + place + 1, end)]
    return _between(distinct, np.array(sorted(places), dtype=np.intp))


def _best_cut(cumulated: FloatArray) -> int | None:
    """The last distinct value below the best cut, or ``None`` where none pays; rows are sums from a value on."""
    left = cumulated[1:-1] - cumulated[0]
    total = cumulated[-1] - cumulated[0]
    if not len(left):
        return None
    right = total - left
    inside = _bits(left) + _bits(right)
    place = int(np.argmax(inside <= inside.min() + _TIE * float(_bits(total[None])[0])))
    weight = float(total.sum())
    if weight <= 1.0:
        return None
    whole, lower, upper = (_description(part) for part in (total, left[place], right[place]))
    classes = int(np.count_nonzero(total > 0))
    choices = classes * math.log2(3.0) + math.log2(1.0 - 2.0 * 3.0**-classes)
    gain = float(_bits(total[None])[0] - inside[place])  # times N, as all that follows
    return place if gain > math.log2(weight - 1.0) + choices - whole + lower + upper else None


def _bits(weights: FloatArray) -> FloatArray:
    """Weight times entropy of each row of class weights."""
    weights = np.maximum(weights, 0.0)
    sums = weights.sum(axis=1)
    found: FloatArray = _weighted_log(sums) - _weighted_log(weights).sum(axis=1)
    return np.maximum(found, 0.0)


def _weighted_log(weights: FloatArray) -> FloatArray:
    logs: FloatArray = weights * np.log2(np.where(weights > 0, weights, 1.0))
    return logs


def _description(weights: FloatArray) -> float:
    """Number of classes times entropy."""
    total = float(weights.sum())
    return int(np.count_nonzero(weights > 0)) * float(_bits(weights[None])[0]) / total if total > 0 else 0.0


def _distinct(values: FloatArray, amounts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The distinct values, and the sums of the amounts (n, m) up to each, beginning with zeros."""
    distinct, place = np.unique(values, return_inverse=True)
    sums = np.zeros((len(distinct) + 1, amounts.shape[1]))
    for k in range(amounts.shape[1]):
        sums[1:, k] = np.cumsum(np.bincount(place, amounts[:, k], minlength=len(distinct)))
    return distinct, sums


def _between(distinct: FloatArray, places: IntArray) -> FloatArray:
    """Halfway between the values at the places and the next ones; where that rounds up, the lower one."""
    lower, upper = distinct[places], distinct[places + 1]
    middle = lower / 2.0 + upper / 2.0
    cuts: FloatArray = np.where((middle < lower) | (middle >= upper), lower, middle)
    return cuts
