"""How sure an answer by neighbours is: intervals from the spread of those that voted.

Votes v of unequal size tell as much as (sum v)^2 / sum v^2 equal ones (Kish 1965).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from learners.neighbors.explanation import Bounds
from learners.types import FloatArray

_BISECTIONS, _TERMS = 200, 300


def number_interval(answer: float, votes: FloatArray, numbers: FloatArray, level: float) -> Bounds | None:
    """Where a further number at the row lies, if those of the neighbours scatter about one mean.

    ``answer -+ t s sqrt(1 + 1/m)`` with m equal votes' worth of neighbours, their variance s^2 and Student's t with
    m - 1 degrees of freedom; ``None`` where m is not above 1.

    Args:
        answer: about which it lies.
        votes, numbers: of the neighbours, shape (k,).
        level: how often it should hold.
    """
    squares = float((votes * votes).sum())
    worth = float(votes.sum()) ** 2 / squares if squares > 0 else 0.0
    if worth <= 1 + 1e-9:
        return None
    with np.errstate(over="ignore"):
        mean = float((votes * numbers).sum())
        variance = float((votes * (numbers - mean) ** 2).sum()) * worth / (worth - 1)
        half = student_quantile((1 + level) / 2, worth - 1) * math.sqrt(variance * (1 + 1 / worth))
    if not math.isfinite(half):
        return None
    low, high = answer - half, answer + half
    return Bounds(low, high, level, "student-t") if math.isfinite(low) and math.isfinite(high) else None


def share_interval(share: float, votes: FloatArray, level: float) -> Bounds:
    """Wilson's score interval (1927) of the probability of which the votes' share is an estimate."""
    worth = float(votes.sum()) ** 2 / float((votes * votes).sum())
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = (share + z * z / (2 * worth)) / (1 + z * z / worth)
    spread = max(share * (1 - share), 0.0) / worth + z * z / (4 * worth * worth)
    half = z / (1 + z * z / worth) * math.sqrt(spread)
    low = 0.0 if share <= 0 else max(0.0, middle - half)
    high = 1.0 if share >= 1 else min(1.0, middle + half)
    return Bounds(low, high, level, "wilson")


@lru_cache(maxsize=4096)
def student_quantile(probability: float, freedom: float) -> float:
    """Student's t below which a share of at least 1/2 lies, by bisection of its distribution.

    A serving process has no scipy: its import takes longer than all answers of a second.
    """
    low, high = 0.0, 1.0
    while student_below(high, freedom) < probability and high < 1e300:
        high *= 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if student_below(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def student_below(t: float, freedom: float) -> float:
    """The share of Student's distribution below t >= 0: ``1 - I_x(f/2, 1/2) / 2`` with ``x = f / (f + t^2)``."""
    return 1.0 - _beta_share(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2


def _beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function by its continued fraction (Lentz's method)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta_share(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1.0 / (1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, _TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / (1.0 + term * d)
            c = 1.0 + term / c
            total *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * total
