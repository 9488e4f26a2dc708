"""How rows are judged beside how they are parted: weights, groups, times, utilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.table import Series
from learners.types import FloatArray


@dataclass(frozen=True, eq=False)
class Judging:
    """How rows are judged beside the plan.

    Attributes:
        weights: shape (n,), of training and judging; ``None``: all alike.
        groups, times: see :meth:`~learners.evaluation.plan.Plan.splits`.
        utility: shape (K, K), see :mod:`learners.decisions`: decisions are judged by it; ``None`` for the
            learner's own, if it has any.
        judge_training: judge each model on the rows it learned from too.
    """

    weights: Any = None
    groups: Series | None = None
    times: Series | None = None
    utility: FloatArray | None = None
    judge_training: bool = False

    def taken(self, rows: Any) -> Judging:
        """The same of some of the rows."""
        return Judging(
            None if self.weights is None else np.asarray(self.weights)[rows],
            None if self.groups is None else self.groups.take(rows),
            None if self.times is None else self.times.take(rows),
            self.utility,
            self.judge_training,
        )
