"""The base of networks that learn classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from learners.base import Capabilities, Classifier, ModelState, Progress, no_progress
from learners.class_weights import class_weight_parameter
from learners.decisions import utility_matrix, utility_parameter
from learners.neural.estimator import NetworkEstimator
from learners.neural.targets import AnyTarget, ClassTarget, Link
from learners.params import learner
from learners.table import Column
from learners.types import FloatArray

#: Initial weights by chance, and sums in the order of rows and columns: all orders and scales matter.
NETWORK_CLASSIFIER = Capabilities(
    task="classification",
    explanations=("attributions",),
    missing=True,
    categories=True,
    column_order_matters=True,
    draws_columns=True,
    row_order_matters=True,
    scale_matters=True,
)


@learner
class NetworkClassifier(NetworkEstimator, Classifier):
    """Base of the networks that answer by class probabilities."""

    class_weight: dict[str, float] | None = class_weight_parameter()
    utility: dict[str, dict[str, float]] | None = utility_parameter()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Learn; see :meth:`learners.base.Learner.fit`."""
        table, target, weights = self._training_rows(X, y, sample_weight, opened=self.opened)
        utility = utility_matrix(self.utility, target.column)
        progress(0.0, "encoding")
        rows = np.flatnonzero(weights > 0)
        known, counted = target.take(rows), weights[rows]
        outputs = ClassTarget.fit(known.cells, counted, len(target.column.levels), self._link())
        self._fit_rows(X, table.take(rows), known, counted, outputs, progress)
        self._know_target(target.column)
        self.utility_ = utility
        progress(1.0, f"{self.inputs_.n_inputs} inputs")
        return self

    def _link(self) -> Link:
        """From the scores of more than two classes to probabilities."""
        return "softmax"

    def _know_target(self, column: Column) -> None:
        self.classes_ = np.array(column.labels, dtype=object if column.level_type == "text" else None)

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities, shape (n, K); 0 of a class that did not occur in training."""
        table = self.check_table(X)  # first, so that an unfitted learner says so
        return self.outputs_.answers(self._scores(table))

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made: Self = super().from_state(state)
        made._know_target(made.target_)
        made.utility_ = utility_matrix(made.utility, made.target_)
        return made

    @classmethod
    def _outputs(cls, state: ModelState, made: Self) -> AnyTarget:
        return ClassTarget.from_arrays(state.arrays, len(made.target_.levels), state.header["link"])
