"""A table's rows as sequences of steps: columns of sequences and of texts step by step, other columns in every step.

* Of a column of sequences each number of a step is a variable, scaled over all steps of the training rows.
* A text is a string of symbols: of each character that occurs in training there is an indicator. Another character
  has none of them.
* Other columns are encoded as for any network (:class:`learners.neural.inputs.Inputs`) and enter at every step.

All sequences and texts of a row have equally many steps. One that is missing counts as the training steps' mean. A row
without any, or with an empty text, is one step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from learners.errors import ROW, SchemaError, quoted
from learners.neural.inputs import LARGEST_INPUT, Inputs, too_large
from learners.neural.recurrent.sequences import Sequences
from learners.preprocessing.scale import Scaling, fit_scaling
from learners.sequences import parse_sequence, step_width
from learners.table import UNSEEN, Column, Kind, Table
from learners.types import Array, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class StepInputs:
    """V variables of a step: those of the open columns in their order, then those of the others.

    Attributes:
        columns: of the training table.
        owner: int64 (N,), the column of each variable of open columns.
        symbol: int64 (N,), the code point that it indicates; -1 of a number.
        scaling: of the N variables; indicators stay as they are.
        plain: of the other columns.
        mean: of all training steps, shape (V,).
    """

    columns: tuple[Column, ...]
    owner: IntArray
    symbol: IntArray
    scaling: Scaling
    plain: Inputs
    mean: FloatArray

    @classmethod
    def fit(cls, table: Table, weights: FloatArray, *, scaling: str, gaps: bool) -> Self:
        """The inputs of training rows; as :meth:`learners.neural.inputs.Inputs.fit`."""
        plain = Inputs.fit(_plain(table), weights, scaling=scaling, gaps=gaps)
        owner, symbol = _variables(table)
        unscaled = fit_scaling(np.zeros((1, len(owner))), np.ones(1), "none")
        made = cls(table.columns, owner, symbol, unscaled, plain, np.full(len(owner) + plain.n_inputs, np.nan))
        values, starts = made._steps(table)
        if scaling == "none":
            _refuse_huge(table.columns, owner, values)
        by_step = np.repeat(weights, np.diff(starts))
        fitted = fit_scaling(values[:, : len(owner)], by_step, scaling)
        is_symbol = symbol >= 0
        own = Scaling(
            np.where(is_symbol, 0, fitted.exponent),
            np.where(is_symbol, 0.0, fitted.offset),
            np.where(is_symbol, 1.0, fitted.unit),
        )
        values[:, : len(owner)] = _held(own.apply(values[:, : len(owner)]))
        known, shares = ~np.isnan(values), by_step / by_step.sum()
        total = np.where(known.all(axis=0), 1.0, np.maximum(shares @ known, np.finfo(np.float64).tiny))
        mean = (shares @ np.where(known, values, 0.0)) / total
        return cls(table.columns, owner, symbol, own, plain, mean)

    @property
    def n_inputs(self) -> int:
        return len(self.owner) + self.plain.n_inputs

    def batch(self, table: Table) -> Sequences:
        """The rows of a table of these columns.

        Raises:
            SchemaError: two columns have different numbers of steps in a row.
        """
        values, starts = self._steps(table)
        own = slice(len(self.owner))
        scaled = _held(self.scaling.apply(values[:, own]))
        values[:, own] = np.where(np.isnan(scaled), self.mean[own], scaled)
        return Sequences(values, starts)

    def _steps(self, table: Table) -> tuple[FloatArray, IntArray]:
        """The variables of all steps, open ones as they come and NaN where missing, shape (S, V); and the starts."""
        opened = {index: _Cells(column, table.values[:, index]) for index, column in _opened(table.columns)}
        starts = np.concatenate([[0], np.cumsum(_lengths(table, opened))]).astype(np.int64)
        values = np.full((int(starts[-1]), self.n_inputs), np.nan)
        for index, cells in opened.items():
            own = np.flatnonzero(self.owner == index)
            if len(own):
                steps, found = cells.numbers(self.symbol[own], starts)
                values[steps[:, None], own] = found
        if self.plain.n_inputs:
            values[:, len(self.owner) :] = np.repeat(self.plain.batch(_plain(table)), np.diff(starts), axis=0)
        return values, starts

    def held(self, table: Table) -> FloatArray:
        """What the first row of a table holds through all steps.

        Of each open column whether its value is known, 1 or 0; then the numbers that the other columns enter as.
        """
        known = [
            float(not np.isnan(table.values[0, index]) and table.values[0, index] != UNSEEN)
            for index, _ in _opened(table.columns)
        ]
        return np.concatenate([known, self.plain.batch(_plain(table.take(np.array([0]))))[0]])

    def held_owners(self) -> IntArray:
        """The column of each number of :meth:`held`."""
        opened = np.array([index for index, _ in _opened(self.columns)], dtype=np.int64)
        return np.concatenate([opened, self._plain_owners()])

    def _plain_owners(self) -> IntArray:
        plain = np.array([index for index, column in enumerate(self.columns) if not column.is_open], dtype=np.int64)
        return plain[self.plain.owners(self.plain.n_inputs)]

    def take(self, rows: Sequences, chosen: Array) -> Sequences:
        return rows.take(chosen)

    def flats(self, table: Table) -> list[FloatArray]:
        """The variables of each row, one step after the other, shape (T V,)."""
        rows = self.batch(table)
        return [step.ravel() for step in np.split(rows.values, rows.starts[1:-1])] if len(rows) else []

    def baseline(self, width: int) -> FloatArray:
        return np.tile(self.mean, width // self.n_inputs)

    def owners(self, width: int) -> IntArray:
        return np.tile(np.concatenate([self.owner, self._plain_owners()]), width // self.n_inputs)

    def points(self, flats: FloatArray) -> Sequences:
        length = flats.shape[1] // self.n_inputs
        starts = np.arange(len(flats) + 1, dtype=np.int64) * length
        return Sequences(np.ascontiguousarray(flats.reshape(-1, self.n_inputs)), starts)

    def knows(self, index: int, cell: float, column: Column) -> bool:
        if column.kind is Kind.TEXT:
            return self.symbols(index).issuperset(column.levels[int(cell)])
        if column.is_open:
            return True
        return self.plain.knows(sum(not other.is_open for other in self.columns[:index]), cell, column)

    def symbols(self, index: int) -> frozenset[str]:
        """The symbols of a column of texts that occurred in training; others have no indicator."""
        return frozenset(map(chr, self.symbol[self.owner == index].tolist()))

    def to_arrays(self) -> dict[str, Array]:
        own = {"owner": self.owner, "symbol": self.symbol, "step_mean": self.mean}
        own |= {f"step_{name}": array for name, array in vars(self.scaling).items()}
        return {f"inputs_{name}": array for name, array in own.items()} | self.plain.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], columns: tuple[Column, ...]) -> Self:
        names = Scaling.__dataclass_fields__
        scaling = Scaling(**{name: arrays[f"inputs_step_{name}"] for name in names})
        plain = Inputs.from_arrays(arrays, tuple(column for column in columns if not column.is_open))
        own = (arrays["inputs_owner"], arrays["inputs_symbol"])
        return cls(columns, *own, scaling, plain, arrays["inputs_step_mean"])


def _held(values: FloatArray) -> FloatArray:
    return np.clip(values, -LARGEST_INPUT, LARGEST_INPUT)


def _refuse_huge(columns: tuple[Column, ...], owner: IntArray, values: FloatArray) -> None:
    for place, index in enumerate(owner.tolist()):
        if np.nanmax(np.abs(values[:, place]), initial=0.0) > LARGEST_INPUT:
            raise too_large(columns[index])


def longest(table: Table) -> int:
    """Steps of the longest row of a table.

    Raises:
        SchemaError: two columns have different numbers of steps in a row.
    """
    opened = {index: _Cells(column, table.values[:, index]) for index, column in _opened(table.columns)}
    return int(_lengths(table, opened).max(initial=1))


class _Cells:
    """An open column's values in some rows, as steps.

    Attributes:
        known: the rows that have a value.
        lengths: steps of each row; 0 where it has no value.
    """

    def __init__(self, column: Column, cells: FloatArray) -> None:
        self._column = column
        self.known = np.flatnonzero(~np.isnan(cells) & (cells != UNSEEN))
        used, self._place = np.unique(cells[self.known].astype(np.int64), return_inverse=True)
        is_text = column.kind is Kind.TEXT
        self._values = [
            _points_of(column.levels[code]) if is_text else parse_sequence(column.levels[code]) for code in used
        ]
        self._counts = np.array([len(value) for value in self._values], dtype=np.int64)
        self.lengths = np.zeros(len(cells), dtype=np.int64)
        self.lengths[self.known] = self._counts[self._place]

    def numbers(self, symbols: IntArray, starts: IntArray) -> tuple[IntArray, FloatArray]:
        """The variables of all steps of the rows with a value, and where these steps are in a batch.

        Args:
            symbols: of each variable its code point, or -1.
            starts: of all rows of the batch.
        """
        if not self._values:
            return np.empty(0, np.int64), np.empty((0, len(symbols)))
        joined = np.concatenate(self._values)
        if self._column.kind is Kind.TEXT:
            joined = (joined == symbols).astype(np.float64)
        begins = np.concatenate([[0], np.cumsum(self._counts)]).astype(np.int64)
        found = Sequences(np.ascontiguousarray(joined), begins).take(self._place)
        within = np.arange(len(found.values)) - np.repeat(found.starts[:-1], found.lengths)
        return np.repeat(starts[self.known], found.lengths) + within, found.values


def _points_of(text: str) -> IntArray:
    """The code points of a text, shape (T, 1)."""
    return np.array([ord(letter) for letter in text], dtype=np.int64)[:, None]


def _opened(columns: tuple[Column, ...]) -> list[tuple[int, Column]]:
    return [(index, column) for index, column in enumerate(columns) if column.is_open]


def _plain(table: Table) -> Table:
    kept = [index for index, column in enumerate(table.columns) if not column.is_open]
    return Table(tuple(table.columns[index] for index in kept), table.values[:, kept])


def _variables(table: Table) -> tuple[IntArray, IntArray]:
    """Column and symbol of each variable of open columns; of a column that is missing throughout there are none."""
    owner: list[int] = []
    symbol: list[int] = []
    for index, column in _opened(table.columns):
        cells = table.values[:, index]
        codes = np.unique(cells[~np.isnan(cells) & (cells != UNSEEN)]).astype(np.int64).tolist()
        if column.kind is Kind.TEXT:
            found = sorted({ord(letter) for code in codes for letter in column.levels[code]})
        else:
            found = [-1] * (step_width(column.levels[codes[0]]) if codes else 0)
        owner += [index] * len(found)
        symbol += found
    return np.array(owner, dtype=np.int64), np.array(symbol, dtype=np.int64)


def uneven_rows(table: Table) -> Iterator[tuple[int, int, int, int]]:
    """The rows whose open columns have different numbers of steps: row, column, its steps, and those before it."""
    lengths = np.zeros(table.n_rows, dtype=np.int64)
    for index, column in _opened(table.columns):
        cells = _Cells(column, table.values[:, index])
        both = cells.known[lengths[cells.known] > 0]
        for row in both[lengths[both] != cells.lengths[both]].tolist():
            yield row, index, int(cells.lengths[row]), int(lengths[row])
        lengths = np.where(lengths > 0, lengths, cells.lengths)


def row_steps(table: Table) -> IntArray:
    """The most steps of a sequence or text of each row, shape (n,); 0 where all are missing."""
    found = np.zeros(table.n_rows, dtype=np.int64)
    for index, column in _opened(table.columns):
        found = np.maximum(found, _Cells(column, table.values[:, index]).lengths)
    return found


def _lengths(table: Table, opened: Mapping[int, _Cells]) -> IntArray:
    """Steps of each row, at least 1."""
    for row, index, here, there in uneven_rows(table) if len(opened) > 1 else ():
        name = table.columns[index].name
        raise SchemaError(
            f"row {ROW}: column {quoted(name)} has {here} steps, where another column has {there}; all sequences of a "
            "row have equally many",
            field=name,
            row=row,
        )
    lengths = np.zeros(table.n_rows, dtype=np.int64)
    for cells in opened.values():
        lengths = np.maximum(lengths, cells.lengths)
    return np.maximum(lengths, 1)
