"""How sure an answer by neighbours is: intervals from the spread of those that voted.

The mean of unequal votes v has the variance of that of (sum v)^2 / sum v^2 equal ones (Kish 1965). How sure their own
spread is, is another number: the freedom of a sum of squares r' A r is (tr A)^2 / tr A^2 (Satterthwaite 1946).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from learners.explanation import Bounds
from learners.types import FloatArray

_BISECTIONS, _STEPS, _TERMS = 200, 50, 300
_EPSILON = float(np.finfo(np.float64).eps)
#: What is left of votes that sum to 1, once a mean or a line is fitted, is nothing up to this.
_NOTHING = 1e-9


def number_interval(answer: float, votes: FloatArray, numbers: FloatArray, level: float) -> Bounds | None:
    """Where a further number at the row lies, if those of the neighbours scatter about one mean.

    ``answer -+ t s sqrt(1 + sum v^2)`` with their variance s^2 and Student's t, see :func:`spread_about`; ``None``
    where that tells nothing, as of one vote.

    Args:
        answer: about which it lies.
        votes, numbers: of the neighbours, shape (k,); votes sum to 1.
        level: how often it should hold.
    """
    voting = votes > 0  # how many others were found must not change the order in which votes are added up
    votes, numbers = votes[voting], numbers[voting]
    with np.errstate(over="ignore", invalid="ignore"):
        left = numbers - float((votes * numbers).sum())
        return interval_about(answer, votes, (votes, left, np.empty((len(votes), 0))), level)


def interval_about(
    answer: float, factors: FloatArray, fitted: tuple[FloatArray, FloatArray, FloatArray], level: float
) -> Bounds | None:
    """Where a further number lies about an answer that is a sum of numbers with the same scatter.

    Args:
        answer: the sum.
        factors: by what the numbers are multiplied in it, shape (k,).
        fitted: what :func:`spread_about` takes.
        level: how often it should hold.
    """
    found = spread_about(*fitted)
    if found is None:
        return None
    variance, freedom = found
    half = student_quantile((1 + level) / 2, freedom) * math.sqrt(variance * (1 + float((factors**2).sum())))
    low, high = answer - half, answer + half
    return Bounds(low, high, level, "student-t") if math.isfinite(low) and math.isfinite(high) else None


def spread_about(votes: FloatArray, left: FloatArray, off: FloatArray) -> tuple[float, float] | None:
    """The variance of numbers about a mean or a line that was fitted to them by votes, and its freedom.

    Args:
        votes: v, which sum to 1, shape (k,).
        left: what the numbers differ from the fit, r, shape (k,).
        off: where they lie, less the mean by votes, shape (k, d); d = 0 for a mean.

    Returns:
        ``sum v r^2 / tr A`` and ``(tr A)^2 / tr A^2`` with ``A = V - V X (X' V X)^-1 X' V``, V the votes on a diagonal
        and X the columns of the fit; with k equal votes k - 1 - rank. ``None`` where A is 0, so nothing is left over.
    """
    axes = root = np.sqrt(votes)[:, None]
    if off.shape[1]:
        left_vectors, sizes, _ = np.linalg.svd(root * off, full_matrices=False)
        rank = int((sizes > sizes.max(initial=0.0) * max(off.shape) * _EPSILON).sum())
        axes = np.hstack([root, left_vectors[:, :rank]])
    shares = (axes * axes).sum(axis=1)
    trace = float((votes * (1 - shares)).sum())
    if trace <= _NOTHING:
        return None
    inner = axes.T @ (votes[:, None] * axes)
    squares = float((votes * votes * (1 - 2 * shares)).sum()) + float((inner * inner).sum())
    most = max(1.0, float((votes > 0).sum()) - axes.shape[1])
    freedom = min(most, max(1.0, trace * trace / squares if squares > 0 else 1.0))
    variance = float((votes * left * left).sum()) / trace
    return (variance, freedom) if math.isfinite(variance) else None


def share_interval(share: float, votes: FloatArray, level: float) -> Bounds:
    """Wilson's score interval (1927) of the probability of which the votes' share is an estimate."""
    votes = votes[votes > 0]  # see number_interval
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
    least, most = _around_quantile(probability, freedom, high / 2 if high > 1 else 0.0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        is_below = middle <= least or (middle < most and student_below(middle, freedom) < probability)
        low, high = (middle, high) if is_below else (low, middle)
    return (low + high) / 2


def _around_quantile(probability: float, freedom: float, start: float) -> tuple[float, float]:
    """Close bounds of a quantile, by Newton's steps from a start below it: above 0 the distribution is concave, so that
    no step leads beyond. Where rounding hides them they are those of all numbers.
    """
    found = start
    front = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    for _ in range(_STEPS):
        density = math.exp(front - (freedom + 1) / 2 * math.log1p(found * found / freedom))
        if density <= 0:
            return 0.0, math.inf
        slack = found * 1e-12 + 1e-14 / density  # well beyond what rounding moves it by
        step = (probability - student_below(found, freedom)) / density
        if step <= slack:
            low, high = max(found - slack, 0.0), found + slack
            if student_below(low, freedom) < probability <= student_below(high, freedom):
                return low, high
            break
        found += step
    return 0.0, math.inf


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
