"""Large matrices of numbers out of JSON, by yyjson: no Python object is made of any number.

It reads exactly what the general decoder (:mod:`service.strict_json`) reads: numbers are rounded to the
nearest double, and whatever JSON forbids is refused. At anything but numbers and nulls it gives up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from learners.table import MISSING
from learners.types import FloatArray, IntArray
from service.formats.halves import HALVED_BYTES, cut_of
from service.formats.yyjson import (
    KIND,
    LIST,
    NULL,
    OBJECT,
    PADDING,
    REAL,
    SIGNED,
    SIZE_SHIFT,
    TEXT,
    UNSIGNED,
    Text,
    parsed,
    text_of,
)

#: Texts from this size on have a letter counted sooner by numpy.
_COUNTED_BY_ARRAY = 3_000
#: Numbers that are looked at together: few enough to stay in the processor's cache.
_AT_ONCE = 32_768
#: What stands between two rows.
_BETWEEN_ROWS = (b"],[", b"], [")


class Numbers(NamedTuple):
    """A matrix.

    Attributes:
        cells: float64 of shape (n, d), row-major, n > 0, NaN where missing.
        is_complete: whether none is.
    """

    cells: FloatArray
    is_complete: bool


def read_matrix(body: bytes) -> Numbers | None:
    """The rows of ``{"columns": [...], "data": [[...], ...]}``, each with as many numbers or nulls as names.

    Args:
        body: the text.

    Returns:
        None if the text is anything else.
    """
    parts = _halves(body)
    numbers = _read_request(*parts)
    if numbers is None and len(parts) > 1:  # it was not cut between two rows
        numbers = _read_request(lambda: body)
    return numbers


def _halves(body: bytes) -> list[Callable[[], Text]]:
    """A long text cut between two rows, so that both halves are JSON; they are, together, if and only if it is."""
    for mark in _BETWEEN_ROWS if len(body) >= HALVED_BYTES else ():
        cut, rows = body.find(mark, cut_of(0, len(body))), memoryview(body)
        if cut >= 0:
            first, second = (rows[: cut + 1], b"]}"), (b'{"data":[', rows[cut + len(mark) - 1 :])
            return [partial(bytearray().join, (*first, PADDING)), partial(bytearray().join, (*second, PADDING))]
    return [lambda: body]


def _read_request(*parts: Callable[[], Text]) -> Numbers | None:
    """The matrix of a request in one or two parts, the second of which holds more of its data alone."""
    with parsed(*parts) as texts:
        if texts is None:
            return None
        head, more = texts[0], texts[1:]
        if len(head) < 3 or head[0, 0] != 2 << SIZE_SHIFT | OBJECT or text_of(head[1]) != b"columns":
            return None
        n_columns = _length(head[2, 0])
        names, rest = head[3 : 3 + n_columns, 0], head[3 + n_columns :]
        if (names & KIND != TEXT).any() or len(rest) < 2 or text_of(rest[0]) != b"data":
            return None
        if any(values[0, 0] != 1 << SIZE_SHIFT | OBJECT for values in more):
            return None
        return matrix_of([rest[1:], *(values[2:] for values in more)], n_columns, minus_zero=0.0)


def _length(tag: int) -> int:
    """How many members a list has; 0 for anything else."""
    return int(tag) >> SIZE_SHIFT if tag & KIND == LIST else 0


def matrix_of(parts: Sequence[IntArray], n_columns: int, minus_zero: float) -> Numbers | None:
    """Lists of rows of so many numbers or nulls as one matrix; ``minus_zero`` is what -0 means."""
    width = 1 + n_columns
    n_rows = [_length(values[0, 0]) for values in parts]
    as_many = all(len(values) == 1 + n * width for values, n in zip(parts, n_rows, strict=True))
    if not n_columns or not all(n_rows) or not as_many:
        return None
    matrix = np.empty((sum(n_rows), n_columns))
    is_complete, first = True, 0
    n_at_once = max(1, _AT_ONCE // n_columns)
    for values in parts:
        rows = values[1:].reshape(-1, width, 2)
        if (rows[:, 0, 0] != n_columns << SIZE_SHIFT | LIST).any():
            return None
        for begin in range(0, len(rows), n_at_once):
            cells = rows[begin : begin + n_at_once, 1:]
            n_missing = _put(cells, matrix[first : first + len(cells)], minus_zero)
            if n_missing is None:
                return None
            is_complete &= not n_missing
            first += len(cells)
    return Numbers(matrix, is_complete)


def _put(cells: IntArray, numbers: FloatArray, minus_zero: float) -> int | None:
    """Write cells as numbers; how many are nulls, and None if any is neither."""
    tags, bits = cells[..., 0], cells[..., 1]
    numbers[...] = bits.view(np.float64)
    is_other = tags != REAL
    if not is_other.any():
        return 0
    is_unsigned, is_signed, is_null = tags == UNSIGNED, tags == SIGNED, tags == NULL
    n_missing = int(np.count_nonzero(is_null))
    if np.count_nonzero(is_unsigned) + np.count_nonzero(is_signed) + n_missing < np.count_nonzero(is_other):
        return None
    np.copyto(numbers, bits.view(np.uint64), where=is_unsigned)
    np.copyto(numbers, bits, where=is_signed)
    np.copyto(numbers, minus_zero, where=is_signed & (bits == 0))
    np.copyto(numbers, MISSING, where=is_null)
    return n_missing


def count_letter(text: bytes, letter: bytes, begin: int = 0, end: int | None = None) -> int:
    """How often a letter occurs; in a long text with many of them numpy tells it much sooner than ``bytes``."""
    end = len(text) if end is None else end
    if end - begin < _COUNTED_BY_ARRAY:
        return text.count(letter, begin, end)
    return int(np.count_nonzero(np.frombuffer(text, np.uint8, end - begin, begin) == letter[0]))
