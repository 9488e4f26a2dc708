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
    PLACE_SIZE,
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
    codes: list[CodeParts] = [()] * len(plans)
    misses = np.zeros(len(plans), np.bool_)
    keys = np.empty((len(plans), capacity), np.int64)
    search = FewValues(most_coded(plans, len(rows)), np.array([plan.is_level for plan in plans], np.bool_))
    labelled = Labelled(rows, labels, layout)

    def lay_some(first: int) -> list[FloatArray | None]:
        room = new_room(len(rows), search.most)
        values: list[FloatArray | None] = [None] * len(plans)
        column, count = lay_until_few(cells, labelled, (first, threads), search, room, keys)
        while column < len(plans):
            out = room.sorting.order
            misses[column] = plans[column].with_missing and bool((out == search.most[column]).any())
            values[column] = rank_codes(room.values[: search.most[column]], count, layout.label_bits, labels, out)
            codes[column] = packed_codes(out, (count + 1) << layout.label_bits)
            column, count = lay_until_few(cells, labelled, (column + threads, threads), search, room, keys)
        return values

    shares = run_threads(lay_some, threads)
    values = [shares[column % threads][column] for column in range(len(plans))]
    n_values = np.array([-1 if own is None else len(own) for own in values])
    columns = column_records(plans, len(rows), n_values, misses, layout.label_bits)
    known = [
        own if not misses[column] else np.append(own, np.nan) for column, own in enumerate(values) if own is not None
    ]
    flat = np.concatenate(known) if known else np.empty(0)
    return LaidColumns(keys, codes_by_row(codes, rows, cells.shape[1]), flat, columns)


def most_coded(plans: Sequence[ColumnPlan], n_rows: int) -> IntArray:
    """Up to how many distinct values each column has codes."""
    return np.array([most_values(n_rows, plan.n_levels) for plan in plans], np.int64)


def column_records(
    plans: Sequence[ColumnPlan], n_rows: int, n_values: IntArray, misses: BoolArray, label_bits: int
) -> Records:
    """What is said of the columns; see :class:`~learners.trees.problem.Problem`.

    Args:
        n_values: how many distinct known values those with codes have; below 0 of those with keys.
        misses: whether one with codes has rows that miss the value, where that is a value too: its code is the last.
    """
    n_levels = np.array([plan.n_levels for plan in plans], np.int32)
    kinds = np.array([plan.kind for plan in plans], np.int32)
    is_coded = n_values >= 0
    n_codes = np.where(is_coded, n_values + misses, 0)
    n_places = np.where(is_coded, np.where((n_values + 1) << label_bits > PLACE_SIZE, 2, 1), 0)
    columns = records(len(plans), COLUMN_INFO)
    plain = columns.view(np.ndarray)  # whose fields are set in a tenth of the time
    plain["n_levels"] = n_levels + (misses & (n_levels > 0))
    plain["kind"] = np.where(misses & (kinds == ORDERED), ORDERED_WITH_MISSING, kinds)
    plain["many_valued"] = plain["n_levels"] >= _MANY_LEVELS * n_rows
    plain["is_coded"] = is_coded
    plain["n_codes"] = n_codes
    plain["first_value"] = np.cumsum(n_codes) - n_codes
    plain["place"] = np.cumsum(n_places) - n_places
    plain["is_wide"] = n_places > 1
    return columns


class FewValues(NamedTuple):
    """Which columns have few values, by column: at most so many; and whether a cell below 0 is missing."""

    most: IntArray
    is_level: BoolArray


class Labelled(NamedTuple):
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
    table = np.empty(interpreted(table_size)(largest), np.int32)
    return Room(numbers, sorting, np.empty(largest), table)


@kernel
def lay_until_few(
    cells: FloatArray,
    labelled: Labelled,
    turn: tuple[int, int],
    search: FewValues,
    room: Room,
    keys: IntArray,
) -> tuple[int, int]:
    """Sort column after column, from the first of ``turn`` on and in steps of the second, until one has few values.

    Returns:
        That column and its number of distinct values, whose numbers by row are in ``room.sorting.order``; or the
        number of columns or more.
    """
    column, step = turn
    rows, labels, layout = labelled
    order = room.sorting.order
    while column < cells.shape[0]:
        is_level, most = search.is_level[column], search.most[column]
        load_numbers(cells[column], rows, room.numbers)
        table = room.table[: table_size(most)]
        count = first_seen(room.numbers, room.sorting.bits, table, room.values[:most], order, is_level)
        if count >= 0:
            return column, count
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
