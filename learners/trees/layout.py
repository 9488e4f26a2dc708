"""Laying out a table's columns for growing: each gets codes or sorted keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners._accel import interpreted, kernel, lean_inner_kernel
from learners.table import Column, Kind
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
from learners.trees.presorted import Source, ranks_by_id, take_codes, take_keys
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


def levels_of(column: Column) -> int:
    """How many levels are tested as such: of a nominal or boolean column all, of any other none."""
    return len(column.levels) if column.kind in (Kind.NOMINAL, Kind.BOOLEAN) else 0


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
    source: Source,
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
        source: what is laid out already of the table that they come from.
    """
    n_levels = np.array([plan.n_levels for plan in plans], np.int32)
    kinds = np.array([plan.kind for plan in plans], np.int32)
    codes: list[CodeParts] = [()] * len(plans)
    keys = np.empty((len(plans), capacity), np.int64)

    search = FewValues(
        np.array([most_values(len(rows), plan.n_levels) for plan in plans], np.int64),
        np.array([plan.is_level for plan in plans], np.bool_),
    )

    wanted = Wanted(rows, labels, layout)

    def lay_some(first: int) -> list[FloatArray | None]:
        room = new_room(len(rows), search.most, source)
        values: list[FloatArray | None] = [None] * len(plans)
        column, count = lay_until_few(cells, wanted, (first, threads), search, source, room, keys)
        while column < len(plans):
            plan = plans[column]
            out = room.sorting.order
            misses_some = plan.with_missing and bool((out == search.most[column]).any())
            found = rank_codes(room.values[: search.most[column]], count, layout.label_bits, labels, out)
            codes[column] = packed_codes(out, (len(found) + 1) << layout.label_bits)
            if misses_some:
                found = np.append(found, np.nan)  # the code after the last is that of missing cells
                n_levels[column] += plan.n_levels > 0
                kinds[column] = ORDERED_WITH_MISSING if plan.kind == ORDERED else plan.kind
            values[column] = found
            column, count = lay_until_few(cells, wanted, (column + threads, threads), search, source, room, keys)
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


class FewValues(NamedTuple):
    """Which columns have few values, by column: at most so many; and whether a cell below 0 is missing."""

    most: IntArray
    is_level: BoolArray


class Wanted(NamedTuple):
    """The rows that are learned from, their labels, and how their keys are laid out."""

    rows: Int32Array
    labels: Int32Array
    layout: KeyLayout


class Room(NamedTuple):
    """The memory in which a thread lays out one column after the other.

    Attributes:
        numbers: float64 (n,), a column's cells of the rows that are learned from.
        sorting: its ``bits`` are the same memory.
        values, table: what :func:`~learners.trees.coding.first_seen` needs.
        moved: what :func:`~learners.trees.presorted.take_codes` needs.
    """

    numbers: FloatArray
    sorting: SortRoom
    values: FloatArray
    table: Int32Array
    moved: Int32Array


def new_room(n_rows: int, most: IntArray, source: Source) -> Room:
    """Memory for columns of so many rows, with up to so many distinct values where they get codes."""
    numbers = np.empty(n_rows)
    order, spare = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    sorting = SortRoom(numbers.view(np.uint64), order, np.empty(n_rows, np.uint64), spare)
    largest = int(most.max(initial=0))
    table = np.empty(interpreted(table_size)(largest), np.int32)
    moved = np.empty(int(source.columns.view(np.ndarray)["n_codes"].max(initial=0)) + 1, np.int32)
    return Room(numbers, sorting, np.empty(largest), table, moved)


@kernel
def lay_until_few(
    cells: FloatArray,
    wanted: Wanted,
    turn: tuple[int, int],
    search: FewValues,
    source: Source,
    room: Room,
    keys: IntArray,
) -> tuple[int, int]:
    """Sort column after column, from the first of ``turn`` on and in steps of the second, until one has few values.

    Returns:
        That column and its number of distinct values, whose numbers by row are in ``room.sorting.order``; or the
        number of columns or more.
    """
    column, step = turn
    rows, labels, layout = wanted
    order = room.sorting.order
    while column < cells.shape[0]:
        is_level, most = search.is_level[column], search.most[column]
        values = room.values[:most]
        if not source.holds[column]:
            is_sorted = False
            load_numbers(cells[column], rows, room.numbers)
            count = first_seen(room.numbers, room.sorting.bits, room.table[: table_size(most)], values, order, is_level)
        elif source.columns[column].is_coded:
            is_sorted = False
            count = take_codes(source, column, values, order, room.moved)
            if count < 0:
                load_numbers(cells[column], rows, room.numbers)
        else:
            is_sorted = True
            count = take_keys(source, column, labels, layout, keys[column])
            if count <= most:
                ranks_by_id(keys[column], layout, cells[column], rows, values, order)
            else:
                count = -1
        if count >= 0:
            return column, count
        if not is_sorted:
            sort_column(room.numbers, room.sorting, labels, layout, keys[column], is_level)
        column += step
    return column, 0


@lean_inner_kernel
def load_numbers(cells: FloatArray, rows: Int32Array, numbers: FloatArray) -> None:
    """A column's cells of the rows that are learned from."""
    for i in range(np.uint64(rows.shape[0])):
        numbers[i] = cells[np.uint64(rows[i])] + 0.0  # which makes 0.0 of -0.0


def run_threads(task: Callable[[int], list[FloatArray | None]], threads: int) -> list[list[FloatArray | None]]:
    """Run ``task(0) .. task(threads - 1)``, in this thread if there is but one."""
    if threads == 1:
        return [task(0)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(task, range(threads)))
