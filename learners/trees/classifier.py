"""The decision tree for classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from learners.base import Capabilities, Classifier, ModelState, Progress, check_training, check_weights, no_progress
from learners.class_weights import class_factors, weigh
from learners.params import choice, flag, learner, mapping, real
from learners.table import Column, Series, Table
from learners.trees.criteria import CRITERIA
from learners.trees.estimator import TreeEstimator
from learners.trees.nodes import Nodes
from learners.trees.pruning.cost_complexity import prune_cost_complexity
from learners.trees.pruning.error_based import collapse, prune_error_based
from learners.trees.pruning.raising import prune_with_raising
from learners.trees.setup import by_column
from learners.types import FloatArray


@learner
class DecisionTreeClassifier(TreeEstimator, Classifier):
    """A tree of tests on single columns, whose leaves hold class distributions.

    The defaults are those of CART grown to the end: Gini, two-way splits, no pruning. C4.5 is
    ``criterion="gain-ratio", nominal="multiway", min_leaf=2, threshold="data",
    threshold_penalty=True, threshold_minimum="c4.5", pruning="error-based", subtree_raising=True``.

    Of equally good tests the one on the first column wins, then the lowest threshold; gains count
    as equal within 1e-12 of the node's impurity. So no seed is needed and row order does not matter.
    """

    name: ClassVar[str] = "decision-tree-classifier"
    summary: ClassVar[str] = "Decides by a tree of simple tests; each answer comes with the path that led to it."
    capabilities: ClassVar[Capabilities] = Capabilities(
        task="classification",
        explanations=("path",),
        exports=("rules", "tree"),
        missing=True,
        categories=True,
        column_order_matters=True,  # of equally good tests the first column's is made
    )

    criterion: str = choice(
        "gini",
        ("gini", "entropy", "gain-ratio"),
        "What a test should gain: Gini impurity, bits of information, or bits over split information among tests "
        "of at least average gain (C4.5).",
    )
    threshold_penalty: bool = flag(
        False, "Lower the gain of a numeric test by log2(number of thresholds) / rows (C4.5 Release 8)."
    )
    threshold_minimum: str = choice(
        "min-leaf",
        ("min-leaf", "c4.5"),
        "Least weight on each side of a threshold: min_leaf, or a tenth of the mean class size between min_leaf "
        "and 25 (C4.5).",
    )
    pruning: str = choice(
        "none",
        ("none", "collapse", "error-based", "cost-complexity"),
        "How the grown tree is pruned: not, only of subtrees that make no fewer training errors than a leaf, "
        "by C4.5's pessimistic error estimate (which does that first), or by CART's cost per leaf.",
    )
    confidence: float = real(
        0.25,
        "Error-based pruning: confidence of the error estimate; smaller values prune more.",
        minimum=0,
        maximum=0.5,
        exclusive_minimum=True,
    )
    subtree_raising: bool = flag(
        False, "Error-based pruning: a node may also be replaced by its heaviest branch (C4.5)."
    )
    alpha: float = real(
        0.0, "Cost-complexity pruning: least decrease of impurity per leaf, as a share of all weight.", minimum=0
    )
    class_weight: dict[str, float] | None = mapping(
        "Factor on the weight of the rows of a class, by label; labels that are not named have 1.",
        none_means="every class counts as its rows do",
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Grow and prune a tree; see :meth:`learners.base.Learner.fit`."""
        self.check_params()
        table, target = check_training(X, y, classification=True)
        weights = check_weights(sample_weight, table.n_rows)
        if self.class_weight is not None:
            weights = weigh(weights, class_factors(self.class_weight, target.column)[target.cells.astype(np.int64)])
        options = replace(
            self._options(self.criterion),
            threshold_penalty=bool(self.threshold_penalty),
            threshold_minimum=self.threshold_minimum,
        )
        codes = np.ascontiguousarray(target.cells)
        nodes = self._grown(table, codes, len(target.column.levels), weights, options, progress)
        nodes = self._pruned(nodes, table, target, weights)
        self._remember(X, table, target.column, nodes)
        self.classes_ = _labels_array(target.column)
        progress(1.0, f"{nodes.n_leaves} leaves")
        return self

    def _pruned(self, nodes: Nodes, table: Table, target: Series, weights: FloatArray) -> Nodes:
        if self.pruning == "cost-complexity":
            return prune_cost_complexity(nodes, alpha=float(self.alpha))
        if self.pruning == "none":
            return nodes
        nodes = collapse(nodes)
        if self.pruning == "collapse":
            return nodes
        if not self.subtree_raising:
            return prune_error_based(nodes, confidence=float(self.confidence))
        return prune_with_raising(
            nodes,
            table.columns,
            by_column(table.values),
            target.cells.astype(np.int64),
            weights,
            criterion=CRITERIA[self.criterion],
            confidence=float(self.confidence),
        )

    def predict_proba(self, X: Any) -> FloatArray:
        """Class shares of the leaf, or the mean over the leaves that a divided row reaches; shape (n, K)."""
        return self._answers(X)

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made: Self = super().from_state(state)
        made.classes_ = _labels_array(made.target_)
        return made


def _labels_array(column: Column) -> Any:
    return np.array(column.labels) if column.level_type != "text" else np.array(column.labels, dtype=object)
