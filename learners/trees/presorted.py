"""Columns of a part of a table from those of the whole, which are laid out once: by filtering, in O(n) a column.

Of the whole only the order of the rows by value, and which cells are alike, is kept: no target, no weights and no
choice of a learner has a part in it. What is taken for a part is what laying out its own rows gives, but that rows have
the numbers of the whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners._accel import lean_inner_kernel, lean_kernel
from learners.trees.coding import PLACE_BITS, code_at
from learners.trees.presort import KeyLayout
from learners.trees.problem import Records
from learners.types import BoolArray, FloatArray, Int32Array, IntArray

#: Rows that are gone through for one column after the other: few enough for their codes to stay in the nearest cache.
_BLOCK = 256
_PLACE_MASK = (1 << PLACE_BITS) - 1


class Source(NamedTuple):
    """A whole table's N rows, whose columns are laid out without labels.

    Attributes:
        cells: float64 (d, N), read-only.
        keys, codes, values, columns, layout: see :class:`~learners.trees.problem.Problem`.
        counts: int32, how many rows have each code, column after column, and after each those that miss the value.
    """

    cells: FloatArray
    keys: IntArray
    codes: NDArray[np.uint16]
    values: FloatArray
    columns: Records
    layout: KeyLayout
    counts: Int32Array


class Wanted(NamedTuple):
    """The part that is wanted.

    Attributes:
        rows: int32 (n,), the rows that are learned from, by their numbers in the whole, ascending.
        tags: int64 (N,), of each row the lower bits of its keys, which are its id and its label; -1 of others.
        layout: of its keys.
    """

    rows: Int32Array
    tags: IntArray
    layout: KeyLayout


class Taken(NamedTuple):
    """Where to put what is taken: arrays as in :class:`~learners.trees.problem.Problem`."""

    keys: IntArray
    codes: NDArray[np.uint16]
    values: FloatArray
    columns: Records


@lean_inner_kernel
def counts_from(source: Source, column: int) -> int:
    """Where a column's counts begin."""
    return int(source.columns[column].first_value) + column


@lean_kernel
def count_others(source: Source, tags: IntArray, step: int, counts: Int32Array) -> None:
    """Add ``step`` to the count of each code of the rows that are not wanted."""
    for row in range(np.uint64(tags.shape[0])):
        if tags[row] >= 0:
            continue
        for column in range(source.columns.shape[0]):
            info = source.columns[column]
            if info.is_coded:
                counts[counts_from(source, column) + code_at(source.codes, row, info.place, info.is_wide)] += step


@lean_kernel
def find_values(
    source: Source,
    wanted: Wanted,
    labels: Int32Array,
    counts: Int32Array,
    n_values: IntArray,
    misses: BoolArray,
    keys: IntArray,
) -> None:
    """Tag the rows of a part, and find out which values it has.

    Args:
        labels: of its rows, shape (n,).
        counts: gets how many of its rows have each code; as ``source.counts``.
        n_values: gets the number of its distinct known values, by column.
        misses: gets whether some row misses the value, by column.
        keys: gets its keys of the columns that have keys in the whole.
    """
    for row in range(np.uint64(wanted.tags.shape[0])):
        wanted.tags[row] = -1
    for one in range(np.uint64(labels.shape[0])):
        wanted.tags[wanted.rows[one]] = (np.int64(one) << wanted.layout.label_bits) | np.int64(labels[one])
    for code in range(counts.shape[0]):
        counts[code] = source.counts[code]
    count_others(source, wanted.tags, -1, counts)
    n_rows = wanted.rows.shape[0]
    for column in range(source.columns.shape[0]):
        info = source.columns[column]
        if not info.is_coded:
            n_values[column] = take_keys(source, wanted, column, keys[column])
            misses[column] = (keys[column, n_rows - 1] >> wanted.layout.rank_shift) == wanted.layout.missing_rank
            continue
        begin = counts_from(source, column)
        found = 0
        for code in range(begin, begin + info.n_codes):
            found += counts[code] > 0
        n_values[column] = found
        misses[column] = counts[begin + info.n_codes] > 0


@lean_inner_kernel
def take_keys(source: Source, wanted: Wanted, column: int, keys: IntArray) -> int:
    """Fill ``keys`` with a part's sorted keys of a column that is sorted in the whole.

    Returns:
        The number of distinct known values.
    """
    whole = source.keys[column]
    shift, missing_rank = source.layout.rank_shift, np.int64(source.layout.missing_rank)
    own_shift, own_missing_rank = wanted.layout.rank_shift, np.int64(wanted.layout.missing_rank)
    mask = (np.int64(1) << shift) - 1
    rank, last = np.int64(-1), np.int64(-1)
    i, count, n_rows = np.uint64(0), np.uint64(0), np.uint64(wanted.rows.shape[0])
    while count < n_rows:  # every key is written, and only the end moves on, by 1 for those that are wanted
        key = whole[i]
        tag = wanted.tags[np.uint64(key & mask)]
        is_wanted = tag >= 0
        value = key >> shift
        is_missing = value == missing_rank
        rank += np.int64(is_wanted & (value != last) & (not is_missing))
        last = value if is_wanted else last
        keys[count] = ((own_missing_rank if is_missing else rank) << own_shift) | tag
        count += np.uint64(is_wanted)
        i += np.uint64(1)
    return int(rank + 1)


@lean_kernel
def write_columns(source: Source, wanted: Wanted, counts: Int32Array, n_values: IntArray, taken: Taken) -> None:
    """Write the codes of a part and the values that they stand for, and the keys of columns that get none.

    Args:
        counts, n_values: what :func:`find_values` found; the counts are overwritten.
        taken: its ``columns`` say which columns get codes.
    """
    label_bits = wanted.layout.label_bits
    label_mask = (np.int64(1) << label_bits) - 1
    for column in range(source.columns.shape[0]):
        if not source.columns[column].is_coded:
            if taken.columns[column].is_coded:
                code_keys(source, wanted, column, n_values[column], taken)
        elif taken.columns[column].is_coded:
            number_codes(source, column, label_bits, counts, taken)
        else:
            sort_codes(source, wanted, column, counts, taken.keys[column])
    n_rows = np.uint64(wanted.tags.shape[0])
    for first in range(np.uint64(0), n_rows, np.uint64(_BLOCK)):
        end = min(first + np.uint64(_BLOCK), n_rows)
        for column in range(source.columns.shape[0]):
            if source.columns[column].is_coded and taken.columns[column].is_coded:
                begin = counts_from(source, column)
                place, is_wide = source.columns[column].place, source.columns[column].is_wide
                own_place, own_is_wide = taken.columns[column].place, taken.columns[column].is_wide
                for row in range(first, end):
                    code = code_at(source.codes, row, place, is_wide)
                    combined = np.int64(counts[np.uint64(begin + code)]) | (wanted.tags[row] & label_mask)
                    put_code(taken.codes, row, own_place, own_is_wide, combined)


@lean_inner_kernel
def put_code(
    codes: NDArray[np.uint16], row: int | np.uint64, place: int, is_wide: bool, combined: int | np.int64
) -> None:
    """Write what :func:`~learners.trees.coding.code_at` reads."""
    line, column = np.uint64(row), np.uint64(place)
    codes[line, column] = combined & _PLACE_MASK
    if is_wide:
        codes[line, column + np.uint64(1)] = combined >> PLACE_BITS


@lean_inner_kernel
def number_codes(source: Source, column: int, label_bits: int, counts: Int32Array, taken: Taken) -> None:
    """Put a part's codes, shifted to where a label fits beneath, in place of the counts, and write its values."""
    info = source.columns[column]
    begin, first_value = counts_from(source, column), taken.columns[column].first_value
    found = np.int64(0)
    for code in range(info.n_codes):
        if counts[begin + code] > 0:
            taken.values[first_value + found] = source.values[info.first_value + code]
            counts[begin + code] = found << label_bits
            found += 1
    counts[begin + info.n_codes] = found << label_bits


@lean_inner_kernel
def sort_codes(source: Source, wanted: Wanted, column: int, counts: Int32Array, keys: IntArray) -> None:
    """Fill ``keys`` of a column that has codes in the whole, but too many values for the part: sorted by counting."""
    info = source.columns[column]
    begin = counts_from(source, column)
    first = np.int64(0)
    for code in range(begin, begin + info.n_codes):
        count = counts[code]
        counts[code] = first
        first += count
    missing = begin + info.n_codes
    counts[missing] = wanted.rows.shape[0] - 1  # from the end on, as sorting puts them
    for row in range(wanted.tags.shape[0]):
        if wanted.tags[row] >= 0:
            code = begin + code_at(source.codes, row, info.place, info.is_wide)
            keys[counts[code]] = wanted.tags[row]
            counts[code] += -1 if code == missing else 1
    first = np.int64(0)
    rank = np.int64(0)
    for code in range(begin, begin + info.n_codes):
        end = np.int64(counts[code])
        for i in range(first, end):
            keys[i] |= rank << wanted.layout.rank_shift
        rank += np.int64(end > first)
        first = end
    for i in range(first, wanted.rows.shape[0]):
        keys[i] |= np.int64(wanted.layout.missing_rank) << wanted.layout.rank_shift


@lean_inner_kernel
def code_keys(source: Source, wanted: Wanted, column: int, n_values: int | np.int64, taken: Taken) -> None:
    """Write codes and values of a column that has keys in the whole, but few enough values in the part."""
    keys, own, layout = taken.keys[column], taken.columns[column], wanted.layout
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    label_mask = (np.int64(1) << layout.label_bits) - 1
    for i in range(wanted.rows.shape[0]):
        row = wanted.rows[(keys[i] >> layout.label_bits) & id_mask]
        code = keys[i] >> layout.rank_shift
        if code == layout.missing_rank:
            code = np.int64(n_values)
        else:
            taken.values[own.first_value + code] = source.cells[column, row] + 0.0  # which makes 0.0 of -0.0
        put_code(taken.codes, row, own.place, own.is_wide, (code << layout.label_bits) | (keys[i] & label_mask))
