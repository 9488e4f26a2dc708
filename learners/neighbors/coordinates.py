"""From a table to coordinates: each row a point, as the distance wants it.

A number or an ordinal level's rank is scaled (see :mod:`learners.preprocessing.scale`), a nominal or boolean
level, a text or a sequence is its code; a column's weight is multiplied into its coordinates and steps. A column
of which training rows know but one value tells nothing and has weight 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from learners.columns import UNSEEN, Column, Kind
from learners.errors import DataError, SchemaError, quoted
from learners.neighbors.distances import Distance, Metric, OwnMetric, largest_coordinate, own_metric
from learners.neighbors.elastic import edit_distances, warping_distances
from learners.preprocessing.scale import Scaling, column_spans, fit_scaling
from learners.table import Table
from learners.types import BoolArray, FloatArray, IntArray

#: What an unseen level's code becomes in a question, so that it equals none of the training rows'.
_NEVER = -2.0
#: Sequences by which their largest distance is told.
_SAMPLED = 30


@dataclass(frozen=True)
class Coordinates:
    """How rows of d columns become points of d coordinates.

    Attributes:
        columns: of the training table.
        scaling: of all columns; those of levels are not scaled; of texts and sequences the unit divides distances.
        factor: float64 (d,), by what coordinates, and steps of levels, are multiplied.
        metric: how points are compared; see :meth:`metric_for` where there are texts or sequences.
    """

    columns: tuple[Column, ...]
    scaling: Scaling
    factor: FloatArray
    metric: Metric

    def of(self, table: Table) -> FloatArray:
        """The points of a table's rows, C-ordered, shape (n, d); NaN where missing."""
        values = numbers_of(table)
        largest = largest_coordinate(self.metric.p)
        with np.errstate(over="ignore"):
            points = np.clip(self.scaling.apply(values) * self.factor, -largest, largest)
        levels = self.metric.is_level
        points[:, levels] = np.where(values[:, levels] == UNSEEN, _NEVER, values[:, levels])
        points[:, self.opened] = values[:, self.opened]
        points[:, self.factor == 0] = 0.0
        return np.ascontiguousarray(points)

    @property
    def opened(self) -> list[int]:
        """Which columns hold texts or sequences."""
        return [index for index, column in enumerate(self.columns) if column.is_open]

    def metric_for(self, table: Table) -> Metric:
        """How points of this table's rows, whose columns may know more levels, are compared with training rows.

        Raises:
            SchemaError: a sequence has other steps than those of training.
        """
        if self.metric.is_simple or isinstance(self.metric, OwnMetric):
            return self.metric
        lookups: list[FloatArray | None] = [None] * len(self.columns)
        for index in self.opened:
            unit, column = self.scaling.unit[index], self.columns[index]
            cells = table.values[:, index]
            used = np.unique(cells[cells >= 0]).astype(np.int64)
            lookup = np.zeros((len(table.columns[index].levels) or 1, len(column.levels) or 1))
            if unit > 0 and self.factor[index] > 0:
                with np.errstate(over="ignore"):
                    apart = _elastic(table.columns[index], used, column) / unit * self.factor[index]
                lookup[used] = np.minimum(apart, 2 * largest_coordinate(self.metric.p))
            lookups[index] = lookup
        return replace(self.metric, lookups=tuple(lookups))

    @property
    def weights(self) -> FloatArray:
        """The weights of columns, shape (d,); 0 of those without spread."""
        return self.factor if math.isinf(self.metric.p) else np.asarray(self.factor**self.metric.p)

    def weighted(self, weights: FloatArray) -> Coordinates:
        """The same with these weights of columns, >= 0, in place of its own; those without spread keep 0."""
        p = self.metric.p
        factor = weights if math.isinf(p) else weights ** (1.0 / p)
        before = np.where(self.factor > 0, self.factor, 1.0)
        factor = np.where(self.factor > 0, factor, 0.0)
        span = np.minimum(self.metric.span / before * factor, 2 * largest_coordinate(p))
        changed = replace(self.metric, step=factor.copy(), span=span)
        return replace(self, factor=factor, metric=changed)

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
        is_simple = not any(column.is_open for column in columns)
        metric = Metric(p, levels_of(columns), factor, arrays["span"], leaves_out, is_simple)
        return cls(columns, scaling, factor, metric)


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
    unit, spans_of_open = _units(table, scaling)
    opened = np.array([column.is_open for column in table.columns])
    scaled = replace(scaled, unit=np.where(opened, unit, scaled.unit))
    spans = np.where(levels, 1.0, column_spans(np.clip(scaled.apply(values), -largest, largest)))
    spans = np.where(opened, spans_of_open, spans)
    factor = tells.astype(np.float64)
    metric = Metric(p, levels, factor.copy(), spans * factor, leaves_out, not opened.any())
    return Coordinates(table.columns, scaled, factor, metric)


def refuse_huge(table: Table, scaling: str, power: float) -> None:
    """Refuse columns whose numbers, unscaled, have no finite powers.

    Raises:
        DataError: names the column.
    """
    if scaling != "none":
        return
    largest = largest_coordinate(power)
    for index, column in enumerate(table.columns):
        cells = np.abs(table.values[:, index])
        if column.kind is Kind.SEQUENCE:
            cells = np.abs(np.concatenate([steps.reshape(-1) for steps in column.sequences] or [np.zeros(0)]))
        if (column.is_numeric or column.kind is Kind.SEQUENCE) and (cells > largest).any():
            raise DataError(
                f"column {quoted(column.name)} reaches {np.nanmax(cells):g} in magnitude; unscaled, with this metric, "
                f"at most {largest:g} is allowed",
                field=column.name,
            )


def own_coordinates(table: Table, function: Distance) -> Coordinates:
    """Cells as they are, compared by a caller's own function."""
    n_columns = table.n_columns
    unscaled = Scaling(np.zeros(n_columns, np.int64), np.zeros(n_columns), np.ones(n_columns))
    return Coordinates(table.columns, unscaled, np.ones(n_columns), own_metric(n_columns, function))


def numbers_of(table: Table) -> FloatArray:
    """The cells; an unseen level of an ordinal column has no rank, so it is missing, as is a text not told."""
    without = np.array([column.kind is Kind.ORDINAL or column.is_open for column in table.columns])
    unseen = without & (table.values == UNSEEN)
    return np.where(unseen, np.nan, table.values) if unseen.any() else table.values


def levels_of(columns: tuple[Column, ...]) -> BoolArray:
    """Which columns are compared level by level."""
    return np.array([column.kind in (Kind.NOMINAL, Kind.BOOLEAN) for column in columns], dtype=np.bool_)


def _units(table: Table, scaling: str) -> tuple[FloatArray, FloatArray]:
    """What distances in columns of texts and sequences are divided by, and how large they are then at most; both (d,).

    By any scaling but ``none`` the largest distance that training values can have, of sequences as a spread sample of
    them tells; these count as at most 1 apart then.
    """
    unit, span = np.ones(table.n_columns), np.ones(table.n_columns)
    for index, column in enumerate(table.columns):
        if column.is_open:
            largest = _largest(column)
            unit[index] = 1.0 if scaling == "none" or largest == 0 else largest
            span[index] = largest if scaling == "none" else 1.0
    return unit, span


def _largest(column: Column) -> float:
    if column.kind is Kind.TEXT:
        return float(max((len(level) for level in column.levels), default=0))
    sample = np.arange(0, len(column.levels), max(1, len(column.levels) // _SAMPLED))
    return float(_elastic(column, sample, column).max(initial=0.0))


def _elastic(questions: Column, codes: IntArray, column: Column) -> FloatArray:
    """Distances of some levels of one column from all levels of another, shape (codes, levels)."""
    try:
        if column.kind is Kind.TEXT:
            rows = [edit_distances(questions.levels[code], column.levels) for code in codes.tolist()]
        else:
            rows = [warping_distances(questions.sequences[code], column.sequences) for code in codes.tolist()]
    except DataError as error:
        raise SchemaError(f"column {quoted(column.name)}: {error}", field=column.name) from None
    return np.array(rows).reshape(len(codes), len(column.levels))


def _tells(cells: FloatArray) -> bool:
    known = cells[~np.isnan(cells)]
    return bool(len(known)) and bool((known != known[0]).any())
