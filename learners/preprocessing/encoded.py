"""Rows of a table as the variables of an encoding, column after column; made once for many calls.

Whatever is done is done cell by cell, so that a row alone and among others has the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.linear_function import LARGEST
from learners.types import Array, BoolArray, FloatArray, IntArray

#: Kinds of variables: a power of a number, the indicator of a level, the indicator of a missing value.
POWER, LEVEL, GAP = 0, 1, 2


@dataclass(frozen=True, eq=False)
class LevelVariables:
    """The variables of one column with levels.

    Attributes:
        places: of the variables, which lie side by side: (first, end).
        table: their values by level, and last for a level that training did not have and for a missing value, (L+1, m).
    """

    places: tuple[int, int]
    table: FloatArray


@dataclass(frozen=True, eq=False)
class RowEncoder:
    """What turns cells into variables.

    Attributes:
        n_variables: V.
        numbers: the columns, numeric or ordinal, that have powers, shape (m,).
        ranked: whether each of them is ordinal.
        factor, offset, unit: of each, see :class:`learners.preprocessing.encode.Encoding`.
        firsts: the places of their first powers; shares: what a missing value counts as there; both of shape (m,).
        powers: of each higher power the place of the variable, of the first power, and which power it is.
        gaps, gap_columns: the places of indicators of gaps, and their columns.
        coded: the columns with levels, shape (c,).
        levels: their variables.
    """

    n_variables: int
    numbers: IntArray
    ranked: BoolArray
    factor: FloatArray
    offset: FloatArray
    unit: FloatArray
    firsts: IntArray
    shares: FloatArray
    powers: tuple[tuple[int, int, int], ...]
    gaps: IntArray
    gap_columns: IntArray
    coded: IntArray
    levels: tuple[LevelVariables, ...]

    def values(self, cells: FloatArray, kind: type[np.floating] = np.float64) -> Array:
        """The variables of some rows.

        Args:
            cells: shape (n, d), as in a :class:`~learners.table.Table` of the columns.
            kind: floating type in which is calculated.

        Returns:
            Shape (n, V), column-major.
        """
        made = np.empty((len(cells), self.n_variables), dtype=kind, order="F")
        if len(self.numbers):
            made[:, self.firsts] = self._scaled(cells[:, self.numbers], kind)
        for place, first, power in self.powers:
            made[:, place] = _power(made[:, first], power)
        if len(self.gaps):
            made[:, self.gaps] = np.isnan(cells[:, self.gap_columns])
        for level, codes in zip(self.levels, self._codes(cells), strict=True):
            first, end = level.places
            made[:, first:end] = level.table.take(codes, axis=0)
        return made

    def _codes(self, cells: FloatArray) -> IntArray:
        """The levels of the columns that have some, -1 where missing, shape (c, n)."""
        own = cells[:, self.coded]
        found: IntArray = np.where(np.isnan(own), -1.0, own).astype(np.int64).T
        return found

    def _scaled(self, own: FloatArray, kind: type[np.floating]) -> Array:
        """u of the cells of some columns, within 1e300, so that sums of powers are no NaN; shape (n, m)."""
        unknown = np.isnan(own) | (self.ranked & (own < 0))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            moved = (own.astype(kind) * self.factor - self.offset) / self.unit
        return np.where(unknown, self.shares, np.clip(moved, -LARGEST, LARGEST))


def _power(base: Array, power: int) -> Array:
    """By repeated multiplication, kept within bounds: the same on every machine."""
    found = base
    with np.errstate(over="ignore", under="ignore"):
        for _ in range(power - 1):
            found = np.clip(found * base, -LARGEST, LARGEST)
    return found
