"""A large JSON array of objects, piece by piece, so that memory holds one piece.

A piece ends where ``},`` does; whether that is truly between two records is settled by decoding: what
ends inside a text or a nested object is no valid array.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import msgspec

from service.errors import Fault, Invalid, TooLarge
from service.formats.faults import cut, shown
from service.formats.readers.json_places import Place, objects, place_of_error
from service.strict_json import MAX_DIGITS, refuse_duplicate_keys

_PIECE = 4 << 20
#: No record may be longer, in bytes.
MAX_RECORD = 64 << 20
_HEAD = re.compile(rb'\s*(\{\s*"rows"\s*:)?\s*\[')
_BOUNDARY = re.compile(rb"\}\s*,")
_WRAPPER_END = re.compile(rb"\]\s*\}\s*\Z")
_TRIES = 4
_BYTE = re.compile(r"\(byte (\d+)\)")
#: What the parser says of the place, which is said in the words of tables instead.
_PLACE = re.compile(r"\(byte \d+\)| - at `.*`")
_decoder = msgspec.json.Decoder()
_BROKEN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def array_pieces(path: Path, start: int) -> Iterator[list[Any]]:
    """The elements of the array in a file, or of the array ``rows`` of its one object, some thousands at a time.

    Args:
        path: a UTF-8 file.
        start: byte at which the text begins.

    Raises:
        Invalid: not JSON, or a key is given twice; names the row, the column and the line.
        TooLarge: one element is longer than :data:`MAX_RECORD`.
    """
    with path.open("rb") as file:
        file.seek(start)
        buffer = file.read(_PIECE)
        head = _HEAD.match(buffer)
        if head is None:
            _refuse_head(path, buffer, start)
        pieces = _Pieces(path, file, buffer[head.end() :], start + head.end())
        yield from pieces.all(is_wrapped=head[1] is not None)


class _Pieces:
    """Where the reading of an array is: ``buffer`` begins at byte ``offset`` with row ``row``."""

    def __init__(self, path: Path, file: BinaryIO, buffer: bytes, offset: int) -> None:
        self.path = path
        self.file = file
        self.buffer = buffer
        self.offset = offset
        self.row = 0

    def all(self, *, is_wrapped: bool) -> Iterator[list[Any]]:
        while block := self.file.read(_PIECE):
            end, elements = self._first_part()
            if elements is not None:
                yield elements
                self.buffer = self.buffer[end:]
                self.offset += end
                self.row += len(elements)
            else:
                self._refuse_if_broken()
            self.buffer += block
            if len(self.buffer) > MAX_RECORD:
                line = _line_at(self.path, self.offset)
                message = f"row {self.row}, which begins near line {line}, is longer than {MAX_RECORD} bytes"
                fault = Fault("row too long", row=self.row, line=line, allowed=MAX_RECORD)
                raise TooLarge(f"The file cannot be read: {message}", [fault])
        if is_wrapped:
            self._unwrap()
        yield self._decode(b"[" + self.buffer)

    def _unwrap(self) -> None:
        end = _WRAPPER_END.search(self.buffer)
        if end is None:
            line = _line_at(self.path, self.offset + len(self.buffer))
            _refuse("the object may hold nothing but the array 'rows'", Fault("", line=line, parameter="rows"))
        self.buffer = self.buffer[: end.start() + 1]

    def _first_part(self) -> tuple[int, list[Any] | None]:
        """The elements before one of the last boundaries, and where the rest begins."""
        buffer = self.buffer
        tail = max(0, len(buffer) - (1 << 16))
        boundaries = list(_BOUNDARY.finditer(buffer, tail)) or list(_BOUNDARY.finditer(buffer))
        for boundary in reversed(boundaries[-_TRIES:]):
            piece = b"[" + buffer[: boundary.start() + 1] + b"]"
            try:
                elements = _decoder.decode(piece)
            except _BROKEN:
                continue
            self._check_keys(piece, elements)
            return boundary.end(), elements
        return 0, None

    def _refuse_if_broken(self) -> None:
        """Tell a piece that only needs more bytes from one that no more bytes will mend."""
        text = b"[" + self.buffer
        try:
            _decoder.decode(text)
        except _BROKEN as error:
            found = _BYTE.search(str(error))
            is_at_end = found is not None and int(found[1]) >= len(text)  # a number or word cut in two
            if "truncated" not in str(error) and not is_at_end:
                self._refuse(error, text)

    def _decode(self, text: bytes) -> list[Any]:
        try:
            elements: list[Any] = _decoder.decode(text)
        except _BROKEN as error:
            self._refuse(error, text)
        self._check_keys(text, elements)
        return elements

    def _check_keys(self, text: bytes, elements: list[Any]) -> None:
        try:
            refuse_duplicate_keys(text, sum(len(one) for one in elements if isinstance(one, dict)))
        except Invalid:
            for place, one in objects(text):
                try:
                    refuse_duplicate_keys(one, len(_decoder.decode(one)))
                except Invalid as error:
                    key = next((fault.parameter for fault in error.faults), None)
                    _refuse(error.detail, self._fault(place._replace(key=key)))
            raise

    def _refuse(self, error: Exception, text: bytes) -> NoReturn:
        _refuse(said(error), self._fault(place_of_error(text, error)))

    def _fault(self, place: Place) -> Fault:
        """A fault at a place of a text that begins with a bracket more than the buffer."""
        column = None if place.key is None else cut(place.key)
        line = _line_at(self.path, self.offset + place.byte - 1)
        return Fault("", row=self.row + place.element, line=line, column=column)


def said(error: Exception) -> str:
    """A parser's error in words, without the byte."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply; a row is an object of plain values"
    reason = _PLACE.sub("", str(error)).strip()
    if "invalid character" in reason:
        reason += "; note that JSON knows no NaN and no Infinity: a missing value is null"
    if "out of range" in reason:
        reason += f"; a whole number has at most {MAX_DIGITS} digits, any other is less than 1.8e308 in magnitude"
    return reason


def _refuse(reason: str, fault: Fault) -> NoReturn:
    """Refuse with a fault that says where; its message is made here."""
    row = None if fault.row is None else f"row {fault.row}"
    column = None if fault.column is None else f"column {shown(fault.column)}"
    where = ", ".join(part for part in (row, column, f"line {fault.line}") if part is not None)
    made = Fault(
        f"{where}: {reason[:200]}", row=fault.row, line=fault.line, column=fault.column, parameter=fault.parameter
    )
    raise Invalid(f"The file is not the JSON that is read here: {where}: {reason}", [made])


def _refuse_head(path: Path, buffer: bytes, start: int) -> NoReturn:
    if not buffer.strip():
        raise Invalid("The file is empty: it has only blanks", [Fault("empty file", parameter="file")])
    line = _line_at(path, start + len(buffer) - len(buffer.lstrip()))
    _refuse(
        "it must be an array of objects, or an object with the one key 'rows' that holds such an array",
        Fault("", line=line),
    )


def _line_at(path: Path, byte: int) -> int:
    """The 1-based line of a byte."""
    line, left = 1, max(0, byte)
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(left, _PIECE))):
            line += block.count(b"\n")
            left -= len(block)
    return line
