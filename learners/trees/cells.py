"""A table's cells as growing and walking take them: column after column, in one piece."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from learners.table import Column
from learners.types import FloatArray


def by_column(values: FloatArray) -> FloatArray:
    """The table's cells as a C-ordered (d, n) array, read-only."""
    return read_only(values.T)


def read_only(values: FloatArray) -> FloatArray:
    """A C-ordered read-only view: of a mapped file or of memory, it is one type, and kernels compile once."""
    view = np.ascontiguousarray(values).view()
    view.flags.writeable = False
    return view


def coded_columns(columns: Iterable[Column]) -> list[bool]:
    """Which columns hold codes of levels."""
    return [not column.is_numeric for column in columns]


def has_gaps(cells: FloatArray, coded: Iterable[bool]) -> bool:
    """Whether any cell is missing or unseen; ``coded`` tells the columns that hold codes. No mask is made."""
    if cells.size == 0:
        return False
    if np.isnan(np.min(cells)):
        return True
    return any(levels and bool(np.min(column) < 0) for column, levels in zip(cells, coded, strict=True))
