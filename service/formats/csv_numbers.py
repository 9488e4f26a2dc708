"""Large matrices of numbers out of CSV: no Python object is made of any cell.

By machine code of our own (:mod:`learners.decimal_rows`) where that is loaded, which reads plain decimal numbers; with
more digits, or without it, by yyjson. Both read what the general way reads (:mod:`service.formats.record_texts`), to
the bit, and give up at anything but numbers and empty cells.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from learners.decimal_rows import POWERS, TOLD, decimal_rows
from learners.table import parse_number
from learners.types import FloatArray
from service.formats.halves import HALVED_BYTES, beside, cut_of
from service.formats.json_numbers import Numbers, count_letter, matrix_of
from service.formats.yyjson import PADDING, parsed

#: Texts from which on machine code is worth its memory.
_LONG = 150_000
#: Cells that it may leave to others in a half of a text; more take yyjson less time. And of the first line one of so
#: many.
_FREE, _FREE_OF_FIRST = 1_000, 8
_NULL = b"null"
#: The last of the letters with which numbers, commas and brackets are written, and nulls too; the plus is the first.
_LAST_LETTER, _LAST_OF_NULL = b"e", b"u"
#: Where an empty cell is, and the same with a null in it; in this order, since cells may follow one another.
_GAPS = ((b",,", b",null,"), (b",,", b",null,"), (b"\n,", b"\nnull,"), (b",\n", b",null\n"))


def read_csv_numbers(body: bytes, begin: int, n_columns: int) -> Numbers | None:
    """The rows of a CSV text, without its header, if they hold plain numbers and empty cells only.

    Args:
        body: the text, commas between the cells.
        begin: where the first row begins.
        n_columns: how many cells each row must have, at least one.

    Returns:
        None for any other text, for blank lines, and for numbers that neither machine code nor JSON knows.
    """
    numbers = _by_machine_code(body, begin, n_columns)
    return _by_yyjson(body, begin, n_columns) if numbers is None else numbers


def _by_machine_code(body: bytes, begin: int, n_columns: int) -> Numbers | None:
    """The same; None too where many numbers are of many digits, or there is no machine code yet."""
    if decimal_rows.loaded is None:
        decimal_rows.is_wanted |= len(body) >= _LONG
        return None
    end = len(body)
    second = body.find(b"\n", begin) + 1 or end
    if _read_decimals(body, (begin, second), np.empty((1, n_columns)), n_columns // _FREE_OF_FIRST) is None:
        return None
    cut = body.find(b"\n", cut_of(begin, end)) + 1 if end - begin >= HALVED_BYTES else 0
    parts = [(begin, cut), (cut, end)] if begin < cut < end else [(begin, end)]
    ends = np.cumsum([count_letter(body, b"\n", *part) for part in parts])
    ends[-1] += not body.endswith(b"\n")
    if not 0 < ends[-1] * n_columns <= end - begin + 1:  # a cell takes a letter, or a comma at least
        return None
    cells = np.empty((ends[-1], n_columns))
    works = [partial(_read_decimals, body, *one, _FREE) for one in zip(parts, np.split(cells, ends[:-1]), strict=True)]
    others = [beside(work) for work in works[:-1]]
    n_empty = [works[-1](), *(other() for other in others)]
    return None if None in n_empty else Numbers(cells, not any(n_empty))


def _read_decimals(body: bytes, part: tuple[int, int], cells: FloatArray, n_free: int) -> int | None:
    """Read lines between two places into rows; how many cells are empty, None where they are no rows of numbers.

    Some cells may be others than machine code knows, for which ``parse_number`` is asked, as the general way asks it.
    """
    if decimal_rows.loaded is None:
        raise TypeError("there is no machine code")
    told = np.empty((n_free, TOLD), np.int64)
    addresses = np.array([np.frombuffer(body, np.uint8).ctypes.data, POWERS.ctypes.data, told.ctypes.data], np.uint64)
    sizes = np.array([len(body), *part, *cells.shape, n_free])
    n_empty = decimal_rows.loaded(addresses.ctypes.data, sizes.ctypes.data, cells.ctypes.data)
    for start, stop, cell in told[: sizes[-1]].tolist() if n_empty >= 0 else ():
        text = body[start:stop].decode("ascii", "replace")
        number = parse_number(text) if text.strip() == text else None
        if number is None:
            return None
        cells.flat[cell] = number
    return None if n_empty < 0 else n_empty


def _by_yyjson(body: bytes, begin: int, n_columns: int) -> Numbers | None:
    """The same, of numbers that are written as in JSON: with brackets for the ends of lines the text is an array."""
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
    cut = body.find(b"\n", cut_of(begin, end), end) if end - begin >= HALVED_BYTES else -1
    parts = [rows[begin:end]] if cut < 0 else [rows[begin:cut], rows[cut + 1 : end]]
    with parsed(*(partial(_as_lists, part, last_letter) for part in parts)) as texts:
        return None if texts is None else matrix_of(texts, n_columns, minus_zero=-0.0)


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
