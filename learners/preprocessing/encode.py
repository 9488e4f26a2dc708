"""Columns of every kind as numeric variables, fitted to training rows: what a sum over attributes can be made of.

* A numeric column, and an ordinal one by its ranks 0, 1, 2, ..., is brought to mean 0 and standard deviation 1; of
  this number u the variables are u, u^2, ... up to a degree.
  Where asked for, the range 0 to 1 or the column's own unit stands in place of the deviation.
* A nominal or boolean column has an indicator of each level that occurs, except the first one that does: the
  reference, for which all indicators are 0 (reference coding). Where asked for, a column of which three or more
  levels occur has an indicator of each (one-hot coding).
* A column with missing values may have an indicator more, that of a missing value (a gap).

**Imputation**: a missing value counts as the mean of the known ones, so of a standardised column u = 0; of a nominal
one each indicator is its level's share. A level that did not occur in training, or is none of the column's, counts so
too, but without the gap's indicator. A variable that does not vary in training is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from learners.errors import DataError, quoted
from learners.preprocessing.encoded import GAP, LEVEL, POWER, LevelVariables, RowEncoder
from learners.preprocessing.scale import fit_scaling
from learners.table import Column, Kind, Table
from learners.types import Array, BoolArray, FloatArray, Int8Array, Int32Array

__all__ = ["GAP", "LEVEL", "POWER", "Encoding", "fit_encoding"]

#: Most variables, and most of them times rows: 1.6 GB.
MAX_VARIABLES, MAX_CELLS = 5_000, 200_000_000
#: A spread below this share of the largest magnitude is rounding, and the column constant.
_SPREAD = 1e-13
_EXPONENTS = (-1022, 1023)


@dataclass(frozen=True, eq=False)
class Encoding:
    """V variables of d columns, in the order of the columns; of one column powers or levels ascend, the gap is last.

    Attributes:
        factor, offset, unit: float64 (d,): of a cell x of a numeric or ordinal column u = (x factor - offset) / unit.
        column: int32 (V,), each variable's column.
        kind: int8 (V,), see :data:`POWER`, :data:`LEVEL` and :data:`GAP`.
        detail: int32 (V,), the power, or the level's code.
        share: float64 (V,), what a missing value counts as: of an indicator of a level its share among the known cells,
            of a power of degree 1 the mean (0 if standardised); 0 of other variables.
        seen: int8, for each level of each column that is not numeric whether it occurred; one column after the other.
    """

    factor: FloatArray
    offset: FloatArray
    unit: FloatArray
    column: Int32Array
    kind: Int8Array
    detail: Int32Array
    share: FloatArray
    seen: Int8Array

    @property
    def n_variables(self) -> int:
        return len(self.column)

    def encoder(self, columns: Sequence[Column]) -> RowEncoder:
        """What encodes rows of the columns to which this was fitted."""
        is_first = (self.kind == POWER) & (self.detail == 1)
        firsts = np.flatnonzero(is_first)
        numbers = self.column[firsts].astype(np.int64)
        by_column = dict(zip(numbers.tolist(), firsts.tolist(), strict=True))
        higher = np.flatnonzero((self.kind == POWER) & (self.detail > 1)).tolist()
        gaps = np.flatnonzero(self.kind == GAP)
        bounds = np.cumsum([0, *(len(column.levels) for column in columns)]).tolist()
        seen = [self.seen[first:end] > 0 for first, end in pairwise(bounds)]
        coded = np.unique(self.column[self.kind == LEVEL]).astype(np.int64)
        return RowEncoder(
            self.n_variables,
            numbers,
            np.array([not columns[index].is_numeric for index in numbers.tolist()], dtype=np.bool_),
            self.factor[numbers],
            self.offset[numbers],
            self.unit[numbers],
            firsts,
            self.share[firsts],
            tuple((place, by_column[int(self.column[place])], int(self.detail[place])) for place in higher),
            gaps,
            self.column[gaps].astype(np.int64),
            coded,
            tuple(_level_variables(self, index, seen[index]) for index in coded.tolist()),
        )

    def values(self, cells: FloatArray, columns: Sequence[Column], kind: type[np.floating] = np.float64) -> Array:
        """The variables of some rows, see :meth:`learners.preprocessing.encoded.RowEncoder.values`."""
        return self.encoder(columns).values(cells, kind)

    def is_seen(self, index: int, code: int, columns: Sequence[Column]) -> bool:
        """Whether a level of a column occurred in training."""
        start = sum(len(column.levels) for column in columns[:index])
        return code >= 0 and bool(self.seen[start + code])

    def take(self, variables: Array) -> Encoding:
        """Some of the variables, in their order."""
        return Encoding(
            self.factor,
            self.offset,
            self.unit,
            self.column[variables],
            self.kind[variables],
            self.detail[variables],
            self.share[variables],
            self.seen,
        )

    def to_arrays(self) -> dict[str, Array]:
        """The fields by name, each name with ``encoding_`` before it."""
        return {f"encoding_{name}": array for name, array in vars(self).items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Encoding:
        names = cls.__dataclass_fields__
        return cls(**{name: arrays[f"encoding_{name}"] for name in names})


def _level_variables(encoding: Encoding, index: int, seen: BoolArray) -> LevelVariables:
    places = np.flatnonzero((encoding.kind == LEVEL) & (encoding.column == index))
    table = np.tile(encoding.share[places], (len(seen) + 1, 1))
    levels = np.flatnonzero(seen)
    table[levels] = levels[:, None] == encoding.detail[places]
    return LevelVariables((int(places[0]), int(places[-1]) + 1), table)


def fit_encoding(
    table: Table,
    weights: FloatArray,
    *,
    degree: int = 1,
    gaps: bool = True,
    scaling: str = "standard",
    reference: bool = True,
) -> Encoding:
    """The encoding of a table's columns by its rows.

    Args:
        table: n rows; no column of texts or sequences.
        weights: > 0, shape (n,).
        degree: largest power of a column of more than two distinct numbers; of one of k numbers at most k - 1.
        gaps: whether columns with missing values have an indicator of these.
        scaling: of numbers and ranks, see :data:`learners.preprocessing.scale.SCALINGS`; powers above 1 are for
            ``standard``.
        reference: whether the first level of three or more has no indicator.

    Raises:
        DataError: there would be too many variables; names the column with the most levels.
    """
    ranked = [column.is_numeric or column.kind is Kind.ORDINAL for column in table.columns]
    numbers = np.where(np.array(ranked), table.values, np.nan)
    for index, column in enumerate(table.columns):
        if column.kind is Kind.ORDINAL:
            numbers[numbers[:, index] < 0, index] = np.nan
    factor, offset, unit = _scale(numbers, weights, scaling)
    mean = np.zeros(len(unit)) if scaling == "standard" else _mean(numbers, weights, factor, offset, unit)
    _check_size(table)
    entries: list[tuple[int, int, int, float]] = []
    seen: list[int] = []
    for index, column in enumerate(table.columns):
        cells = table.values[:, index]
        by_level = _level_weights(column, cells, weights)
        seen += (by_level > 0).astype(int).tolist()
        if not ranked[index]:
            total = float(by_level.sum())
            occurring = np.flatnonzero(by_level > 0).tolist()
            own = occurring[1:] if reference or len(occurring) < 3 else occurring
            entries += [(index, LEVEL, code, float(by_level[code]) / total) for code in own]
        elif unit[index] > 0:
            entries += [
                (index, POWER, power, float(mean[index])) for power in range(1, _highest(numbers[:, index], degree) + 1)
            ]
        missing = np.isnan(cells)
        if gaps and missing.any() and not missing.all():
            entries.append((index, GAP, 0, 0.0))
    _check_variables(table, len(entries))
    made = np.array(entries, dtype=np.float64).reshape(-1, 4)
    return Encoding(
        factor,
        offset,
        np.where(unit > 0, unit, 1.0),
        made[:, 0].astype(np.int32),
        made[:, 1].astype(np.int8),
        made[:, 2].astype(np.int32),
        made[:, 3].copy(),
        np.array(seen, dtype=np.int8),
    )


def _scale(numbers: FloatArray, weights: FloatArray, how: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Factor, offset and unit of each column; a unit of 0 where it is constant."""
    scaling = fit_scaling(numbers, weights, "standard" if how == "none" else how)
    if how == "none":
        return np.ones(len(scaling.unit)), np.zeros(len(scaling.unit)), np.where(scaling.unit > _SPREAD, 1.0, 0.0)
    exponent = np.clip(scaling.exponent, *_EXPONENTS)
    left = exponent - scaling.exponent  # of the smallest doubles, which cannot be brought near 1 by one factor
    unit = np.where(scaling.unit > _SPREAD, np.ldexp(scaling.unit, left), 0.0)
    return np.ldexp(1.0, exponent), np.ldexp(scaling.offset, left), unit


def _mean(
    numbers: FloatArray, weights: FloatArray, factor: FloatArray, offset: FloatArray, unit: FloatArray
) -> FloatArray:
    """Weighted mean of each column's known numbers, scaled; 0 where it is constant."""
    known = ~np.isnan(numbers) & (unit > 0)
    counted = known * weights[:, None]
    shares = counted / np.maximum(counted.sum(axis=0), np.finfo(np.float64).tiny)
    scaled = (np.where(known, numbers, 0.0) * factor - offset) / np.where(unit > 0, unit, 1.0)
    found: FloatArray = (shares * np.where(known, scaled, 0.0)).sum(axis=0)
    return found


def _level_weights(column: Column, cells: FloatArray, weights: FloatArray) -> FloatArray:
    known = cells >= 0 if column.levels else np.zeros(len(cells), np.bool_)
    sums = np.bincount(cells[known].astype(np.int64), weights[known], minlength=len(column.levels))
    return sums.astype(np.float64)


def _highest(numbers: FloatArray, degree: int) -> int:
    if degree == 1:
        return 1
    distinct = len(np.unique(numbers[~np.isnan(numbers)]))
    return max(1, min(degree, distinct - 1))


def _check_size(table: Table) -> None:
    levels = sum(max(len(column.levels), 1) for column in table.columns)
    if levels > MAX_CELLS:
        _refuse(table, levels)


def _check_variables(table: Table, n_variables: int) -> None:
    if n_variables > MAX_VARIABLES or n_variables * table.n_rows > MAX_CELLS:
        _refuse(table, n_variables)


def _refuse(table: Table, n_variables: int) -> None:
    widest = max(table.columns, key=lambda column: len(column.levels))
    raise DataError(
        f"the columns make {n_variables} variables of {table.n_rows} rows, most of them column {quoted(widest.name)} "
        f"with its {len(widest.levels)} levels; at most {MAX_VARIABLES} variables and {MAX_CELLS} numbers are learned "
        "from. Leave columns out, or merge levels",
        field=widest.name,
    )
