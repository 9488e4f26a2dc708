"""On which line of a CSV file a row stands: asked only when there is something wrong with the row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path


def lines_of_records(path: Path, wanted: Iterable[int], delimiter: str, quote: str | None) -> dict[int, int]:
    """The 1-based lines on which records begin.

    Args:
        path: a UTF-8 file.
        wanted: 0-based positions of records, blank lines not counted (a header is record 0).
        delimiter: the character between cells.
        quote: the character round cells, or None.

    Returns:
        The line of each wanted record that exists.
    """
    pending = set(wanted)
    found: dict[int, int] = {}
    if not pending:
        return found
    last = max(pending)
    for record, (line, _) in enumerate(_records(path, delimiter, quote)):
        if record in pending:
            found[record] = line
        if record >= last:
            break
    return found


def line_of_longest_record(path: Path, delimiter: str, quote: str | None) -> int:
    """The 1-based line on which the longest record begins."""
    return max(_records(path, delimiter, quote), key=lambda record: record[1])[0]


def line_of_last_record(path: Path, delimiter: str, quote: str | None) -> int:
    """The 1-based line on which the last record begins, be it closed or not."""
    line = 1
    for line, _ in _records(path, delimiter, quote):  # noqa: B007 - the last one is wanted
        pass
    return line


def _records(path: Path, delimiter: str, quote: str | None) -> Iterator[tuple[int, int]]:
    """The line on which each record begins and its number of characters; blank lines are no records."""
    closing = None if quote is None else _closing(quote)
    inside, begun, length = False, 0, 0
    with path.open(encoding="utf-8-sig") as file:  # any of the three line ends
        for number, line in enumerate(file, 1):
            if not inside and line == "\n":
                continue
            if not inside:
                begun, length = number, 0
            length += len(line)
            if closing is not None and quote is not None and (inside or quote in line):
                inside = _open_after(line, inside, closing, delimiter, quote)
            if not inside:
                yield begun, length
    if inside:
        yield begun, length


def _closing(quote: str) -> re.Pattern[str]:
    mark = re.escape(quote)
    return re.compile(rf"[^{mark}]*+(?:{mark}{mark}[^{mark}]*+)*+{mark}")


def _open_after(line: str, inside: bool, closing: re.Pattern[str], delimiter: str, quote: str) -> bool:
    """Whether a quoted cell is still open at the end of a line."""
    position = 0
    while True:
        if inside or line.startswith(quote, position):
            match = closing.match(line, position if inside else position + 1)
            if match is None:
                return True
            position, inside = match.end(), False
        position = line.find(delimiter, position) + 1
        if position == 0:
            return False
