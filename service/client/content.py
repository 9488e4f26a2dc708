"""From Python values to what is sent."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import IO, Any, TypeAlias
from urllib.parse import quote

Json: TypeAlias = dict[str, Any]
Row: TypeAlias = Mapping[str, Any]


def body(value: Json) -> bytes:
    """A request's JSON; numbers of numpy and the like are numbers, NaN in a row is a missing value."""
    rows = value.get("rows")
    if rows is not None:
        value = value | {"rows": [_without_nan(row) for row in rows]}
    return json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _without_nan(row: Any) -> Any:
    """A row in which every NaN is None."""
    if not isinstance(row, Mapping):
        return row
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}


def _plain(value: Any) -> Any:
    """The Python value of a scalar of numpy or the like, which knows how to give it; a mapping as a dict."""
    if isinstance(value, Mapping):
        return dict(value)
    if callable(getattr(value, "item", None)) and getattr(value, "ndim", None) == 0:
        found = value.item()
        return None if isinstance(found, float) and math.isnan(found) else found
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} {value!r} cannot be sent as JSON: texts, numbers, booleans and None can")


def blocks(file: IO[bytes]) -> Iterator[bytes]:
    """A file's bytes, a megabyte at a time."""
    while block := file.read(1024 * 1024):
        yield block


def given(query: Mapping[str, Any]) -> dict[str, Any]:
    """What of a query or body is not None."""
    return {name: value for name, value in query.items() if value is not None}


def in_path(text: str) -> str:
    """A name or reference as a part of an address."""
    return quote(text, safe="@:")
