"""Large matrices of numbers out of JSON, by simdjson: no Python object is made of any number.

It reads exactly what the general decoder (:mod:`service.strict_json`) reads: numbers are rounded to the
nearest double, and whatever JSON forbids is refused. At anything but numbers and nulls it gives up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from learners.table import MISSING
from learners.types import FloatArray

#: simdjson makes arrays of numbers only, so a null goes in as this one. Where a body writes the same number
#: itself, there are more of it than there were nulls.
_STAND_IN = "-9.109383701528e307"
_NULL = b"null"
#: The largest text for the parser that is kept, and with it some ten times as much memory.
_MAX_KEPT_BYTES = 4 << 20
_one_at_a_time = threading.Lock()
#: Texts from this size on have a letter counted sooner by numpy.
_COUNTED_BY_ARRAY = 3_000
#: What simdjson raises at other texts and types.
_FAILURES = (ValueError, TypeError, AttributeError, KeyError, RuntimeError)
#: What means one thing in CSV and another in JSON.
_AMBIGUOUS = (b"[", b'"', b"n", b" ", b"\t")
#: Where an empty cell is, and the same with a null in it; in this order, since cells may follow one another.
_GAPS = ((b",,", b",null,"), (b",,", b",null,"), (b"\n,", b"\nnull,"), (b",\n", b",null\n"))


def read_matrix(body: bytes) -> FloatArray | None:
    """The rows of ``{"columns": [...], "data": [[...], ...]}``, each with as many numbers or nulls as names.

    Args:
        body: the text.

    Returns:
        float64 of shape (n, d), row-major, n > 0, NaN for null; None if the text is anything else, or if
        a name has a bracket (brackets are counted to see that no row holds a list) or the word null.
    """
    if body[:1] != b"{":  # simdjson would skip a byte order mark
        return None
    has_nulls = body.find(b"n", body.find(b"[[") + 1) >= 0  # of names that come first, n says nothing
    text = body.replace(_NULL, _STAND_IN.encode()) if has_nulls else body
    with _parser_for(text) as parser:
        try:
            numbers = _numbers(parser.parse(text), count_letter(body, b"[") - 2)
        except _FAILURES:
            numbers = None
    return None if numbers is None else _with_missing(numbers, (len(text) - len(body)) // (len(_STAND_IN) - len(_NULL)))


@contextmanager
def _parser_for(text: bytes) -> Iterator[Any]:
    """A parser. One is kept for texts of usual size, because new memory costs half as much time as the parsing.

    Who waits for it loses nothing, since simdjson holds the interpreter's lock while it reads.
    """
    if len(text) <= _MAX_KEPT_BYTES:
        with _one_at_a_time:
            yield _kept_parser()
    else:
        yield _new_parser()


@cache
def _kept_parser() -> Any:
    return _new_parser()


def _new_parser() -> Any:
    import simdjson

    return simdjson.Parser()


def _numbers(request: Any, n_rows: int) -> FloatArray | None:
    """The rows of a parsed text that has two brackets more than such rows."""
    if sorted(request.keys()) != ["columns", "data"]:  # a repeated key would be here twice
        return None
    names, data = request["columns"].as_list(), request["data"]
    if len(data) != n_rows or any("[" in name or _STAND_IN in name for name in names):
        return None
    return _matrix(data, len(names))


def _matrix(data: Any, n_columns: int) -> FloatArray | None:
    """Arrays of numbers, in which no array lies, as a matrix, if each has so many numbers."""
    if set(map(len, data)) != {n_columns}:
        return None
    return np.frombuffer(data.as_buffer(of_type="d")).reshape(-1, n_columns)


def read_csv_numbers(rows: bytes, n_columns: int) -> FloatArray | None:
    """The rows of a CSV text, without its header, if they hold plain numbers and empty cells only.

    Plain numbers are written alike in CSV and JSON, so with brackets for the ends of lines the text is an array.

    Args:
        rows: the text after the header, commas between the cells.
        n_columns: how many cells each row must have.

    Returns:
        float64 of shape (n, d), row-major, n > 0, NaN for an empty cell; None for any other text, for blank
        lines, and for numbers in a form that JSON does not know.
    """
    text = rows.replace(b"\r\n", b"\n") if b"\r" in rows else rows
    text = text.removesuffix(b"\n")
    if b"\r" in text or any(mark in text for mark in _AMBIGUOUS) or _has_minus_zero(text):
        return None
    values = _read_rows(text, n_columns)
    if values is None and _has_gaps(text):
        for gap, filled in _GAPS:
            text = text.replace(gap, filled)
        text = _NULL * text.startswith(b",") + text + _NULL * text.endswith(b",")
        values = _read_rows(text.replace(_NULL, _STAND_IN.encode()), n_columns)
        values = None if values is None else _with_missing(values, text.count(_NULL))
    return values


def _read_rows(text: bytes, n_columns: int) -> FloatArray | None:
    """Rows of numbers without a bracket, between which the end of a line stands."""
    text = b"[[%b]]" % text.replace(b"\n", b"],[")
    with _parser_for(text) as parser:
        try:
            return _matrix(parser.parse(text), n_columns)
        except _FAILURES:
            return None


def count_letter(text: bytes, letter: bytes) -> int:
    """How often a letter occurs; in a long text with many of them numpy tells it much sooner than ``bytes``."""
    if len(text) < _COUNTED_BY_ARRAY:
        return text.count(letter)
    return int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == letter[0]))


def _has_minus_zero(text: bytes) -> bool:
    """Whether a cell is -0, which as an integer of JSON would lose its sign."""
    if b"-" not in text:
        return False
    letters = np.frombuffer(text, dtype=np.uint8)
    after = np.flatnonzero(letters == ord("-")) + 1
    after = after[after < len(text)]
    after = after[letters[after] == ord("0")] + 1
    ends = letters[after[after < len(text)]]
    return text.endswith(b"-0") or bool(np.isin(ends, np.frombuffer(b",\n", dtype=np.uint8)).any())


def _has_gaps(text: bytes) -> bool:
    """Whether a cell is empty."""
    letters = np.frombuffer(b"\n%b\n" % text, dtype=np.uint8)
    ends = (letters == ord(",")) | (letters == ord("\n"))
    return bool((ends[1:] & ends[:-1]).any())


def _with_missing(numbers: FloatArray, n_missing: int) -> FloatArray | None:
    """NaN in place of the stand-in, which must occur so often."""
    if not n_missing:
        return numbers
    is_missing = numbers == float(_STAND_IN)
    return np.where(is_missing, MISSING, numbers) if np.count_nonzero(is_missing) == n_missing else None
