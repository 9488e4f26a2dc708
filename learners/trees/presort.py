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

from learners._accel import inner_kernel, lean_inner_kernel
from learners.errors import DataError
from learners.types import FloatArray, Int32Array, IntArray

#: Widths of a digit and numbers of passes; short columns take the narrow one, whose tables are quicker to clear.
_WIDE, _NARROW = 11, 8
_WIDE_PASSES, _NARROW_PASSES = 6, 8
_FEW = 4096
_TOP_PASSES = 4
_MOST_MOVES = 4
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


@lean_inner_kernel
def differ(keys: IntArray, i: int | np.int64, layout: KeyLayout) -> bool:
    """Whether entries i and i + 1 have different values."""
    return bool((keys[i] >> layout.rank_shift) != (keys[i + 1] >> layout.rank_shift))


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
def radix_sort(room: SortRoom, count: int | np.int64) -> None:
    """Sort the first ``count`` of ``bits`` stably, ``order`` along with them.

    Four digits from the top leave but few neighbours in the wrong order, which insertion puts
    right. Where they are many, all digits are sorted.
    """
    digit_bits = _NARROW if count < _FEW else _WIDE
    passes = _NARROW_PASSES if count < _FEW else _WIDE_PASSES
    histogram = np.zeros((passes, 1 << digit_bits), dtype=np.int64)
    radix_passes(room, count, digit_bits, passes - _TOP_PASSES, histogram)
    if not insertion_sort(room, count):
        radix_passes(room, count, digit_bits, 0, histogram)


@inner_kernel
def insertion_sort(room: SortRoom, count: int | np.int64) -> bool:
    """Sort by insertion; gives up, and returns false, if more than 4 moves a row are needed."""
    bits, order = room.bits, room.order
    one = np.uint64(1)
    moves = 0
    for i in range(one, np.uint64(count)):
        word = bits[i]
        if bits[i - one] <= word:
            continue
        row = order[i]
        j = np.uint64(i)
        while j > 0 and bits[j - one] > word and moves <= _MOST_MOVES * count:
            bits[j] = bits[j - one]
            order[j] = order[j - one]
            j -= one
            moves += 1
        bits[j] = word
        order[j] = row
        if moves > _MOST_MOVES * count:
            return False
    return True


@inner_kernel
def radix_passes(room: SortRoom, count: int | np.int64, digit_bits: int, first: int, histogram: IntArray) -> None:
    """Sort by the digits from number ``first`` up, the lowest first; ``histogram`` is (digits, 2^digit_bits)."""
    from_bits, from_order, to_bits, to_order = room
    passes, buckets = histogram.shape
    mask = np.uint64(buckets - 1)
    histogram[first:, :] = 0
    for i in range(np.uint64(count)):
        word = from_bits[i]
        for p in range(np.uint64(first), np.uint64(passes)):
            histogram[p, (word >> (p * np.uint64(digit_bits))) & mask] += 1
    swapped = False
    for p in range(first, passes):
        shift = np.uint64(p * digit_bits)
        if histogram[p, (from_bits[0] >> shift) & mask] == count:
            continue  # this digit is the same in all
        position = 0
        places = histogram[p]
        for bucket in range(np.uint64(buckets)):
            size = places[bucket]
            places[bucket] = position
            position += size
        for i in range(np.uint64(count)):
            word = from_bits[i]
            digit = (word >> shift) & mask
            target = np.uint64(places[digit])
            places[digit] += 1
            to_bits[target] = word
            to_order[target] = from_order[i]
        from_bits, from_order, to_bits, to_order = to_bits, to_order, from_bits, from_order
        swapped = not swapped
    if swapped:
        for i in range(count):
            to_bits[i] = from_bits[i]
            to_order[i] = from_order[i]


@inner_kernel
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
    bits, order, spare_bits = room.bits, room.order, room.spare_bits
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
    for i in range(np.uint64(known)):
        bits[i] = spare_bits[i]
    if known > 0:
        radix_sort(room, known)
    rank = -1
    for i in range(n):
        if i < known and (i == 0 or bits[i] != bits[i - 1]):
            rank += 1
        key_rank = np.int64(rank if i < known else layout.missing_rank)
        row = order[i]
        keys[i] = (key_rank << layout.rank_shift) | (np.int64(row) << layout.label_bits) | np.int64(labels[row])
    return rank + 1
