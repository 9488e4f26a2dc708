"""How rows are judged beside how they are parted: weights, groups, times, utilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.table import Series
from learners.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Judging:
    """How rows are judged beside the plan.

    Attributes:
        weights: shape (n,), of training and judging; ``None``: all alike.
        groups, times: see :meth:`~learners.evaluation.plan.Plan.splits`.
        utility: shape (K, K), see :mod:`learners.decisions`: decisions are judged by it; ``None`` for the
            learner's own, if it has any.
        judge_training: judge each model on the rows it learned from too.
        rows: shape (n,), the rows' numbers in what the caller knows, which errors name; ``None``: counted from 0.
    """

    weights: Any = None
    groups: Series | None = None
    times: Series | None = None
    utility: FloatArray | None = None
    judge_training: bool = False
    rows: IntArray | None = None

    def taken(self, rows: Any) -> Judging:
        """The same of some of the rows."""
        return Judging(
            None if self.weights is None else np.asarray(self.weights)[rows],
            None if self.groups is None else self.groups.take(rows),
            None if self.times is None else self.times.take(rows),
            self.utility,
            self.judge_training,
            self.numbers(rows),
        )

    def numbers(self, rows: Any) -> IntArray:
        """The numbers that errors name of some of the rows."""
        taken: IntArray = np.asarray(rows) if self.rows is None else self.rows[rows]
        return taken
