"""Where in the text of a JSON array of objects something is: its element and the key there.

The texts are broken ones, so only signs and strings are looked at; nothing is decoded.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from service.strict_json import MAX_DIGITS

_BYTE = re.compile(r"\(byte (\d+)\)")
_ELEMENT = re.compile(r"\$\[(\d+)\]")
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{},:]', re.DOTALL)
#: Deeper than any row that could be read, and not as deep as any parser's own limit.
_TOO_DEEP = 100


class Place(NamedTuple):
    """A byte of the text: which element of the array it is in, beneath which key, and how deep."""

    byte: int
    element: int
    key: str | None
    depth: int


def place_of_error(text: bytes, error: Exception) -> Place:
    """Where a text cannot be decoded.

    Args:
        text: begins with the bracket of the array.
        error: what msgspec raised.
    """
    if isinstance(error, RecursionError):
        return next((place for place, _ in _walk(text) if place.depth > _TOO_DEEP), Place(0, 0, None, 0))
    found = _BYTE.search(str(error))
    if found is None and "out of range" in str(error):
        return _out_of_range(text, error)
    return _place_of(text, int(found[1]) if found else len(text))


def _place_of(text: bytes, byte: int) -> Place:
    found = Place(byte, 0, None, 0)
    for place, sign in _walk(text):
        is_after_word = place.byte == byte - 1 and sign in b"}]"  # the parser may name the byte behind a broken word
        if place.byte >= byte or is_after_word:
            break
        found = place
    return found._replace(byte=byte)


def _out_of_range(text: bytes, error: Exception) -> Place:
    """The number that is no double, or has too many digits; the parser tells only its element."""
    element = _ELEMENT.search(str(error))
    for place, one in objects(text):
        if element is not None and place.element == int(element[1]):
            members: list[tuple[str, Any]] = json.loads(
                one, object_pairs_hook=list, parse_float=_is_finite, parse_int=_is_short
            )
            return place._replace(key=next((key for key, value in members if value is False), None))
    return Place(0, int(element[1]) if element else 0, None, 0)


def _is_finite(number: str) -> Any:
    return None if math.isfinite(float(number)) else False


def _is_short(number: str) -> Any:
    return None if len(number) <= MAX_DIGITS else False


def objects(text: bytes) -> Iterator[tuple[Place, bytes]]:
    """The objects of a well-formed array with their places."""
    begin = 0
    for place, sign in _walk(text):
        if sign == b"{" and place.depth == 2:
            begin = place.byte
        elif sign == b"}" and place.depth == 1:
            yield place._replace(byte=begin), text[begin : place.byte + 1]


def _walk(text: bytes) -> Iterator[tuple[Place, bytes]]:
    """Every sign and string, with the place behind it."""
    depth = element = 0
    key: str | None = None
    last = b""
    for token in _TOKEN.finditer(text):
        sign = token[0][:1]
        if sign in b"[{":
            depth += 1
        elif sign in b"]}":
            depth -= 1
            key = key if depth >= 2 else None
        elif sign == b",":
            element += depth == 1
            key = key if depth > 2 else None
        elif sign == b":":
            key = _decoded(last) if depth == 2 else key
        else:
            last = token[0]
        yield Place(token.start(), element, key, depth), sign


def _decoded(key: bytes) -> str | None:
    try:
        return msgspec.json.decode(key, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
