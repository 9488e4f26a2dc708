"""The base of networks that learn numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from learners.base import ModelState, Progress, Regressor, check_training, check_weights, no_progress, target_numbers
from learners.neural.classifier import NETWORK_CLASSIFIER
from learners.neural.estimator import NetworkEstimator
from learners.neural.targets import AnyTarget, NumberTarget
from learners.params import learner
from learners.types import FloatArray

NETWORK_REGRESSOR = replace(NETWORK_CLASSIFIER, task="regression")


@learner
class NetworkRegressor(NetworkEstimator, Regressor):
    """Base of the networks that answer by a number."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Learn; see :meth:`learners.base.Learner.fit`."""
        self.check_params()
        self.check_together()
        table, target = check_training(X, y, classification=False, opened=self.opened)
        weights = check_weights(sample_weight, table.n_rows)
        progress(0.0, "encoding")
        rows = np.flatnonzero(weights > 0)
        known, counted = target.take(rows), weights[rows]
        outputs = NumberTarget.fit(target_numbers(known), counted)
        self._fit_rows(X, table.take(rows), known, counted, outputs, progress)
        progress(1.0, f"{self.inputs_.n_inputs} inputs")
        return self

    def predict(self, X: Any) -> FloatArray:
        """The number, shape (n,)."""
        table = self.check_table(X)  # first, so that an unfitted learner says so
        return self.outputs_.answers(self._scores(table))

    @classmethod
    def _outputs(cls, state: ModelState, made: Self) -> AnyTarget:
        return NumberTarget.from_arrays(state.arrays)
