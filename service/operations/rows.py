"""Rows of a prediction request as the cells of a model's columns, under the caller's policies.

What a value means is said by :mod:`service.formats.records`; here it is decided what becomes of
missing and unseen values, of extra and of absent columns. A bad value spoils its own row and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from learners.errors import quoted
from learners.neural.recurrent.inputs import row_steps, uneven_rows
from learners.table import MISSING, Column, Table
from learners.types import FloatArray, Scalar
from service.errors import Fault
from service.formats.records import Encoded as Cells
from service.formats.records import RowEncoder
from service.formats.written_numbers import PLAIN, NumberSyntax

UnseenPolicy = Literal["reject", "missing", "other"]
MissingPolicy = Literal["as-model", "fractional", "most-likely", "reject"]


@dataclass(frozen=True)
class Options:
    """What a caller may ask of a prediction.

    Attributes:
        explain: add the reason to every answer.
        interval: add to every number where a further one should lie.
        unseen: a level that the model does not know makes its row an error (``reject``), counts as
            missing, or takes the branch of all other levels where a test has one (``other``).
        missing: answer as the model does by itself, follow all branches by their weight, or the one that most
            training rows took, or make the row an error.
        strict: extra and absent columns are errors.
        decision: by what the label is decided, as it was sent; see :mod:`service.operations.decision`.
    """

    explain: bool = False
    interval: bool = False
    unseen: UnseenPolicy = "other"
    missing: MissingPolicy = "as-model"
    strict: bool = False
    decision: Any = None

    @property
    def tells_more(self) -> bool:
        """Whether answers have members that rows with the same answer may not share."""
        return self.explain or self.interval


@dataclass(frozen=True)
class Inputs:
    """What a model takes.

    Attributes:
        columns: its columns, in its order.
        takes_missing: whether it answers rows with missing values.
        missing_tokens: texts that stand for a missing value.
        numbers: how texts write numbers.
        most_steps: how many steps the sequences and texts of a row may have, which are then equally long; ``None``
            where they are compared as wholes.
        symbols: by column of texts that are gone through symbol by symbol, those that the model knows.
    """

    columns: tuple[Column, ...]
    takes_missing: bool = True
    missing_tokens: frozenset[str] = frozenset({""})
    numbers: NumberSyntax = PLAIN
    most_steps: int | None = None
    symbols: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(column.name for column in self.columns)

    @cached_property
    def encoder(self) -> RowEncoder:
        return RowEncoder(self.columns, tuple(sorted(self.missing_tokens)), self.numbers)


@dataclass
class Encoded:
    """Rows ready for the learner, and what has to be said about them.

    Attributes:
        values: shape (n, d), in one piece, coded as in :mod:`learners.table`.
        faults: by row, what makes it an error. The cells of such a row mean nothing.
        unseen: by row, column and value of each level that the model does not know.
        ignored: names that were sent and are none of the model's columns, in order of appearance.
        absent: the model's columns that some row lacks, in the model's order;
            ``absent_everywhere`` are those that every row lacks.
        columns: by which the cells are coded, where these are not just the model's.
        extra: by row, ignored names; for rows that are arrays, all have them and ``extra`` is empty.
        lacking: by row, columns that it lacks and another has.
        is_complete: whether it is known already that no cell is missing.
    """

    values: FloatArray
    faults: dict[int, list[Fault]] = field(default_factory=dict)
    unseen: dict[int, list[tuple[str, Scalar]]] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    absent_everywhere: set[str] = field(default_factory=set)
    extra: dict[int, list[str]] = field(default_factory=dict)
    lacking: dict[int, list[str]] = field(default_factory=dict)
    columns: tuple[Column, ...] | None = None
    is_complete: bool = False

    @property
    def n_rows(self) -> int:
        return int(self.values.shape[0])

    @property
    def answered(self) -> FloatArray:
        """The cells of the rows without a fault."""
        if not self.faults:
            return self.values
        return np.asfortranarray(np.delete(self.values, list(self.faults), axis=0))

    @property
    def is_plain(self) -> bool:
        """Whether every row is answered without error, warning or note."""
        noted = self.faults or self.unseen or self.ignored or self.absent
        return not noted and not self.has_missing

    @property
    def has_missing(self) -> bool:
        """Whether a cell is missing."""
        return not self.is_complete and bool(np.isnan(self.values).any())

    def add_fault(self, row: int, message: str, **details: Any) -> None:
        self.faults.setdefault(row, []).append(Fault(message, row=row, **details))

    def notes(self, row: int) -> dict[str, list[str]]:
        """Of one row, the columns that were ignored and that it lacks; empty where there are none."""
        ignored = self.extra.get(row, []) if self.extra else self.ignored
        lacking = self.lacking.get(row, [])
        absent = [name for name in self.absent if name in self.absent_everywhere or name in lacking]
        return {name: found for name, found in (("ignored_columns", ignored), ("absent_columns", absent)) if found}


def encode_records(rows: Sequence[Any], inputs: Inputs, options: Options) -> Encoded:
    """Encode rows given as objects by column name; anything else than an object is a fault of its row."""
    cells = inputs.encoder.objects(rows)
    encoded = _begin(cells, inputs)
    if cells.ignored_columns or cells.absent_columns:
        _note_by_row(encoded, rows, inputs)
    _apply(encoded, inputs, options)
    return encoded


def encode_matrix(
    names: Sequence[Any], data: Sequence[Any], inputs: Inputs, options: Options, lines: Sequence[int] | None = None
) -> Encoded:
    """Encode rows given as arrays whose columns are named once; one of another length is a fault of its row.

    Args:
        names: column names, all different.
        data: the rows.
        inputs: what the model takes.
        options: the caller's policies.
        lines: the line of each row in its text, for messages.

    Raises:
        Invalid: a name is no text or comes twice.
    """
    cells = inputs.encoder.matrix(names, data, lines)
    encoded = _begin(cells, inputs)
    encoded.absent_everywhere = set(cells.absent_columns)
    _apply(encoded, inputs, options)
    return encoded


def _begin(cells: Cells, inputs: Inputs) -> Encoded:
    encoded = Encoded(
        cells.values, cells.faults, ignored=cells.ignored_columns, absent=cells.absent_columns, columns=cells.columns
    )
    for unseen in cells.unseen:
        encoded.unseen.setdefault(unseen.row, []).append((inputs.columns[unseen.column].name, unseen.value))
    return encoded


def _note_by_row(encoded: Encoded, rows: Sequence[Any], inputs: Inputs) -> None:
    """Tell which object has what too much and too little."""
    absent = encoded.absent
    n_lacking = dict.fromkeys(absent, 0)
    n_objects = 0
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            continue
        n_objects += 1
        if not row.keys() <= inputs.names:
            encoded.extra[index] = [name for name in row if name not in inputs.names]
        lacking = [name for name in absent if name not in row]
        if lacking:
            encoded.lacking[index] = lacking
            for name in lacking:
                n_lacking[name] += 1
    encoded.absent_everywhere = {name for name, count in n_lacking.items() if count == n_objects}


def _apply(encoded: Encoded, inputs: Inputs, options: Options) -> None:
    for name in inputs.symbols:
        _note_symbols(encoded, inputs, name)
    if options.unseen != "other":
        _apply_unseen(encoded, inputs, options)
    if options.strict:
        _refuse_strictly(encoded)
    if options.missing == "reject" or not inputs.takes_missing:
        _refuse_missing(encoded, inputs, options)
    if inputs.most_steps is not None:
        _refuse_uneven(encoded, inputs, inputs.most_steps)


def _note_symbols(encoded: Encoded, inputs: Inputs, name: str) -> None:
    """Texts with a symbol that the model does not know are unseen."""
    place = next(place for place, column in enumerate(inputs.columns) if column.name == name)
    texts = (encoded.columns or inputs.columns)[place].levels
    cells = encoded.values[:, place]
    strange = np.array([not inputs.symbols[name].issuperset(text) for text in texts], dtype=np.bool_)
    known = np.flatnonzero(~np.isnan(cells) & (cells >= 0))
    for row in known[strange[cells[known].astype(np.int64)]].tolist():
        if row not in encoded.faults:
            encoded.unseen.setdefault(row, []).append((name, texts[int(cells[row])]))


def _apply_unseen(encoded: Encoded, inputs: Inputs, options: Options) -> None:
    places = {column.name: place for place, column in enumerate(inputs.columns)}
    for row, found in list(encoded.unseen.items()):
        for name, value in found:
            place = places[name]
            if options.unseen == "missing":
                encoded.values[row, place] = MISSING
                continue
            allowed = list(inputs.columns[place].labels[:100])
            message = "the model does not know this level, and 'unseen' is 'reject'"
            if name in inputs.symbols:
                allowed = sorted(inputs.symbols[name])[:100]
                strange = ", ".join(map(quoted, sorted(set(str(value)) - inputs.symbols[name])[:10]))
                message = f"the model does not know the symbols {strange}, and 'unseen' is 'reject'"
            encoded.add_fault(row, message, column=name, allowed=allowed, value=value)


def _refuse_strictly(encoded: Encoded) -> None:
    for row in range(encoded.n_rows):
        notes = encoded.notes(row)
        for name in notes.get("ignored_columns", ()):
            encoded.add_fault(row, "the model has no such column, and 'strict' is set", column=name)
        for name in notes.get("absent_columns", ()):
            encoded.add_fault(row, "the column is absent, and 'strict' is set", column=name)


def _refuse_missing(encoded: Encoded, inputs: Inputs, options: Options) -> None:
    why = "'missing' is 'reject'" if inputs.takes_missing else "this model does not take missing values"
    unseen = {(row, name) for row, found in encoded.unseen.items() for name, _ in found}
    for row, name in _missing_cells(encoded.values, inputs.columns):
        if row in encoded.faults and any(fault.column in (None, name) for fault in encoded.faults[row]):
            continue  # not readable at all, or said already
        if inputs.takes_missing and (row, name) in unseen:
            continue  # unseen, which was asked to count as missing
        encoded.add_fault(row, f"the value is missing, and {why}", column=name)


def _refuse_uneven(encoded: Encoded, inputs: Inputs, most: int) -> None:
    good = [row for row in range(encoded.n_rows) if row not in encoded.faults]
    table = Table(encoded.columns or inputs.columns, np.asfortranarray(encoded.values[good]))
    for row, column, here, there in uneven_rows(table):
        message = f"the column has {here} steps, where another of the row has {there}; all have equally many"
        encoded.add_fault(good[row], message, column=inputs.columns[column].name)
    steps = row_steps(table)
    for row in np.flatnonzero(steps > most).tolist():
        message = f"the row has {steps[row]} steps; of this model at most {most} are answered at once"
        encoded.add_fault(good[row], message, allowed=most)


def _missing_cells(values: FloatArray, columns: Sequence[Column]) -> Iterable[tuple[int, str]]:
    rows, places = np.nonzero(np.isnan(values))
    return ((row, columns[place].name) for row, place in zip(rows.tolist(), places.tolist(), strict=True))


def missing_columns(
    encoded: Encoded, columns: Sequence[Column], *, absent_noted: bool = False
) -> dict[int, tuple[str, ...]]:
    """By row, the columns without a value: sent empty, or not at all. Nothing depends on the other rows.

    Unseen levels are named elsewhere.

    Args:
        encoded: the rows.
        columns: the model's.
        absent_noted: leave out what the row's own notes name (:meth:`Encoded.notes`), for answers that give them.
    """
    is_missing = np.isnan(encoded.values)
    known: dict[bytes, tuple[str, ...]] = {}  # what is missing in many rows mostly is so in a few ways
    found: dict[int, tuple[str, ...]] = {}
    for row in np.flatnonzero(is_missing.any(axis=1)).tolist():
        if row in encoded.faults:
            continue
        way = is_missing[row].tobytes()
        if way not in known:
            known[way] = tuple(columns[place].name for place in np.flatnonzero(is_missing[row]).tolist())
        missing = known[way]
        named = {name for name, _ in encoded.unseen.get(row, ())}
        if absent_noted and encoded.absent:
            named.update(encoded.notes(row).get("absent_columns", ()))
        if named:
            missing = tuple(name for name in missing if name not in named)
        if missing:
            found[row] = missing
    return found
