"""Rows and columns that occur twice, found by hashes so that no more than one column is in memory."""

from __future__ import annotations

import numpy as np

from learners.table import Column
from learners.types import FloatArray

# The multiplier of Knuth's multiplicative hashing for 64 bits, 2^64 over the golden ratio.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


class DuplicateRows:
    """Takes the columns of a table one by one. Two different rows are taken for one with odds of about n^2 / 2^64."""

    def __init__(self, n_rows: int) -> None:
        self._rows = np.zeros(n_rows, dtype=np.uint64)
        self._columns: dict[int, str] = {}

    def add(self, column: Column, cells: FloatArray) -> str | None:
        """Note a column of final cells; the name of an earlier column with the same values, or None."""
        bits = (cells + 0.0).view(np.uint64)  # -0.0 becomes 0.0
        self._rows ^= bits
        self._rows *= _MULTIPLIER
        self._rows ^= self._rows >> _HALF
        first = self._columns.setdefault(hash((column.levels, bits.tobytes())), column.name)
        return None if first == column.name else first

    def n_repeated(self) -> int:
        """How many rows are equal to an earlier one."""
        ordered = np.sort(self._rows)
        return int(np.count_nonzero(ordered[1:] == ordered[:-1]))
