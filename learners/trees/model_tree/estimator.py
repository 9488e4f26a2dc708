"""The model tree for numbers: M5'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from learners.base import (
    Capabilities,
    ModelState,
    Progress,
    Regressor,
    check_training,
    check_weights,
    no_progress,
    target_numbers,
)
from learners.explanation import Explanation, PathExplanation
from learners.linear_function import Contribution, LinearBranch, LinearPathExplanation
from learners.params import Preset, choice, integer, learner, real
from learners.table import Table
from learners.trees.build import grow_tree
from learners.trees.cells import by_column
from learners.trees.estimator import TreeEstimator
from learners.trees.model_tree.fitted import FittedModelTree
from learners.trees.model_tree.fitting import Placed, fit_models
from learners.trees.model_tree.leaves import LinearLeaves
from learners.trees.model_tree.ordering import in_levels, in_order, orders_of
from learners.trees.model_tree.pruning import where_models_serve
from learners.trees.model_tree.smoothing import LeafMeans, smoothed_leaves
from learners.trees.model_tree.variables import variables_of
from learners.trees.nodes import Nodes
from learners.trees.paths import MAX_TESTS
from learners.trees.presets import MODEL_TREE_PRESETS
from learners.trees.pruning.compaction import cut, kept_by
from learners.trees.traverse import pack
from learners.types import FloatArray


@learner
class ModelTreeRegressor(TreeEstimator, FittedModelTree, Regressor):
    """A tree of tests on single columns whose leaves answer by linear functions.

    Source: Quinlan, Learning with continuous classes (AI '92); Wang and Witten, Inducing model trees for
    continuous classes (1997), whose M5' this is. A function continues beyond the values that it has learned from,
    as linear functions do; nothing holds its answers within the range of the target.
    """

    name: ClassVar[str] = "model-tree-regressor"
    summary: ClassVar[str] = "Estimates a number by a tree of simple tests with a linear function in each leaf (M5')."
    capabilities: ClassVar[Capabilities] = Capabilities(
        task="regression",
        explanations=("path",),
        exports=("rules", "tree"),
        missing=True,
        categories=True,
        column_order_matters=True,  # of equally good tests the first column's is made
        scale_matters=True,  # to the last bits of the coefficients
    )
    presets: ClassVar[Mapping[str, Preset]] = MODEL_TREE_PRESETS

    criterion: str = choice(
        "deviation",
        ("deviation", "variance"),
        "What a test gains: less standard deviation in its branches on average (M5), or less variance. Gains of "
        "deviation are told times the deviation of the node, and are so at most its variance.",
    )
    nominal: str = choice(
        "ordered",
        ("ordered", "subset"),
        "How a nominal or boolean column is split: in two along one order of its levels, that of their mean target in "
        "all rows (M5'), or along an order made anew in each node.",
    )
    min_leaf: float = real(
        2.0, "Least weight that at least two branches of a test hold; see the decision trees.", minimum=1
    )
    min_split: float = real(4.0, "Least weight, counted likewise, of a node that is split.", minimum=2)
    min_deviation: float = real(
        0.05,
        "A node whose target deviates less than this share of the deviation in all rows is not split.",
        minimum=0,
        maximum=1,
    )
    max_terms: int = integer(
        50,
        "Most variables that the linear model of a node is made from: those that lower the impurity most in its "
        "subtree. What does not pay of them is dropped.",
        minimum=0,
        maximum=1_000,
        is_size=True,
    )
    pruning: str = choice(
        "adjusted-error",
        ("none", "adjusted-error"),
        "A subtree gives way to its root's linear model where that is expected to err no more; or nothing is pruned.",
    )
    pruning_multiplier: float = real(
        2.0,
        "How heavily pruning counts parameters: errors are multiplied by (n + c v) / (n - v) for n rows and v "
        "parameters. 1 as published, 2 as in the program of the authors' group.",
        minimum=1,
        maximum=100,
        only_with={"pruning": ("adjusted-error",)},
    )
    smoothing: float = real(
        15.0,
        "How much the models on the way to a leaf have their say in its function: as much as that of a node of so many "
        "rows; 0 leaves it to the leaf.",
        minimum=0,
        maximum=1e9,
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Grow, fit linear models, prune and smooth; see :meth:`learners.base.Learner.fit`."""
        self.check_params()
        self.check_together()
        table, target = check_training(X, y, classification=False)
        weights = check_weights(sample_weight, table.n_rows)
        numbers = target_numbers(target)
        nodes = self._grown(table, numbers, weights, lambda share, message: progress(share / 2, message))
        cells = by_column(table.values)
        entries = pack(nodes, table.columns, regression=True).placed(cells, np.flatnonzero(weights > 0))
        placed = Placed.of(nodes, *entries, weights)
        variables, of_node = variables_of(nodes, table.columns)
        models = fit_models(
            nodes, placed, cells, numbers, variables, of_node, max_terms=int(self.max_terms), progress=progress
        )
        at = np.zeros(nodes.n_nodes, np.bool_)
        if self.pruning == "adjusted-error":
            at = where_models_serve(nodes, models, float(self.pruning_multiplier))
        pruned, kept = cut(nodes, at), kept_by(nodes, at)
        means = LeafMeans(nodes, placed, cells, variables)
        self.linear_ = smoothed_leaves(pruned, kept, models, float(self.smoothing), variables, means)
        self._remember(X, table, target.column, self._followed(pruned))
        progress(1.0, f"{pruned.n_leaves} leaves")
        return self

    def _grown(self, table: Table, target: FloatArray, weights: FloatArray, progress: Progress) -> Nodes:
        """The tree before pruning; no node below the least deviation is split."""
        options = replace(self._options(self.criterion), nominal="subset")
        if self.nominal == "ordered":
            orders = orders_of(table, target, weights)
            nodes = in_levels(grow_tree(in_order(table, orders), target, 0, weights, options, progress), orders)
        else:
            nodes = grow_tree(table, target, 0, weights, options, progress)
        deviations = np.sqrt(np.maximum(nodes.value[:, 1], 0.0))
        return cut(nodes, deviations < float(self.min_deviation) * deviations[0])

    def predict(self, X: Any) -> FloatArray:
        """The leaf's function of the row; of a divided row the mean over the leaves that it reaches; shape (n,)."""
        table = self.check_table(X)
        cells = by_column(table.values)
        nodes, undecided = self.packed_tree_.descended(cells)
        if not len(undecided):
            return self.linear_.values(nodes, np.arange(table.n_rows), cells)
        plain = np.ones(table.n_rows, np.bool_)
        plain[undecided] = False
        rows = np.flatnonzero(plain)
        answers = np.zeros(table.n_rows)
        answers[rows] = self.linear_.values(nodes[rows], rows, cells)
        leaves, owners, shares = self.packed_tree_.placed(cells, undecided)
        parts = shares * self.linear_.values(leaves.astype(np.int64), owners, cells)
        answers[undecided] = np.bincount(owners, parts, table.n_rows)[undecided]  # added heaviest first
        return answers

    def explain(self, X: Any) -> list[Explanation]:
        """The paths of each row, and what each term of the leaf's function adds.

        See :class:`~learners.linear_function.LinearBranch`.
        """
        table = self.check_table(X)
        return [self._with_functions(path, row) for path, row in zip(super().explain(table), table.values, strict=True)]

    def _with_functions(self, path: Explanation, row: FloatArray) -> Explanation:
        assert isinstance(path, PathExplanation)  # noqa: S101 - every tree explains by paths
        cells: list[float] = row.tolist()
        branches: list[LinearBranch] = []
        left = MAX_TESTS
        for branch in path.branches:
            function = self.function(branch.leaf)
            left -= len(branch.steps) + len(function.terms)
            if left < 0 and branches:
                break  # the lighter ones are told by their number, as of any tree
            parts = [Contribution.of(term, self.columns_[term.feature], cells[term.feature]) for term in function.terms]
            told = vars(branch) | {"value": function.value(cells)}
            branches.append(LinearBranch(**told, function=function, contributions=tuple(parts)))
        rest = path.branches[len(branches) :]
        omitted = path.omitted_weight + sum(branch.weight for branch in rest)
        return LinearPathExplanation(tuple(branches), path.omitted_branches + len(rest), omitted)

    def get_state(self) -> ModelState:
        state = super().get_state()
        state.arrays.update(self.linear_.to_arrays())
        return state

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made: Self = super().from_state(state)
        made.linear_ = LinearLeaves.from_arrays(state.arrays)
        return made
