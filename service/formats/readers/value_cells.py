"""Cells that came as JSON values, each with its own type; a list is a sequence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from learners.table import EXACT_INTEGER, MISSING, canonical_text
from learners.types import FloatArray, Value
from service.formats.number_arrays import vanished
from service.formats.readers.reading import BOOLEAN, NUMBER, SEQUENCE, TEXT
from service.formats.written_numbers import NumberSyntax

#: What the value of a cell may be.
ALLOWED_TYPES = frozenset({str, int, float, bool, list, type(None)})
_NUMBERS = frozenset({int, float, type(None)})
_NAMES = {str: TEXT, int: NUMBER, float: NUMBER, bool: BOOLEAN, list: SEQUENCE}


class ValueCells:
    """See :class:`~service.formats.readers.reading.Cells`.

    Args:
        values: texts, numbers, booleans, lists and None.
        tokens: texts that are missing values.
        syntax: how texts write numbers, where a column is declared numeric.
    """

    def __init__(self, values: Sequence[Any], tokens: frozenset[str], syntax: NumberSyntax) -> None:
        self._types = frozenset(map(type, values))
        if tokens and str in self._types:
            values = [None if isinstance(value, str) and value in tokens else value for value in values]
            self._types = frozenset(map(type, values))
        self._values: Sequence[Value | None] = values
        self._syntax = syntax

    @property
    def n_known(self) -> int:
        return sum(value is not None for value in self._values)

    def numbers(self) -> FloatArray | None:
        if not self._types <= _NUMBERS:
            return None
        try:
            cells = np.array(self._values, dtype=np.float64)
        except OverflowError:
            return None
        large = np.flatnonzero(np.abs(cells) >= EXACT_INTEGER)
        return None if any(isinstance(self._values[at], int) for at in large.tolist()) else cells

    def any_numbers(self) -> tuple[FloatArray, list[int]]:
        cells = [self._number(value) for value in self._values]
        wrong = [at for at, cell in enumerate(cells) if cell is None]
        return np.array([MISSING if cell is None else cell for cell in cells], dtype=np.float64), wrong

    def vanished(self, values: FloatArray) -> list[int]:
        return vanished(self.texts(), values) if str in self._types else []

    def _number(self, value: Value | None) -> float | None:
        if value is None:
            return MISSING
        if isinstance(value, str):
            return self._syntax.number(value)
        if isinstance(value, bool | list | tuple):
            return None
        try:
            return float(value)
        except OverflowError:
            return None

    def texts(self) -> pa.StringArray:
        if self._types <= {str, type(None)}:
            return pa.array(self._values, pa.string())
        return pa.array([None if value is None else _text(value) for value in self._values], pa.string())

    def types(self) -> str | list[str]:
        names = {_NAMES[one] for one in self._types if one is not type(None)}
        if len(names) <= 1:
            return next(iter(names), TEXT)
        return [TEXT if value is None else _NAMES[type(value)] for value in self._values]


def _text(value: Value) -> str:
    """Of a list its JSON, whatever is in it: what is a sequence is told where the column is known to hold them."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple) else canonical_text(value)
