"""The rows of a long JSON body: the plain ones the quick way, the others, if they are few, the general way.

Both are put together as the general way would have encoded all of them: what it says of a row depends on no other
row but by what every row lacks, for which a plain row stands beside the doubtful ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

import msgspec
import numpy as np

from learners.types import FloatArray
from service import strict_json
from service.errors import Fault, ServiceError
from service.formats.row_texts import PIECE_BYTES, Place, RowTexts
from service.operations.rows import Encoded, Inputs, Options, encode_matrix, encode_records

Value = TypeVar("Value")
#: Reads an array of rows as cells; None where any of them is not plain.
ReadPiece: TypeAlias = Callable[[bytes], FloatArray | None]
#: Past so many doubtful rows, and a share of one in so many, all go the general way.
_MOST_DOUBTFUL, _ONE_IN = 100, 8
#: Into how many pieces one is cut in which some row is doubtful.
_CUT_INTO = 8


@dataclass
class _Found:
    """Rows so far.

    Attributes:
        plain: cells of plain rows, and the number of the first of each piece.
        doubtful: numbers and texts of the others.
        sample: number of the first plain row, and the piece that it begins.
        n_rows: of either kind.
    """

    plain: list[tuple[int, FloatArray]] = field(default_factory=list)
    doubtful: list[tuple[int, bytes]] = field(default_factory=list)
    sample: tuple[int, Place] | None = None
    n_rows: int = 0

    def add(self, cells: FloatArray) -> None:
        self.plain.append((self.n_rows, cells))
        self.n_rows += len(cells)

    def add_doubtful(self, text: bytes) -> None:
        self.doubtful.append((self.n_rows, text))
        self.n_rows += 1

    @property
    def is_worth_it(self) -> bool:
        return len(self.doubtful) <= _MOST_DOUBTFUL + self.n_rows // _ONE_IN


def read_plain_rows(
    texts: RowTexts, readers: Sequence[ReadPiece], inputs: Inputs, options: Options, depth: int
) -> Encoded | None:
    """The rows of a body, encoded; None where too many are doubtful, or anything but single rows is wrong.

    Args:
        texts: where they stand.
        readers: of plain rows; each reads what those before it do.
        inputs: what the model takes.
        options: what is asked of the rows.
        depth: how deep the JSON may be.
    """
    found = _find(texts, list(readers))
    if found is None or not found.plain:
        return None
    if not found.doubtful:
        return Encoded(np.concatenate([cells for _, cells in found.plain]))
    if found.sample is None or any(column.is_open for column in inputs.columns):
        return None
    number, piece = found.sample
    first, last = next(texts.pieces(1, *piece))
    numbers, rows = zip((number, texts.body[first:last]), *found.doubtful, strict=True)
    few = _encode(texts, rows, numbers, inputs, options, depth)
    return None if few is None else _together(found, few, numbers)


def _find(texts: RowTexts, readers: list[ReadPiece]) -> _Found | None:
    """All rows; None where many are doubtful."""
    found = _Found()
    for piece in texts.pieces(PIECE_BYTES):
        _look_at(texts, piece, PIECE_BYTES, readers, found)
        if not found.is_worth_it:
            return None
    return found


def _look_at(texts: RowTexts, piece: Place, size: int, readers: list[ReadPiece], found: _Found) -> None:
    """Read a piece of about so many bytes, or else the pieces that it is cut into, down to single rows."""
    cells = _read(texts.body[slice(*piece)], readers)
    if cells is not None:
        found.sample = found.sample or (found.n_rows, piece)
        found.add(cells)
    elif size == 1:
        found.add_doubtful(texts.body[slice(*piece)])
    else:
        for part in texts.pieces(max(1, size // _CUT_INTO), *piece):
            _look_at(texts, part, max(1, size // _CUT_INTO), readers, found)


def _read(rows: bytes, readers: list[ReadPiece]) -> FloatArray | None:
    """The cells of a piece; a reader that is not enough for a piece which another one reads is tried no more."""
    text = b"[%b]" % rows
    for place, read in enumerate(readers):
        cells = read(text)
        if cells is not None:
            del readers[:place]
            return cells
    return None


def _encode(
    texts: RowTexts, rows: Sequence[bytes], numbers: Sequence[int], inputs: Inputs, options: Options, depth: int
) -> Encoded | None:
    """Single rows, the general way; faults of numbers that cannot be read are told by the rows' own numbers."""
    try:
        for row in rows:  # else two pieces of one row could pass for one row each
            json.loads(row)
        member = "rows" if texts.names is None else "data"
        request, bad_numbers = strict_json.decode_sparing(texts.body_of(rows), depth, (member,), numbers)
        if texts.names is None:
            few = encode_records(request[member], inputs, options)
        else:
            few = encode_matrix(msgspec.json.decode(texts.names), request[member], inputs, options)
    except (ValueError, RecursionError, ServiceError):
        return None
    places = {number: place for place, number in enumerate(numbers)}
    few.faults |= {places[number]: faults for number, faults in bad_numbers.items()}
    return few


def _together(found: _Found, few: Encoded, numbers: Sequence[int]) -> Encoded:
    values = np.empty((found.n_rows, few.values.shape[1]))
    for first, cells in found.plain:
        values[first : first + len(cells)] = cells
    values[list(numbers)] = few.values
    return replace(
        few,
        values=values,
        faults={numbers[row]: _told(faults, numbers[row]) for row, faults in few.faults.items()},
        unseen=_by_number(few.unseen, numbers),
        extra=_by_number(few.extra, numbers),
        lacking=_by_number(few.lacking, numbers),
    )


def _told(faults: list[Fault], number: int) -> list[Fault]:
    return [replace(fault, row=number) for fault in faults]


def _by_number(by_row: Mapping[int, Value], numbers: Sequence[int]) -> dict[int, Value]:
    return {numbers[row]: value for row, value in by_row.items()}
