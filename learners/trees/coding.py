"""Codes for columns with few distinct values: nominal, boolean, ordinal and many numeric ones.

A code is the rank of a cell among the column's distinct known values; a missing cell has the code
after the last. It is kept beside the class, as ``code << label_bits | label``, so that counting the
rows of a node by code and class takes one look-up a row. Codes are by table row: unlike keys they
need no sorting, and do not move when a node is split.

The codes of a row lie side by side, so that all columns of a row are looked up in one line of the cache or two.
A code takes one place of 16 bits, or two, the lower half first, where the column has more combinations of
code and label.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from learners._accel import lean_inner_kernel
from learners.errors import DataError
from learners.types import FloatArray, Int32Array, IntArray

#: A numeric column has codes if it has at most so many distinct values, and so many rows to each.
MOST_VALUES = 256
FEWEST_ROWS_A_VALUE = 4
_PLACES_A_VALUE = 4
PLACE_BITS = 16
PLACE_SIZE = 1 << PLACE_BITS

#: One column's codes and labels, the halves of each in an array of their own.
CodeParts: TypeAlias = tuple[NDArray[np.uint16], ...]


def most_values(n_rows: int, n_levels: int) -> int:
    """Up to how many distinct values a column with so many levels (0: numeric) is coded."""
    return n_levels if n_levels else min(MOST_VALUES, n_rows // FEWEST_ROWS_A_VALUE)


@lean_inner_kernel
def table_size(most: int) -> int:
    """Places in the table by which so many distinct values are told apart: a power of two."""
    size = np.int64(1)
    while size <= _PLACES_A_VALUE * most:
        size *= 2
    return int(size)


def rank_codes(values: FloatArray, count: int, label_bits: int, labels: Int32Array, out: Int32Array) -> FloatArray:
    """Turn numbers by the order of their first rows, see :func:`first_seen`, into codes and labels, in place.

    Args:
        values: the distinct known values in that order, with room for as many as there may be.
        count: how many there are.
        label_bits: how many bits the label takes.
        labels: shape (n,).
        out: the numbers, shape (n,).

    Returns:
        The distinct known values in ascending order.

    Raises:
        DataError: too many levels times classes.
    """
    check_combinations(count, label_bits)
    order = np.argsort(values[:count])
    code = np.full(len(values) + 1, count, np.int32)
    code[order] = np.arange(count, dtype=np.int32)
    np.take(code << label_bits, out, out=out, mode="clip")
    out |= labels
    return values[order]


def check_combinations(count: int, label_bits: int) -> None:
    """Refuse so many values that they cannot be counted by class.

    Raises:
        DataError: too many levels times classes.
    """
    if (count + 1) << label_bits > np.iinfo(np.int32).max:
        raise DataError(f"{count} levels with {1 << label_bits} classes are more than one tree can count")


@lean_inner_kernel
def first_seen(
    cells: FloatArray,
    bits: NDArray[np.uint64],
    table: Int32Array,
    values: FloatArray,
    out: Int32Array,
    is_level: bool,
) -> int:
    """Number the distinct known values in the order of their first rows, by open addressing.

    Args:
        cells, bits: the column's values and the same memory as integers, shape (n,).
        table: a power of two of places, more than there are distinct values; see :func:`table_size`.
        values: room for the distinct values.
        out: gets each row's number, shape (n,); of a missing cell the number of places in ``values``.
        is_level: whether a negative cell counts as missing.

    Returns:
        The number of distinct values, or -1 if there is no room for all.
    """
    most = values.shape[0]
    table[:] = 0
    mask = np.uint64(table.shape[0] - 1)
    count = 0
    for i in range(cells.shape[0]):
        cell = cells[i]
        if math.isnan(cell) or (is_level and cell < 0.0):
            out[i] = most
            continue
        word = bits[i]
        word ^= word >> np.uint64(32)
        place = np.int64((word ^ (word >> np.uint64(20)) ^ (word >> np.uint64(13))) & mask)
        while table[place] > 0 and values[table[place] - 1] != cell:
            place = (place + 1) & np.int64(mask)
        if table[place] == 0:
            if count == most:
                return -1
            values[count] = cell
            count += 1
            table[place] = count
        out[i] = table[place] - 1
    return count


def packed_codes(codes: Int32Array, combinations: int) -> CodeParts:
    """Codes and labels, of which there are so many combinations, in places of 16 bits."""
    low = codes.astype(np.uint16)
    return (low,) if combinations <= PLACE_SIZE else (low, (codes >> PLACE_BITS).astype(np.uint16))


def codes_by_row(columns: Sequence[CodeParts], rows: Int32Array, n_rows: int) -> NDArray[np.uint16]:
    """All columns' codes, a row of the table after the other; those of rows that are not learned from are 0."""
    parts = [part for column in columns for part in column]
    places = max(len(parts), 1)  # an array without a place would be of another type for numba
    holds_all = len(rows) == n_rows
    codes = np.empty((n_rows, places), np.uint16) if holds_all else np.zeros((n_rows, places), np.uint16)
    for place, part in enumerate(parts):
        codes[slice(None) if holds_all else rows, place] = part
    return codes


def codes_of(codes: NDArray[np.uint16], rows: Int32Array, place: int, is_wide: bool) -> IntArray:
    """Code and label of each of some rows in the column at a place, shape of ``rows``."""
    combined: IntArray = codes[rows, place].astype(np.int64)
    if is_wide:
        combined |= codes[rows, place + 1].astype(np.int64) << PLACE_BITS
    return combined


@lean_inner_kernel
def code_at(codes: NDArray[np.uint16], row: int | np.int32, place: int, is_wide: bool) -> int:
    """Code and label of a table's row in the column at a place."""
    line, column = np.uint64(row), np.uint64(place)
    combined = np.int64(codes[line, column])
    if is_wide:
        combined |= np.int64(codes[line, column + np.uint64(1)]) << PLACE_BITS
    return int(combined)
