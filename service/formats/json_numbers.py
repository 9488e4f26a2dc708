"""Large matrices of numbers out of JSON and CSV, by yyjson: no Python object is made of any number.

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

_NULL = b"null"
#: Texts from this size on have a letter counted sooner by numpy.
_COUNTED_BY_ARRAY = 3_000
#: Numbers that are looked at together: few enough to stay in the processor's cache.
_AT_ONCE = 32_768
#: Texts from this size on are read in two halves.
_HALVED_BYTES = 500_000
#: What stands between two rows.
_BETWEEN_ROWS = (b"],[", b"], [")
#: The last of the letters with which numbers, commas and brackets are written, and nulls too; the plus is the first.
_LAST_LETTER, _LAST_OF_NULL = b"e", b"u"
#: Where an empty cell is, and the same with a null in it; in this order, since cells may follow one another.
_GAPS = ((b",,", b",null,"), (b",,", b",null,"), (b"\n,", b"\nnull,"), (b",\n", b",null\n"))


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
    for mark in _BETWEEN_ROWS if len(body) >= _HALVED_BYTES else ():
        cut, rows = body.find(mark, len(body) // 2), memoryview(body)
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
        return _matrix([rest[1:], *(values[2:] for values in more)], n_columns, minus_zero=0.0)


def _length(tag: int) -> int:
    """How many members a list has; 0 for anything else."""
    return int(tag) >> SIZE_SHIFT if tag & KIND == LIST else 0


def _matrix(parts: Sequence[IntArray], n_columns: int, minus_zero: float) -> Numbers | None:
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


def read_csv_numbers(body: bytes, begin: int, n_columns: int) -> Numbers | None:
    """The rows of a CSV text, without its header, if they hold plain numbers and empty cells only.

    Plain numbers are written alike in CSV and JSON, so with brackets for the ends of lines the text is an array.

    Args:
        body: the text, commas between the cells.
        begin: where the first row begins.
        n_columns: how many cells each row must have.

    Returns:
        None for any other text, for blank lines, and for numbers in a form that JSON does not know.
    """
    if body.find(b"[", begin) >= 0:  # with brackets one line could be two rows
        return None
    numbers = _read_lines(body, begin, n_columns, _LAST_LETTER)
    if numbers is None:
        rows = body[begin:].replace(b"\r\n", b"\n").removesuffix(b"\n")
        if _has_letters_to(rows.replace(b"\n", b","), _LAST_LETTER):
            numbers = _read_lines(_with_nulls(rows), 0, n_columns, _LAST_OF_NULL)
    return numbers


def _read_lines(body: bytes, begin: int, n_columns: int, last_letter: bytes) -> Numbers | None:
    """Rows of numbers and nulls without a bracket, read in halves if they are many."""
    end, rows = len(body) - body.endswith(b"\n"), memoryview(body)
    cut = body.find(b"\n", (begin + end) // 2, end) if end - begin >= _HALVED_BYTES else -1
    parts = [rows[begin:end]] if cut < 0 else [rows[begin:cut], rows[cut + 1 : end]]
    with parsed(*(partial(_as_lists, part, last_letter) for part in parts)) as texts:
        return None if texts is None else _matrix(texts, n_columns, minus_zero=-0.0)


def _as_lists(rows: memoryview, last_letter: bytes) -> bytearray:
    """Rows of CSV as a list of lists; nothing if there are letters with which no number is written."""
    text = bytearray().join((b"[[", rows, b"]]", PADDING)).replace(b"\n", b"],[")
    return text if _has_letters_to(memoryview(text)[: -len(PADDING)], last_letter) else bytearray(PADDING)


def _has_letters_to(text: bytes | memoryview, last: bytes) -> bool:
    """Whether all letters are between the plus sign and another."""
    letters = np.frombuffer(text, dtype=np.uint8)
    return bool(len(letters)) and letters.min() >= ord("+") and letters.max() <= ord(last)


def _with_nulls(rows: bytes) -> bytes:
    """The same with nulls in empty cells."""
    for gap, filled in _GAPS:
        rows = rows.replace(gap, filled)
    return _NULL * rows.startswith(b",") + rows + _NULL * rows.endswith(b",")


def count_letter(text: bytes, letter: bytes) -> int:
    """How often a letter occurs; in a long text with many of them numpy tells it much sooner than ``bytes``."""
    if len(text) < _COUNTED_BY_ARRAY:
        return text.count(letter)
    return int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == letter[0]))
