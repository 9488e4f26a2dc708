"""Where a column can be cut in a node: between neighbouring values, for classes only where the class changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.trees.criteria import VARIANCE
from learners.trees.splitters.midpoint import midpoint
from learners.types import FloatArray, IntArray


@dataclass(frozen=True)
class Cuts:
    """The c cuts of the known values of some rows, ascending.

    Attributes:
        values: float64 (g,), the distinct values.
        after: int64 (c,), the place of the value after which each cut lies.
        below: float64 (c, S), the sums of the rows below each cut.
        known: float64 (S,), of all rows that know the value.
    """

    values: FloatArray
    after: IntArray
    below: FloatArray
    known: FloatArray

    def threshold(self, cut: int) -> float:
        """Halfway between the neighbours of a cut, as everywhere."""
        place = int(self.after[cut])
        return float(midpoint(float(self.values[place]), float(self.values[place + 1])))

    def spread(self, most: int) -> IntArray:
        """At most so many of the cuts, evenly spread over them all."""
        count = len(self.after)
        if count <= most:
            return np.arange(count)
        return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))


def cuts_of(cells: FloatArray, stats: FloatArray, criterion: int) -> Cuts:
    """The cuts of rows by their cells.

    Args:
        cells: shape (m,), NaN where missing.
        stats: shape (m, S + 1), see :class:`~learners.trees.combined.judging.NodeRows`.
    """
    is_known = ~np.isnan(cells)
    values, group = np.unique(cells[is_known] + 0.0, return_inverse=True)
    own = stats[is_known]
    sums = sums_by(group, own, len(values))
    after = np.arange(max(len(values) - 1, 0))
    if criterion != VARIANCE and len(values) > 1:
        classes = sums[:, :-1] > 0
        pure = classes.sum(axis=1) == 1
        same = pure[:-1] & pure[1:] & (classes[:-1] == classes[1:]).all(axis=1)
        after = np.flatnonzero(~same)
    return Cuts(values, after, np.cumsum(sums, axis=0)[after], sums.sum(axis=0))


def sums_by(group: IntArray, stats: FloatArray, count: int) -> FloatArray:
    """The sums of rows by their group, shape (count, S)."""
    sums: list[FloatArray] = [np.bincount(group, stats[:, k], count).astype(np.float64) for k in range(stats.shape[1])]
    return np.column_stack(sums)
