"""The fast way from a JSON body to a model's cells, compiled once for each model.

It answers nothing differently from the general way (:mod:`service.operations.rows`): it takes only
bodies in which every row has every column of the model, once, with values whose meaning is beyond
doubt, and returns None at the slightest surprise, upon which the caller goes the general way.

Small bodies are decoded by msgspec into a type made for the model's columns. Large ones are read by a
kernel (:mod:`service.formats.json_scan`), without the interpreter's lock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import GenericAlias
from typing import Any, NamedTuple

import msgspec
import numpy as np

from learners.table import MISSING, UNSEEN, Column
from learners.types import Array, FloatArray, Scalar
from service.operations.rows import Encoded, Inputs

#: Bodies from this size on are read by the kernel.
LARGE = 200_000
#: And from this size on, once the compiler is in memory.
MIDDLE = 16_000
#: msgspec looks names up one by one, so a type of many columns is slow where their order is another.
_MAX_TYPED_COLUMNS = 200
_EXACT_INTEGERS = 2**53

_ROWS = re.compile(rb'\s*\{\s*"rows"\s*:\s*')
_COLUMNS = re.compile(rb'\s*\{\s*"columns"\s*:\s*(\[[^\[\]{}\\]{0,1000000}\])\s*,\s*"data"\s*:\s*')
_END = re.compile(rb"\s*\}\s*")


class SmallBody(NamedTuple):
    """Rows of cells, numbers all; whether to explain; whether no cell is missing."""

    rows: list[Sequence[Any]]
    explain: bool
    complete: bool


class RowCodec:
    """Reads bodies for one model.

    Args:
        inputs: what the model takes.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._columns = inputs.columns
        self._takes_missing = inputs.takes_missing
        self._codes = [_codes(column, inputs) for column in inputs.columns]
        self._coded = [place for place, codes in enumerate(self._codes) if codes is not None]
        #: Colons of one row: every member has one, and so may have its name.
        self._colons = sum(1 + column.name.count(":") for column in inputs.columns)
        self._decode = self._typed_decoder()
        self._scanner: _Scanner | None = None

    def _typed_decoder(self) -> Callable[[bytes], Any] | None:
        if not 0 < len(self._columns) <= _MAX_TYPED_COLUMNS:
            return None
        fields = [(f"c{place}", _cell_type(column)) for place, column in enumerate(self._columns)]
        renamed = {f"c{place}": column.name for place, column in enumerate(self._columns)}
        row = msgspec.defstruct("Row", fields, rename=renamed, forbid_unknown_fields=True, gc=False)
        members = [
            ("rows", GenericAlias(list, (row,)), msgspec.NODEFAULT),
            ("explain", bool | msgspec.UnsetType, msgspec.UNSET),
        ]
        request = msgspec.defstruct("Request", members, forbid_unknown_fields=True, gc=False)
        return msgspec.json.Decoder(request).decode

    def read_small(self, body: bytes) -> SmallBody | None:
        """The rows of a body ``{"rows": [...]}``, beside which ``explain`` may stand."""
        if self._decode is None:
            return None
        try:
            request = self._decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        explain = request.explain
        members = 1 if explain is msgspec.UNSET else 2
        # As many colons as members means that no name came twice: a repeated one would be lost silently.
        if body.count(b":") != members + len(request.rows) * self._colons:
            return None
        as_cells = msgspec.structs.astuple
        rows: list[Sequence[Any]] = [as_cells(row) for row in request.rows]
        if self._coded:
            rows = [self._encode_levels(row) for row in rows]  # type: ignore[misc]
            if None in rows:
                return None
        complete = True
        for place, row in enumerate(rows):
            if None in row:
                if not self._takes_missing:
                    return None
                complete = False
                rows[place] = [MISSING if cell is None else cell for cell in row]
        return SmallBody(rows, explain is True, complete)

    def _encode_levels(self, row: Sequence[Any]) -> list[Any] | None:
        cells = list(row)
        for place in self._coded:
            cell = cells[place]
            if cell is not None:
                code = self._codes[place].get(cell)  # type: ignore[union-attr]
                if code is None:
                    return None
                cells[place] = code
        return cells

    def read_large(self, body: bytes, max_rows: int) -> Encoded | None:
        """The rows of a body of either form without options, at most so many."""
        if self._scanner is None:
            self._scanner = _Scanner(self._columns, self._codes)
        values = self._scanner.read(body, max_rows)
        if values is None or (not self._takes_missing and np.isnan(values).any()):
            return None
        return Encoded(values)


def to_matrix(rows: Sequence[Sequence[Any]]) -> FloatArray:
    """Rows of cells, one at least, as a column-major matrix."""
    return np.asfortranarray(np.array(rows, dtype=np.float64))


def _cell_type(column: Column) -> Any:
    if column.is_numeric:
        return float | None
    if column.level_type == "number":
        return int | float | None
    return bool | None if column.level_type == "boolean" else str | None


def _codes(column: Column, inputs: Inputs) -> dict[Scalar, float] | None:
    """The cell of each value that surely is a level of the column; None for a numeric column."""
    if column.is_numeric:
        return None
    if column.level_type == "number":
        labels: list[Scalar] = [
            label
            for label in column.labels
            if isinstance(label, int | float) and not isinstance(label, bool) and abs(label) < _EXACT_INTEGERS
        ]
    elif column.level_type == "boolean":
        labels = [False, True]
    else:
        labels = [level for level in column.levels if level.strip() and level not in inputs.missing_tokens]
    codes = {label: column.encode(label) for label in labels}
    return {label: code for label, code in codes.items() if code != UNSEEN}


class _Scanner:
    """What the kernel must know of a model's columns."""

    def __init__(self, columns: Sequence[Column], codes: Sequence[dict[Scalar, float] | None]) -> None:
        from service.formats import json_scan

        self._scan = json_scan.scan_rows
        self._places = {column.name: place for place, column in enumerate(columns)}
        self._kinds = np.array([_kind(column) for column in columns], dtype=np.int8)
        self._truths = np.array([_truths(column, known) for column, known in zip(columns, codes, strict=True)])
        texts = [
            {label: int(code) for label, code in (known or {}).items() if isinstance(label, str)} for known in codes
        ]
        tables = [*(list(table) for table in texts), [column.name for column in columns]]
        numbers = [*(list(table.values()) for table in texts), list(range(len(columns)))]
        self._names = json_scan.make_names(tables, numbers)

    def read(self, body: bytes, max_rows: int) -> FloatArray | None:
        begin = _ROWS.match(body)
        order: Array | None = None
        n_rows = body.count(b"{") - 1
        if begin is None:
            begin = _COLUMNS.match(body)
            if begin is None:
                return None
            order = self._order(begin[1])
            n_rows = body.count(b"[") - 2
            if order is None:
                return None
        if not 0 < n_rows <= max_rows or 2 * n_rows * len(self._places) > len(
            body
        ):  # no cell takes less than two bytes
            return None
        text = np.frombuffer(body, dtype=np.uint8)
        scanned = self._scan(text, begin.end(), n_rows, self._kinds, self._truths, self._names, order)
        if scanned is None or _END.fullmatch(body, scanned[1]) is None:
            return None
        return scanned[0]

    def _order(self, names: bytes) -> Array | None:
        """The column of each of the names, which must be all of the model's."""
        try:
            given = msgspec.json.decode(names, type=list[str])
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if len(given) != len(self._places) or set(given) != self._places.keys():
            return None
        return np.array([self._places[name] for name in given], dtype=np.int32)


def _kind(column: Column) -> int:
    if column.is_numeric:
        return 0
    return 2 if column.level_type == "boolean" else 1


def _truths(column: Column, known: dict[Scalar, float] | None) -> tuple[float, float]:
    if known is None or column.level_type != "boolean" or len(known) < 2:
        return (MISSING, MISSING)
    return known[False], known[True]
