"""The decision tree for numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from learners.base import Capabilities, Progress, Regressor, check_training, check_weights, no_progress, target_numbers
from learners.params import Preset, choice, learner
from learners.trees.cells import by_column
from learners.trees.leaves import with_medians
from learners.trees.presets import REGRESSOR_PRESETS
from learners.trees.pruned import PrunedTreeEstimator
from learners.trees.training import Training
from learners.types import FloatArray


@learner
class DecisionTreeRegressor(PrunedTreeEstimator, Regressor):
    """A tree of tests on single columns by least squares, whose leaves hold means or medians; by default unpruned.

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

    presets: ClassVar[Mapping[str, Preset]] = REGRESSOR_PRESETS

    pruning: str = choice(
        "none",
        ("none", "reduced-error", "cost-complexity"),
        "How the grown tree is pruned: not, by squared errors on rows kept back from growing, or by CART's cost per "
        "leaf. Prunings judge means, whatever the leaf.",
    )
    leaf: str = choice(
        "mean",
        ("mean", "median"),
        "What a leaf answers: the weighted mean of its rows, or their weighted median (the middle of two where half of "
        "the weight lies on either side).",
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Grow and prune a tree; see :meth:`learners.base.Learner.fit`."""
        self.check_params()
        self.check_together()
        table, target = check_training(X, y, classification=False)
        weights = check_weights(sample_weight, table.n_rows)
        numbers = target_numbers(target)
        everything = Training(table, numbers, 0, weights, self._options("variance"))
        nodes, training = self._grown_and_pruned(everything, self._followed, progress)
        if self.leaf == "median":
            entries = training.packed(nodes).placed(by_column(table.values), training.rows)
            nodes = with_medians(nodes, *entries, numbers, weights)
        self._remember(X, table, target.column, self._followed(nodes))
        progress(1.0, f"{nodes.n_leaves} leaves")
        return self

    def predict(self, X: Any) -> FloatArray:
        """The mean or median of the leaf; of a divided row the mean over the leaves that it reaches; shape (n,)."""
        return self._answers(X)[:, 0]
