"""Rows of a prediction request against a model's columns: one coercion for JSON objects, matrices, CSV and NDJSON.

Columns are matched by name, so their order never matters. :meth:`learners.table.Column.encode` says what
a value is; this module only applies it to many, tells the missing tokens, and keeps a bad row's errors to
that row. Nothing here loads a file parser, because the processes that answer predictions use it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from learners.errors import quoted
from learners.table import Column
from learners.types import FloatArray
from service.errors import Fault, Invalid
from service.formats.cell_coder import DOUBTFUL, CellCoder
from service.formats.faults import cut, shown
from service.formats.written_numbers import PLAIN, NumberSyntax

_NUMBERS = frozenset({int, float, type(None)})
#: Names of columns that a message repeats.
_NAMES_SHOWN = 10
#: What may separate cells in a text, by which a header of one name is no table.
_SEPARATORS = {";": "';'", "\t": "a tab", ",": "a comma", "|": "'|'"}


@dataclass(frozen=True)
class Unseen:
    """A known value that is none of its column's levels: row, index of the column, the value as it came."""

    row: int
    column: int
    value: Any


@dataclass
class Encoded:
    """Rows as cells, with what is to be said of them.

    Attributes:
        values: float64, shape (n, d), column-major, coded as in a table; NaN where missing or in error,
            -1 where unseen.
        columns: by which the cells are coded, if any of the encoder's is open: that has the values of these rows.
        faults: by row, what is wrong with it; such a row has no answer.
        unseen: every unseen value, in no particular order.
        ignored_columns: names that the model does not know, in their order.
        absent_columns: columns of the model that some row lacks; their cells are missing.
    """

    values: FloatArray
    faults: dict[int, list[Fault]] = field(default_factory=dict)
    unseen: list[Unseen] = field(default_factory=list)
    ignored_columns: list[str] = field(default_factory=list)
    absent_columns: list[str] = field(default_factory=list)
    columns: tuple[Column, ...] | None = None

    def add_fault(self, row: int, fault: Fault) -> None:
        self.faults.setdefault(row, []).append(fault)


class RowEncoder:
    """Encodes rows for one list of columns; made once for a model, used for every request.

    Args:
        columns: d columns, in the order in which the model takes them.
        missing_tokens: texts that stand for a missing value; ``""`` applies where it is not a level.
        syntax: how texts write numbers.
    """

    def __init__(
        self, columns: Sequence[Column], missing_tokens: Sequence[str] = ("",), syntax: NumberSyntax = PLAIN
    ) -> None:
        self.columns = tuple(columns)
        self._names = [column.name for column in self.columns]
        self._known = frozenset(self._names)
        self._coders = [CellCoder(column, frozenset(missing_tokens), syntax) for column in self.columns]
        self._is_numeric = all(column.is_numeric for column in self.columns)
        self._get = itemgetter(*self._names) if len(self._names) > 1 else None

    def objects(self, rows: Sequence[Any]) -> Encoded:
        """Encode rows given as mappings from column name to value; None is missing."""
        quick = self._quick(rows)
        if quick is not None:
            return quick
        broken = {row: fault for row, value in enumerate(rows) if (fault := self._strangeness(value)) is not None}
        if broken:
            nothing = dict.fromkeys(self._names)
            rows = [nothing if row in broken else value for row, value in enumerate(rows)]
        absent: list[str] = []
        by_column = [_gather(rows, name, absent) for name in self._names]
        encoded = self._columns(by_column, len(rows), None)
        for row, fault in broken.items():
            encoded.add_fault(row, replace(fault, row=row))
        encoded.absent_columns = absent
        encoded.ignored_columns = self._ignored(rows)
        return encoded

    def matrix(self, names: Sequence[Any], data: Sequence[Any], lines: Sequence[int] | None = None) -> Encoded:
        """Encode rows given as lists of values in the order of ``names``.

        Args:
            names: distinct column names.
            data: rows; one of another length than ``names`` is a bad row.
            lines: the line of each row, for messages, or None.

        Raises:
            Invalid: a name is no text or occurs twice, or none is one of the columns'.
        """
        self.check_names(names)
        width = len(names)
        broken = [row for row, cells in enumerate(data) if not isinstance(cells, list | tuple) or len(cells) != width]
        if broken:
            wrong = set(broken)
            nothing = [None] * width
            columns = list(zip(*(nothing if row in wrong else cells for row, cells in enumerate(data)), strict=True))
        else:
            columns = list(zip(*data, strict=True))
        if not columns:
            columns = [()] * width
        by_name = dict(zip(names, columns, strict=True))
        nothing_known = (None,) * len(data)
        encoded = self._columns([by_name.get(name, nothing_known) for name in self._names], len(data), lines)
        for row in broken:
            count = f"{len(data[row])} cells" if isinstance(data[row], list | tuple) else "no list"
            message = f"a row is a list of {width} values, one to each column named; this one has {count}"
            encoded.add_fault(row, Fault(message, row=row, line=lines[row] if lines else None, allowed=width))
        encoded.absent_columns = [name for name in self._names if name not in by_name]
        encoded.ignored_columns = [name for name in names if name not in self._known]
        return encoded

    def fill_empty(self, names: Sequence[str], data: Sequence[list[str | None]]) -> None:
        """Put an empty text, as upload does, in empty cells of CSV where those are not what is missing, but a text.

        Args:
            names: of the columns sent.
            data: their cells, row by row, None where empty; changed in place.
        """
        takers = {coder.column.name for coder in self._coders if coder.takes_empty_text}
        for place in (place for place, name in enumerate(names) if name in takers):
            for cells in data:
                if place < len(cells) and cells[place] is None:
                    cells[place] = ""

    def check_names(self, names: Sequence[Any]) -> None:
        """Refuse a header that is no list of distinct texts, or has none of the columns though it names some.

        Raises:
            Invalid: names the first culprit, or what was sent and what is known.
        """
        _check_distinct(names)
        if names and self._is_strange(names):
            fault = self._unknown(names)
            raise Invalid(f"The request is not valid: {fault.message}", [fault])

    def _strangeness(self, row: Any) -> Fault | None:
        """What makes a row none: it is no object, or has none of the columns though it names some."""
        if not isinstance(row, Mapping):
            return Fault("a row is an object of values by column name")
        return self._unknown(list(row)) if row and self._is_strange(row) else None

    def _is_strange(self, names: Collection[Any]) -> bool:
        return self._known.isdisjoint(names) and bool(self._known)

    def _unknown(self, names: Sequence[str]) -> Fault:
        """The fault of names of which none is a column's."""
        sent, taken = (", ".join(map(shown, some[:_NAMES_SHOWN])) for some in (names, self._names))
        message = f"none of the columns sent is one of the model's: sent {sent}; the model takes {taken}"
        separators = [word for character, word in _SEPARATORS.items() if character in names[0]]
        if len(names) == 1 and separators:
            message += f". The one name holds {separators[0]}: in text/csv a comma separates cells, in TSV a tab"
        return Fault(message, allowed=self._names, value=[cut(name) for name in names[:_NAMES_SHOWN]])

    def _quick(self, rows: Sequence[Any]) -> Encoded | None:
        """The common case without a look at single cells: plain objects of numbers that have all columns."""
        if not self._is_numeric or self._get is None or not rows:
            return None
        width = len(self._names)
        try:
            cells = list(chain.from_iterable(map(self._get, rows)))
        except (KeyError, TypeError, IndexError):
            return None
        if not _NUMBERS.issuperset(map(type, cells)):
            return None
        try:
            values = np.array(cells, dtype=np.float64)
        except OverflowError:
            return None
        if np.isinf(values).any():
            return None
        encoded = Encoded(np.asfortranarray(values.reshape(len(rows), width)))
        if sum(map(len, rows)) != values.size:
            encoded.ignored_columns = self._ignored(rows)
        return encoded

    def _columns(self, by_column: Sequence[Sequence[Any]], n_rows: int, lines: Sequence[int] | None) -> Encoded:
        coders = [
            coder.of_values(values) if coder.column.is_open else coder
            for coder, values in zip(self._coders, by_column, strict=True)
        ]
        coded = [coder.encode(values) for coder, values in zip(coders, by_column, strict=True)]
        try:
            cells = np.array(coded, dtype=np.float64)
        except OverflowError:  # an integer beyond any double
            cells = np.full((len(coded), n_rows), DOUBTFUL)
        encoded = Encoded(cells.reshape(len(coded), n_rows).T)
        if coders != self._coders:
            encoded.columns = tuple(coder.column for coder in coders)
        for index, row in zip(*np.nonzero(np.isinf(cells)), strict=True):
            _settle(encoded, coders[int(index)], int(row), int(index), by_column[index][row], lines)
        return encoded

    def _ignored(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        known = self._known
        extra: dict[str, None] = {}
        for row in rows:
            if not known.issuperset(row):
                extra.update((str(name), None) for name in row if name not in known)
        return list(extra)


def _settle(encoded: Encoded, coder: CellCoder, row: int, index: int, value: Any, lines: Sequence[int] | None) -> None:
    """One cell that the fast path did not decide."""
    column = coder.column
    cell, why = coder.cell(value)
    encoded.values[row, index] = cell
    if why is not None:
        line = lines[row] if lines else None
        fault = Fault(
            f"column {shown(column.name)} takes {why}, not {quoted(value) if column.is_open else shown_value(value)}",
            row=row,
            line=line,
            column=cut(column.name),
            allowed=coder.allowed,
            value=value,
        )
        encoded.add_fault(row, fault)
    elif cell == -1.0 and not column.is_numeric:
        encoded.unseen.append(Unseen(row, index, value))


def _gather(rows: Sequence[Mapping[str, Any]], name: str, absent: list[str]) -> list[Any]:
    try:
        return [row[name] for row in rows]
    except KeyError:
        absent.append(name)
        return [row.get(name) for row in rows]


def _check_distinct(names: Sequence[Any]) -> None:
    seen: set[str] = set()
    for position, name in enumerate(names):
        if not isinstance(name, str):
            message = f"column name {position} must be a text, not {shown_value(name)}"
            raise Invalid(message, [Fault(message, parameter=f"columns.{position}")])
        if name in seen:
            message = f"the column {shown(name)} is named twice"
            raise Invalid(message, [Fault(message, column=cut(name), parameter=f"columns.{position}")])
        seen.add(name)


def shown_value(value: Any) -> str:
    """A caller's value for a message, cut; lists and objects are only named as such."""
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) >= 10**30:
        return "a very large integer"
    return shown(value) if isinstance(value, str) else cut(repr(value))
