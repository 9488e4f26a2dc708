"""Lines of plain decimal numbers, as CSV has them, into a matrix by machine code, in processes without numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from learners._accel import lean_inner_kernel
from learners._lanes import BYTES, lowest_bit, places_of, word
from learners._native import array_at, native
from learners.types import Array, FloatArray, IntArray

#: Powers of ten that are doubles.
POWERS = np.array([float(f"1e{power}") for power in range(23)])
_LARGEST_POWER = 22
#: What is told of a cell that is left to others.
TOLD = 3
#: Whole numbers up to it are doubles.
_EXACT = 2**53
#: Below the one eight digits more are surely less than 64 bits hold, below the other one more is.
_FEW, _MANY = 10**10, 10**17
#: Words of eight equal bytes: the digit zero, its distance from the point, the highest bit, all others, and what sets
#: the highest bit when it is added to more than nine.
_ZEROS, _POINTS, _HIGH, _OTHERS, _ABOVE_NINE = (
    int.from_bytes(bytes([byte] * 8), "little") for byte in (0x30, 0x30 ^ 0x2E, 0x80, 0x7F, 0x76)
)
#: Letters of a cell that are read at once.
_WORD, _TWO_WORDS = 8, 16
_NEWLINE, _RETURN, _COMMA, _MINUS, _PLUS, _POINT, _ZERO, _NINE, _UPPER_E, _LOWER_E = b"\n\r,-+.09Ee"
_NO_POINT, _NO_NUMBER = -1, -2
#: A power of ten beyond all that are doubles.
_NO_POWER = 10_000


@native("pif", keeps_lock=False)
def decimal_rows(arrays: Any, sizes: IntArray, numbers: FloatArray) -> int:
    """Read lines of so many cells: digits with a sign, a point and an exponent or without, or nothing.

    Every number is the nearest double: a whole one up to 2^53, multiplied or divided once by a power of ten up to
    10^22, all of which are doubles (Clinger 1990, "How to read floating point numbers accurately").

    Args:
        arrays: addresses of a text, of :data:`POWERS`, and of room for cells of other kinds, which are left to others:
            :data:`TOLD` int64 for each, where it begins, where it ends, and which it is.
        sizes: the text's bytes, where the first line begins, where the last ends, how many, cells of each; and how many
            cells may be of other kinds, in place of which it is told how many are.
        numbers: row-major, all lines' cells, NaN where there is none.

    Returns:
        How many cells are empty; -1 where a line has another number of them, or too many are of other kinds.
    """
    start, end, n_columns, n_free = sizes[1], sizes[2], sizes[4], sizes[5]
    n_cells = sizes[3] * n_columns
    text = array_at(arrays[0], sizes[0], np.uint8)
    powers = array_at(arrays[1], _LARGEST_POWER + 1, np.float64)
    others = array_at(arrays[2], (n_free, TOLD), np.int64)
    matrix = array_at(numbers, n_cells, np.float64)
    n_empty, n_told, cell, column = 0, 0, 0, 0
    for base in range(start, end + 1, BYTES):
        ends = places_of(text, base, _COMMA, _NEWLINE) if base + BYTES <= end else _last_ends(text, base, end)
        while ends != 0:
            after = stop = base + lowest_bit(ends)
            ends &= ends - np.uint64(1)
            column += 1
            if column == n_columns:
                stop -= after > start and text[after - 1] == _RETURN
                column = 0
            if cell == n_cells or (after == end or text[np.uintp(after)] == _NEWLINE) != (column == 0):
                return -1
            if stop == start:
                matrix[cell] = np.nan
                n_empty += 1
            elif not _read(text, powers, start, stop, matrix, cell):
                if n_told == n_free:
                    return -1
                others[n_told, 0], others[n_told, 1], others[n_told, 2] = start, stop, cell
                n_told += 1
            cell += 1
            start = after + 1
    sizes[5] = n_told
    if cell < n_cells or (n_columns == 1 and n_empty > 0):  # the empty cell of one column is a blank line
        return -1
    return n_empty


@lean_inner_kernel
def _last_ends(text: Array, base: int, end: int) -> np.uint64:
    """Where cells end in the last of a text, as bits; its end is one if no line ends there."""
    ends, one = np.uint64(0), np.uint64(1)
    for place in range(base, min(end, base + BYTES)):
        if text[place] == _COMMA or text[place] == _NEWLINE:
            ends |= one << np.uint64(place - base)
    if end - base < BYTES and text[end - 1] != _NEWLINE:
        ends |= one << np.uint64(end - base)
    return ends


@lean_inner_kernel
def _read(text: Array, powers: FloatArray, start: int, stop: int, matrix: FloatArray, cell: int) -> bool:
    """Read a number; whether it is one, and surely the nearest."""
    # Places are unsigned where it matters, for numba looks whether others count from an array's end.
    is_negative = text[np.uintp(start)] == _MINUS
    first = start + 1 if is_negative else start
    length = stop - first
    if 0 < length <= _WORD and stop >= _WORD:
        letters, n_behind = _without_point(_last_of(text, stop, length))
        if n_behind == _NO_POINT or (n_behind >= 0 and length > 1):
            value = np.float64(_eight_digits(letters)) / powers[np.uintp(max(n_behind, 0))]
            matrix[np.uintp(cell)] = -value if is_negative else value
            return True
    digits, power = _many_letters(text, first, stop)
    if digits > _EXACT or power > _LARGEST_POWER or power < -_LARGEST_POWER:
        return False
    value = np.float64(digits) * powers[power] if power > 0 else np.float64(digits) / powers[-power]
    matrix[cell] = -value if is_negative else value
    return True


@lean_inner_kernel
def _many_letters(text: Array, first: int, stop: int) -> tuple[int, int]:
    """Digits of a number without a sign, and the power of ten to multiply them by, a large one if it is none."""
    if _WORD < stop - first <= _TWO_WORDS and stop >= _TWO_WORDS:
        digits, n_behind = _two_words(text, stop, stop - first)
        if n_behind != _NO_NUMBER:
            return digits, -max(n_behind, 0)
    return _letter_by_letter(text, first, stop)


@lean_inner_kernel
def _two_words(text: Array, stop: int, length: int) -> tuple[Any, int]:
    """A number of 9 to 16 letters, without its point, and how many digits stood behind that."""
    lower, n_behind = _without_point(_last_of(text, stop, _WORD))
    upper, n_before = _without_point(_last_of(text, stop - _WORD, length - _WORD))
    if n_before >= 0:
        n_behind = n_before + _WORD if n_behind == _NO_POINT else _NO_NUMBER
    elif n_before == _NO_NUMBER:
        n_behind = _NO_NUMBER
    elif n_behind >= 0:  # the last digit of the upper word moves down
        lower |= upper >> np.uint64(56)
        upper <<= np.uint64(8)
    return _eight_digits(upper) * 100_000_000 + _eight_digits(lower), n_behind


@lean_inner_kernel
def _last_of(text: Array, stop: int, length: int) -> np.uint64:
    """The last of at most eight letters as values of digits, in the upper bytes of a word; zeros below them."""
    unused = np.uint64(8 * (_WORD - length))
    return ((word(text, stop - _WORD) ^ np.uint64(_ZEROS)) >> unused) << unused


@lean_inner_kernel
def _without_point(letters: np.uint64) -> tuple[np.uint64, int]:
    """Letters with a zero in front in place of a point, and how many stood behind it, or that there is none."""
    high = np.uint64(_HIGH)
    no_digits = ((letters + np.uint64(_ABOVE_NINE)) | letters) & high
    if no_digits == 0:
        return letters, _NO_POINT
    others = letters ^ np.uint64(_POINTS)
    points = ~(((others & np.uint64(_OTHERS)) + np.uint64(_OTHERS)) | others | np.uint64(_OTHERS))
    if points != no_digits or points & (points - np.uint64(1)) != 0:
        return letters, _NO_NUMBER
    below = (points >> np.uint64(7)) - np.uint64(1)
    above = ~((below << np.uint64(8)) | np.uint64(0xFF))
    return ((letters & below) << np.uint64(8)) | (letters & above), _WORD - 1 - (lowest_bit(points) >> 3)


@lean_inner_kernel
def _eight_digits(letters: np.uint64) -> Any:
    """The number of eight digits, the first in the lowest byte: of pairs, of fours, of all."""
    pairs = letters * np.uint64(10) + (letters >> np.uint64(8))
    mask = np.uint64(0x000000FF000000FF)
    fours = (pairs & mask) * np.uint64(100 + (1_000_000 << 32))
    others = ((pairs >> np.uint64(16)) & mask) * np.uint64(1 + (10_000 << 32))
    return np.int64((fours + others) >> np.uint64(32))


@lean_inner_kernel
def _next_digits(text: Array, place: int, stop: int, digits: int) -> tuple[int, int]:
    """How many digits are read at once, and the number with them behind it."""
    if place + _WORD <= stop and digits < _FEW:
        letters = word(text, place) ^ np.uint64(_ZEROS)
        if ((letters + np.uint64(_ABOVE_NINE)) | letters) & np.uint64(_HIGH) == 0:
            return _WORD, digits * 100_000_000 + _eight_digits(letters)
    return 1, digits * 10 + (text[place] - _ZERO)


@lean_inner_kernel
def _letter_by_letter(text: Array, place: int, stop: int) -> tuple[int, int]:
    """The same of any number."""
    digits, n_read, power, is_behind = 0, 0, 0, False
    while place < stop and (_ZERO <= text[place] <= _NINE or (text[place] == _POINT and not is_behind)):
        step = 1
        if text[place] == _POINT:
            is_behind = True
        else:
            if digits >= _MANY:
                return 0, _NO_POWER
            step, digits = _next_digits(text, place, stop, digits)
            n_read += step
            power -= step * is_behind
        place += step
    if n_read == 0:
        return 0, _NO_POWER
    if place < stop and (text[place] == _LOWER_E or text[place] == _UPPER_E):
        place += 1
        is_below = place < stop and text[place] == _MINUS
        place += is_below or (place < stop and text[place] == _PLUS)
        first, exponent = place, 0
        while place < stop and _ZERO <= text[place] <= _NINE and exponent < _NO_POWER:
            exponent = exponent * 10 + (text[place] - _ZERO)
            place += 1
        if place == first:
            return 0, _NO_POWER
        power += -exponent if is_below else exponent
    return digits, power if place == stop else _NO_POWER
