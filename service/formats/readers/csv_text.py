"""CSV records out of a text, told apart from each other to the cell: an empty cell is not an empty text.

For the parts of a file that are looked at one by one (header, first records) and for the rows of a
prediction request; whole files go through Arrow (:mod:`service.formats.readers.csv_reader`), whose reading of
quotes is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

#: A line and its end; at the end of the text an empty one may follow.
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\n|\r|\Z)")


class UnclosedQuote(Exception):
    """A quoted cell does not end; ``line`` is where it begins, counted from 1."""

    def __init__(self, line: int) -> None:
        super().__init__(f"the quote opened on line {line} is never closed")
        self.line = line


@lru_cache(maxsize=64)
def _field(delimiter: str, quote: str | None) -> re.Pattern[str]:
    stop = rf"[^{re.escape(delimiter)}\r\n]*"
    end = rf"({re.escape(delimiter)}|\r\n|\n|\r|\Z)"
    if quote is None:
        return re.compile(rf"(?:()()\b\B|({stop})){end}")
    mark = re.escape(quote)
    quoted = rf"{mark}([^{mark}]*+(?:{mark}{mark}[^{mark}]*+)*+){mark}({stop})"
    return re.compile(rf"(?:{quoted}|(?!{mark})({stop})){end}")


def records(text: str, delimiter: str, quote: str | None) -> Iterator[tuple[list[str | None], int, int]]:
    """The records of a text in order; blank lines are none.

    Yields:
        The cells (None for an empty cell, ``""`` for an empty text in quotes), the 1-based line on
        which the record begins, and the position after its end.

    Raises:
        UnclosedQuote: a quoted cell does not end within the text.
    """
    if quote is None or quote not in text:
        yield from _unquoted(text, delimiter)
        return
    pattern = _field(delimiter, quote)
    position, line = 0, 1
    cells: list[str | None] = []
    start = 1
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            raise UnclosedQuote(line)
        cells.append(_cell(match, quote))
        line += _newlines(match[0])
        ended = match[4] != delimiter
        position = match.end()
        if ended:
            if cells != [None] or match[1] is not None:
                yield cells, start, position
            cells, start = [], line
    if cells:  # the text ends with a delimiter: one more, empty, cell
        yield [*cells, None], start, position


def _unquoted(text: str, delimiter: str) -> Iterator[tuple[list[str | None], int, int]]:
    """The same where no quote occurs: several times as fast."""
    for line, match in enumerate(_LINE.finditer(text), 1):
        if match[1]:
            yield [cell or None for cell in match[1].split(delimiter)], line, match.end()


def _cell(match: re.Match[str], quote: str | None) -> str | None:
    if match[1] is None or quote is None:
        return match[3] or None
    inside = match[1].replace(quote * 2, quote) if quote in match[1] else match[1]
    return inside + match[2]


def _newlines(text: str) -> int:
    if "\n" in text or "\r" in text:
        return len(re.findall(r"\r\n|\n|\r", text))
    return 0


def rows(text: str, delimiter: str, quote: str | None) -> tuple[list[list[str | None]], list[int]]:
    """All records of a text and the 1-based line on which each begins; much faster where no quote occurs.

    Raises:
        UnclosedQuote: a quoted cell does not end within the text.
    """
    if quote is not None and quote in text:
        found = [(cells, line) for cells, line, _ in records(text, delimiter, quote)]
        return [cells for cells, _ in found], [line for _, line in found]
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line]
    cells: list[list[str | None]] = []
    for _, line in numbered:
        split: list[Any] = line.split(delimiter)
        cells.append([cell or None for cell in split] if "" in split else split)
    return cells, [number for number, _ in numbered]
