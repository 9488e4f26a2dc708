"""The table of typed columns: the one form in which data reach a learner.

A table is a column-major float64 matrix with a :class:`~learners.columns.Column` to each of its
columns; see there for what a cell holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from learners.columns import (
    EXACT_INTEGER,
    MISSING,
    OPEN_KINDS,
    UNSEEN,
    Column,
    Kind,
    LevelType,
    canonical_text,
    infer_column,
    nominal_levels,
    number_text,
    parse_number,
)
from learners.errors import DataError, SchemaError, quoted
from learners.types import Array, FloatArray, Int32Array, Value

__all__ = [
    "EXACT_INTEGER",
    "MISSING",
    "OPEN_KINDS",
    "UNSEEN",
    "Column",
    "Kind",
    "LevelType",
    "Series",
    "Table",
    "canonical_text",
    "infer_column",
    "nominal_levels",
    "number_text",
    "parse_number",
]


@lru_cache(maxsize=64)
def _numbered(n_columns: int) -> tuple[Column, ...]:
    """Numeric columns x0, x1, ...; kept, since a fit of a small array takes not much longer than making them."""
    return tuple(Column(f"x{index}") for index in range(n_columns))


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of typed columns. Two tables are the same only if they are one object.

    Attributes:
        columns: d columns with distinct names.
        values: float64, shape (n, d); see :mod:`learners.columns` for what a cell holds. Kept column-major,
            copied only if it comes otherwise.
    """

    columns: tuple[Column, ...]
    values: FloatArray = field(repr=False)

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.columns):
            raise DataError(f"{len(self.columns)} columns do not describe values of shape {self.values.shape}")
        names = self.names
        if len(set(names)) != len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise DataError(f"two columns are named {quoted(twice)}", field=twice)
        if self.values.dtype != np.float64 or not self.values.flags.f_contiguous:
            object.__setattr__(self, "values", np.asfortranarray(self.values, dtype=np.float64))

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def n_rows(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    def __len__(self) -> int:
        return self.n_rows

    def position(self, name: str) -> int:
        """Index of the column of that name."""
        try:
            return self._positions[name]
        except KeyError:
            raise SchemaError(f"there is no column {quoted(name)}", field=name) from None

    @cached_property
    def _positions(self) -> dict[str, int]:
        """By name; kept, since going through thousands of columns for each of as many names takes seconds."""
        return {column.name: index for index, column in enumerate(self.columns)}

    def column(self, name: str) -> Series:
        index = self.position(name)
        return Series(self.columns[index], self.values[:, index])

    def take(self, rows: Array) -> Table:
        """The given rows (indices or a mask), in that order."""
        chosen = np.flatnonzero(rows) if np.asarray(rows).dtype == np.bool_ else np.asarray(rows, dtype=np.int64)
        # by columns: one copy, already column-major
        return Table(self.columns, np.take(self.values.T, chosen, axis=1).T)

    def select(self, names: Sequence[str]) -> Table:
        """The named columns in the order given."""
        indices = [self.position(name) for name in names]
        return Table(tuple(self.columns[i] for i in indices), np.asfortranarray(self.values[:, indices]))

    def drop(self, names: Iterable[str]) -> Table:
        gone = set(names)
        return self.select([name for name in self.names if name not in gone])

    @classmethod
    def from_array(cls, values: Array, names: Sequence[str] | None = None) -> Table:
        """A table of numeric columns from an (n, d) matrix; NaN is missing, columns are x0, x1, ..."""
        matrix = np.asfortranarray(values, dtype=np.float64)
        if matrix.ndim != 2:
            raise DataError(f"Expected 2D array, got {matrix.ndim}D array of shape {matrix.shape}. Reshape your data")
        if names is None:
            return cls(_numbered(matrix.shape[1]), matrix)
        return cls(tuple(Column(name) for name in names), matrix)

    @classmethod
    def from_columns(cls, data: Mapping[str, Sequence[Value | None]], columns: Sequence[Column] = ()) -> Table:
        """A table from values by column name; ``None`` is missing.

        A column described in ``columns`` is encoded by its description. Of any other the kind
        follows the Python types: booleans alone are boolean, numbers alone numeric, lists alone sequences, else
        nominal with the levels in sorted order. A column of texts or sequences learns what it does not know yet.
        """
        described = {column.name: column for column in columns}
        series = [Series.from_values(name, cells, described.get(name)) for name, cells in data.items()]
        if len({len(one.cells) for one in series}) > 1:
            raise DataError(
                "columns differ in length: " + ", ".join(f"{s.column.name}: {len(s.cells)}" for s in series)
            )
        rows = len(series[0].cells) if series else 0
        values = np.empty((rows, len(series)), order="F")
        for index, one in enumerate(series):
            values[:, index] = one.cells
        return cls(tuple(one.column for one in series), values)

    def to_columns(self) -> dict[str, list[Value | None]]:
        """The values by column name, the inverse of :meth:`from_columns`."""
        return {
            column.name: [column.decode(cell) for cell in self.values[:, index].tolist()]
            for index, column in enumerate(self.columns)
        }


@dataclass(frozen=True, eq=False)
class Series:
    """One column with its cells: what a target is given as.

    Attributes:
        column: name, kind and levels.
        cells: float64, shape (n,), coded as in :class:`Table`.
    """

    column: Column
    cells: FloatArray = field(repr=False)

    def __len__(self) -> int:
        return int(self.cells.shape[0])

    @property
    def codes(self) -> Int32Array:
        """The codes of a column with levels; -1 where missing or unseen."""
        return np.where(np.isnan(self.cells), -1, self.cells).astype(np.int32)

    def take(self, rows: Array) -> Series:
        return Series(self.column, self.cells[rows])

    @classmethod
    def from_values(cls, name: str, values: Sequence[Value | None], column: Column | None = None) -> Series:
        """Encode values by a description, or by one inferred from their Python types."""
        cells = list(values)
        known = column if column is not None else infer_column(name, cells)
        known = known.extended(cells) if known.is_open else known
        return cls(known, np.array([known.encode(value) for value in cells], dtype=np.float64))
