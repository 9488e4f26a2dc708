"""Rows of a prediction request as the cells of a model's columns: the one definition of what a value means.

Whatever the body's format, values end here. Columns are matched by name. ``null`` is missing, a text
that was declared a missing token too; numbers written as text count as numbers, as they do at
training. A bad value spoils its own row and no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from learners.errors import SchemaError
from learners.table import MISSING, UNSEEN, Column
from learners.types import FloatArray, Scalar
from service.errors import Fault

UnseenPolicy = Literal["reject", "missing", "other"]
MissingPolicy = Literal["fractional", "reject"]

#: Longest list of allowed levels that a fault carries; the problem document cuts it once more.
_ALLOWED_LEVELS = 100
_ABSENT: Any = object()
#: In place of a cell whose fault has been told.
_SPOILT: Any = object()


@dataclass(frozen=True)
class Options:
    """What a caller may ask of a prediction.

    Attributes:
        explain: add the reason to every answer.
        unseen: a level that the model does not know makes its row an error (``reject``), counts as
            missing, or takes the branch of all other levels where a test has one (``other``).
        missing: follow all branches by their weight, or make the row an error.
        strict: extra and absent columns are errors.
    """

    explain: bool = False
    unseen: UnseenPolicy = "other"
    missing: MissingPolicy = "fractional"
    strict: bool = False


@dataclass(frozen=True)
class Inputs:
    """What a model takes.

    Attributes:
        columns: its columns, in its order.
        takes_missing: whether it answers rows with missing values.
        missing_tokens: texts that stand for a missing value.
    """

    columns: tuple[Column, ...]
    takes_missing: bool = True
    missing_tokens: frozenset[str] = frozenset()


@dataclass
class Encoded:
    """Rows ready for the learner, and what has to be said about them.

    Attributes:
        values: shape (n, d), column-major, coded as in :mod:`learners.table`.
        faults: by row, what makes it an error. The cells of such a row mean nothing.
        unseen: by row, column and value of each level that the model does not know.
        ignored: names that were sent and are none of the model's columns, in order of appearance.
        absent: the model's columns that some row lacks, in the model's order;
            ``absent_everywhere`` are those that every row lacks.
        extra: by row, ignored names; for rows that are arrays, all have them and ``extra`` is empty.
        lacking: by row, columns that it lacks and another has.
    """

    values: FloatArray
    faults: dict[int, list[Fault]] = field(default_factory=dict)
    unseen: dict[int, list[tuple[str, Scalar]]] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    absent_everywhere: set[str] = field(default_factory=set)
    extra: dict[int, list[str]] = field(default_factory=dict)
    lacking: dict[int, list[str]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return int(self.values.shape[0])

    def notes(self, row: int) -> dict[str, list[str]]:
        """Of one row, the columns that were ignored and that it lacks; empty where there are none."""
        ignored = self.extra.get(row, []) if self.extra else self.ignored
        lacking = self.lacking.get(row, [])
        absent = [name for name in self.absent if name in self.absent_everywhere or name in lacking]
        return {name: found for name, found in (("ignored_columns", ignored), ("absent_columns", absent)) if found}


def encode_records(rows: Sequence[Any], inputs: Inputs, options: Options, *, from_text: bool = False) -> Encoded:
    """Encode rows given as objects by column name.

    Args:
        rows: the objects; anything else is a fault of its row.
        inputs: what the model takes.
        options: the caller's policies.
        from_text: the values come from a text format, in which an empty cell holds nothing.
    """
    encoder = _Encoder(len(rows), inputs, options, from_text)
    encoder.indices = [index for index, row in enumerate(rows) if isinstance(row, dict)]
    if len(encoder.indices) < len(rows):
        for index, row in enumerate(rows):
            if not isinstance(row, dict):
                encoder.fault(index, "a row is an object of values by column name", value=row)
    objects = [rows[index] for index in encoder.indices]
    encoder.note_extra(objects)
    for position, column in enumerate(inputs.columns):
        encoder.fill(position, column, [row.get(column.name, _ABSENT) for row in objects])
    return encoder.encoded


def encode_matrix(
    names: Sequence[str], data: Sequence[Any], inputs: Inputs, options: Options, *, from_text: bool = False
) -> Encoded:
    """Encode rows given as arrays whose columns are named once.

    Names are unique. A row of another length than the names is a fault of that row.
    """
    encoder = _Encoder(len(data), inputs, options, from_text)
    width = len(names)
    encoder.indices = [index for index, row in enumerate(data) if isinstance(row, list) and len(row) == width]
    if len(encoder.indices) < len(data):
        good = set(encoder.indices)
        for index, row in enumerate(data):
            if index not in good:
                encoder.fault(index, _length_message(row, width))
    arrays = [data[index] for index in encoder.indices]
    encoder.note_extra_names(names)
    columns = list(zip(*arrays, strict=True)) if arrays else [()] * width
    sent = dict(zip(names, columns, strict=True))
    for position, column in enumerate(inputs.columns):
        cells = sent.get(column.name)
        encoder.fill(position, column, [_ABSENT] * len(arrays) if cells is None else list(cells))
    return encoder.encoded


def _length_message(row: Any, width: int) -> str:
    what = f"this one has {len(row)}" if isinstance(row, list) else "this is none"
    return f"a row is an array of {width} values, one to each name in 'columns'; {what}"


class _Encoder:
    """Encodes column by column; ``indices`` are the rows whose shape is right."""

    def __init__(self, n_rows: int, inputs: Inputs, options: Options, from_text: bool) -> None:
        self.inputs = inputs
        self.options = options
        self.from_text = from_text
        self.indices: list[int] = []
        self.encoded = Encoded(np.full((n_rows, len(inputs.columns)), MISSING, order="F"))

    def fault(self, row: int, message: str, **details: Any) -> None:
        self.encoded.faults.setdefault(row, []).append(Fault(message, row=row, **details))

    def note_extra(self, rows: Sequence[dict[str, Any]]) -> None:
        """Note what each object has beyond the model's columns."""
        names = {column.name for column in self.inputs.columns}
        for index, row in zip(self.indices, rows, strict=True):
            if not row.keys() <= names:
                self.encoded.extra[index] = [name for name in row if name not in names]
        self._refuse_extra(self.encoded.extra)
        self.encoded.ignored = list(dict.fromkeys(name for extra in self.encoded.extra.values() for name in extra))

    def note_extra_names(self, names: Sequence[str]) -> None:
        """Note what all arrays have beyond the model's columns."""
        known = {column.name for column in self.inputs.columns}
        self.encoded.ignored = [name for name in names if name not in known]
        if self.encoded.ignored:
            self._refuse_extra(dict.fromkeys(self.indices, self.encoded.ignored))

    def _refuse_extra(self, extra: dict[int, list[str]]) -> None:
        if self.options.strict:
            for row, names in extra.items():
                for name in names:
                    self.fault(row, "the model has no such column, and 'strict' is set", column=name)

    def fill(self, position: int, column: Column, cells: list[Any]) -> None:
        """Encode the cells of one column, one to each of ``indices``."""
        if _ABSENT in cells:
            cells = self._note_absent(cells, column)
        plain = self._plain_numbers(cells) if column.is_numeric else None
        if plain is None:
            pairs = zip(self.indices, cells, strict=True)
            plain = np.array([self._cell(row, cell, column) for row, cell in pairs], dtype=np.float64)
        if len(self.indices) == self.encoded.n_rows:
            self.encoded.values[:, position] = plain
        else:
            self.encoded.values[self.indices, position] = plain

    def _note_absent(self, cells: list[Any], column: Column) -> list[Any]:
        """The cells, absent ones made missing after saying so."""
        self.encoded.absent.append(column.name)
        lacking = [row for row, cell in zip(self.indices, cells, strict=True) if cell is _ABSENT]
        if len(lacking) == len(cells):
            self.encoded.absent_everywhere.add(column.name)
        else:
            for row in lacking:
                self.encoded.lacking.setdefault(row, []).append(column.name)
        reason = self._absent_reason()
        if reason is None:
            return [None if cell is _ABSENT else cell for cell in cells]
        for row in lacking:
            self.fault(row, reason, column=column.name, allowed=_allowed(column))
        return [_SPOILT if cell is _ABSENT else cell for cell in cells]

    def _absent_reason(self) -> str | None:
        if self.options.strict:
            return "the column is absent, and 'strict' is set"
        if not self.inputs.takes_missing:
            return "the column is absent, and this model does not take missing values"
        if self.options.missing == "reject":
            return "the column is absent, and 'missing' is 'reject'"
        return None

    def _plain_numbers(self, cells: list[Any]) -> FloatArray | None:
        """All cells at once where they are JSON numbers and allowed nulls; None where any is something else."""
        types = set(map(type, cells))
        if not types <= {float, int, type(None)} or (type(None) in types and self._missing_reason()):
            return None
        try:
            values = np.array(cells, dtype=np.float64)
        except OverflowError:
            return None
        return None if np.isinf(values).any() else values

    def _missing_reason(self) -> str | None:
        if not self.inputs.takes_missing:
            return "the value is missing, and this model does not take missing values"
        return "the value is missing, and 'missing' is 'reject'" if self.options.missing == "reject" else None

    def _cell(self, row: int, value: Any, column: Column) -> float:
        if value is _SPOILT:
            return MISSING
        if value is None or (isinstance(value, str) and self._stands_for_missing(value, column)):
            reason = self._missing_reason()
            if reason:
                self.fault(row, reason, column=column.name, allowed=_allowed(column))
            return MISSING
        if not isinstance(value, str | int | float | bool):
            message = "a value is a text, a number, true, false or null"
            self.fault(row, message, column=column.name, allowed=_allowed(column))
            return MISSING
        try:
            cell = column.encode(value)
        except SchemaError:
            message = "the column takes finite numbers or null"
            self.fault(row, message, column=column.name, allowed=_allowed(column), value=value)
            return MISSING
        return self._unseen(row, value, column) if cell == UNSEEN and not column.is_numeric else cell

    def _stands_for_missing(self, value: str, column: Column) -> bool:
        if not value.strip():  # an empty cell of a text format holds nothing; an empty JSON text is a text
            return self.from_text and value not in column.levels
        return value in self.inputs.missing_tokens

    def _unseen(self, row: int, value: Scalar, column: Column) -> float:
        if self.options.unseen == "reject":
            message = "the model does not know this level, and 'unseen' is 'reject'"
            self.fault(row, message, column=column.name, allowed=_allowed(column), value=value)
            return MISSING
        self.encoded.unseen.setdefault(row, []).append((column.name, value))
        return MISSING if self.options.unseen == "missing" else UNSEEN


def _allowed(column: Column) -> Any:
    return "a finite number or null" if column.is_numeric else list(column.labels[:_ALLOWED_LEVELS])


def missing_columns(encoded: Encoded, columns: Sequence[Column]) -> dict[int, list[str]]:
    """By row, the columns that were sent without a value; absent and unseen ones are named elsewhere."""
    unseen = {(row, name) for row, found in encoded.unseen.items() for name, _ in found}
    noted: dict[int, list[str]] = {}
    rows, positions = np.nonzero(np.isnan(encoded.values))
    for row, position in zip(rows.tolist(), positions.tolist(), strict=True):
        name = columns[position].name
        if name in encoded.absent_everywhere or (row, name) in unseen or name in encoded.lacking.get(row, ()):
            continue
        if row not in encoded.faults:
            noted.setdefault(row, []).append(name)
    return noted
