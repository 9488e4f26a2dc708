"""A table's rows as the numbers that reach a network's input units, fitted to training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from learners.errors import DataError, quoted
from learners.preprocessing.encode import Encoding, fit_encoding
from learners.preprocessing.encoded import RowEncoder
from learners.table import Column, Kind, Table
from learners.types import Array, FloatArray, IntArray

#: No input is larger than this, so that sums of many layers stay finite.
LARGEST_INPUT = 1e30


class AnyInputs(Protocol):
    """What an estimator needs of its inputs; :class:`Inputs` are those of plain columns.

    A *batch* is what the family's network takes for many rows. A *flat* row is one row as a vector of W numbers, which
    reasons are told of; plain columns have W = V, a sequence of T steps has W = T k.
    """

    @property
    def n_inputs(self) -> int:
        """Number of input units."""

    def batch(self, table: Table) -> Any:
        """The rows of a table of the model's columns."""

    def take(self, rows: Any, chosen: Array) -> Any:
        """Some rows of a batch."""

    def flats(self, table: Table) -> list[FloatArray]:
        """The rows of a table, each of shape (W,)."""

    def baseline(self, width: int) -> FloatArray:
        """The training rows' mean as a flat row of that width, shape (W,)."""

    def owners(self, width: int) -> IntArray:
        """Of each number of such a row its column's index, shape (W,)."""

    def points(self, flats: FloatArray) -> Any:
        """Flat rows of one width, shape (m, W), as a batch."""

    def knows(self, index: int, cell: float, column: Column) -> bool:
        """Whether a cell that is not missing holds a value that training could tell of.

        Args:
            column: the cell's, which may have other levels than that of training where these are open.
        """

    def to_arrays(self) -> dict[str, Array]:
        """The inputs as arrays by name, each name with ``inputs_`` before it."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], columns: tuple[Column, ...]) -> Self:
        """The inverse."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """Plain columns as V numbers: scaled quantities and ranks, indicators of levels and of gaps.

    See :mod:`learners.preprocessing.encode` for what becomes of a missing value or an unseen level.

    Attributes:
        encoding: how the numbers are made.
        columns: of the training table.
        mean: weighted mean of the training rows, shape (V,).
    """

    encoding: Encoding
    columns: tuple[Column, ...]
    mean: FloatArray

    @classmethod
    def fit(cls, table: Table, weights: FloatArray, *, scaling: str = "standard", gaps: bool = True) -> Self:
        """The inputs of training rows.

        Args:
            table: n rows.
            weights: > 0, shape (n,).
            scaling: of quantities and ranks, see :data:`learners.preprocessing.scale.SCALINGS`.
            gaps: whether columns with missing values have an indicator of these.

        Raises:
            DataError: too many inputs, or unscaled numbers beyond 1e30; names the column.
        """
        if scaling == "none":
            _refuse_huge(table)
        encoding = fit_encoding(table, weights, gaps=gaps, scaling=scaling, reference=False)
        made = cls(encoding, table.columns, np.zeros(encoding.n_variables))
        shares = weights / weights.sum()
        return cls(encoding, table.columns, shares @ made.batch(table))

    @cached_property
    def _encoder(self) -> RowEncoder:
        return self.encoding.encoder(self.columns)

    @property
    def n_inputs(self) -> int:
        return self.encoding.n_variables

    def batch(self, table: Table) -> FloatArray:
        """Shape (n, V), row-major."""
        values = self._encoder.values(table.values)
        made: FloatArray = np.clip(np.ascontiguousarray(values), -LARGEST_INPUT, LARGEST_INPUT)
        return made

    def take(self, rows: FloatArray, chosen: Array) -> FloatArray:
        return rows[chosen]

    def flats(self, table: Table) -> list[FloatArray]:
        return list(self.batch(table))

    def baseline(self, width: int) -> FloatArray:
        return self.mean

    def owners(self, width: int) -> IntArray:
        return self.encoding.column.astype(np.int64)

    def points(self, flats: FloatArray) -> FloatArray:
        return flats

    def knows(self, index: int, cell: float, column: Column) -> bool:
        if column.is_numeric:
            return True
        return self.encoding.is_seen(index, int(cell), self.columns)

    def to_arrays(self) -> dict[str, Array]:
        own = {f"inputs_{name}": array for name, array in self.encoding.to_arrays().items()}
        return own | {"inputs_mean": self.mean}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], columns: tuple[Column, ...]) -> Self:
        own = {name.removeprefix("inputs_"): array for name, array in arrays.items() if name.startswith("inputs_")}
        return cls(Encoding.from_arrays(own), columns, arrays["inputs_mean"])


def expected_inputs(columns: Sequence[Column]) -> int:
    """How many inputs columns make whose values are all known and vary, and whose levels all occur."""
    return sum(1 if column.is_numeric or len(column.levels) < 3 else _levels(column) for column in columns)


def _levels(column: Column) -> int:
    return 1 if column.kind is Kind.ORDINAL else len(column.levels)


def _refuse_huge(table: Table) -> None:
    for index, column in enumerate(table.columns):
        if column.is_numeric and (np.abs(table.values[:, index]) > LARGEST_INPUT).any():
            raise too_large(column)


def too_large(column: Column) -> DataError:
    """What is said of unscaled numbers beyond the largest input."""
    return DataError(
        f"column {quoted(column.name)} goes beyond {LARGEST_INPUT:g} in magnitude, which unscaled inputs do not; give "
        "scaling = standard or range",
        field=column.name,
    )
