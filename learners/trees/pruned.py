"""The prunings that tree classifier and tree regressor share, as parameters and steps of ``fit``."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from learners.base import ModelState, Progress
from learners.params import choice, flag, integer, learner, real
from learners.trees.estimator import TreeEstimator
from learners.trees.nodes import Nodes
from learners.trees.pruning.alpha_choice import PruningPath
from learners.trees.setup import GrowthOptions
from learners.trees.training import Finish, Training, grow_and_price, grow_and_validate

#: The largest whole number that every reader of JSON keeps exactly.
_LARGEST_SEED = 2**53 - 1
_BY_COST = {"pruning": ("cost-complexity",)}
_ON_VALUES = {"discretise": ("none",)}
_BY_VALIDATION = {"pruning": ("reduced-error",)}


@learner
class PrunedTreeEstimator(TreeEstimator):
    """Base of the tree estimators that prune."""

    discretise: str = choice(
        "none",
        ("none", "equal-width", "equal-frequency"),
        "Whether numeric columns are cut into intervals before growth, and so tested once with a branch for each: "
        "of equal width, or of equal weight as far as equal values allow.",
    )
    bins: int = integer(
        10,
        "Number of these intervals, at most.",
        minimum=2,
        maximum=10_000,
        only_with={"discretise": ("equal-width", "equal-frequency")},
        is_size=True,
    )
    interval_tests: bool = flag(
        False,
        "Also look for tests whether a numeric or ordinal value lies in an interval: low < x <= high.",
        only_with=_ON_VALUES,
    )
    formula_tests: str = choice(
        "none",
        ("none", "boolean", "m-of-n"),
        "Also look for formulas of simple tests as one test: conjunctions and disjunctions, or whether at least M of N "
        "tests hold (Murphy and Pazzani 1991), found greedily.",
        only_with=_ON_VALUES,
    )
    max_terms: int = integer(
        5,
        "Most simple tests in one formula.",
        minimum=2,
        maximum=64,
        only_with={"formula_tests": ("boolean", "m-of-n")},
        is_size=True,
    )
    oblique_tests: bool = flag(
        False,
        "Also look for weighted sums of numeric columns against a threshold; their direction is that of a regularised "
        "logistic regression on the node's rows, of numbers that of least squares.",
        only_with=_ON_VALUES,
    )
    oblique_l2: float = real(
        1e-4,
        "Penalty on the squared weights of that regression, of columns scaled to deviation 1, beside the mean loss of "
        "a row.",
        minimum=0,
        exclusive_minimum=True,
        only_with={"oblique_tests": (True,)},
    )
    pruning: str = choice("none", ("none", "reduced-error", "cost-complexity"), "How the grown tree is pruned.")
    alpha: float = real(
        0.0,
        "Least decrease of impurity (or of what decisions lose) per leaf, as a share of all weight.",
        minimum=0,
        only_with=_BY_COST | {"alpha_choice": ("given",)},
    )
    alpha_choice: str = choice(
        "given",
        ("given", "cv-min", "cv-1se"),
        "Where alpha comes from: it is given, or it is that of least error by cross-validation inside the fit, or the "
        "largest within one standard error of that (CART).",
        only_with=_BY_COST,
    )
    alpha_folds: int = integer(
        10,
        "Folds of that cross-validation; as many as rows where there are fewer rows.",
        minimum=2,
        maximum=1_000_000,
        only_with=_BY_COST | {"alpha_choice": ("cv-min", "cv-1se")},
    )
    validation_fraction: float = real(
        0.25,
        "Share of the rows that is kept back from growing, to prune by.",
        minimum=0.01,
        maximum=0.99,
        only_with=_BY_VALIDATION,
    )
    pruning_order: str = choice(
        "bottom-up",
        ("bottom-up", "best-first"),
        "From the leaves upwards, to the smallest tree of least error on the rows kept back; or again and again at the "
        "one node where that lowers the error most.",
        only_with=_BY_VALIDATION,
    )
    seed: int = integer(0, "Which rows are kept back or make a fold, where any do.", minimum=0, maximum=_LARGEST_SEED)

    def _options(self, criterion: str) -> GrowthOptions:
        return replace(
            super()._options(criterion),
            discretise=self.discretise,
            bins=int(self.bins),
            interval_tests=bool(self.interval_tests),
            formula_tests=self.formula_tests,
            max_terms=int(self.max_terms),
            oblique_tests=bool(self.oblique_tests),
            oblique_l2=float(self.oblique_l2),
        )

    def _grown_and_pruned(self, training: Training, finish: Finish, progress: Progress) -> tuple[Nodes, Training]:
        """The pruned tree without its leaves' estimates, and the rows that its numbers count.

        Args:
            training: all rows.
            finish: puts the leaves' estimates into a tree, for the prunings that judge its answers.
        """
        self.pruning_path_ = None
        if self.pruning == "reduced-error":
            return grow_and_validate(
                training,
                fraction=self.validation_fraction,
                seed=self.seed,
                order=self.pruning_order,
                finish=finish,
                progress=progress,
            )
        if self.pruning != "cost-complexity":
            return training.grown(progress), training
        nodes, self.pruning_path_ = grow_and_price(
            training,
            alpha=self.alpha,
            rule=self.alpha_choice,
            folds=self.alpha_folds,
            seed=self.seed,
            finish=finish,
            progress=progress,
        )
        return nodes, training

    def get_state(self) -> ModelState:
        state = super().get_state()
        if self.pruning_path_ is not None:
            state.arrays.update(self.pruning_path_.to_arrays())
        return state

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made: Self = super().from_state(state)
        made.pruning_path_ = PruningPath.from_arrays(state.arrays)
        return made
