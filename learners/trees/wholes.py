"""Tables that are learned from in parts: their columns are laid out once, see :mod:`~learners.trees.presorted`."""

from __future__ import annotations

import threading
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from learners.parts import origin_of
from learners.table import Table
from learners.trees.layout import ColumnPlan, LaidColumns, lay_columns, levels_of
from learners.trees.presort import KeyLayout
from learners.trees.presorted import Source, no_source
from learners.trees.problem import ORDERED
from learners.types import BoolArray, Int32Array

#: Larger tables are not kept in another form beside themselves: each part lays out its own columns.
_MOST_BYTES = 256 << 20
#: A part with a smaller share of the rows sorts them as quickly as it goes through all.
_LEAST_SHARE = 0.2

_laid: WeakKeyDictionary[Table, LaidColumns] = WeakKeyDictionary()
_lock = threading.Lock()


def source_of(table: Table, rows: Int32Array, taken: BoolArray, threads: int) -> Source:
    """From where the columns of some rows are taken.

    Args:
        table: perhaps a part of another, see :mod:`learners.parts`.
        rows: those that are learned from, ascending.
        taken: bool (d,), the columns whose cells are the table's own.
        threads: how many share the work of laying out the whole.
    """
    origin = origin_of(table)
    if origin is None or origin.whole.values.nbytes > _MOST_BYTES or len(rows) < _LEAST_SHARE * origin.whole.n_rows:
        return no_source(table.n_columns)
    whole = origin.whole
    with _lock:
        if whole not in _laid:
            _laid[whole] = _lay(whole, threads)
        laid = _laid[whole]
    own = rows if origin.rows is None else origin.rows[rows].astype(np.int32)
    ids = np.full(whole.n_rows, -1, np.int32)
    ids[own] = np.arange(len(own), dtype=np.int32)
    return Source(taken, laid.keys, laid.codes, laid.values, laid.columns, KeyLayout.of(whole.n_rows, 1), own, ids)


def _lay(table: Table, threads: int) -> LaidColumns:
    """All rows' columns, with a label that is the same for all."""
    n_rows = table.n_rows
    plans = [ColumnPlan(ORDERED, levels_of(column), not column.is_numeric, False) for column in table.columns]
    rows, labels = np.arange(n_rows, dtype=np.int32), np.zeros(n_rows, np.int32)
    none = no_source(table.n_columns)
    cells = np.ascontiguousarray(table.values.T)
    laid = lay_columns(cells, plans, rows, labels, KeyLayout.of(n_rows, 1), n_rows, threads, none)
    return replace(laid, codes=np.ascontiguousarray(laid.codes.T))  # columns are taken one after the other
