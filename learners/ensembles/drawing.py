"""Which rows each member learns from: as many draws with replacement as there are rows (Breiman 1996)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from learners.types import FloatArray, IntArray

#: The purpose for which columns are drawn, among those of a member's chance.
_COLUMNS = 2
#: Draws are at most so many times the rows, however much these weigh.
_MOST_A_ROW = 16


@dataclass(frozen=True, eq=False)
class Draws:
    """The samples of all members: a function of seed and member alone, whatever thread asks in whatever order.

    A row of weight 2 is drawn as two rows are. There are as many draws as the weights sum to, at least as many as
    rows, so that weights that sum to 1 do not make tiny samples.

    Args:
        weights: of the rows, shape (n,); one of weight 0 is never drawn.
        fraction: share of that number that is drawn.
        seed: from 0 on.
    """

    weights: FloatArray
    fraction: float
    seed: int

    def generator(self, member: int, purpose: int = 0) -> np.random.Generator:
        """A stream of chance of the member's own, another for each purpose."""
        return np.random.default_rng((self.seed, member, purpose))

    def counts(self, member: int) -> FloatArray:
        """How often each row is in a member's sample, shape (n,)."""
        bounds = self._bounds
        drawn = self.generator(member).random(self._n_draws)
        drawn *= bounds[-1]
        if self._are_equal:
            rows = drawn.astype(np.int64)  # what the search finds too
        else:
            drawn.sort()  # in which order does not matter, and neighbours are found sooner
            rows = np.searchsorted(bounds, drawn, side="right")
        np.minimum(rows, self._last, out=rows)
        return np.bincount(rows, minlength=len(bounds)).astype(np.float64)

    @cached_property
    def _bounds(self) -> FloatArray:
        bounds: FloatArray = np.cumsum(self.weights)
        return bounds

    @cached_property
    def _n_draws(self) -> int:
        n_rows = int(np.count_nonzero(self.weights))
        total = float(np.clip(round(self._bounds[-1]), n_rows, _MOST_A_ROW * n_rows))
        return max(round(self.fraction * total), 1)

    @cached_property
    def _are_equal(self) -> bool:
        return bool((self.weights == 1.0).all())

    @cached_property
    def _last(self) -> int:
        """The last row that may be drawn."""
        return int(np.flatnonzero(self.weights)[-1])

    def column_seed(self, member: int) -> int:
        """By which the columns of the member's nodes are drawn."""
        return int(self.generator(member, _COLUMNS).integers(2**32))

    def left_out(self, member: int) -> IntArray:
        """The rows that are not in a member's sample, ascending."""
        return np.flatnonzero((self.counts(member) == 0) & (self.weights > 0))
