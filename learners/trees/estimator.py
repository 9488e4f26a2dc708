"""What the tree classifier and the tree regressor share: parameters, growing, explaining, state."""

from __future__ import annotations

from copy import copy
from typing import Any, Literal, Self

import numpy as np

from learners.base import Learner, ModelState
from learners.errors import ParameterError
from learners.explanation import Explanation
from learners.params import choice, integer, learner, mapping, real
from learners.parts import origin_of
from learners.table import Column, Table
from learners.trees.cells import by_column
from learners.trees.following import follow_all, follow_heaviest
from learners.trees.nodes import Nodes
from learners.trees.paths import explain_row, tested_columns
from learners.trees.pruning.alpha_choice import PruningPath
from learners.trees.setup import GrowthOptions
from learners.trees.too_large import single_leaf_warnings
from learners.trees.traverse import PackedTree, pack
from learners.types import FloatArray, IntArray, Scalar


def costs_of_columns(forms: tuple[str, ...]) -> Any:
    """The parameter ``costs``, for these forms."""
    return mapping(
        "What each column costs to find out, by name, > 0; columns that are not named cost 1.",
        none_means="every column costs 1",
        exclusive_minimum=True,
        only_with={"cost_form": forms},
    )


class FittedTree(Learner):
    """What a fitted tree holds beside what every learner does.

    Fitted attributes:
        tree_: the :class:`~learners.trees.nodes.Nodes`.
        packed_tree_: the same laid out for walking.
        target_: the target's column.
        pruning_path_: the sequence of trees of cost-complexity pruning with their cross-validated
            errors, or ``None`` after another pruning.
        utility_: see :class:`~learners.base.Classifier`; ``None`` for regression.
    """

    pruning_path_: PruningPath | None = None
    utility_: FloatArray | None = None
    tree_: Nodes
    packed_tree_: PackedTree
    target_: Column

    @property
    def tested_columns_(self) -> tuple[Column, ...]:
        """The columns by which the tree's features are numbered: the table's, then one for each combined test."""
        return tested_columns(self.tree_, self.columns_) if len(self.tree_.combined) else self.columns_


@learner
class TreeEstimator(FittedTree):
    """Base of the tree estimators: their common parameters and methods."""

    nominal: str = choice(
        "subset",
        ("subset", "multiway", "one-vs-rest"),
        "How a nominal or boolean column is split: into two sets of levels, one branch a level, or one level "
        "against the rest.",
    )
    max_depth: int | None = integer(
        None, "Greatest number of tests on a path.", minimum=0, none_means="no limit", is_size=True
    )
    max_leaves: int | None = integer(
        None,
        "Grow best first up to this number of leaves.",
        minimum=1,
        none_means="no limit, depth first",
        is_size=True,
    )
    min_leaf: float = real(
        1.0,
        "Least weight that at least two branches of a test hold; a row that is not divided by missing values "
        "counts as its weight or 1, whichever is more.",
        minimum=1,
    )
    min_split: float = real(2.0, "Least weight, counted likewise, of a node that is split.", minimum=2)
    min_gain: float = real(
        0.0,
        "Least gain of a test, in units of the criterion. At 0 a test without gain is made as long as a node is "
        "not pure, since a later test may gain by it (XOR).",
        minimum=0,
    )
    threshold: str = choice(
        "midpoint",
        ("midpoint", "data"),
        "A numeric threshold is halfway between its neighbours, or the largest training value not above that (C4.5).",
    )
    missing: str = choice(
        "fractional",
        ("fractional", "as-value", "most-likely"),
        "What training does with a row whose tested value is missing: it goes down every branch, divided by the "
        "branches' weights (C4.5); or missing is a value of its own, a level more or, of numbers, on the side of a "
        "threshold, or alone against all known ones, where it gains most; or it takes the branch of the largest known "
        "weight. Answers treat a missing value alike; where training met none, one that counts as a value goes down "
        "every branch, or that for levels that did not occur.",
    )
    missing_prediction: str = choice(
        "as-training",
        ("as-training", "fractional", "most-likely"),
        "What answers do with a missing value: as training did, or one of these whatever training did.",
        only_with={"missing": ("fractional", "most-likely")},
    )
    cost_form: str = choice(
        "none",
        ("none", "idx", "cs-id3"),
        "How tests are chosen by what their column costs to find out: not; by gain / cost (IDX, Norton 1989) or by "
        "gain^2 / cost (CS-ID3, Tan 1993). A column that is tested already further up is paid for: it counts as the "
        "cheapest column does, and as 1 at most.",
    )
    costs: dict[str, float] | None = costs_of_columns(("idx", "cs-id3"))
    threads: int = integer(1, "Number of threads that grow the tree; the tree is the same.", minimum=1, maximum=256)

    def _options(self, criterion: str) -> GrowthOptions:
        return GrowthOptions(
            criterion=criterion,
            nominal=self.nominal,
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_leaf=self.min_leaf,
            min_split=self.min_split,
            min_gain=self.min_gain,
            threshold=self.threshold,
            missing=self.missing,
            threads=int(self.threads),
            costs=self.costs,
            cost_form=self.cost_form,
        )

    def _followed(self, nodes: Nodes) -> Nodes:
        """The tree as answers follow it where a value is missing."""
        if self.missing_prediction == "fractional":
            return follow_all(nodes)
        return follow_heaviest(nodes) if self.missing_prediction == "most-likely" else nodes

    def following(self, missing: Literal["fractional", "most-likely"]) -> Self:
        """A copy whose answers follow every branch by its weight where a value is missing, or the likeliest one.

        Raises:
            ParameterError: the tree has learned that a missing value is a value of its own.
        """
        self.check_fitted()
        if self.missing == "as-value":
            raise ParameterError(
                "the tree has learned from missing values as from any other, so they have branches of their own",
                field="missing",
            )
        made = copy(self)
        made.missing_prediction = missing
        made._set_tree(made._followed(self.tree_))
        return made

    def _remember(self, X: Any, table: Table, target: Column, nodes: Nodes) -> None:
        self._remember_columns(X, table)
        self.target_ = target
        self._set_tree(nodes)

    def _set_tree(self, nodes: Nodes) -> None:
        self.tree_ = nodes
        self.packed_tree_ = pack(nodes, self.columns_, regression=self.target_.is_numeric)

    def _answers(self, X: Any) -> FloatArray:
        table = self.check_table(X)
        origin = origin_of(table)
        if origin is None:
            return self.packed_tree_.predict(by_column(table.values))
        return self.packed_tree_.predict(by_column(origin.whole.values), origin.rows)

    def apply(self, X: Any) -> IntArray:
        """Id of the leaf that each row reaches, shape (n,); of a divided row the leaf with its largest share."""
        table = self.check_table(X)
        return self.packed_tree_.leaves(by_column(table.values)).astype(np.int64)

    def explain(self, X: Any) -> list[Explanation]:
        """The paths of each row; see :class:`~learners.explanation.PathExplanation`."""
        table = self.check_table(X)
        labels, columns = self._labels(), self.tested_columns_
        return [explain_row(self.tree_, self.packed_tree_, columns, np.array(row), labels) for row in table.values]

    def _labels(self) -> tuple[Scalar, ...] | None:
        return None if self.target_.is_numeric else self.target_.labels

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each column in the total decrease of impurity, shape (d,); all 0 for a single leaf.

        The decrease by a test of several values is shared among its columns: of a count equally by its terms, of
        a sum in proportion to the weights times the columns' standard deviations among the rows of its node.
        """
        self.check_fitted()
        inner, combined = self.tree_.feature >= 0, self.tree_.combined
        decrease = self.tree_.weight[inner] * self.tree_.gain[inner]
        d = self.n_features_in_
        by_feature = np.bincount(self.tree_.feature[inner], weights=decrease, minlength=d + len(combined))
        sums = by_feature[:d]
        if len(combined):
            of_terms = np.repeat(by_feature[d:], combined.n_terms) * combined.share
            sums = sums + np.bincount(combined.feature, weights=of_terms, minlength=d)
        total = sums.sum()
        return np.asarray(sums / total if total > 0 else sums, dtype=np.float64)

    @property
    def n_leaves_(self) -> int:
        self.check_fitted()
        return self.tree_.n_leaves

    def get_depth(self) -> int:
        """Greatest number of tests on a path."""
        self.check_fitted()
        return self.tree_.greatest_depth

    def training_notes(self) -> dict[str, Any]:
        """``warnings`` where the rows are too few for the least sizes that are asked for."""
        root, least = np.zeros(1, np.int64), {"min_leaf": self.min_leaf, "min_split": self.min_split}
        warnings = single_leaf_warnings(self.tree_, root, **least)
        return super().training_notes() | ({"warnings": warnings} if warnings else {})

    def get_state(self) -> ModelState:
        return ModelState(self._header(), self.tree_.to_arrays())

    def _plain(self, name: str, value: Any) -> Any:
        if value is not None and name == "costs":
            return {str(column): float(cost) for column, cost in value.items()}
        return super()._plain(name, value)

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made = cls._of_header(state.header)
        made._set_tree(Nodes.from_arrays(state.arrays))
        return made
