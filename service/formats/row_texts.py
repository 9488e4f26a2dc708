"""The rows of a long JSON body as texts: cut where one ends and the next begins, before anything is read.

A cut may lie inside a text that looks like the end of a row, upon which neither side of it is JSON. So where all
pieces are read as JSON, they are the body's rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

#: From which byte to before which.
Place: TypeAlias = tuple[int, int]

#: Bytes of a piece: few enough that others do not wait for the interpreter's lock while it is read.
PIECE_BYTES = 65_536
_BLANK = rb"[ \t\n\r]*"
_NAMED = re.compile(_BLANK.join((b"", rb"\{", b'"rows"', b":", rb"\[", b"")))
_MATRIX = re.compile(
    _BLANK.join((b"", rb"\{", b'"columns"', b":", rb"(\[[^\[\]{}\\]{0,1000000}\])", b",", b'"data"', b":", rb"\[", b""))
)
_END = re.compile(_BLANK.join((b"", rb"\]", b'(?:,[ \t\n\r]*"explain"[ \t\n\r]*:[ \t\n\r]*false)?', rb"\}", rb"\Z")))
#: How far before the end of a body the end of its rows is looked for.
_MOST_BEHIND = 200
_BETWEEN_OBJECTS = re.compile(_BLANK.join((rb"\}", b",", rb"\{")))
_BETWEEN_LISTS = re.compile(_BLANK.join((rb"\]", b",", rb"\[")))


@dataclass(frozen=True)
class RowTexts:
    """Where the rows of a body stand, beside which is nothing but ``"explain": false``.

    Attributes:
        body: the whole.
        begin, end: the places of the first row's first byte and behind the last row's last.
        names: the array of the columns' names where the rows are arrays, else None.
    """

    body: bytes
    begin: int
    end: int
    names: bytes | None

    def pieces(self, size: int, begin: int | None = None, end: int | None = None) -> Iterator[Place]:
        """The places of pieces of at least so many bytes, from ``begin`` to ``end``; with size 1 of single rows."""
        between = _BETWEEN_OBJECTS if self.names is None else _BETWEEN_LISTS
        begin = self.begin if begin is None else begin
        end = self.end if end is None else end
        while begin < end:
            cut = between.search(self.body, min(begin + size, end), end)
            yield begin, end if cut is None else cut.start() + 1
            begin = end if cut is None else cut.end() - 1

    def body_of(self, rows: Sequence[bytes]) -> bytes:
        """A body of the same form with these rows alone."""
        return b"%b%b]}" % (self.body[: self.begin], b",".join(rows))


def find_rows(body: bytes) -> RowTexts | None:
    """Where the rows of ``{"rows": [...]}`` or ``{"columns": [...], "data": [...]}`` stand; None in any other form."""
    matrix = _MATRIX.match(body)
    head = matrix or _NAMED.match(body)
    tail = _END.search(body, max(0, len(body) - _MOST_BEHIND))
    if head is None or tail is None or tail.start() <= head.end():
        return None
    return RowTexts(body, head.end(), tail.start(), None if matrix is None else matrix[1])
