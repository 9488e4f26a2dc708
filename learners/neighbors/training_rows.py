"""The rows that a search is fitted to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.columns import Column
from learners.table import Series, Table
from learners.types import FloatArray, IntArray


@dataclass(frozen=True)
class Rows:
    """Training rows of weight > 0.

    Attributes:
        table: n rows.
        target: its column.
        numbers: float64 (n,), class codes or numbers.
        weights: float64 (n,).
        origin: int64 (n,), places among all training rows.
    """

    table: Table
    target: Column
    numbers: FloatArray
    weights: FloatArray
    origin: IntArray

    @classmethod
    def of(cls, table: Table, target: Series, weights: FloatArray) -> Rows:
        """Those of all training rows that have weight."""
        kept = np.flatnonzero(weights > 0)
        rows = table if len(kept) == table.n_rows else table.take(kept)
        return cls(rows, target.column, np.ascontiguousarray(target.cells[kept]), weights[kept], kept)
