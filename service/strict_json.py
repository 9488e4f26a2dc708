"""The one JSON decoder and encoder of the service: strict both ways.

Refused on the way in: ``NaN`` and ``Infinity``, numbers beyond a double, integers of more than 4300
digits, lone surrogates, NUL characters (no database text can hold one), keys given twice, and
nesting beyond a limit. On the way out a number that is not finite is an error, never the word ``NaN``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from service.errors import BadRequest, Fault, Invalid

_decoder = msgspec.json.Decoder()
#: Longest piece of a caller's text that a message repeats.
QUOTE_LIMIT = 80


def decode(body: bytes, max_depth: int) -> Any:
    """The value of a JSON text.

    Args:
        body: UTF-8 text.
        max_depth: arrays and objects may be nested this deep.

    Raises:
        BadRequest: not JSON at all.
        Invalid: JSON, but with something in it that is refused (see the module).
    """
    value = _parse(body, max_depth)
    n_keys = _count_keys(value, max_depth)
    refuse_duplicate_keys(body, n_keys)
    if rb"\u0000" in body:
        _refuse_nul(value)
    return value


def _parse(body: bytes, max_depth: int) -> Any:
    try:
        return _decoder.decode(body)
    except RecursionError:
        raise _too_deep(max_depth) from None
    except msgspec.ValidationError as error:
        raise Invalid(f"The body holds a number that is out of range: {error}") from None
    except msgspec.DecodeError as error:
        _refuse_constants(body)
        raise BadRequest(f"The body is not strict JSON: {error}") from None
    except UnicodeDecodeError as error:
        raise BadRequest(f"The body is not UTF-8: {error.reason} at byte {error.start} of a text") from None


class _NotFinite(str):
    """Stands for ``NaN`` or an infinity in a text that is JSON otherwise."""


def _refuse_constants(body: bytes) -> None:
    """Raise :class:`Invalid`, naming each place, if ``NaN`` and infinities are all that is wrong with a text."""
    try:
        value = json.loads(body, parse_constant=_NotFinite)
    except (ValueError, RecursionError):
        return
    faults = [_constant_fault(path, item) for path, item in _walk(value) if isinstance(item, _NotFinite)]
    if faults:
        raise Invalid(f"JSON knows no NaN and no Infinity; a missing value is null: {faults[0].message}", faults)


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


def _constant_fault(path: tuple[str | int, ...], constant: str) -> Fault:
    where = ".".join(str(step) for step in path)[:QUOTE_LIMIT]
    row = next((step for step in path if isinstance(step, int)), None)
    column = str(path[-1])[:QUOTE_LIMIT] if path and row is not None and isinstance(path[-1], str) else None
    return Fault(f"{where or 'the body'} is {constant}", row=row, column=column, parameter=where or None)


def _too_deep(max_depth: int) -> Invalid:
    return Invalid(
        f"The body is nested too deeply: at most {max_depth} arrays and objects may lie in each other",
        [Fault("nesting too deep", allowed=max_depth)],
    )


def _count_keys(value: Any, max_depth: int) -> int:
    """How many keys all objects hold together; the walk goes level by level, so depth costs no stack."""
    level = [value] if isinstance(value, dict | list) else []
    n_keys = depth = 0
    while level:
        depth += 1
        if depth > max_depth:
            raise _too_deep(max_depth)
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
    json.loads(body, object_pairs_hook=_unique)


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


def _refuse_nul(value: Any) -> None:
    for _, item in _walk(value):
        texts = item if isinstance(item, dict) else (item,)
        if any(isinstance(text, str) and "\x00" in text for text in texts):
            raise Invalid(r"The body holds the character NUL (\u0000), which no text here may contain")


def quoted(text: str) -> str:
    """A caller's text in quotes, cut to a sane length."""
    return repr(text) if len(text) <= QUOTE_LIMIT else f"{text[:QUOTE_LIMIT]!r}... ({len(text)} characters)"


def encode(value: Any) -> bytes:
    """UTF-8 JSON of plain values.

    Raises:
        ValueError: a number is not finite.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
