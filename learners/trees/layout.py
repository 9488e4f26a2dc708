"""Laying out a table's columns for growing: each gets codes or sorted keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners._accel import interpreted, kernel
from learners.trees.coding import (
    CodeParts,
    codes_by_row,
    first_seen,
    most_values,
    packed_codes,
    rank_codes,
    table_size,
)
from learners.trees.presort import KeyLayout, SortRoom, sort_column
from learners.trees.problem import COLUMN_INFO, ORDERED, ORDERED_WITH_MISSING, Records, records
from learners.types import BoolArray, FloatArray, Int32Array, IntArray

#: C4.5 leaves nominal columns with at least this share of levels to rows out of its average gain.
_MANY_LEVELS = 0.3


class ColumnPlan(NamedTuple):
    """How a column is laid out.

    Attributes:
        kind: of its tests, if it gets codes.
        n_levels: of levels or bins; 0 where thresholds split.
        is_level: whether a cell below 0 is the code of an unseen level, and so missing.
        with_missing: whether missing counts as a value.
    """

    kind: int
    n_levels: int
    is_level: bool
    with_missing: bool


@dataclass(frozen=True)
class LaidColumns:
    """The columns' part of a :class:`~learners.trees.problem.Problem`; see there."""

    keys: IntArray
    codes: NDArray[np.uint16]
    values: FloatArray
    columns: Records


def lay_columns(
    cells: FloatArray,
    plans: Sequence[ColumnPlan],
    rows: Int32Array,
    labels: Int32Array,
    layout: KeyLayout,
    capacity: int,
    threads: int,
) -> LaidColumns:
    """Code the columns that have few values, sort the others.

    Args:
        cells: shape (d, n).
        plans: of d columns.
        rows: those that are learned from.
        labels: their class codes.
        layout: of keys and of labels.
        capacity: room for keys in each column.
        threads: how many share the work.
    """
    n_levels = np.array([plan.n_levels for plan in plans], np.int32)
    kinds = np.array([plan.kind for plan in plans], np.int32)
    codes: list[CodeParts] = [()] * len(plans)
    keys = np.empty((len(plans), capacity), np.int64)

    search = FewValues(
        np.array([most_values(len(rows), plan.n_levels) for plan in plans], np.int64),
        np.array([plan.is_level for plan in plans], np.bool_),
    )

    def lay_some(first: int) -> list[FloatArray | None]:
        room = new_room(len(rows), search.most)
        values: list[FloatArray | None] = [None] * len(plans)
        column, count = sort_until_few(cells, rows, (first, threads), search, labels, layout, room, keys)
        while column < len(plans):
            plan = plans[column]
            out = room.sorting.order
            found = rank_codes(room.values[: search.most[column]], count, layout.label_bits, labels, out)
            codes[column] = packed_codes(out, (len(found) + 1) << layout.label_bits)
            if plan.with_missing and misses_some(room.numbers, plan.is_level):
                found = np.append(found, np.nan)  # the code after the last is that of missing cells
                n_levels[column] += plan.n_levels > 0
                kinds[column] = ORDERED_WITH_MISSING if plan.kind == ORDERED else plan.kind
            values[column] = found
            column, count = sort_until_few(cells, rows, (column + threads, threads), search, labels, layout, room, keys)
        return values

    shares = run_threads(lay_some, threads)
    values = [shares[column % threads][column] for column in range(len(plans))]
    n_codes = np.array([0 if own is None else len(own) for own in values], np.int32)
    columns = records(len(plans), COLUMN_INFO)
    plain = columns.view(np.ndarray)  # whose fields are set in a tenth of the time
    plain["n_levels"] = n_levels
    plain["kind"] = kinds
    plain["many_valued"] = n_levels >= _MANY_LEVELS * len(rows)
    plain["is_coded"] = [own is not None for own in values]
    plain["n_codes"] = n_codes
    plain["first_value"] = np.cumsum(n_codes) - n_codes
    n_places = np.array([len(parts) for parts in codes], np.int32)
    plain["place"] = np.cumsum(n_places) - n_places
    plain["is_wide"] = n_places > 1
    known = [own for own in values if own is not None]
    flat = np.concatenate(known) if known else np.empty(0)
    return LaidColumns(keys, codes_by_row(codes, rows, cells.shape[1]), flat, columns)


def misses_some(cells: FloatArray, is_level: bool) -> bool:
    """Whether a cell is missing or of an unseen level."""
    return bool(np.isnan(cells).any() or (is_level and (cells < 0).any()))


class FewValues(NamedTuple):
    """Which columns have few values, by column: at most so many; and whether a cell below 0 is missing."""

    most: IntArray
    is_level: BoolArray


class Room(NamedTuple):
    """The memory in which a thread lays out one column after the other.

    Attributes:
        numbers: float64 (n,), a column's cells of the rows that are learned from.
        sorting: its ``bits`` are the same memory.
        values, table: what :func:`~learners.trees.coding.first_seen` needs.
    """

    numbers: FloatArray
    sorting: SortRoom
    values: FloatArray
    table: Int32Array


def new_room(n_rows: int, most: IntArray) -> Room:
    """Memory for columns of so many rows, with up to so many distinct values where they get codes."""
    numbers = np.empty(n_rows)
    order, spare = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    sorting = SortRoom(numbers.view(np.uint64), order, np.empty(n_rows, np.uint64), spare)
    largest = int(most.max(initial=0))
    return Room(numbers, sorting, np.empty(largest), np.empty(interpreted(table_size)(largest), np.int32))


@kernel
def sort_until_few(
    cells: FloatArray,
    rows: Int32Array,
    turn: tuple[int, int],
    search: FewValues,
    labels: Int32Array,
    layout: KeyLayout,
    room: Room,
    keys: IntArray,
) -> tuple[int, int]:
    """Sort column after column, from the first of ``turn`` on and in steps of the second, until one has few values.

    Returns:
        That column and its number of distinct values, whose numbers by row are in ``room.sorting.order``; or the
        number of columns or more.
    """
    column, step = turn
    while column < cells.shape[0]:
        for i in range(np.uint64(rows.shape[0])):
            room.numbers[i] = cells[column, np.uint64(rows[i])] + 0.0  # which makes 0.0 of -0.0
        is_level, most = search.is_level[column], search.most[column]
        table = room.table[: table_size(most)]
        order = room.sorting.order
        count = first_seen(room.numbers, room.sorting.bits, table, room.values[:most], order, is_level)
        if count >= 0:
            return column, count
        sort_column(room.numbers, room.sorting, labels, layout, keys[column], is_level)
        column += step
    return column, 0


def run_threads(task: Callable[[int], list[FloatArray | None]], threads: int) -> list[list[FloatArray | None]]:
    """Run ``task(0) .. task(threads - 1)``, in this thread if there is but one."""
    if threads == 1:
        return [task(0)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(task, range(threads)))
