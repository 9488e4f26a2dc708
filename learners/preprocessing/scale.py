"""Numeric columns brought to one unit: by their range, by their standard deviation, or not at all.

Fitted to the known values of training rows. A column without spread has no unit: all its values become 0.
No magnitude overflows: values are first halved and doubled, which is exact, until the largest is near 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.types import FloatArray, IntArray

#: How columns can be scaled.
SCALINGS = ("range", "standard", "none")


@dataclass(frozen=True)
class Scaling:
    """What is taken from each of d columns and what it is divided by, after doubling it ``exponent`` times.

    Attributes:
        exponent: int64 (d,), <= 0 halves.
        offset, unit: float64 (d,); a unit of 0 makes every value 0.
    """

    exponent: IntArray
    offset: FloatArray
    unit: FloatArray

    def apply(self, values: FloatArray) -> FloatArray:
        """Scaled values, shape (n, d); missing ones stay missing."""
        with np.errstate(over="ignore", under="ignore"):
            moved = np.ldexp(values, self.exponent) - self.offset
            known_unit = np.where(self.unit > 0, self.unit, 1.0)
            scaled: FloatArray = np.where(self.unit > 0, moved / known_unit, np.where(np.isnan(moved), np.nan, 0.0))
        return scaled


def column_spans(scaled: FloatArray) -> FloatArray:
    """Largest less least known value of each column of (n, d), shape (d,); 0 where nothing is known."""
    known = ~np.isnan(scaled)
    high = np.where(known, scaled, -np.inf).max(axis=0, initial=-np.inf)
    low = np.where(known, scaled, np.inf).min(axis=0, initial=np.inf)
    some = known.any(axis=0)
    return np.asarray(np.where(some, high, 0.0) - np.where(some, low, 0.0))


def fit_scaling(values: FloatArray, weights: FloatArray, how: str) -> Scaling:
    """The scaling of columns by their known values.

    Args:
        values: shape (n, d), NaN where missing.
        weights: of the rows, > 0, shape (n,); means and deviations are weighted.
        how: ``range`` brings least and largest value to 0 and 1, ``standard`` mean and standard deviation to
            0 and 1, ``none`` leaves values as they are.
    """
    n_columns = values.shape[1]
    if how == "none":
        return Scaling(np.zeros(n_columns, np.int64), np.zeros(n_columns), np.ones(n_columns))
    known = ~np.isnan(values)
    largest = np.where(known, np.abs(values), 0.0).max(axis=0, initial=0.0)
    exponent = -np.frexp(largest)[1].astype(np.int64)
    near_one = np.where(known, np.ldexp(np.where(known, values, 0.0), exponent), 0.0)
    low = np.where(known, near_one, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, near_one, -np.inf).max(axis=0, initial=-np.inf)
    some = known.any(axis=0)
    low, high = np.where(some, low, 0.0), np.where(some, high, 0.0)
    if how == "range":
        return Scaling(exponent, low, high - low)
    shares = known * weights[:, None]
    total = np.where(some, shares.sum(axis=0), 1.0)
    mean = (shares * near_one).sum(axis=0) / total
    variance = (shares * (near_one - mean) ** 2).sum(axis=0) / total
    return Scaling(exponent, mean, np.where(high > low, np.sqrt(variance), 0.0))
