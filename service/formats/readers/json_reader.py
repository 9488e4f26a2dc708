"""JSON arrays of objects and newline-delimited objects, in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from service.errors import Fault, Invalid, TooLarge
from service.formats.faults import cut, shown
from service.formats.options import ReadOptions
from service.formats.readers.json_pieces import MAX_RECORD, array_pieces, said
from service.formats.readers.json_places import place_of_error
from service.formats.readers.reading import Block, Reader
from service.formats.readers.text_bytes import checked_text
from service.formats.readers.value_cells import ALLOWED_TYPES, ValueCells
from service.formats.written_numbers import NumberSyntax
from service.strict_json import refuse_duplicate_keys

_PIECE = 4 << 20


class JsonReader(Reader):
    """A file of objects. Columns are the keys in their order of appearance; a key that a row lacks is missing."""

    def __init__(self, path: Path, options: ReadOptions, folder: Path, format_name: str) -> None:
        super().__init__(format_name, path.stat().st_size)
        self._file = checked_text(path, options.codec, None, folder)
        self._tokens = frozenset(token for token in options.missing_tokens if token)
        self._syntax = NumberSyntax(options.decimal, options.thousands, "" in options.missing_tokens)

    def blocks(self, skip: frozenset[str]) -> Iterator[Block]:
        first_row = 0
        for records in self._pieces():
            if not records:
                continue
            self._check_objects(records, first_row)
            names = dict.fromkeys(chain.from_iterable(records))
            cells = {
                name: self._cells(name, [record.get(name) for record in records], first_row)
                for name in names
                if name not in skip
            }
            yield Block(len(records), cells)
            first_row += len(records)

    def lines_of(self, rows: Iterable[int]) -> dict[int, int]:
        if self.format != "ndjson":
            return {}
        wanted = set(rows)
        with self._file.path.open("rb") as file:
            written = (number for number, line in enumerate(file, 1) if line.strip())
            return {row: line for row, line in enumerate(written) if row in wanted}

    def _pieces(self) -> Iterator[list[Any]]:
        if self.format == "json":
            return array_pieces(self._file.path, self._file.start)
        return _line_pieces(self._file.path, self._file.start)

    def _cells(self, name: str, values: list[Any], first_row: int) -> ValueCells:
        if not ALLOWED_TYPES.issuperset(map(type, values)):
            at = next(at for at, value in enumerate(values) if type(value) not in ALLOWED_TYPES)
            taken = "a text, a number, true, false, null or a list of numbers"
            message = f"row {first_row + at}, column {shown(name)}: a cell is {taken}"
            raise Invalid(f"{message}, not an object", [Fault(message, row=first_row + at, column=cut(name))])
        return ValueCells(values, self._tokens, self._syntax)

    def _check_objects(self, records: Sequence[Any], first_row: int) -> None:
        for at, record in enumerate(records):
            if type(record) is not dict:
                row = first_row + at
                line = self.lines_of([row]).get(row)
                message = f"row {row} is no object of values by column name"
                raise Invalid(message, [Fault(message, row=row, line=line)])


def _line_pieces(path: Path, start: int) -> Iterator[list[Any]]:
    """The values of a file's lines, some thousands at a time; blank lines count for nothing."""
    decode = msgspec.json.Decoder().decode
    first_line = 1
    for lines in _line_blocks(path, start):
        values: list[Any] = []
        for at, line in enumerate(lines):
            if not line or line.isspace():
                continue
            try:
                values.append(decode(line))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                _refuse_line(error, line, first_line + at)
        if b"".join(lines).count(b":") != sum(len(value) for value in values if isinstance(value, dict)):
            _check_keys(lines, first_line)
        first_line += len(lines)
        yield values


def _line_blocks(path: Path, start: int) -> Iterator[list[bytes]]:
    with path.open("rb") as file:
        file.seek(start)
        rest, line = b"", 1
        while block := file.read(_PIECE):
            whole, newline, rest_of_block = block.rpartition(b"\n")
            if newline:
                lines = (rest + whole).split(b"\n")
                yield lines
                rest, line = rest_of_block, line + len(lines)
            else:
                rest += block
            if len(rest) > MAX_RECORD:
                message = f"line {line} is longer than {MAX_RECORD} bytes"
                fault = Fault(message, line=line, allowed=MAX_RECORD)
                raise TooLarge(f"The file cannot be read: {message}", [fault])
        if rest:
            yield [rest]


def _check_keys(lines: Sequence[bytes], first_line: int) -> None:
    for at, line in enumerate(lines):
        value = msgspec.json.decode(line) if line.strip() else None
        if isinstance(value, dict):
            try:
                refuse_duplicate_keys(line, len(value))
            except Invalid as error:
                key = next((fault.parameter for fault in error.faults), None)
                fault = Fault(error.detail, line=first_line + at, column=key)
                raise Invalid(f"Line {first_line + at}: {error.detail}", [fault]) from None


def _refuse_line(error: Exception, line: bytes, number: int) -> NoReturn:
    key = _key_of_error(line)
    where = f"line {number}" if key is None else f"line {number}, column {shown(key)}"
    fault = Fault(f"{where}: {said(error)[:200]}", line=number, column=None if key is None else cut(key))
    raise Invalid(f"The file is not NDJSON: {where}: {said(error)}", [fault]) from None


def _key_of_error(line: bytes) -> str | None:
    """The key under which a line cannot be decoded; it is read as an array of one element, whose places are known."""
    text = b"[" + line + b"]"
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return place_of_error(text, error).key
    return None
