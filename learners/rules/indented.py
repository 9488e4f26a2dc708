"""JSON in lines, as :func:`json.dumps` with ``indent=2`` writes it, with parts that are written already.

The rules of a tree share their conditions, which make up most of the text; the library's own encoder would write
each of them anew, in Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any


class Written(str):
    """JSON that stands as it is."""

    __slots__ = ()


def indented(value: Any, level: int = 0) -> str:
    """A JSON value whose first line follows other text and whose further ones are indented by so many levels.

    Raises:
        ValueError: a number is not finite.
    """
    if isinstance(value, dict):
        texts = _texts(value.values(), level + 1)
        return _enclosed("{}", [_key(key) + text for key, text in zip(value, texts, strict=True)], level)
    if isinstance(value, list):
        return _enclosed("[]", _texts(value, level + 1), level)
    return _encode(value)


def _texts(values: Iterable[Any], level: int) -> list[str]:
    kinds = _KINDS
    return [kinds[type(one)](one) if type(one) in kinds else indented(one, level) for one in values]


def _enclosed(brackets: str, parts: list[str], level: int) -> str:
    if not parts:
        return brackets
    margin = "\n" + "  " * level
    return f"{brackets[0]}{margin}  {f',{margin}  '.join(parts)}{margin}{brackets[1]}"


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _number(value: float) -> str:
    return repr(value) if value - value == 0 else _encode(value)  # the latter refuses what is not finite


@lru_cache(maxsize=2**8)
def _key(name: str) -> str:
    return f"{encode_basestring(name)}: "


_KINDS: dict[type, Callable[[Any], str]] = {
    Written: lambda text: text,
    str: encode_basestring,
    float: _number,
    int: repr,
}
