"""Sorting every column once, before the first node.

A column becomes an array of keys, ascending, one a row. A key is one int64::

    rank of the value | id of the row | label code
      (rank_bits)        (id_bits)      (label_bits)

``rank`` counts the distinct values of the column from 0; equal values have equal ranks and the
all-ones rank stands for a missing value, so missing rows are last. Everything that the search for
a threshold looks at lies in one sequential stream, and splitting a node moves one integer a row.
The sort is a least-significant-digit radix sort on the order-preserving bits of the doubles:
stable, and exact for denormals and huge values.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners._accel import inner_kernel, kernel
from learners.errors import DataError
from learners.types import FloatArray, Int32Array, IntArray

_DIGIT_BITS = 11
_BUCKETS = 1 << _DIGIT_BITS
_PASSES = 6
_SIGN = np.uint64(1 << 63)


class KeyLayout(NamedTuple):
    """Where the three parts of a key lie."""

    label_bits: int
    rank_shift: int
    missing_rank: int

    @classmethod
    def of(cls, n_rows: int, n_labels: int) -> KeyLayout:
        """The layout for ``n_rows`` rows and ``n_labels`` classes (1 for regression).

        Raises:
            DataError: more rows times classes than 63 bits can tell apart (about 10^8 rows).
        """
        label_bits = max(n_labels - 1, 0).bit_length()
        rank_bits = (n_rows + 1).bit_length()
        id_bits = 63 - label_bits - rank_bits
        if id_bits < rank_bits:
            raise DataError(f"{n_rows} rows with {n_labels} classes are more than one tree can sort")
        return cls(label_bits, 63 - rank_bits, (1 << rank_bits) - 1)


class SortRoom(NamedTuple):
    """What sorting one column of n rows works in; four arrays of shape (n,)."""

    bits: NDArray[np.uint64]
    order: Int32Array
    spare_bits: NDArray[np.uint64]
    spare_order: Int32Array


@inner_kernel
def order_bits(bits: np.uint64) -> np.uint64:
    """Unsigned integers in the order of the doubles that have these bits."""
    if bits & _SIGN:
        return ~bits
    return bits | _SIGN


@inner_kernel
def radix_sort(
    bits: NDArray[np.uint64],
    order: Int32Array,
    spare_bits: NDArray[np.uint64],
    spare_order: Int32Array,
    count: int | np.int64,
) -> None:
    """Sort the first ``count`` entries of ``bits`` stably, ``order`` along with them."""
    histogram = np.zeros((_PASSES, _BUCKETS), dtype=np.int64)
    mask = np.uint64(_BUCKETS - 1)
    for i in range(count):
        word = bits[i]
        for p in range(_PASSES):
            histogram[p, (word >> np.uint64(p * _DIGIT_BITS)) & mask] += 1
    from_bits, from_order, to_bits, to_order = bits, order, spare_bits, spare_order
    swapped = False
    for p in range(_PASSES):
        shift = np.uint64(p * _DIGIT_BITS)
        if histogram[p, (from_bits[0] >> shift) & mask] == count:
            continue  # this digit is the same in all
        position = 0
        for bucket in range(_BUCKETS):
            size = histogram[p, bucket]
            histogram[p, bucket] = position
            position += size
        for i in range(count):
            word = from_bits[i]
            digit = (word >> shift) & mask
            target = histogram[p, digit]
            histogram[p, digit] = target + 1
            to_bits[target] = word
            to_order[target] = from_order[i]
        from_bits, from_order, to_bits, to_order = to_bits, to_order, from_bits, from_order
        swapped = not swapped
    if swapped:
        for i in range(count):
            bits[i] = spare_bits[i]
            order[i] = spare_order[i]


@kernel
def sort_column(
    cells: FloatArray,
    room: SortRoom,
    labels: Int32Array,
    layout: KeyLayout,
    keys: IntArray,
    unseen_is_missing: bool,
) -> int:
    """Fill ``keys`` with the sorted keys of one column; returns the number of distinct known values.

    Args:
        cells: the column's values, shape (n,), -0.0 already made 0.0.
        room: its ``bits`` are the cells' own memory, and are overwritten.
        unseen_is_missing: whether a negative cell is the code of an unseen level.
    """
    bits, order, spare_bits, spare_order = room
    n = cells.shape[0]
    known = np.int64(0)
    absent = n
    for i in range(n):
        value = cells[i]
        if math.isnan(value) or (unseen_is_missing and value < 0.0):
            absent -= 1
            order[absent] = i
        else:
            spare_bits[known] = order_bits(bits[i])
            order[known] = i
            known += 1
    for i in range(known):
        bits[i] = spare_bits[i]
    if known > 0:
        radix_sort(bits, order, spare_bits, spare_order, known)
    rank = -1
    for i in range(n):
        if i < known and (i == 0 or bits[i] != bits[i - 1]):
            rank += 1
        key_rank = np.int64(rank if i < known else layout.missing_rank)
        row = order[i]
        keys[i] = (key_rank << layout.rank_shift) | (np.int64(row) << layout.label_bits) | np.int64(labels[row])
    return rank + 1
