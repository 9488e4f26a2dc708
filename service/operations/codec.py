"""The fast way from a JSON body to a model's cells, prepared once for each model.

It answers nothing differently from the general way (:mod:`service.operations.rows`): it takes only
rows that have every column of the model, once, with values whose meaning is beyond doubt. Where not all
rows of a body are such it returns None, upon which the caller goes the general way; of a large body only
the few others go that way (:mod:`service.operations.doubtful_rows`).

Bodies are decoded by msgspec into types made for the model's columns, large ones a piece after the other; large
matrices of nothing but numbers by yyjson (:mod:`service.formats.json_numbers`), and CSV by machine code
(:mod:`service.formats.csv_numbers`).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
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
from service.formats.row_texts import find_rows
from service.operations.doubtful_rows import ReadPiece, read_plain_rows
from service.operations.rows import Encoded, Inputs, Options

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

_FAILURES = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


#: Rows of cells, numbers all; whether to explain; whether no cell is missing.
SmallBody: TypeAlias = tuple[list[Sequence[Any]], bool, bool]


class RowCodec:
    """Reads bodies for one model.

    Args:
        inputs: what the model takes.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._inputs, self._columns = inputs, inputs.columns
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
        self._row_types = self._types_of_rows()
        self._decoders = tuple(map(self._rows_decoder, self._row_types))
        #: Of large bodies; made when the first one comes.
        self._object_decoders: list[Callable[[bytes], Any]] | None = None
        self._list_decoders: dict[tuple[int, ...], Callable[[bytes], Any]] = {}

    def _types_of_rows(self) -> list[Any]:
        if not 0 < len(self._columns) <= _MAX_TYPED_COLUMNS or any(map(_ESCAPED.search, self._places)):
            return []
        return [self._row_type(_value_type), self._row_type(_cell_type)]

    def _row_type(self, type_of: Callable[[Column], Any]) -> Any:
        fields = [(f"c{place}", type_of(column)) for place, column in enumerate(self._columns)]
        renamed = {f"c{place}": column.name for place, column in enumerate(self._columns)}
        return msgspec.defstruct("Row", fields, rename=renamed, forbid_unknown_fields=True, gc=False)

    @staticmethod
    def _rows_decoder(row: Any) -> Callable[[bytes], Any]:
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

    def read_large(self, body: bytes, options: Options, depth: int) -> Encoded | None:
        """The rows of a body of either form without options, however many; those that are not plain the general way.

        Args:
            body: the text.
            options: what is asked of the rows beside it.
            depth: how deep the JSON may be.
        """
        texts = find_rows(body)
        if texts is None:
            return None
        if texts.names is None:
            return read_plain_rows(texts, self._objects_readers(), self._inputs, options, depth)
        try:
            order = self._order(msgspec.json.decode(texts.names))
        except _FAILURES:
            return None
        if order is None:
            return None
        numbers = None if self._coded else read_matrix(body)
        if numbers is not None and (self._takes_missing or numbers.is_complete):
            return self._in_order(numbers, order)
        return read_plain_rows(texts, [self._lists_reader(order)], self._inputs, options, depth)

    def _objects_readers(self) -> list[ReadPiece]:
        """What read objects as cells: those without a missing value, and any."""
        if self._object_decoders is None:
            self._object_decoders = [_list_decoder_of(row) for row in self._row_types]
        return [partial(self._read_objects, decode) for decode in self._object_decoders]

    def _read_objects(self, decode: Callable[[bytes], Any], text: bytes) -> FloatArray | None:
        try:
            rows = decode(text)
        except _FAILURES:
            return None
        if not self._has_each_once(text, len(rows) * len(self._columns), len(rows)):
            return None
        return self._to_matrix(list(map(_values_of, rows)))

    def _lists_reader(self, order: tuple[int, ...]) -> ReadPiece:
        """What reads arrays of cells in some order as cells in the model's."""
        decode = self._list_decoder(order)
        places = sorted(range(len(order)), key=order.__getitem__)
        arrange = None if places == sorted(places) else itemgetter(*places)

        def read(text: bytes) -> FloatArray | None:
            try:
                rows = decode(text)
            except _FAILURES:
                return None
            return self._to_matrix(rows if arrange is None else list(map(arrange, rows)))

        return read

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

    def read_csv(self, body: bytes) -> Encoded | None:
        """The rows of a CSV text of numbers under a header of all columns, however many."""
        begin = body.find(b"\n") + 1
        header = body[: begin - 1]
        if not begin or self._coded or b'"' in header or not (self._has_plain_tokens and self._has_plain_numbers):
            return None
        try:
            order = self._order(header.removesuffix(b"\r").decode().split(","))
        except UnicodeDecodeError:
            return None
        numbers = None if order is None else read_csv_numbers(body, begin, len(order))
        if numbers is None or order is None:
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

    def _list_decoder(self, order: tuple[int, ...]) -> Callable[[bytes], Any]:
        decode = self._list_decoders.get(order)
        if decode is None:
            row = GenericAlias(tuple, tuple(_cell_type(self._columns[place]) for place in order))
            if len(self._list_decoders) >= _MAX_ORDERS:
                self._list_decoders = {}
            decode = self._list_decoders[order] = _list_decoder_of(row)
        return decode


def _list_decoder_of(row: Any) -> Callable[[bytes], Any]:
    return msgspec.json.Decoder(GenericAlias(list, (row,))).decode


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
