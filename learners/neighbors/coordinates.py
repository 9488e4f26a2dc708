"""From a table to coordinates: each row a point, as the distance wants it.

A number or an ordinal level's rank is scaled (see :mod:`learners.preprocessing.scale`), a nominal or boolean
level is its code; a column's weight is multiplied into its coordinates and steps. A column of which training rows
know but one value tells nothing and has weight 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from learners.columns import UNSEEN, Column, Kind
from learners.neighbors.distances import Metric, largest_coordinate
from learners.preprocessing.scale import Scaling, column_spans, fit_scaling
from learners.table import Table
from learners.types import BoolArray, FloatArray

#: What an unseen level's code becomes in a question, so that it equals none of the training rows'.
_NEVER = -2.0


@dataclass(frozen=True)
class Coordinates:
    """How rows of d columns become points of d coordinates.

    Attributes:
        scaling: of all columns; those of levels are not scaled.
        factor: float64 (d,), by what coordinates, and steps of levels, are multiplied.
        metric: how points are compared.
    """

    scaling: Scaling
    factor: FloatArray
    metric: Metric

    def of(self, table: Table) -> FloatArray:
        """The points of a table's rows, C-ordered, shape (n, d); NaN where missing."""
        values = numbers_of(table)
        largest = largest_coordinate(self.metric.p)
        points = np.clip(self.scaling.apply(values), -largest, largest) * self.factor
        levels = self.metric.is_level
        points[:, levels] = np.where(values[:, levels] == UNSEEN, _NEVER, values[:, levels])
        points[:, self.factor == 0] = 0.0
        return np.ascontiguousarray(points)

    def weighted(self, weights: FloatArray) -> Coordinates:
        """The same with these weights of columns, >= 0, in place of its own; those without spread keep 0."""
        p = self.metric.p
        factor = weights if p == math.inf else weights ** (1.0 / p)
        before = np.where(self.factor > 0, self.factor, 1.0)
        factor = np.where(self.factor > 0, factor, 0.0)
        metric = self.metric
        changed = Metric(p, metric.is_level, factor.copy(), metric.span / before * factor, metric.leaves_out)
        return Coordinates(self.scaling, factor, changed)

    def to_arrays(self) -> dict[str, FloatArray]:
        """Arrays from which :meth:`from_arrays` makes the same."""
        return {
            "exponent": self.scaling.exponent.astype(np.float64),
            "offset": self.scaling.offset,
            "unit": self.scaling.unit,
            "factor": self.factor,
            "span": self.metric.span,
        }

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, FloatArray], columns: tuple[Column, ...], p: float, *, leaves_out: bool
    ) -> Coordinates:
        scaling = Scaling(arrays["exponent"].astype(np.int64), arrays["offset"], arrays["unit"])
        factor = arrays["factor"]
        return cls(scaling, factor, Metric(p, levels_of(columns), factor, arrays["span"], leaves_out))


def fit_coordinates(table: Table, weights: FloatArray, p: float, scaling: str, *, leaves_out: bool) -> Coordinates:
    """Coordinates of equal weight for all columns that tell rows apart.

    Args:
        table: training rows.
        weights: of the rows, > 0, shape (n,).
        p: Minkowski's exponent.
        scaling: see :func:`learners.preprocessing.scale.fit_scaling`.
        leaves_out: see :class:`~learners.neighbors.distances.Metric`.
    """
    values = numbers_of(table)
    scaled = fit_scaling(values, weights, scaling)
    levels = levels_of(table.columns)
    tells = np.array([_tells(values[:, column]) for column in range(table.n_columns)])
    largest = largest_coordinate(p)
    spans = np.where(levels, 1.0, column_spans(np.clip(scaled.apply(values), -largest, largest)))
    factor = tells.astype(np.float64)
    return Coordinates(scaled, factor, Metric(p, levels, factor.copy(), spans * factor, leaves_out))


def numbers_of(table: Table) -> FloatArray:
    """The cells; an unseen level of an ordinal column has no rank, so it is missing."""
    ordinal = np.array([column.kind is Kind.ORDINAL for column in table.columns])
    unseen = ordinal & (table.values == UNSEEN)
    return np.where(unseen, np.nan, table.values) if unseen.any() else table.values


def levels_of(columns: tuple[Column, ...]) -> BoolArray:
    """Which columns are compared level by level."""
    return np.array([column.kind in (Kind.NOMINAL, Kind.BOOLEAN) for column in columns], dtype=np.bool_)


def _tells(cells: FloatArray) -> bool:
    known = cells[~np.isnan(cells)]
    return bool(len(known)) and bool((known != known[0]).any())
