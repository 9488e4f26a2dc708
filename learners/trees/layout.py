"""Laying out a table's columns for growing: each gets codes or sorted keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.trees.coding import CodeParts, code_column, codes_by_row, most_values, packed_codes
from learners.trees.presort import KeyLayout, SortRoom, sort_column
from learners.trees.problem import COLUMN_INFO, ORDERED, ORDERED_WITH_MISSING, Records, records
from learners.types import FloatArray, Int32Array, IntArray

#: C4.5 leaves nominal columns with at least this share of levels to rows out of its average gain.
_MANY_LEVELS = 0.3


@dataclass(frozen=True)
class ColumnPlan:
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

    def lay_some(first: int) -> list[FloatArray | None]:
        room = _Room(cells, rows)
        values: list[FloatArray | None] = []
        for column in range(first, len(plans), threads):
            plan = plans[column]
            own = room.load(column)
            most = most_values(len(rows), plan.n_levels)
            found = code_column(own, most, plan.is_level, layout.label_bits, labels, room.codes)
            if found is None:
                sort_column(own, room.sorting, labels, layout, keys[column], plan.is_level)
            else:
                codes[column] = packed_codes(room.codes, (len(found) + 1) << layout.label_bits)
            if found is not None and plan.with_missing and misses_some(own, plan.is_level):
                found = np.append(found, np.nan)  # the code after the last is that of missing cells
                n_levels[column] += plan.n_levels > 0
                kinds[column] = ORDERED_WITH_MISSING if plan.kind == ORDERED else plan.kind
            values.append(found)
        return values

    shares = run_threads(lay_some, threads)
    values = [shares[column % threads][column // threads] for column in range(len(plans))]
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


class _Room:
    """The memory in which a thread lays out one column after the other."""

    def __init__(self, cells: FloatArray, rows: Int32Array) -> None:
        n = len(rows)
        self.holds_all = n == cells.shape[1]
        self._cells = cells
        self._rows = rows
        self._numbers = np.empty(n)
        self.codes = np.empty(n, np.int32)
        bits = self._numbers.view(np.uint64)
        self.sorting = SortRoom(bits, self.codes, np.empty(n, np.uint64), np.empty(n, np.int32))

    def load(self, column: int) -> FloatArray:
        """A copy of the rows' cells, -0.0 made 0.0."""
        cells = self._cells[column] if self.holds_all else self._cells[column, self._rows]
        np.add(cells, 0.0, out=self._numbers)
        return self._numbers


def run_threads(task: Callable[[int], list[FloatArray | None]], threads: int) -> list[list[FloatArray | None]]:
    """Run ``task(0) .. task(threads - 1)``, in this thread if there is but one."""
    if threads == 1:
        return [task(0)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(task, range(threads)))
