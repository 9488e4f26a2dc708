"""Which of a column's values each state of a tree covers, and sums over them.

The values of a numeric column fall into cells between the cuts of the states; a column with levels
has its levels for cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from learners.reasons.regions.boxes import Boxes
from learners.types import Array, FloatArray, IntArray

#: Flags of levels that are unpacked at a time: 32 MB.
_FLAGS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Intervals:
    """Which cells of a numeric column each state covers: those from ``first`` to before ``end``, of ``n``."""

    first: IntArray
    end: IntArray
    n: int

    def count(self) -> IntArray:
        """The number of cells of each state."""
        return np.asarray(np.maximum(self.end - self.first, 0))

    def spread(self, amounts: FloatArray) -> FloatArray:
        """For each cell the sum of the amounts, shape (states, m), of the states that cover it."""
        steps = np.zeros((self.n + 1, amounts.shape[1]))
        covering = self.end > self.first
        np.add.at(steps, self.first[covering], amounts[covering])
        np.add.at(steps, self.end[covering], -amounts[covering])
        return np.asarray(np.cumsum(steps, axis=0)[:-1])

    def gather(self, amounts: FloatArray) -> FloatArray:
        """For each state the sum of the amounts, shape (n,), of its cells."""
        sums = np.append(0.0, np.cumsum(amounts))
        return np.where(self.end > self.first, sums[self.end] - sums[self.first], 0.0)


@dataclass(frozen=True)
class Flags:
    """Which levels each state covers: packed sets, of which some are unpacked at a time."""

    bits: Array
    n_levels: int

    def _pieces(self) -> Iterator[tuple[slice, FloatArray]]:
        at_once = max(1, _FLAGS_AT_ONCE // max(self.n_levels, 1))
        for first in range(0, len(self.bits), at_once):
            piece = slice(first, first + at_once)
            yield piece, np.unpackbits(self.bits[piece], axis=1, count=self.n_levels).astype(np.float64)

    def count(self) -> IntArray:
        """The number of levels of each state."""
        return np.concatenate([flags.sum(axis=1).astype(np.int64) for _, flags in self._pieces()])

    def spread(self, amounts: FloatArray) -> FloatArray:
        """For each level the sum of the amounts, shape (states, m), of the states that cover it."""
        total = np.zeros((self.n_levels, amounts.shape[1]))
        for piece, flags in self._pieces():
            total += flags.T @ amounts[piece]
        return total

    def gather(self, amounts: FloatArray) -> FloatArray:
        """For each state the sum of the amounts, shape (n_levels,), of its levels."""
        return np.concatenate([flags @ amounts for _, flags in self._pieces()])


def cover_of(boxes: Boxes, place: int, nodes: IntArray) -> Intervals | Flags:
    """What the states at these nodes cover of a column; node 0 stands for all of it."""
    if not boxes.columns[place].is_numeric:
        sets = boxes.sets[place]
        bits = np.full((len(nodes), sets.bits.shape[1]), 255, np.uint8)
        asked = nodes > 0
        bits[asked] = sets.bits[np.searchsorted(sets.nodes, nodes[asked])]
        return Flags(bits, sets.n_levels)
    low, high = boxes.low[nodes], boxes.high[nodes]
    cuts = np.unique(np.concatenate((low, high)))
    cuts = cuts[np.isfinite(cuts)]
    # cell i lies above cut i - 1 and up to cut i
    first = np.where(low > -np.inf, np.searchsorted(cuts, low) + 1, 0)
    end = np.where(high < np.inf, np.searchsorted(cuts, high) + 1, len(cuts) + 1)
    return Intervals(first, end, len(cuts) + 1)
