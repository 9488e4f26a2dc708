"""Whether the quotes of a CSV text can be read in one way only; where they cannot, nothing is guessed.

A quoted cell begins with its quote, ends with it, and holds it written twice; in any other cell a quote is a character
like any other. What is neither (``"1"2``, `` "1"``, a quote that is never closed) each library reads in its own way,
Arrow in silence. So files and rows to predict are looked over for it first: in pieces, and only where quotes occur.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import IO

from service.errors import Fault
from service.formats.faults import cut, shown
from service.formats.readers.csv_lines import places_of

_PIECE = 1 << 20
#: What is wrong with a quote.
OPEN, AFTER, BLANK = "open", "after", "blank"
_MESSAGES = {
    OPEN: "the quote opened on line {line}, in {cell}, is never closed",
    AFTER: "line {line}: in {cell} text follows the closing quote{begun}",
    BLANK: "line {line}: in {cell} a blank comes before the opening quote",
}
_RULE = (
    "a cell is quoted from its first character to its last, then comes {delimiter} or the line's end, and a quote "
    "within is written twice"
)


@dataclass(frozen=True)
class Doubt:
    """A quote that can be read in several ways, or in none.

    Attributes:
        what: ``open``: it is never closed; ``after``: text follows the one that closes it; ``blank``: one is before it.
        opened: where the quote is that opens the cell, in bytes from the first.
        at: where what is wrong is: that quote, or the text that follows.
    """

    what: str
    opened: int
    at: int


class _Marks:
    """How cells with one delimiter and quote are matched in bytes."""

    def __init__(self, delimiter: str, quote: str) -> None:
        mark, self.ends = re.escape(quote.encode()), delimiter.encode() + b"\r\n"
        self.blanks = b" \t".replace(delimiter.encode(), b"")
        end, inside = re.escape(self.ends), rb"[^%b]*+(?:%b%b[^%b]*+)*+" % ((mark,) * 4)
        quoted = rb"(?<=[%b])%b%b%b(?=[%b])" % (end, mark, inside, mark, end)
        literal = rb"(?<=[^%b%b])%b" % (end, self.blanks, mark)
        self.clear = re.compile(rb"(?:[^%b]++|%b|%b)*+" % (mark, quoted, literal))
        self.inside = re.compile(inside)


_marks = lru_cache(maxsize=64)(_Marks)


def first_doubt(source: IO[bytes], delimiter: str, quote: str) -> Doubt | None:
    """The first quote that is in doubt.

    Args:
        source: UTF-8 without NUL, from where a record begins; read to its end in pieces.
        delimiter: the ASCII character between cells.
        quote: the ASCII character round cells.
    """
    marks = _marks(delimiter, quote)
    held, base, opened = b"\n", -1, -1  # as if a line ended before; ``opened`` is below 0 outside of quoted cells
    while True:
        read = source.read(_PIECE)
        piece, place = held + read, len(held) if opened < 0 else 0
        while True:
            if opened < 0:
                place = _next_opening(marks, piece, place)
                if place == len(piece):
                    held = _last_letter(marks, piece)
                    break
                opened = base + place
                if piece[place - 1] in marks.blanks:
                    return Doubt(BLANK, opened, opened)
                place += 1
            place = _end(marks.inside, piece, place)
            if place + 1 >= len(piece) and read:  # not closed yet; a last quote may be the first of two
                held = piece[place:]
                break
            if place == len(piece):
                return Doubt(OPEN, opened, opened)
            place += 1
            if place < len(piece) and piece[place] not in marks.ends:
                return Doubt(AFTER, opened, base + place)
            opened = -1
        if not read:
            return None
        base += len(piece) - len(held)


def _next_opening(marks: _Marks, piece: bytes, place: int) -> int:
    """Where a quoted cell begins, with or without blanks before it, that is not clear at once; else the end."""
    while (place := _end(marks.clear, piece, place)) < len(piece):
        before = place
        while piece[before - 1] in marks.blanks:
            before -= 1
        if piece[before - 1] in marks.ends:
            break
        place += 1  # the cell began without a quote
    return place


def _last_letter(marks: _Marks, piece: bytes) -> bytes:
    """What of a piece tells whether a quote after it begins a cell: its last letter, and a blank if any follow."""
    end = len(piece.rstrip(marks.blanks))
    return piece[end - 1 : end + 1]


def _end(pattern: re.Pattern[bytes], piece: bytes, place: int) -> int:
    """Where the longest match ends of a pattern that nothing matches too."""
    match = pattern.match(piece, place)
    return place if match is None else match.end()


def fault_of(doubt: Doubt, lines: Iterable[str], delimiter: str, quote: str, names: list[str] | None) -> Fault:
    """What is to be told of a doubt.

    Args:
        doubt: as :func:`first_doubt` found it.
        lines: of the same text, each with its end as it is written.
        delimiter, quote: by which it was found.
        names: of the columns, where the first record is a header; else None.
    """
    opened, at = places_of((doubt.opened, doubt.at), lines, delimiter, quote)
    header = 0 if names is None else 1
    name = names[opened.cell] if names is not None and opened.record >= header and opened.cell < len(names) else ""
    cell = f"column {shown(name)}" if name else f"cell {opened.cell + 1}"
    begun = f" of a cell that begins on line {opened.line}" if at.line > opened.line else ""
    told = _MESSAGES[doubt.what].format(line=at.line, cell=cell, begun=begun)
    return Fault(
        f"{told}; {_RULE.format(delimiter=shown(delimiter))}",
        row=opened.record - header if opened.record >= header else None,
        line=at.line,
        column=cut(name) if name else None,
    )
