"""The decision tree for numbers."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from learners.base import Capabilities, Progress, Regressor, check_training, check_weights, no_progress
from learners.errors import DataError
from learners.params import choice, learner, real
from learners.trees.estimator import TreeEstimator
from learners.trees.pruning.cost_complexity import prune_cost_complexity
from learners.types import FloatArray

#: Beyond this the square of a number is no double.
_LARGEST_TARGET = 1e140  # its square times the largest sum of weights is finite


@learner
class DecisionTreeRegressor(TreeEstimator, Regressor):
    """A tree of tests on single columns, whose leaves hold means: least squares, grown to the end by default.

    Ties are decided as in :class:`~learners.trees.classifier.DecisionTreeClassifier`.
    """

    name: ClassVar[str] = "decision-tree-regressor"
    summary: ClassVar[str] = "Estimates a number by a tree of simple tests; each answer comes with its path."
    capabilities: ClassVar[Capabilities] = Capabilities(
        task="regression",
        explanations=("path",),
        exports=("rules", "tree"),
        missing=True,
        categories=True,
        column_order_matters=True,  # of equally good tests the first column's is made
    )

    pruning: str = choice(
        "none", ("none", "cost-complexity"), "How the grown tree is pruned: not, or by CART's cost per leaf."
    )
    alpha: float = real(
        0.0, "Cost-complexity pruning: least decrease of variance per leaf, as a share of all weight.", minimum=0
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Grow and prune a tree; see :meth:`learners.base.Learner.fit`."""
        self.check_params()
        table, target = check_training(X, y, classification=False)
        weights = check_weights(sample_weight, table.n_rows)
        numbers = np.ascontiguousarray(target.cells)
        if np.abs(numbers).max() > _LARGEST_TARGET:
            raise DataError(
                f"the target reaches {np.abs(numbers).max():g} in magnitude; its squares must be finite, so at most "
                f"{_LARGEST_TARGET:g} is allowed",
                field=target.column.name,
            )
        nodes = self._grown(table, numbers, 0, weights, self._options("variance"), progress)
        if self.pruning == "cost-complexity":
            nodes = prune_cost_complexity(nodes, alpha=float(self.alpha))
        self._remember(X, table, target.column, nodes)
        progress(1.0, f"{nodes.n_leaves} leaves")
        return self

    def predict(self, X: Any) -> FloatArray:
        """The mean of the leaf, or of the leaves that a divided row reaches; shape (n,)."""
        return self._answers(X)[:, 0]
