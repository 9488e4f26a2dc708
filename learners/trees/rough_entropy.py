"""Entropy near enough to leave most places of a sweep unjudged: logarithms from a table, without a call.

Where weights are no whole numbers, the entropy of a place takes a logarithm for each class and side, and they
would be most of the work. A place whose rough gain stays below the best one's by more than ``SLACK`` cannot
be better; only the others are judged exactly, so what is found does not depend on the roughness. Of two classes
most places are left out by a bound that takes no logarithm at all.
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel
from learners.types import FloatArray

#: Share of all weight by which rough sums of four logarithms may be wrong together; they are wrong by 3e-10 at most.
SLACK = 1e-9

_FRACTION_BITS = 52
_BIAS = 1023
_TABLE_BITS = 10
_ONE = _BIAS << _FRACTION_BITS
_FRACTION = (1 << _FRACTION_BITS) - 1
_SHIFT = _FRACTION_BITS - _TABLE_BITS
_MASK = (1 << _TABLE_BITS) - 1
_CENTRES = 1.0 + (np.arange(1 << _TABLE_BITS) + 0.5) / (1 << _TABLE_BITS)
_INVERSES = 1.0 / _CENTRES
_LOGS = np.log2(_CENTRES)
_PER_E = math.log2(math.e)


@lean_inner_kernel
def rough_weighted_log(weight: float) -> float:
    """``w log2 w`` with an error below 6e-11 w; 0 where w is 0. For normal numbers >= 0."""
    bits = np.float64(weight).view(np.int64)
    place = (bits >> _SHIFT) & _MASK
    near = np.int64((bits & _FRACTION) | _ONE).view(np.float64) * _INVERSES[place] - 1.0
    return float(weight * (float((bits >> _FRACTION_BITS) - _BIAS) + _LOGS[place] + near * _PER_E * (1.0 - 0.5 * near)))


@lean_inner_kernel
def least_square(stats: FloatArray, gain: float) -> float:
    """What the squared moment of a cut of two classes over w (W - w) must reach if the cut gains so many bits.

    With w and S the weight of all rows and of the positives on the left, W and T those of both sides, the moment is
    S W - T w. It bounds the gain, for of two distributions Kullback's divergence is at most Pearson's chi-square
    (Gibbs and Su, 2002, theorem 5). -1 where every cut may gain that much, or the classes are more than two.
    """
    if gain <= 0.0 or stats.shape[0] != 2:
        return -1.0
    return gain * stats[0] * stats[1] / ((stats[0] + stats[1]) * _PER_E)  # type: ignore[no-any-return]


@lean_inner_kernel
def rough_entropy_sum(stats: FloatArray) -> float:
    """Weight times entropy of the class weights, about."""
    total = 0.0
    inner = 0.0
    for k in range(stats.shape[0]):
        total += stats[k]
        inner += rough_weighted_log(stats[k])
    return rough_weighted_log(total) - inner
