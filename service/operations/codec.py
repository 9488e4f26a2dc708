"""The fast way from a JSON body to a model's cells, prepared once for each model.

It answers nothing differently from the general way (:mod:`service.operations.rows`): it takes only
bodies in which every row has every column of the model, once, with values whose meaning is beyond
doubt, and returns None at the slightest surprise, upon which the caller goes the general way.

Bodies are decoded by msgspec into types made for the model's columns; large matrices of nothing but
numbers by yyjson (:mod:`service.formats.json_numbers`), and CSV by machine code (:mod:`service.formats.csv_numbers`).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import starmap
from operator import itemgetter
from types import GenericAlias
from typing import Any, TypeAlias

import msgspec
import numpy as np

from learners.table import MISSING, UNSEEN, Column, parse_number
from learners.types import FloatArray, Scalar
from service.formats.arrow_rows import read_arrow
from service.formats.csv_numbers import read_csv_numbers
from service.formats.json_numbers import Numbers, count_letter, read_matrix
from service.operations.rows import Encoded, Inputs

#: Bodies from this size on become a matrix at once.
LARGE = 200_000
#: What stands escaped in JSON; msgspec takes no such names for its fields.
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
#: msgspec looks names up one by one, so a type of many columns is slow where their order is another.
_MAX_TYPED_COLUMNS = 200
#: Orders of a matrix' columns whose decoders are kept; past it the memory starts anew.
_MAX_ORDERS = 16
_EXACT_INTEGERS = 2**53
#: From one of msgspec's objects to its values, without a look-up for each request.
_values_of, _UNSET = msgspec.structs.astuple, msgspec.UNSET

_COLUMNS = re.compile(rb'\s*\{\s*"columns"\s*:\s*(\[[^\[\]{}\\]{0,1000000}\])\s*,\s*"data"\s*:')
_FAILURES = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


#: Rows of cells, numbers all; whether to explain; whether no cell is missing.
SmallBody: TypeAlias = tuple[list[Sequence[Any]], bool, bool]


class RowCodec:
    """Reads bodies for one model.

    Args:
        inputs: what the model takes.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._columns = inputs.columns
        self._takes_missing = inputs.takes_missing
        #: Whether an empty cell of a CSV text is missing, and no number is.
        tokens = inputs.missing_tokens
        self._has_plain_tokens = "" in tokens and all(parse_number(token) is None for token in tokens)
        self._has_plain_numbers = inputs.numbers.is_plain
        self._codes = [_codes(column, inputs) for column in inputs.columns]
        self._coded = [place for place, codes in enumerate(self._codes) if codes is not None]
        self._places = {column.name: place for place, column in enumerate(inputs.columns)}
        self._colons_in_names = sum(column.name.count(":") for column in inputs.columns)
        #: For rows without a missing value, and for any.
        self._decoders = self._rows_decoders()
        self._matrix_decoders: dict[tuple[int, ...], Callable[[bytes], Any]] = {}

    def _rows_decoders(self) -> tuple[Callable[[bytes], Any], ...]:
        if not 0 < len(self._columns) <= _MAX_TYPED_COLUMNS or any(map(_ESCAPED.search, self._places)):
            return ()
        return self._rows_decoder(_value_type), self._rows_decoder(_cell_type)

    def _rows_decoder(self, type_of: Callable[[Column], Any]) -> Callable[[bytes], Any]:
        fields = [(f"c{place}", type_of(column)) for place, column in enumerate(self._columns)]
        renamed = {f"c{place}": column.name for place, column in enumerate(self._columns)}
        row = msgspec.defstruct("Row", fields, rename=renamed, forbid_unknown_fields=True, gc=False)
        members = [
            ("rows", GenericAlias(list, (row,)), msgspec.NODEFAULT),
            ("explain", bool | msgspec.UnsetType, msgspec.UNSET),
        ]
        return _decoder_of(members)

    def _read_rows(self, body: bytes) -> tuple[list[Any], bool, bool] | None:
        """The rows of a body ``{"rows": [...]}`` as msgspec's objects, whose members are in the model's order.

        Beside them, whether ``explain`` is set and whether no value is missing.
        """
        complete = True
        for decode in self._decoders:
            try:
                request = decode(body)
                break
            except _FAILURES:
                complete = False
        else:
            return None
        rows, explain = request.rows, request.explain
        n_members = 1 if explain is _UNSET else 2
        n_rows = len(rows)
        if not self._has_each_once(body, n_members + n_rows * len(self._columns), n_rows):
            return None
        return rows, explain is True, complete

    def _has_each_once(self, body: bytes, n_members: int, n_rows: int) -> bool:
        """Whether as many colons as members tell that no name came twice: a repeated one would be lost silently.

        Colons stand in names too, where only an escape could hide one, and in values, of which all are too many.
        """
        if count_letter(body, b":") != n_members + n_rows * self._colons_in_names:
            return False
        return not self._colons_in_names or rb"\u003" not in body

    def read_small(self, body: bytes) -> SmallBody | None:
        """The rows of a body ``{"rows": [...]}``, beside which ``explain`` may stand."""
        read = self._read_rows(body)
        if read is None:
            return None
        rows, explain, complete = read
        if not complete and not self._takes_missing:
            return None
        values: list[Sequence[Any]] = [_values_of(rows[0])] if len(rows) == 1 else list(map(_values_of, rows))
        cells = values if complete and not self._coded else self._cells(values, complete=complete)
        return None if cells is None else (cells, explain, complete)

    def _cells(self, rows: list[Sequence[Any]], *, complete: bool = False) -> list[Sequence[Any]] | None:
        """Rows of values as rows of cells; ``complete`` where none is missing."""
        if self._coded:
            encoded = [self._encode_levels(row) for row in rows]
            if None in encoded:
                return None
            rows = encoded  # type: ignore[assignment]
        for place, row in enumerate(() if complete else rows):
            if None in row:
                if not self._takes_missing:
                    return None
                rows[place] = [MISSING if cell is None else cell for cell in row]
        return rows

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
        begin = _COLUMNS.match(body)
        if begin is not None:
            encoded = self._read_matrix(body, begin[1])
        else:
            read = self._read_rows(body)
            values = None if read is None or read[1] else self._objects_to_matrix(read[0], complete=read[2])
            encoded = None if values is None else Encoded(values)
        return encoded if encoded is not None and 0 < encoded.n_rows <= max_rows else None

    def _read_matrix(self, body: bytes, names: bytes) -> Encoded | None:
        """The rows of a matrix, before which its columns are named so."""
        try:
            order = self._order(msgspec.json.decode(names))
            if order is None:
                return None
            numbers = None if self._coded else read_matrix(body)
            if numbers is not None and (self._takes_missing or numbers.is_complete):
                return self._in_order(numbers, order)
            data = self._matrix_decoder(order)(body).data
        except _FAILURES:
            return None
        if not self._has_each_once(body, 2, 1):
            return None
        places = sorted(range(len(order)), key=order.__getitem__)
        values = self._to_matrix(data if places == sorted(places) else list(map(itemgetter(*places), data)))
        return None if values is None else Encoded(values)

    def _objects_to_matrix(self, rows: list[Any], *, complete: bool) -> FloatArray | None:
        """Rows as msgspec's objects as a matrix of cells."""
        values = map(_values_of, rows)
        if rows and complete and not self._coded:  # one row after the other, so that its values are still in the cache
            return to_matrix(values, len(self._columns))
        return self._to_matrix(list(values))

    def _to_matrix(self, rows: list[Sequence[Any]]) -> FloatArray | None:
        """Rows of values as a matrix of cells."""
        if not rows:
            return None
        if not self._coded:
            with suppress(struct.error):  # a value is missing
                return to_matrix(rows, len(self._columns))
        cells = self._cells(rows)
        return None if cells is None else to_matrix(cells, len(self._columns))

    @staticmethod
    def _in_order(numbers: Numbers, order: Sequence[int]) -> Encoded:
        """Columns given in some order as rows in the model's."""
        arranged = numbers.cells
        if list(order) != sorted(order):
            arranged = np.empty(numbers.cells.shape)
            arranged[:, order] = numbers.cells
        return Encoded(arranged, is_complete=numbers.is_complete)

    def read_csv(self, body: bytes, max_rows: int) -> Encoded | None:
        """The rows of a CSV text of numbers under a header of all columns, at most so many."""
        begin = body.find(b"\n") + 1
        header = body[: begin - 1]
        if not begin or self._coded or b'"' in header or not (self._has_plain_tokens and self._has_plain_numbers):
            return None
        try:
            order = self._order(header.removesuffix(b"\r").decode().split(","))
        except UnicodeDecodeError:
            return None
        numbers = None if order is None else read_csv_numbers(body, begin, len(order))
        if numbers is None or order is None or len(numbers.cells) > max_rows:
            return None
        if not (self._takes_missing or numbers.is_complete):
            return None
        return self._in_order(numbers, order)

    def read_arrow(self, body: bytes, max_rows: int) -> Encoded | None:
        """The rows of an Arrow stream of all columns, at most so many, all of plain numbers.

        Raises:
            ServiceError: see :func:`service.formats.arrow_rows.read_arrow`.
        """
        if self._coded:
            return None
        values = read_arrow(body, max_rows, self._columns).numbers([column.name for column in self._columns])
        if values is None or not len(values) or (not self._takes_missing and np.isnan(values).any()):
            return None
        return Encoded(values)

    def _order(self, names: Sequence[Any]) -> tuple[int, ...] | None:
        """The column of each of the names, which must be all of the model's."""
        if len(names) != len(self._places) or not all(isinstance(name, str) for name in names):
            return None
        return tuple(self._places[name] for name in names) if set(names) == self._places.keys() else None

    def _matrix_decoder(self, order: tuple[int, ...]) -> Callable[[bytes], Any]:
        decode = self._matrix_decoders.get(order)
        if decode is None:
            row = GenericAlias(tuple, tuple(_cell_type(self._columns[place]) for place in order))
            members = [
                ("columns", list[str], msgspec.NODEFAULT),
                ("data", GenericAlias(list, (row,)), msgspec.NODEFAULT),
            ]
            if len(self._matrix_decoders) >= _MAX_ORDERS:
                self._matrix_decoders = {}
            decode = self._matrix_decoders[order] = _decoder_of(members)
        return decode


def _decoder_of(members: Sequence[tuple[str, Any, Any]]) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(msgspec.defstruct("Request", members, forbid_unknown_fields=True, gc=False)).decode


def to_matrix(rows: Iterable[Sequence[Any]], n_columns: int) -> FloatArray:
    """Rows of so many cells as a matrix."""
    pack = struct.Struct(f"{n_columns}d").pack  # of all ways from tuples to an array the fastest by half
    return np.frombuffer(b"".join(starmap(pack, rows))).reshape(-1, n_columns)


def _value_type(column: Column) -> Any:
    if column.is_numeric:
        return float
    if column.level_type == "number":
        return int | float
    return bool if column.level_type == "boolean" else str


def _cell_type(column: Column) -> Any:
    return _value_type(column) | None


def _codes(column: Column, inputs: Inputs) -> dict[Scalar, float] | None:
    """The cell of each value that surely is a level of the column; None for a numeric column."""
    if column.is_numeric:
        return None
    if column.is_open:  # any value may come, and how those of a row go together is seen the general way
        return {}
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
