"""Rows and columns that occur twice, found by hashes so that no more than one column is in memory."""

from __future__ import annotations

import hashlib

import numpy as np

from learners.table import Column
from learners.types import Array, FloatArray

# Multipliers of the 64-bit finaliser of MurmurHash3 (Appleby, public domain).
_FIRST, _SECOND = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)


class DuplicateRows:
    """Takes the columns of a table one by one. Two different rows are taken for one with odds of n^2 / 2^64."""

    def __init__(self, n_rows: int) -> None:
        self._rows = np.zeros(n_rows, dtype=np.uint64)
        self._columns: dict[bytes, str] = {}

    def add(self, column: Column, cells: FloatArray) -> str | None:
        """Note a column of final cells; the name of an earlier column with the same values, or None."""
        bits = np.where(np.isnan(cells), np.nan, cells + 0.0).view(np.uint64)  # one NaN, and one zero
        self._rows = _mixed(self._rows ^ bits)
        digest = hashlib.blake2b(repr(column.levels).encode(errors="replace"), digest_size=16)
        digest.update(bits.data)
        first = self._columns.setdefault(digest.digest(), column.name)
        return None if first == column.name else first

    def n_repeated(self) -> int:
        """How many rows are equal to an earlier one."""
        return int(self._rows.size - np.unique(self._rows).size)


def _mixed(values: Array) -> Array:
    values = (values ^ (values >> _SHIFT)) * _FIRST
    values = (values ^ (values >> _SHIFT)) * _SECOND
    mixed: Array = values ^ (values >> _SHIFT)
    return mixed
