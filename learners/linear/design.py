"""The design matrix: a table's variables, each centred and brought to standard deviation 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.preprocessing.encode import Encoding, fit_encoding
from learners.table import Column, Table
from learners.types import Array, FloatArray

#: A variable whose deviation is below this share of its largest magnitude is constant.
_SPREAD = 1e-12


@dataclass(frozen=True, eq=False)
class Design:
    """n rows of V standardised variables.

    Attributes:
        encoding: how the variables are made.
        columns: of the table.
        cells: the table's cells, shape (n, d).
        standard: shape (n, V): (variable - mean) / deviation.
        mean, deviation: of each variable, weighted, shape (V,).
        weights: > 0, shape (n,).
    """

    encoding: Encoding
    columns: tuple[Column, ...]
    cells: FloatArray
    standard: FloatArray
    mean: FloatArray
    deviation: FloatArray
    weights: FloatArray

    @property
    def total(self) -> float:
        """The rows' weight: how many rows they count as."""
        return float(self.weights.sum())

    @property
    def roots(self) -> FloatArray:
        """Square roots of the weights, shape (n, 1)."""
        roots: FloatArray = np.sqrt(self.weights)[:, None]
        return roots

    def unstandardised(self, coefficients: FloatArray, intercepts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (..., V) and intercepts (...) of the variables from those of the standardised ones."""
        own = coefficients / self.deviation
        return own, intercepts - own @ self.mean


def make_design(table: Table, weights: FloatArray, *, degree: int, gaps: bool) -> Design:
    """Encode and standardise the rows of a table; see :func:`learners.preprocessing.encode.fit_encoding`."""
    encoding = fit_encoding(table, weights, degree=degree, gaps=gaps)
    values = encoding.values(table.values, table.columns)
    mean, deviation = moments(values, weights)
    largest = np.abs(values).max(axis=0, initial=0.0)
    varying = deviation > _SPREAD * largest
    kept = np.flatnonzero(varying)
    values = values[:, kept]
    values -= mean[kept]
    values /= deviation[kept]
    return Design(encoding.take(kept), table.columns, table.values, values, mean[kept], deviation[kept], weights)


def moments(values: Array, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and standard deviation of each column, shape (V,)."""
    shares = weights / weights.sum()
    mean = shares @ values
    mean = mean + shares @ (values - mean)  # what rounding left
    deviation: FloatArray = np.sqrt(shares @ (values - mean) ** 2)
    return mean, deviation
