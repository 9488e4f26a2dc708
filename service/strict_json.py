"""The one JSON decoder and encoder of the service: strict both ways.

Refused on the way in: ``NaN`` and ``Infinity``, numbers beyond a double, integers of more than 4300
digits, lone surrogates, NUL characters (no database text can hold one), keys given twice, and
nesting beyond a limit. On the way out a number that is not finite is an error, never the word ``NaN``.
"""

from __future__ import annotations

import codecs
import json
import math
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from service.errors import BadRequest, Fault, Invalid

_decoder = msgspec.json.Decoder()
#: Longest piece of a caller's text that a message repeats.
QUOTE_LIMIT = 80
#: How messages call the text, unless told.
THE_BODY = "the body"
#: Most digits of an integer.
MAX_DIGITS = 4300
_LARGEST = repr(sys.float_info.max)
#: What stands in every text that is no JSON by nothing but numbers that are none, or halves of surrogate pairs.
_MARKS = (b"NaN", b"Infinity", rb"\ud", rb"\uD")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
#: What a byte that is no UTF-8 becomes where it is to be found again.
_ESCAPED_BYTE = re.compile(r"[\udc80-\udcff]")


def decode(body: bytes, max_depth: int, what: str = THE_BODY) -> Any:
    """The value of a JSON text.

    Args:
        body: UTF-8 text.
        max_depth: arrays and objects may be nested this deep.
        what: how messages call the text.

    Raises:
        BadRequest: not JSON at all.
        Invalid: JSON, but with something in it that is refused (see the module).
    """
    body = _without_order_mark(body)
    value = _parse(body, max_depth, what)
    n_keys = _count_keys(value, max_depth, what)
    refuse_duplicate_keys(body, n_keys)
    if rb"\u0000" in body:
        _refuse_nul(value, what)
    return value


def _without_order_mark(body: bytes) -> bytes:
    """Blanks in place of a byte order mark, which RFC 8259 lets a reader pass over; all else keeps its place."""
    return b"   " + body[3:] if body.startswith(codecs.BOM_UTF8) else body


def decode_sparing(
    body: bytes, max_depth: int, spared: Sequence[str], numbers: Sequence[int] | None = None
) -> tuple[Any, dict[int, list[Fault]]]:
    """The value of a JSON object in which a number that no double holds spoils only the row that it stands in.

    Args:
        body, max_depth: as for :func:`decode`.
        spared: members that are arrays of rows.
        numbers: by which the rows are told, if not by their places.

    Returns:
        The value, with ``None`` in place of such numbers (``NaN`` and infinities too); and by row what is wrong.

    Raises:
        BadRequest, Invalid: as :func:`decode`, if anything else is wrong too.
    """
    body = _without_order_mark(body)
    try:
        return decode(body, max_depth), {}
    except Invalid:
        value = _with_marks(body)
        found = [(path, item) for path, item in _walk(value) if isinstance(item, _NotFinite | _OutOfRange)]
        if not found or any(len(path) < 2 or path[0] not in spared for path, _ in found):
            raise
    if any(_has_surrogate(text) for _, item in _walk(value) for text in (item if isinstance(item, dict) else (item,))):
        _refuse_in_detail(body, THE_BODY)
    refuse_duplicate_keys(body, _count_keys(value, max_depth, THE_BODY))
    if rb"\u0000" in body:
        _refuse_nul(value, THE_BODY)
    faults: dict[int, list[Fault]] = {}
    for path, item in found:
        named = path if numbers is None else (path[0], numbers[int(path[1])], *path[2:])
        fault = _number_fault(value, named, item)
        faults.setdefault(fault.row or 0, []).append(fault)
    for path, _ in found:
        _parent_of(value, path)[path[-1]] = None
    return value, faults


def _parent_of(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path[:-1]:
        value = value[step]
    return value


def _parse(body: bytes, max_depth: int, what: str) -> Any:
    try:
        return _decoder.decode(body)
    except RecursionError:
        raise _too_deep(max_depth, what) from None
    except msgspec.ValidationError as error:
        _refuse_in_detail(body, what)
        raise Invalid(f"{_first(what)} holds a number that is out of range: {error}") from None
    except msgspec.DecodeError as error:
        if not body.strip():
            message = f"{_first(what)} is empty; JSON is expected"
            raise BadRequest(message, [Fault(f"{what} is empty", parameter="body", allowed="JSON")]) from None
        if any(mark in body for mark in _MARKS):
            _refuse_in_detail(body, what)
        raise BadRequest(f"{_first(what)} is not strict JSON: {error}") from None
    except UnicodeDecodeError:
        raise _not_utf8(body, what) from None


def _first(what: str) -> str:
    """The same at the beginning of a sentence."""
    return what[:1].upper() + what[1:]


def _not_utf8(body: bytes, what: str) -> BadRequest:
    """The error of a text in another encoding, with the place of the first byte that is none of UTF-8's."""
    at = _first_bad_byte(body)
    said = f"is not UTF-8: byte 0x{body[at]:02x} at offset {at}"
    marked = _with_marks(body, "surrogateescape")
    for path, item in _walk(marked):
        if any(isinstance(text, str) and _ESCAPED_BYTE.search(text) for text in (item, *path[-1:])):
            fault = _fault_at(marked, path, said, what=what)
            return BadRequest(f"{_first(what)} {said}, in {fault.parameter or 'a text'}", [fault])
    return BadRequest(f"{_first(what)} {said}", [Fault(f"{what} {said}", parameter="body")])


def _first_bad_byte(body: bytes) -> int:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


class _NotFinite(str):
    """Stands for ``NaN`` or an infinity in a text that is JSON otherwise."""


class _OutOfRange(str):
    """Stands for a number that is too large for a double, or has too many digits, as it was written."""


def _refuse_in_detail(body: bytes, what: str) -> None:
    """Raise an error that names each place, if all that is wrong with a text are numbers or surrogates.

    Raises:
        Invalid: it holds ``NaN``, an infinity, or numbers that are out of range.
        BadRequest: it holds halves of surrogate pairs.
    """
    value = _with_marks(body)
    numbers, surrogates = [], []
    for path, item in _walk(value):
        if isinstance(item, _NotFinite | _OutOfRange):
            numbers.append(_number_fault(value, path, item, what))
        elif _has_surrogate(item) or (path and _has_surrogate(path[-1])):
            surrogates.append(_fault_at(value, path, "holds a lone surrogate, which is half a character", what=what))
    if numbers:
        raise Invalid(numbers[0].message, numbers)
    if surrogates:
        raise BadRequest(f"{_first(what)} is not strict JSON: {surrogates[0].message}", surrogates)


def _with_marks(body: bytes, errors: str = "strict") -> Any:
    """The value of a text with marks for what no double holds; None if it is no JSON even so."""
    try:
        return json.loads(
            body.decode(errors=errors), parse_constant=_NotFinite, parse_float=_read_float, parse_int=_read_int
        )
    except (ValueError, RecursionError):
        return None


def _read_float(text: str) -> float | _OutOfRange:
    number = float(text)
    return number if math.isfinite(number) else _OutOfRange(text)


def _read_int(text: str) -> int | _OutOfRange:
    try:
        return int(text)
    except ValueError:  # Python's bound on the digits of an integer, which is the decoder's too
        return _OutOfRange(text)


def _has_surrogate(item: Any) -> bool:
    return isinstance(item, str) and not item.isascii() and _SURROGATE.search(item) is not None


def _walk(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value inside a value, with its path, in the order of the text."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while stack:
        path, item = stack.pop()
        yield path, item
        if isinstance(item, dict):
            stack.extend(((*path, key), child) for key, child in reversed(item.items()))
        elif isinstance(item, list):
            stack.extend(((*path, index), item[index]) for index in reversed(range(len(item))))


def _number_fault(
    body: Any, path: tuple[str | int, ...], number: _NotFinite | _OutOfRange, what: str = THE_BODY
) -> Fault:
    if isinstance(number, _NotFinite):
        return _fault_at(
            body, path, f"is {number}; JSON knows no NaN and no Infinity, a missing value is null", what=what
        )
    if len(number.lstrip("-")) > MAX_DIGITS and number.lstrip("-").isdigit():
        said = f"has {len(number.lstrip('-'))} digits, so it is out of range; an integer has at most {MAX_DIGITS}"
        return _fault_at(body, path, said, allowed=f"at most {MAX_DIGITS} digits", what=what)
    said = f"is {number[:QUOTE_LIMIT]}, which is out of range: a number lies between -{_LARGEST} and {_LARGEST}"
    return _fault_at(body, path, said, allowed=f"numbers >= -{_LARGEST} and <= {_LARGEST}", what=what)


def _fault_at(body: Any, path: tuple[str | int, ...], said: str, *, allowed: Any = None, what: str = THE_BODY) -> Fault:
    """A fault of the value at a path, with the row and column that the path leads to."""
    where = _escaped(".".join(str(step) for step in path))
    row = next((step for step in path if isinstance(step, int)), None)
    column = _column_at(body, path) if row is not None else None
    return Fault(f"{where or what} {said}", row=row, column=column, parameter=where or None, allowed=allowed)


def _column_at(body: Any, path: tuple[str | int, ...]) -> str | None:
    """A cell's column: its key, or in a matrix with names (``columns`` and ``data``) the name at its place."""
    last = path[-1]
    if isinstance(last, str):
        return _escaped(last)
    names = body.get("columns") if isinstance(body, dict) and len(path) == 3 and path[0] == "data" else None
    name = names[last] if isinstance(names, list) and last < len(names) else None
    return _escaped(name) if isinstance(name, str) else None


def _escaped(text: str) -> str:
    """A key, cut to a sane length, in which half characters are escaped as they were."""
    return text[:QUOTE_LIMIT].replace("\x00", r"\u0000").encode("utf-8", "backslashreplace").decode()


def _too_deep(max_depth: int, what: str) -> Invalid:
    return Invalid(
        f"{_first(what)} is nested too deeply: at most {max_depth} arrays and objects may lie in each other",
        [Fault("nesting too deep", allowed=max_depth)],
    )


def _count_keys(value: Any, max_depth: int, what: str) -> int:
    """How many keys all objects hold together; the walk goes level by level, so depth costs no stack."""
    level = [value] if isinstance(value, dict | list) else []
    n_keys = depth = 0
    while level:
        depth += 1
        if depth > max_depth:
            raise _too_deep(max_depth, what)
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                n_keys += len(item)
                below.extend(child for child in item.values() if isinstance(child, dict | list))
            else:
                below.extend(child for child in item if isinstance(child, dict | list))
        level = below
    return n_keys


def refuse_duplicate_keys(body: bytes, n_keys: int) -> None:
    """Raise :class:`Invalid` if an object of a well-formed text names a key twice.

    Every member has its colon and a repeated key is lost in decoding. So as many keys as colons means
    that none was lost; only a text with more colons (inside strings) is read again in detail.

    Args:
        body: the text, already decoded once without an error.
        n_keys: number of keys in all objects of the decoded value together.
    """
    if body.count(b":") == n_keys:
        return
    json.loads(body, object_pairs_hook=_unique, parse_int=str)  # of keys alone; integers may have too many digits


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Invalid(
                    f"The key {quoted(key)} is given twice in one object",
                    [Fault("each key may be given once", parameter=key[:QUOTE_LIMIT])],
                )
            seen.add(key)
    return members


def _refuse_nul(value: Any, what: str) -> None:
    said = r"holds the character NUL (\u0000), which no text here may contain"
    faults = [
        _fault_at(value, path, said, what=what)
        for path, item in _walk(value)
        if any(isinstance(text, str) and "\x00" in text for text in (item, *path[-1:]))
    ]
    if faults:
        raise Invalid(f"{_first(what)} {said}: in {faults[0].parameter or 'a text'}", faults)


def quoted(text: str) -> str:
    """A caller's text in quotes, cut to a sane length."""
    return repr(text) if len(text) <= QUOTE_LIMIT else f"{text[:QUOTE_LIMIT]!r}... ({len(text)} characters)"


def encode(value: Any) -> bytes:
    """UTF-8 JSON of plain values.

    Raises:
        ValueError: a number is not finite.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
