"""How a cascade grows: what both phases and the pool of candidates go by."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from learners.neural.cascade.activation import ACTIVATIONS
from learners.neural.cascade.phase import Phase
from learners.neural.start import Given
from learners.types import BoolArray, IntArray

#: Where candidates may go: into a layer of their own, into the newest layer, or half of them either way.
PLACEMENTS = ("descendant", "sibling", "both")
#: The activation that gives pairs of candidates all kinds in turn.
MIXED = "mixed"


@dataclass(frozen=True)
class Settings:
    """How a cascade grows.

    Attributes:
        outputs, candidates: the two phases.
        max_hidden: most hidden units.
        pool: candidates at a time.
        activation: of hidden units; ``mixed`` gives pairs of candidates all kinds in turn.
        placement: see :data:`PLACEMENTS`.
        descendant_factor: by which the scores of descendants count where siblings compete.
        weight_range: first weights are uniform between minus and plus this.
        offset: added to the derivative of a sigmoid output with squared error, lest it be stuck at its bounds.
        tolerance: growth ends when each answer is nearer to what is wanted.
        growth_patience: with rows held out, hidden units without a better loss on them that end growth.
        given: what advice goes by.
    """

    outputs: Phase = field(default_factory=lambda: Phase(rate=1.0, patience=12))
    candidates: Phase = field(default_factory=lambda: Phase(rate=1.0, change=0.03, max_epochs=200))
    max_hidden: int = 25
    pool: int = 8
    activation: str = "sigmoid"
    placement: str = "descendant"
    descendant_factor: float = 0.8
    weight_range: float = 1.0
    offset: float = 0.1
    tolerance: float = 0.4
    growth_patience: int = 3
    given: Given = field(default_factory=Given)

    def candidate_kinds(self) -> IntArray:
        """The candidates' activations, shape (C,)."""
        if self.activation == MIXED:
            kinds: IntArray = np.arange(self.pool, dtype=np.int64) // 2 % len(ACTIVATIONS)
            return kinds
        return np.full(self.pool, ACTIVATIONS.index(self.activation), dtype=np.int64)

    def are_siblings(self, n_hidden: int) -> BoolArray:
        """Which candidates would join the newest layer, bool (C,); of two kinds in turn the first is a sibling."""
        if n_hidden == 0 or self.placement == "descendant":
            return np.zeros(self.pool, dtype=np.bool_)
        if self.placement == "sibling":
            return np.ones(self.pool, dtype=np.bool_)
        alternating: BoolArray = np.arange(self.pool) % 2 == 0
        return alternating
