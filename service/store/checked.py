"""Column types that refuse what PostgreSQL cannot hold, so that both databases refuse the same.

PostgreSQL has no NUL character in text; neither it nor UTF-8 has lone surrogates; JSON has no NaN.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import JSON, Dialect, Text
from sqlalchemy.types import TypeDecorator

from service.errors import Fault, Invalid


def _refuse(what: str, text: str) -> Invalid:
    message = f"text must not contain {what}"
    shown = text[:80].encode("ascii", "backslashreplace").decode().replace("\0", "\\x00")
    return Invalid(f"The request has a text that contains {what}.", [Fault(message, value=shown)])


def check_text(text: str) -> None:
    """Raise :class:`service.errors.Invalid` for a text that cannot be stored."""
    if "\0" in text:
        raise _refuse("the NUL character", text)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _refuse("a lone surrogate", text) from None


def _check_texts(value: Any) -> None:
    """Check every text within a JSON value."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            check_text(item)
        elif isinstance(item, dict):
            pending.extend(item)
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)


def dump_json(value: Any) -> str:
    """Strict JSON text of a value; given to the engines as their serializer.

    Raises:
        Invalid: a text in it has a NUL or a lone surrogate, or a number is not finite.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except ValueError as error:
        raise Invalid(f"The request cannot be written as JSON: {error}.") from error
    # A NUL is always escaped in the text; an escaped backslash before "u0000" looks alike, hence the exact check.
    if "\\u0000" in text or not text.isascii():
        _check_texts(value)
    return text


class CheckedText(TypeDecorator[str]):
    """TEXT without NUL and lone surrogates."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is not None:
            check_text(value)
        return value


# JSON and not JSONB on PostgreSQL: JSONB would reorder keys, drop the sign of -0.0 and turn 1e22 into an integer.
CheckedJson = JSON(none_as_null=True)
