"""Columns of a part of a table from those of the whole, which are laid out once: by filtering, in O(n) a column.

Of the whole only the order of the rows by value, and which cells are alike, is kept: no target, no weights and no
choice of a learner has a part in it. What is taken for a part is to the bit what laying out its own rows gives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners._accel import lean_inner_kernel
from learners.trees.coding import PLACE_BITS
from learners.trees.presort import KeyLayout
from learners.trees.problem import COLUMN_INFO, Records, records
from learners.types import BoolArray, FloatArray, Int32Array, IntArray


class Source(NamedTuple):
    """A whole table's columns as they are laid out, without labels, and the part that is wanted.

    Attributes:
        holds: bool (d,), the columns that are taken from it; the others are laid out anew.
        keys, values, columns, layout: see :class:`~learners.trees.problem.Problem`; of N rows.
        codes: uint16 (places, N), the same as there by column.
        rows: int32 (n,), the rows that are learned from, by their numbers in the whole, ascending.
        ids: int32 (N,), the inverse: -1 for the rows that are not.
    """

    holds: BoolArray
    keys: IntArray
    codes: NDArray[np.uint16]
    values: FloatArray
    columns: Records
    layout: KeyLayout
    rows: Int32Array
    ids: Int32Array


def no_source(n_columns: int) -> Source:
    """Where every column is laid out anew."""
    return Source(
        holds=np.zeros(n_columns, np.bool_),
        keys=np.empty((0, 0), np.int64),
        codes=np.empty((0, 0), np.uint16),
        values=np.empty(0),
        columns=records(0, COLUMN_INFO),
        layout=KeyLayout.of(1, 1),
        rows=np.empty(0, np.int32),
        ids=np.empty(0, np.int32),
    )


@lean_inner_kernel
def take_codes(source: Source, column: int, values: FloatArray, out: Int32Array, moved: Int32Array) -> int:
    """Number a part's distinct known values in ascending order.

    Args:
        column: one that has codes in the whole.
        values: room for the distinct values.
        out: gets each row's number, shape (n,); of a missing cell the number of places in ``values``.
        moved: room for as many numbers as the column has codes, and one more.

    Returns:
        The number of distinct values, or -1 if there is no room for all.
    """
    info = source.columns[column]
    most, n_codes, place, is_wide = values.shape[0], info.n_codes, info.place, info.is_wide
    for code in range(n_codes + 1):
        moved[code] = 0
    for i in range(out.shape[0]):
        row = np.uint64(source.rows[i])
        combined = np.int64(source.codes[place, row])
        if is_wide:
            combined |= np.int64(source.codes[place + 1, row]) << PLACE_BITS
        out[i] = combined
        moved[np.uint64(combined)] = 1
    count = 0
    for code in range(n_codes):
        if moved[code] == 0:
            continue
        if count == most:
            return -1
        values[count] = source.values[info.first_value + code]
        moved[code] = count
        count += 1
    moved[n_codes] = most
    for i in range(out.shape[0]):
        out[i] = moved[np.uint64(out[i])]
    return count


@lean_inner_kernel
def take_keys(source: Source, column: int, labels: Int32Array, layout: KeyLayout, keys: IntArray) -> int:
    """Fill ``keys`` with a part's sorted keys of a column that is sorted in the whole.

    Returns:
        The number of distinct known values.
    """
    whole = source.keys[column]
    mask = (np.int64(1) << source.layout.rank_shift) - 1
    rank, last, count = np.int64(-1), np.int64(-1), np.int64(0)
    for i in range(source.ids.shape[0]):
        row = source.ids[np.uint64(whole[i] & mask)]
        if row < 0:
            continue
        before = whole[i] >> source.layout.rank_shift
        if before == source.layout.missing_rank:
            key_rank = np.int64(layout.missing_rank)
        else:
            if before != last:
                rank += 1
                last = before
            key_rank = rank
        keys[np.uint64(count)] = (
            (key_rank << layout.rank_shift) | (np.int64(row) << layout.label_bits) | np.int64(labels[row])
        )
        count += 1
    return int(rank + 1)


@lean_inner_kernel
def ranks_by_id(
    keys: IntArray, layout: KeyLayout, cells: FloatArray, rows: Int32Array, values: FloatArray, out: Int32Array
) -> None:
    """What :func:`take_codes` gives, of a column that has sorted keys."""
    mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    for i in range(out.shape[0]):
        row, rank = (keys[i] >> layout.label_bits) & mask, keys[i] >> layout.rank_shift
        if rank == layout.missing_rank:
            out[row] = values.shape[0]
        else:
            values[rank] = cells[rows[row]] + 0.0
            out[row] = rank
