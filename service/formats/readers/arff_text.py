"""Tokens of ARFF: values in either kind of quotes with backslash escapes, blanks round everything.

A quoted ``'?'`` is a value, a bare ``?`` is missing, which is why quotes are reported with the text.
"""

from __future__ import annotations

import re

_QUOTED = r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\""""
_VALUE = re.compile(rf"\s*(?:{_QUOTED}|([^,'\"\s][^,]*?|))\s*(,|\Z)", re.DOTALL)
_WORD = re.compile(rf"\s*(?:{_QUOTED}|([^\s'\"{{]+))", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r"}


class ArffSyntaxError(ValueError):
    """A piece of ARFF text that cannot be read; the message says why.

    Attributes:
        index: of the value among those between commas, where it is known.
    """

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index


def split_values(text: str) -> list[tuple[str, bool]]:
    """The values between commas, each with whether it stands in quotes.

    Raises:
        ArffSyntaxError: quotes are not closed, or text follows a closing quote.
    """
    values: list[tuple[str, bool]] = []
    position = 0
    while True:
        match = _VALUE.match(text, position)
        if match is None:
            message = f"the value that begins at character {position + 1} cannot be read (quotes?)"
            raise ArffSyntaxError(message, len(values))
        values.append(_token(match))
        position = match.end()
        if not match[4]:
            return values


def first_word(text: str) -> tuple[str, str]:
    """A name or keyword, in quotes or up to a blank or brace, and the rest of the text."""
    match = _WORD.match(text)
    if match is None:
        raise ArffSyntaxError("a name is missing or its quotes are not closed")
    return _token(match)[0], text[match.end() :].strip()


def _token(match: re.Match[str]) -> tuple[str, bool]:
    for group in (1, 2):
        if match[group] is not None:
            return _ESCAPE.sub(_unescaped, match[group]), True
    return match[3], False


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) == 5 else _LETTERS.get(code, code)
