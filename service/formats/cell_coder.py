"""The cells of one column from values as they come: fast over the usual types, exact over the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from learners.errors import SchemaError
from learners.sequences import FORM, step_width
from learners.table import MISSING, UNSEEN, Column, Kind, parse_number
from service.formats.written_numbers import NumberSyntax

_NUMBERS = frozenset({int, float, type(None)})
_TEXTS = frozenset({str, type(None)})
_NOT_IN_NUMBERS = {ord(character): None for character in "0123456789+-.eE"}
#: What the fast path leaves to :meth:`CellCoder.cell`; no cell can have this value.
DOUBTFUL = math.inf


class CellCoder:
    """Encodes values of one column.

    Args:
        column: its description.
        tokens: texts that are missing; ``""`` only where it is not a level, and not in a column of texts, where it
            is one, as at upload.
        syntax: how texts write numbers.
        width: of a column of sequences that knows none, how many numbers a step must have.
    """

    def __init__(
        self, column: Column, tokens: frozenset[str], syntax: NumberSyntax, *, width: int | None = None
    ) -> None:
        self.column = column
        self._known_width = width
        self._has_empty_token = "" in tokens
        self._is_text = "" in column.levels or column.kind is Kind.TEXT
        self._tokens = tokens - ({""} if self._is_text else frozenset())
        self._syntax = syntax
        self._lookup: dict[Any, float] = {level: float(code) for code, level in enumerate(column.levels)}
        self._lookup |= dict.fromkeys(self._tokens, MISSING)
        self._lookup[None] = MISSING
        #: Whether an empty text is missing, and none that is a number.
        self._has_plain_tokens = "" in self._tokens and all(parse_number(token) is None for token in self._tokens)

    @property
    def takes_empty_text(self) -> bool:
        """Whether an empty cell of CSV is an empty text, as upload read it: it is no missing token, but a text here."""
        return not self._has_empty_token and self._is_text

    @property
    def allowed(self) -> Any:
        """What a message says is allowed."""
        if self.column.is_open:
            return self._form
        return "finite numbers" if self.column.is_numeric else list(self.column.levels[:20])

    @property
    def _form(self) -> str:
        if self.column.kind is Kind.TEXT:
            return "texts"
        return FORM if self._width is None else f"{FORM}; {self._width} in each step, as in training"

    @property
    def _width(self) -> int | None:
        is_sequence = self.column.kind is Kind.SEQUENCE and self.column.levels
        return step_width(self.column.levels[0]) if is_sequence else self._known_width

    def of_values(self, values: Sequence[Any]) -> CellCoder:
        """Of an open column: a coder of a column that knows just these values, as far as they can be its."""
        known = []
        for value in values:
            if value is not None and not (isinstance(value, str) and value in self._tokens):
                with suppress(SchemaError, OverflowError):
                    known.append(self.column.open_text(value))
        column = replace(self.column, levels=tuple(dict.fromkeys(known)))
        return CellCoder(column, self._tokens, self._syntax, width=self._width)

    def encode(self, values: Sequence[Any]) -> Sequence[Any]:
        """One number, or None, to each value; :data:`DOUBTFUL` (either sign) where :meth:`cell` is to decide."""
        types = frozenset(map(type, values))
        if not self.column.is_numeric:
            if types <= _TEXTS:
                get = self._lookup.get
                return [get(value, DOUBTFUL) for value in values]
        elif types <= _NUMBERS:
            return values
        elif types <= _TEXTS:
            numbers = self._texts(values)
            if numbers is not None:
                return numbers
        return [DOUBTFUL] * len(values)

    def _texts(self, values: Sequence[str | None]) -> list[float] | None:
        """Numbers out of texts that hold nothing but characters of plain numbers."""
        if not self._syntax.is_plain or not self._has_plain_tokens:
            return None
        if "".join(filter(None, values)).translate(_NOT_IN_NUMBERS):
            return None
        try:
            return list(map(float, values))  # type: ignore[arg-type]  # a missing value is a TypeError
        except TypeError:
            return self._texts_with_gaps(values)
        except ValueError:
            return None

    @staticmethod
    def _texts_with_gaps(values: Sequence[str | None]) -> list[float] | None:
        try:
            return [float(value) if value else MISSING for value in values]
        except ValueError:
            return None

    def cell(self, value: Any) -> tuple[float, str | None]:
        """The cell of one value, and what the column takes if the value is not allowed (the cell is NaN then)."""
        if value is None:
            return MISSING, None
        if isinstance(value, str):
            if value in self._tokens:
                return MISSING, None
            if self.column.is_numeric:
                number = self._syntax.number(value)
                return (MISSING, "finite numbers") if number is None or math.isnan(number) else (number, None)
        elif not self.column.is_open and not isinstance(value, bool | int | float):
            return MISSING, "finite numbers" if self.column.is_numeric else "texts, numbers, true, false or null"
        try:
            cell = self.column.encode(value)
        except (SchemaError, OverflowError, ValueError):
            return MISSING, self._demand
        return (MISSING, self._demand) if cell == UNSEEN and self.column.is_open else (cell, None)

    @property
    def _demand(self) -> str:
        if self.column.is_open:
            return self._form
        return "finite numbers" if self.column.is_numeric else "one of its levels"
