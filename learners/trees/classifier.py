"""The decision tree for classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from learners.base import Capabilities, Classifier, ModelState, Progress, no_progress
from learners.class_weights import class_weight_parameter
from learners.decisions import utility_matrix, utility_parameter
from learners.params import Preset, choice, flag, learner, real
from learners.table import Column
from learners.trees.cells import by_column
from learners.trees.criteria import CRITERIA
from learners.trees.estimator import costs_of_columns
from learners.trees.leaves import with_estimate
from learners.trees.nodes import Nodes
from learners.trees.presets import CLASSIFIER_PRESETS
from learners.trees.pruned import PrunedTreeEstimator
from learners.trees.pruning.chi_square import prune_chi_square
from learners.trees.pruning.error_based import collapse, prune_error_based
from learners.trees.pruning.minimum_length import prune_minimum_length
from learners.trees.pruning.raising import prune_with_raising
from learners.trees.training import Training
from learners.types import FloatArray


@learner
class DecisionTreeClassifier(PrunedTreeEstimator, Classifier):
    """A tree of tests on single columns, whose leaves hold class distributions.

    The defaults are those of CART grown to the end: Gini, two-way splits, no pruning. The methods
    that have names, C4.5 among them, are in :mod:`learners.trees.presets`.

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

    presets: ClassVar[Mapping[str, Preset]] = CLASSIFIER_PRESETS

    criterion: str = choice(
        "gini",
        ("gini", "entropy", "gain-ratio"),
        "What a test should gain: Gini impurity, bits of information, or bits over split information among tests "
        "of at least average gain (C4.5).",
    )
    threshold_penalty: bool = flag(
        False,
        "Lower the gain of a numeric test by log2(number of thresholds) / rows (C4.5 Release 8).",
        only_with={"criterion": ("entropy", "gain-ratio")},
    )
    threshold_minimum: str = choice(
        "min-leaf",
        ("min-leaf", "c4.5"),
        "Least weight on each side of a threshold: min_leaf, or a tenth of the mean class size between min_leaf "
        "and 25 (C4.5).",
    )
    discretise: str = choice(
        "none",
        ("none", "equal-width", "equal-frequency", "mdl"),
        "Whether numeric columns are cut into intervals before growth, and so tested once with a branch for each: "
        "of equal width; of equal weight as far as equal values allow; or by the entropy of the classes as long as "
        "that pays by minimum description length (Fayyad and Irani 1993).",
    )
    pruning: str = choice(
        "none",
        ("none", "collapse", "error-based", "chi-square", "minimum-length", "reduced-error", "cost-complexity"),
        "How the grown tree is pruned: not, only of subtrees that make no fewer training errors than a leaf, "
        "by C4.5's pessimistic error estimate (which does that first), of tests that are not significant, by the "
        "length of tree and exceptions in bits (MDL), by errors on rows kept back from growing, or by CART's cost per "
        "leaf.",
    )
    confidence: float = real(
        0.25,
        "Confidence of the error estimate; smaller values prune more.",
        minimum=0,
        maximum=0.5,
        exclusive_minimum=True,
        only_with={"pruning": ("error-based",)},
    )
    subtree_raising: bool = flag(
        False,
        "A node may also be replaced by its heaviest branch (C4.5).",
        only_with={"pruning": ("error-based",)},
    )
    pruning_cost: str = choice(
        "impurity",
        ("impurity", "error"),
        "What leaves cost beside alpha: the impurity of their training rows, by the criterion; or what these rows lose "
        "by the best decision for all of them, the share of errors or by the utility (CART).",
        only_with={"pruning": ("cost-complexity",)},
    )
    significance: float = real(
        0.05,
        "A test is pruned where chance alone would make its branches differ so much in class with at least this "
        "probability; smaller values prune more.",
        minimum=0,
        maximum=1,
        exclusive_minimum=True,
        only_with={"pruning": ("chi-square",)},
    )
    cost_form: str = choice(
        "none",
        ("none", "idx", "cs-id3", "eg2"),
        "How tests are chosen by what their column costs to find out: not; by gain / cost (IDX, Norton 1989), by "
        "gain^2 / cost (CS-ID3, Tan 1993) or by (2^gain - 1) / (cost + 1)^w (EG2, Nunez 1991). A column that is tested "
        "already further up is paid for: it counts as 0 by EG2 and else as the cheapest column does, and as 1 at most.",
    )
    costs: dict[str, float] | None = costs_of_columns(("idx", "cs-id3", "eg2"))
    cost_exponent: float = real(
        1.0,
        "How much costs matter to EG2: w, from 0, not at all, to 1.",
        minimum=0,
        maximum=1,
        only_with={"cost_form": ("eg2",)},
    )
    stop_significance: float | None = real(
        None,
        "A node becomes a leaf if chance alone would make the branches of its best test differ so much in class with "
        "more than this probability, by the chi-square test (Quinlan 1986).",
        minimum=0,
        maximum=1,
        exclusive_minimum=True,
        none_means="growth does not ask for significance",
    )
    leaf_estimate: str = choice(
        "raw",
        ("raw", "laplace", "m-estimate"),
        "Class probabilities of a leaf: the shares of its rows, or with one row more of each class (Laplace), or with "
        "m rows more that have the shares of all training rows.",
    )
    m: float = real(
        2.0,
        "How many rows the m-estimate adds.",
        minimum=0,
        maximum=1e15,
        exclusive_minimum=True,
        only_with={"leaf_estimate": ("m-estimate",)},
    )
    class_weight: dict[str, float] | None = class_weight_parameter()

    utility: dict[str, dict[str, float]] | None = utility_parameter()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Grow and prune a tree; see :meth:`learners.base.Learner.fit`."""
        table, target, weights = self._training_rows(X, y, sample_weight)
        options = replace(
            self._options(self.criterion),
            threshold_penalty=bool(self.threshold_penalty),
            threshold_minimum=self.threshold_minimum,
            cost_exponent=float(self.cost_exponent),
            stop_significance=None if self.stop_significance is None else float(self.stop_significance),
        )
        utility, by_error = utility_matrix(self.utility, target.column), self.pruning_cost == "error"
        codes = np.ascontiguousarray(target.cells)
        training = Training(table, codes, len(target.column.levels), weights, options, utility, by_error)
        nodes, _ = self._grown_and_pruned(training, self._finished, progress)
        nodes = self._finished(self._pruned(nodes, training))
        self._remember(X, table, target.column, nodes)
        self.classes_ = _labels_array(target.column)
        self.utility_ = utility
        progress(1.0, f"{nodes.n_leaves} leaves")
        return self

    def _pruned(self, nodes: Nodes, training: Training) -> Nodes:
        """The tree after those prunings that need no more than its own numbers, or the rows once again."""
        columns = training.table.columns
        if self.pruning == "chi-square":
            return prune_chi_square(nodes, significance=float(self.significance))
        if self.pruning == "minimum-length":
            return prune_minimum_length(nodes, columns)
        if self.pruning == "collapse":
            return collapse(nodes)
        if self.pruning != "error-based":
            return nodes
        nodes = collapse(nodes)
        if not self.subtree_raising:
            return prune_error_based(nodes, confidence=float(self.confidence))
        return prune_with_raising(
            nodes,
            columns,
            by_column(training.table.values),
            training.target.astype(np.int64),
            training.weights,
            criterion=CRITERIA[self.criterion],
            confidence=float(self.confidence),
        )

    def _finished(self, nodes: Nodes) -> Nodes:
        return self._followed(with_estimate(nodes, self.leaf_estimate, float(self.m)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Class shares of the leaf, or the mean over the leaves that a divided row reaches; shape (n, K)."""
        return self._answers(X)

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made: Self = super().from_state(state)
        made.classes_ = _labels_array(made.target_)
        made.utility_ = utility_matrix(made.utility, made.target_)
        return made


def _labels_array(column: Column) -> Any:
    return np.array(column.labels) if column.level_type != "text" else np.array(column.labels, dtype=object)
