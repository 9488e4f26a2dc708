"""Tables that are learned from in parts: their columns are laid out once, see :mod:`~learners.trees.presorted`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from learners.parts import origin_of
from learners.table import Table
from learners.trees.cells import by_column, coded_columns, has_gaps
from learners.trees.coding import check_combinations
from learners.trees.layout import ColumnPlan, LaidColumns, column_records, lay_columns, levels_of, most_coded
from learners.trees.presort import KeyLayout
from learners.trees.presorted import Source, Taken, Wanted, count_others, find_values, write_columns
from learners.trees.problem import ORDERED
from learners.types import FloatArray, Int32Array, IntArray

#: Larger tables are not kept in another form beside themselves: each part lays out its own columns.
_MOST_BYTES = 256 << 20
#: A part with a smaller share of the rows sorts them as quickly as it goes through all.
_LEAST_SHARE = 0.2


@dataclass(frozen=True)
class Whole:
    """A whole that is laid out.

    Attributes:
        source: its rows.
        is_level: bool (d,), the columns whose cells are codes of levels.
        gaps: numbers of the columns that some row misses the value of.
    """

    source: Source
    is_level: list[bool]
    gaps: IntArray


@dataclass(frozen=True)
class PartInWhole:
    """Rows of a whole that is laid out.

    Attributes:
        rows: of all of the part, ascending; None: it is the whole.
    """

    whole: Whole
    rows: IntArray | None

    @property
    def source(self) -> Source:
        return self.whole.source

    @cached_property
    def has_gaps(self) -> bool:
        """Whether any cell of the part is missing or unseen."""
        if self.rows is None:
            return len(self.whole.gaps) > 0
        cells, is_level = self.source.cells, self.whole.is_level
        return any(has_gaps(cells[column].take(self.rows)[None], [is_level[column]]) for column in self.whole.gaps)

    def numbers(self, rows: Int32Array) -> Int32Array:
        """The numbers in the whole of some of the part's rows."""
        if self.rows is None:
            return rows
        return (self.rows if len(rows) == len(self.rows) else self.rows[rows]).astype(np.int32)

    def by_row(self, given: FloatArray) -> FloatArray:
        """What is given by the part's rows, by those of the whole; of other rows it means nothing."""
        if self.rows is None:
            return given
        found = np.empty(self.source.cells.shape[1])
        found[self.rows] = given
        return found

    def taken(
        self, plans: Sequence[ColumnPlan], rows: Int32Array, labels: Int32Array, layout: KeyLayout, capacity: int
    ) -> LaidColumns:
        """The columns of some of its rows; see :func:`~learners.trees.layout.lay_columns`.

        Args:
            rows: by their numbers in the whole.
        """
        source, n_rows, n_columns = self.source, len(rows), len(plans)
        wanted = Wanted(rows, np.empty(source.cells.shape[1], np.int64), layout)
        keys, counts = np.empty((n_columns, capacity), np.int64), np.empty_like(source.counts)
        n_values, misses = np.empty(n_columns, np.int64), np.empty(n_columns, np.bool_)
        find_values(source, wanted, labels, counts, n_values, misses, keys)
        is_coded = n_values <= most_coded(plans, n_rows)
        misses &= is_coded & np.array([plan.with_missing for plan in plans])
        check_combinations(int(n_values[is_coded].max(initial=0)), layout.label_bits)
        columns = column_records(plans, n_rows, np.where(is_coded, n_values, -1), misses, layout.label_bits)
        plain = columns.view(np.ndarray)
        values = np.full(int(plain["n_codes"].sum()), np.nan)
        n_places = int((is_coded + plain["is_wide"]).sum())
        codes = np.empty((source.cells.shape[1], max(n_places, 1)), np.uint16)
        write_columns(source, wanted, counts, n_values, Taken(keys, codes, values, columns))
        return LaidColumns(keys, codes, values, columns)


_laid: WeakKeyDictionary[Table, Whole] = WeakKeyDictionary()
_lock = threading.Lock()


def part_in_whole(table: Table, n_rows: int, threads: int) -> PartInWhole | None:
    """Where a table lies in a whole that is laid out; None if it lays out its own columns.

    Args:
        table: perhaps a part of another, see :mod:`learners.parts`.
        n_rows: how many rows are learned from.
        threads: how many share the work of laying out the whole.
    """
    origin = origin_of(table)
    if origin is None or origin.whole.values.nbytes > _MOST_BYTES or n_rows < _LEAST_SHARE * origin.whole.n_rows:
        return None
    whole = origin.whole
    with _lock:
        if whole not in _laid:
            _laid[whole] = _lay(whole, threads)
        return PartInWhole(_laid[whole], origin.rows)


def _lay(table: Table, threads: int) -> Whole:
    """All rows' columns, with a label that is the same for all."""
    n_rows, is_level = table.n_rows, coded_columns(table.columns)
    plans = [
        ColumnPlan(ORDERED, levels_of(column), own, False) for column, own in zip(table.columns, is_level, strict=True)
    ]
    rows, labels, layout = np.arange(n_rows, dtype=np.int32), np.zeros(n_rows, np.int32), KeyLayout.of(n_rows, 1)
    cells = by_column(table.values)
    laid = lay_columns(cells, plans, rows, labels, layout, n_rows, threads)
    counts = np.zeros(len(laid.values) + table.n_columns, np.int32)
    source = Source(cells, laid.keys, laid.codes, laid.values, laid.columns, layout, counts)
    count_others(source, np.full(n_rows, -1), 1, counts)
    plain = laid.columns.view(np.ndarray)
    missing = counts[plain["first_value"] + plain["n_codes"] + np.arange(table.n_columns)] > 0
    last = laid.keys[:, -1] >> layout.rank_shift == layout.missing_rank
    gaps = np.flatnonzero(np.where(plain["is_coded"], missing, last))
    return Whole(source, is_level, gaps)
