"""Where in a CSV text a row or a byte stands: asked only when there is something wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Place:
    """Where a byte of a CSV text is.

    Attributes:
        record: 0-based, blank lines not counted.
        line: 1-based.
        cell: 0-based, in its record.
    """

    record: int
    line: int
    cell: int


def places_of(offsets: Sequence[int], lines: Iterable[str], delimiter: str, quote: str) -> list[Place]:
    """Where bytes of a text are.

    Args:
        offsets: ascending, from the text's beginning.
        lines: of the text, each with its end as it is written.
        delimiter: the character between cells.
        quote: the character round cells; what is before the offsets has them only where cells begin and end.
    """
    closing, places = _closing(quote), list[Place]()
    record, cell, inside, before = -1, 0, False, 0
    for number, line in enumerate(lines, 1):
        if not inside and line.strip("\r\n"):
            record, cell = record + 1, 0
        letters = line.encode()
        for offset in offsets[len(places) :]:
            if offset < before + len(letters):
                passed = _walked(letters[: offset - before].decode(), inside, closing, delimiter, quote)[1]
                places.append(Place(record, number, cell + passed))
        if len(places) == len(offsets):
            break
        inside, passed = _walked(line, inside, closing, delimiter, quote)
        cell, before = cell + passed, before + len(letters)
    return places


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
                inside, _ = _walked(line, inside, closing, delimiter, quote)
            if not inside:
                yield begun, length
    if inside:
        yield begun, length


def _closing(quote: str) -> re.Pattern[str]:
    mark = re.escape(quote)
    return re.compile(rf"[^{mark}]*+(?:{mark}{mark}[^{mark}]*+)*+{mark}")


def _walked(line: str, inside: bool, closing: re.Pattern[str], delimiter: str, quote: str) -> tuple[bool, int]:
    """Whether a quoted cell is still open at the end of a line, and how many cells end within the line."""
    position = n_cells = 0
    while True:
        if inside or line.startswith(quote, position):
            match = closing.match(line, position if inside else position + 1)
            if match is None:
                return True, n_cells
            position, inside = match.end(), False
        position = line.find(delimiter, position) + 1
        if position == 0:
            return False, n_cells
        n_cells += 1
