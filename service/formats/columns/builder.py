"""One column on its way from blocks of cells to codes: numbers as long as they are, then levels.

Levels get provisional codes in their order of appearance; :mod:`service.formats.columns.inference` gives the
final order when all are known. A column that stops being numbers after some blocks is *late*: its
earlier cells must be read again, because their texts are gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from learners.errors import DataError
from learners.sequences import FORM, check_widths, sequence_text, step_width
from learners.table import Column, Kind, parse_number
from learners.types import Array, FloatArray
from service.errors import Fault, Invalid, TooLarge
from service.formats.faults import Faults, cut, shown
from service.formats.number_arrays import encoded, take_or_nan
from service.formats.readers.reading import SEQUENCE, Cells
from service.formats.written_numbers import PLAIN, NumberSyntax

#: The longest text that may be a level, in characters; the longest sequence as a text; all texts of an open column.
MAX_TEXT = 32_768
_MAX_SEQUENCE = 1_000_000
_MAX_CHARACTERS = 64 << 20


@dataclass(frozen=True)
class Plan:
    """What has been decided of a column before it is read.

    Attributes:
        name: of the column.
        kind: its kind, or None if its cells are to tell.
        order: all its levels in order, or None if its cells are to tell.
        is_request: whether the caller asked for it (else the file itself declares it).
        syntax: how the file writes numbers.
    """

    name: str
    kind: Kind | None = None
    order: tuple[str, ...] | None = None
    is_request: bool = False
    syntax: NumberSyntax = PLAIN


@dataclass(frozen=True)
class Clash:
    """Two values of different types with one canonical text: the text, both types, where the second is."""

    text: str
    first_type: str
    type: str
    row: int


class ColumnBuilder:
    """Takes the blocks of one column in order.

    Attributes:
        levels: provisional code by canonical text.
        n_known: how many cells so far are not missing.
        as_numbers: whether the cells so far are numbers.
        is_late: whether earlier blocks must be read again, as levels.
        type: the type of all cells so far, ``mixed`` if they differ, None before the first known cell.
        clash: the first two values that cannot be told apart, or None.
    """

    def __init__(self, plan: Plan, max_levels: int, *, texts_only: bool = False) -> None:
        self.plan = plan
        self.as_numbers = not texts_only and plan.kind in (None, Kind.NUMERIC) and plan.order is None
        self.n_known = 0
        self.is_late = False
        self.levels: dict[str, int] = {text: code for code, text in enumerate(plan.order or ())}
        self.type: str | None = None
        self.clash: Clash | None = None
        self._types: dict[str, str] = {}
        self._max_levels = max_levels
        # With an order of numbers, 1 and 1.0 are the same of its levels.
        self._probe = number_probe(plan.name) if plan.order and are_number_levels(plan.order) else None
        self._wrong: list[tuple[int, str]] = []
        self._n_wrong = 0
        self._n_characters = self._n_counted = 0
        #: How many numbers a step of the sequences holds, by the first of them.
        self.width: int | None = None
        #: The first row whose number is too near to 0 for a double, with its text, or None; and how many there are.
        self.first_vanished: tuple[int, str] | None = None
        self.n_vanished = 0
        #: The first row with a list, or None.
        self.first_list: int | None = None

    @property
    def is_sequence(self) -> bool:
        """Whether the column holds sequences: as planned, or since the file has lists in it."""
        return self.plan.kind is Kind.SEQUENCE or (self.plan.kind is None and self.type == SEQUENCE)

    def add(self, cells: Cells, first_row: int) -> FloatArray:
        """The cells of the next block, shape (m,): numbers or provisional codes, NaN where missing."""
        values = self._numbers(cells, first_row) if self.as_numbers else None
        if values is None:
            self.is_late = self.as_numbers and self.n_known > 0
            self.as_numbers = False
            values = self._codes(cells, first_row)
        self.n_known += int(np.count_nonzero(~np.isnan(values)))
        return values

    def wrong_rows(self) -> list[tuple[int, str]]:
        """The first rows whose cell is not allowed by the plan, with the cell's text."""
        return self._wrong

    @property
    def n_wrong(self) -> int:
        return self._n_wrong

    def _numbers(self, cells: Cells, first_row: int) -> FloatArray | None:
        if self.plan.kind is not Kind.NUMERIC:
            plain = cells.numbers()
            if plain is not None:
                self._note_vanished(cells, plain, first_row)
            return plain
        values, wrong = cells.any_numbers()
        if wrong:
            texts = cells.texts()
            self._refuse([(first_row + at, texts[at].as_py()) for at in wrong[:20]], len(wrong))
        self._note_vanished(cells, values, first_row)
        return values

    def _note_vanished(self, cells: Cells, values: FloatArray, first_row: int) -> None:
        found = cells.vanished(values)
        if found and self.first_vanished is None:
            self.first_vanished = (first_row + found[0], cells.texts()[found[0]].as_py())
        self.n_vanished += len(found)

    def _refuse(self, cells: list[tuple[int, str]], count: int) -> None:
        self._n_wrong += count
        self._wrong.extend(cells[: 20 - len(self._wrong)])

    def _codes(self, cells: Cells, first_row: int) -> FloatArray:
        codes, distinct = encoded(cells.texts())
        self._note_types(cells, codes.tolist() if isinstance(cells.types(), list) else [], distinct, first_row)
        self._note_list(cells, codes, first_row)
        longest = _MAX_SEQUENCE if self.is_sequence else MAX_TEXT
        for position, text in enumerate(distinct):
            if len(text) > longest or "\0" in text:
                _refuse_text(self.plan.name, text, first_row + int(np.flatnonzero(codes == position)[0]), longest)
        if self.is_sequence:
            distinct = self._sequences(distinct, codes, first_row)
        known = np.array([self._code(text) for text in distinct], dtype=np.float64)
        if self.is_sequence or self.plan.kind is Kind.TEXT:
            self._check_size()
        values = take_or_nan(known, codes)
        if self.plan.order is not None:
            outside = np.flatnonzero(values < 0)
            if outside.size:
                rows = [(first_row + int(at), distinct[int(codes[at])]) for at in outside[:20]]
                self._refuse(rows, int(outside.size))
        elif len(self.levels) > self._max_levels:
            raise Invalid(
                f"Column {shown(self.plan.name)} has more than {self._max_levels} different texts; "
                "exclude it, or declare it numeric",
                [Fault("too many levels", column=cut(self.plan.name), allowed=self._max_levels)],
            )
        return values

    def _sequences(self, distinct: list[str], codes: Array, first_row: int) -> list[str]:
        """Their canonical texts; what is none is noted and stands for itself."""
        found = []
        for position, text in enumerate(distinct):
            try:
                canonical = sequence_text(text)
                check_widths([canonical], self.width)
                self.width = step_width(canonical)
                found.append(canonical)
            except DataError:
                rows = np.flatnonzero(codes == position)
                self._refuse([(first_row + int(at), text) for at in rows[:20]], int(rows.size))
                found.append(text)
        return found

    def _check_size(self) -> None:
        new = list(self.levels)[self._n_counted :]
        self._n_counted += len(new)
        self._n_characters += sum(map(len, new))
        if self._n_characters > _MAX_CHARACTERS:
            raise TooLarge(
                f"The different values of column {shown(self.plan.name)} have more than {_MAX_CHARACTERS} characters "
                "together; exclude it",
                [Fault("too many characters", column=cut(self.plan.name), allowed=_MAX_CHARACTERS)],
            )

    def _code(self, text: str) -> float:
        code = self.levels.get(text)
        if code is not None:
            return code
        if self.plan.order is not None:
            return self.levels.get(self._probe.level_text(text), -1) if self._probe is not None else -1
        return self.levels.setdefault(text, len(self.levels))

    def _note_list(self, cells: Cells, codes: Array, first_row: int) -> None:
        types = cells.types()
        if self.first_list is None and SEQUENCE in (types if isinstance(types, list) else [types]):
            at = types.index(SEQUENCE) if isinstance(types, list) else int(np.argmax(codes >= 0))
            self.first_list = first_row + at

    def _note_types(self, cells: Cells, codes: list[int], distinct: list[str], first_row: int) -> None:
        """Watch that no two values of different types become one level."""
        types = cells.types()
        if isinstance(types, str):
            if not cells.n_known:
                return
            if self.type in (None, types) and not self._types:
                self.type = types
                return
            self._note_each(distinct, [types] * len(distinct), [first_row] * len(distinct))
        else:
            known = [(at, code) for at, code in enumerate(codes) if code >= 0]
            self._note_each(
                [distinct[code] for _, code in known],
                [types[at] for at, _ in known],
                [first_row + at for at, _ in known],
            )

    def _note_each(self, texts: list[str], types: list[str], rows: list[int]) -> None:
        if not self._types and self.type is not None:
            self._types = dict.fromkeys(self.levels, self.type)
        self.type = "mixed"
        for text, type_name, row in zip(texts, types, rows, strict=True):
            first = self._types.setdefault(text, type_name)
            if first != type_name and self.clash is None:
                self.clash = Clash(text, first, type_name, row)


def _refuse_text(name: str, text: str, row: int, longest: int) -> NoReturn:
    if len(text) > longest:
        message = f"a text has {len(text)} characters; at most {longest} are allowed"
        if "\n" in text:
            message += "; is a quote opened and never closed?"
        fault = Fault(message, row=row, column=cut(name), allowed=longest)
    else:
        message = "a text holds a NUL character"
        fault = Fault(message, row=row, column=cut(name))
    raise Invalid(f"Row {row}, column {shown(name)}: {message}", [fault])


def number_probe(name: str) -> Column:
    """A column whose ``level_text`` is the one under which texts of equal numbers are one level."""
    return Column(name, Kind.NOMINAL, (), "number")


def are_number_levels(levels: Iterable[str]) -> bool:
    """Whether all levels are finite numbers and none is written as names are (``01``, 17 digits)."""
    return all(parse_number(text) is not None and not PLAIN.looks_like_name(text) for text in levels)


def _demand(builder: ColumnBuilder) -> tuple[Any, str]:
    """What a cell must be, and what is said of one that is not."""
    if builder.is_sequence:
        steps = "" if builder.width is None else f", {builder.width} a step as in the first"
        return FORM, f"is no sequence of numbers{steps}"
    if builder.plan.order is None:
        return "finite numbers", "is not a finite number"
    return list(builder.plan.order[:20]), "is none of the declared levels"


def refuse_wrong_cells(builder: ColumnBuilder, lines: dict[int, int]) -> None:
    """Raise :class:`~service.errors.Invalid` if the plan of a column does not allow some of its cells."""
    if not builder.n_wrong:
        return
    plan, faults = builder.plan, Faults()
    allowed, what = _demand(builder)
    for row, text in builder.wrong_rows():
        line = lines.get(row)
        where = f"row {row}" if line is None else f"line {line}"
        message = f"{where}, column {shown(plan.name)}: {shown(text)} {what}"
        faults.add(Fault(message, row=row, line=line, column=cut(plan.name), allowed=allowed, value=cut(text)))
    faults.total = builder.n_wrong
    faults.raise_if_any("Cells do not fit their column's declared kind")
