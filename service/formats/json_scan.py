"""A kernel that reads the rows of a large JSON request straight into a model's cells.

A general parser makes an object of every number; for ten thousand rows that is nearly all the time
there is. This one knows what it expects: arrays of numbers, nulls, booleans and known levels, or
objects of them under known names, and writes each cell where it belongs. It accepts only what it
understands completely, to the last byte of JSON's grammar; at anything else (an unknown name, an
escape, an unknown level, a number in a text column, a missing or repeated name) it gives up and the
general parser reads the request from the start.

Numbers become the nearest double: Clinger's exact path where mantissa and power of ten are both
exact, else the algorithm of Eisel and Lemire (D. Lemire, "Number parsing at a gigabyte per second",
Software: Practice and Experience 51, 2021); what neither decides is left to Python's ``float``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from learners._accel import kernel
from learners.types import Array, FloatArray, Int32Array

NUMERIC, TEXT, BOOLEAN = 0, 1, 2

#: Numbers that only Python's ``float`` decides, at most; they are rare (one in 10^4 of random doubles).
_MAX_HARD = 4096
_LOWEST_POWER, _HIGHEST_POWER = -342, 308
_FNV_OFFSET, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ZERO, _ONE, _TWO, _THREE, _TEN = (np.uint64(number) for number in (0, 1, 2, 3, 10))
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_IMPLICIT = np.uint64(1 << 52)
_EXACT = np.uint64(1 << 53)
_ROUNDING = np.uint64(0x1FF)
_EXACT_POWERS = 10.0 ** np.arange(23)
#: 2^e for e from -1074 on: what the lowest bit of a double with biased exponent k (from 1) is worth, at k - 1.
_POWERS_OF_TWO = 2.0 ** np.arange(-1074.0, 972.0)
_OK, _HARD, _BAD = 0, 1, 2


class Names(NamedTuple):
    """Texts that the kernel recognises, by table: one a column for its levels, the last for the column names.

    Attributes:
        text: the UTF-8 bytes of all.
        start, length, code: of each text.
        slots: open-addressing hash slots, entry or -1; table t has those from ``base[t]``, ``mask[t] + 1`` many.
    """

    text: Array
    start: Int32Array
    length: Int32Array
    code: Int32Array
    slots: Int32Array
    base: Int32Array
    mask: Int32Array


def make_names(tables: Sequence[Sequence[str]], codes: Sequence[Sequence[int]]) -> Names:
    """Hash tables of texts; the code of a found text is that at its place in ``codes``."""
    texts = [text.encode() for table in tables for text in table]
    length = np.array([len(text) for text in texts], dtype=np.int32)
    sizes = [1 << (2 * len(table)).bit_length() for table in tables]
    names = Names(
        text=np.frombuffer(b"".join(texts) + b"\0", dtype=np.uint8),
        start=np.concatenate([[0], np.cumsum(length)[:-1]]).astype(np.int32) if texts else length,
        length=length,
        code=np.array([code for table in codes for code in table], dtype=np.int32),
        slots=np.full(sum(sizes), -1, dtype=np.int32),
        base=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32),
        mask=np.array(sizes, dtype=np.int32) - 1,
    )
    counts = np.array([len(table) for table in tables], dtype=np.int32)
    _fill_slots(names, counts)
    return names


def scan_rows(
    text: Array, position: int, n_rows: int, kinds: Array, truths: FloatArray, names: Names, order: Int32Array | None
) -> tuple[FloatArray, int] | None:
    """Read the array of rows that begins at a position.

    Args:
        text: uint8, the request; a view of a ``bytes`` object, whose zero byte behind its end stops
            every loop here that might run past it.
        position: of the array's ``[``.
        n_rows: how many rows it holds.
        kinds: int8 (d,), ``NUMERIC``, ``TEXT`` or ``BOOLEAN``.
        truths: float64 (d, 2), the cells of false and true of boolean columns.
        names: see :class:`Names`; d + 1 tables.
        order: for rows that are arrays, the column of each value; None for rows that are objects.

    Returns:
        The cells, shape (n_rows, d), column-major, and the position after the array's ``]``; or None
        if there is anything in it that this reader leaves to the general one.
    """
    values = np.empty((n_rows, len(kinds)), order="F")
    hard = np.empty((_MAX_HARD, 3), dtype=np.int64)
    columns = np.empty(len(kinds), dtype=np.int32) if order is None else order
    end, n_hard = _scan(
        text,
        position,
        order is None,
        columns,
        kinds,
        truths,
        names,
        values,
        hard,
        *_powers_of_five(),
    )
    if end < 0:
        return None
    for cell, begin, stop in hard[:n_hard].tolist():
        number = float(bytes(text[begin:stop]))
        if number in (np.inf, -np.inf):
            return None
        values[cell // len(kinds), cell % len(kinds)] = number
    return values, end


@cache
def _powers_of_five() -> tuple[Array, Array]:
    """The upper and lower halves of 5^q to 128 bits, q from the lowest to the highest power."""
    powers = []
    for exponent in range(_LOWEST_POWER, _HIGHEST_POWER + 1):
        power = 5 ** abs(exponent)
        if exponent >= 0:
            excess = power.bit_length() - 128
            powers.append(power >> excess if excess >= 0 else power << -excess)
            continue
        bits = (power - 1).bit_length()
        reciprocal = 2 ** (bits + 127 if exponent >= -27 else 2 * bits + 128) // power + 1
        powers.append(reciprocal >> max(0, reciprocal.bit_length() - 128))
    low = (1 << 64) - 1
    return (
        np.array([power >> 64 for power in powers], dtype=np.uint64),
        np.array([power & low for power in powers], dtype=np.uint64),
    )


@kernel
def _hash(text: Array, begin: int, end: int) -> Any:
    """FNV-1a of ``text[begin:end]``."""
    value = _FNV_OFFSET
    for position in range(begin, end):
        value = (value ^ np.uint64(text[position])) * _FNV_PRIME
    return value


@kernel
def _fill_slots(names: Names, counts: Int32Array) -> None:
    """Enter all texts, ``counts[t]`` of them in table t."""
    entry = 0
    for table in range(len(counts)):
        base, mask = names.base[table], names.mask[table]
        for _ in range(counts[table]):
            begin = names.start[entry]
            slot = np.int64(_hash(names.text, begin, begin + names.length[entry]) & np.uint64(mask))
            while names.slots[base + slot] >= 0:
                slot = (slot + 1) & mask
            names.slots[base + slot] = entry
            entry += 1


@kernel
def _is_at(text: Array, position: int, other: Array, begin: int, length: int) -> bool:
    """Whether ``other[begin:begin + length]`` stands at the position."""
    if position + length > len(text):
        return False
    for offset in range(length):  # noqa: SIM110 - numba compiles no all() of a generator
        if text[position + offset] != other[begin + offset]:
            return False
    return True


@kernel
def _find(text: Array, begin: int, end: int, table: int, names: Names) -> int:
    """The code of ``text[begin:end]`` in a table, or -1."""
    base, mask = names.base[table], names.mask[table]
    slot = np.int64(_hash(text, begin, end) & np.uint64(mask))
    while True:
        entry = names.slots[base + slot]
        if entry < 0:
            return -1
        size = names.length[entry]
        if size == end - begin and _is_at(text, begin, names.text, names.start[entry], size):
            return int(names.code[entry])
        slot = (slot + 1) & mask


@kernel
def _string_end(text: Array, position: int) -> int:
    """Position of the quote that ends the string begun before ``position``; -1 if it has an escape or no end."""
    while position < len(text):
        byte = text[position]
        if byte == 34:
            return position
        if byte == 92 or byte < 32:
            return -1
        position += 1
    return -1


@kernel
def _skip_blanks(text: Array, position: int) -> int:
    while text[position] == 32 or text[position] == 10 or text[position] == 13 or text[position] == 9:
        position += 1
    return position


@kernel
def _product(left: Any, right: Any) -> tuple[Any, Any]:
    """Upper and lower half of the 128-bit product of two uint64."""
    low_left, high_left = left & _LOW, left >> _HALF
    low_right, high_right = right & _LOW, right >> _HALF
    low = low_left * low_right
    middle = high_left * low_right + (low >> _HALF)
    other = low_left * high_right + (middle & _LOW)
    return high_left * high_right + (middle >> _HALF) + (other >> _HALF), (other << _HALF) | (low & _LOW)


@kernel
def _leading_zeros(number: Any) -> int:
    count = 0
    for shift in (32, 16, 8, 4, 2, 1):
        if number >> np.uint64(64 - shift) == _ZERO:
            number <<= np.uint64(shift)
            count += shift
    return count


@kernel
def _nearest_double(digits: Any, power: int, upper_half: Array, lower_half: Array) -> tuple[float, bool]:
    """The double nearest to ``digits * 10^power``, digits > 0; second value false if undecided.

    The names are those of the paper's algorithm 1 in words. Subnormal and infinite results are undecided.
    """
    if power < -342 or power > 308:
        return 0.0, False
    shift = _leading_zeros(digits)
    normal = digits << np.uint64(shift)
    high, low = _product(normal, upper_half[power + 342])
    if high & _ROUNDING == _ROUNDING:
        more, _ = _product(normal, lower_half[power + 342])
        low += more
        if low < more:
            high += _ONE
    if low == _ALL and (power < -27 or power > 55):
        return 0.0, False
    top = high >> np.uint64(63)
    mantissa = high >> (top + np.uint64(9))
    exponent = ((217706 * power) >> 16) + 63 + np.int64(top) - shift + 1023
    if exponent <= 0:
        return 0.0, False
    halfway = low <= _ONE and power >= -4 and power <= 23 and mantissa & _THREE == _ONE
    if halfway and mantissa << (top + np.uint64(9)) == high:
        mantissa &= ~_ONE
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    if mantissa >= _EXACT:
        mantissa = _IMPLICIT
        exponent += 1
    if exponent >= 2047:
        return 0.0, False
    return float(mantissa) * _POWERS_OF_TWO[exponent - 1], True


@kernel
def _exponent(text: Array, position: int) -> tuple[int, int]:
    """The position after the digits of an exponent, or -1 without any, and its value."""
    minus = text[position] == 45
    if minus or text[position] == 43:
        position += 1
    begin = position
    written = 0
    while 48 <= text[position] <= 57:
        if written < 100_000:
            written = written * 10 + int(text[position]) - 48
        position += 1
    return position if position > begin else -1, -written if minus else written


@kernel
def _literal(text: Array, position: int) -> tuple[int, int]:
    """Which of null (0), false (1) and true (2) stands at the position, else -1; and the position after it."""
    words = (b"null", b"false", b"true")
    for index in range(3):
        word = words[index]
        if position + len(word) <= len(text):
            same = True
            for offset in range(len(word)):
                same &= text[position + offset] == word[offset]
            if same:
                return index, position + len(word)
    return -1, position


@kernel
def _scan(  # noqa: C901, PLR0911, PLR0912, PLR0913, PLR0915, PLR0917 - see the last sentence
    text: Array,
    position: int,
    keyed: bool,
    columns: Int32Array,
    kinds: Array,
    truths: FloatArray,
    names: Names,
    values: FloatArray,
    hard: Array,
    upper_half: Array,
    lower_half: Array,
) -> tuple[int, int]:
    """Read all rows. The position after them and the number of undecided numbers, or -1.

    ``columns[k]`` is the column of a row's k-th value. For objects the first row's order is tried on
    every further row before a name is looked up. Every loop ends at the latest at the zero byte behind the text.
    The reading of a number stands here in full: a call for each cell would take longer than its work.
    """
    n_rows, n_columns = values.shape
    n_hard = 0
    words, start, length = names.text, names.start, names.length
    first_name = len(length) - n_columns  # of the entries; the column names are the last table
    last_row = np.full(n_columns, -1)  # the row in which a name was last met
    opening, closing = (123, 125) if keyed else (91, 93)
    position = _skip_blanks(text, position)
    if text[position] != 91:
        return -1, 0
    position = _skip_blanks(text, position + 1)
    for row in range(n_rows):
        if row > 0:
            if text[position] != 44:
                return -1, 0
            position = _skip_blanks(text, position + 1)
        if text[position] != opening:
            return -1, 0
        position = _skip_blanks(text, position + 1)
        for place in range(n_columns):
            if place > 0:
                if text[position] != 44:
                    return -1, 0
                position += 1
                if text[position] <= 32:
                    position = _skip_blanks(text, position)
            if keyed:
                if text[position] != 34:
                    return -1, 0
                position += 1
                column = -1
                if row > 0:
                    expected = first_name + columns[place]
                    size, begin = length[expected], start[expected]
                    if position + size < len(text) and text[position + size] == 34:
                        offset = 0
                        while offset < size and text[position + offset] == words[begin + offset]:
                            offset += 1
                        if offset == size:
                            column = columns[place]
                            position += size
                if column < 0:
                    stop = _string_end(text, position)
                    if stop < 0:
                        return -1, 0
                    column = _find(text, position, stop, n_columns, names)
                    if column < 0:
                        return -1, 0
                    columns[place] = column
                    position = stop
                if last_row[column] == row:
                    return -1, 0
                last_row[column] = row
                position = _skip_blanks(text, position + 1)
                if text[position] != 58:
                    return -1, 0
                position += 1
                if text[position] <= 32:
                    position = _skip_blanks(text, position)
            column = columns[place]
            byte = np.int64(text[position])
            if kinds[column] == NUMERIC and (byte == 45 or 48 <= byte <= 57):
                origin = position
                negative = byte == 45
                if negative:
                    position += 1
                digits = _ZERO
                begin = position
                byte = np.int64(text[position])
                while 48 <= byte <= 57:
                    digits = digits * _TEN + np.uint64(byte - 48)
                    position += 1
                    byte = np.int64(text[position])
                count = position - begin
                if count == 0 or (count > 1 and text[begin] == 48):
                    return -1, 0
                power = 0
                whole = True
                if byte == 46:
                    whole = False
                    position += 1
                    begin = position
                    byte = np.int64(text[position])
                    while 48 <= byte <= 57:
                        digits = digits * _TEN + np.uint64(byte - 48)
                        position += 1
                        byte = np.int64(text[position])
                    power = begin - position
                    if power == 0:
                        return -1, 0
                    count -= power
                if byte == 101 or byte == 69:  # noqa: PLR1714 - numba knows no set of numbers
                    whole = False
                    position, written = _exponent(text, position + 1)
                    if position < 0:
                        return -1, 0
                    power += written
                value = float(digits)
                decided = count <= 19
                if digits == _ZERO:
                    negative &= not whole  # the integer -0 is 0
                elif digits < _EXACT and -22 <= power <= 22:
                    value = value * _EXACT_POWERS[power] if power >= 0 else value / _EXACT_POWERS[-power]
                elif decided:
                    value, decided = _nearest_double(digits, power, upper_half, lower_half)
                values[row, column] = -value if negative else value
                if not decided:
                    if n_hard == len(hard):
                        return -1, 0
                    hard[n_hard, 0] = row * n_columns + column
                    hard[n_hard, 1] = origin
                    hard[n_hard, 2] = position
                    n_hard += 1
            elif byte == 34 and kinds[column] == TEXT:
                stop = _string_end(text, position + 1)
                if stop < 0:
                    return -1, 0
                level = _find(text, position + 1, stop, column, names)
                if level < 0:
                    return -1, 0
                values[row, column] = level
                position = stop + 1
            else:
                word, position = _literal(text, position)
                if word < 0 or (word > 0 and kinds[column] != BOOLEAN):
                    return -1, 0
                values[row, column] = np.nan if word == 0 else truths[column, word - 1]
            if text[position] <= 32:
                position = _skip_blanks(text, position)
        if text[position] != closing:
            return -1, 0
        position = _skip_blanks(text, position + 1)
    if text[position] != 93:
        return -1, 0
    return position + 1, n_hard
