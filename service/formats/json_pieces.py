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
from service.strict_json import refuse_duplicate_keys

_PIECE = 4 << 20
#: No record may be longer, in bytes.
MAX_RECORD = 64 << 20
_HEAD = re.compile(rb'\s*(\{\s*"rows"\s*:)?\s*\[')
_BOUNDARY = re.compile(rb"\}\s*,")
_WRAPPER_END = re.compile(rb"\]\s*\}\s*\Z")
_TRIES = 4
_BYTE = re.compile(r"\(byte (\d+)\)")
_decoder = msgspec.json.Decoder()


def array_pieces(path: Path, start: int) -> Iterator[list[Any]]:
    """The elements of the array in a file, or of the array ``rows`` of its one object, some thousands at a time.

    Args:
        path: a UTF-8 file.
        start: byte at which the text begins.

    Raises:
        Invalid: not JSON, or a key is given twice; names the byte.
        TooLarge: one element is longer than :data:`MAX_RECORD`.
    """
    with path.open("rb") as file:
        file.seek(start)
        buffer = file.read(_PIECE)
        head = _HEAD.match(buffer)
        if head is None:
            _refuse_head(buffer, start)
        offset = start + head.end()
        yield from _pieces(file, buffer[head.end() :], offset, is_wrapped=head[1] is not None)


def _pieces(file: BinaryIO, buffer: bytes, offset: int, *, is_wrapped: bool) -> Iterator[list[Any]]:
    while True:
        block = file.read(_PIECE)
        if not block:
            break
        end, elements = _first_part(buffer)
        if elements is not None:
            yield elements
            buffer, offset = buffer[end:], offset + end
        else:
            _refuse_if_broken(buffer, offset)
        buffer += block
        if len(buffer) > MAX_RECORD:
            raise TooLarge(
                f"A record that begins near byte {offset} is longer than {MAX_RECORD} bytes",
                [Fault("record too long", allowed=MAX_RECORD)],
            )
    if is_wrapped:
        end_match = _WRAPPER_END.search(buffer)
        if end_match is None:
            _refuse("the object may hold nothing but the array 'rows'", offset + len(buffer))
        buffer = buffer[: end_match.start() + 1]
    yield _decode(b"[" + buffer, offset)


def _first_part(buffer: bytes) -> tuple[int, list[Any] | None]:
    """The elements before one of the last boundaries, and where the rest begins."""
    tail = max(0, len(buffer) - (1 << 16))
    boundaries = list(_BOUNDARY.finditer(buffer, tail)) or list(_BOUNDARY.finditer(buffer))
    for boundary in reversed(boundaries[-_TRIES:]):
        piece = b"[" + buffer[: boundary.start() + 1] + b"]"
        try:
            elements = _decoder.decode(piece)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        _check_keys(piece, elements)
        return boundary.end(), elements
    return 0, None


def _refuse_if_broken(buffer: bytes, offset: int) -> None:
    """Tell a piece that only needs more bytes from one that no more bytes will mend."""
    try:
        _decoder.decode(b"[" + buffer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        found = _BYTE.search(str(error))
        is_at_end = found is not None and int(found[1]) >= len(buffer) + 1  # a number or word cut in two
        if "truncated" not in str(error) and not is_at_end:
            _refuse_error(error, offset - 1)


def _decode(text: bytes, offset: int) -> list[Any]:
    try:
        elements: list[Any] = _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        _refuse_error(error, offset - 1)
    _check_keys(text, elements)
    return elements


def _check_keys(text: bytes, elements: list[Any]) -> None:
    refuse_duplicate_keys(text, sum(len(one) for one in elements if isinstance(one, dict)))


def _refuse_error(error: Exception, offset: int) -> NoReturn:
    if isinstance(error, RecursionError):
        _refuse("it is nested too deeply; a row is an object of plain values", offset)
    found = _BYTE.search(str(error))
    at = offset + int(found[1]) if found else offset
    reason = _BYTE.sub("", str(error)).strip()
    if "invalid character" in reason:
        reason += "; note that JSON knows no NaN and no Infinity: a missing value is null"
    _refuse(reason, at)


def _refuse(reason: str, at: int) -> NoReturn:
    raise Invalid(f"The file is not the JSON that is read here: {reason} (near byte {at})", [Fault(reason[:200])])


def _refuse_head(buffer: bytes, start: int) -> NoReturn:
    if not buffer.strip():
        raise Invalid("The file is empty: it has only blanks", [Fault("empty file")])
    _refuse("it must be an array of objects, or an object with the one key 'rows' that holds such an array", start)
