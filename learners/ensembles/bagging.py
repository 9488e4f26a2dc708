"""Bagging: trees, or other learners, that each learn from a sample of the rows; their mean answers (Breiman 1996)."""

from __future__ import annotations

from abc import abstractmethod
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
from learners.decisions import utility_matrix
from learners.ensembles.drawing import Draws
from learners.ensembles.fitted import FittedEnsemble, FittedVotes
from learners.ensembles.growing import for_each, span
from learners.ensembles.making import LearnerMakers, Makers, TreeMakers
from learners.ensembles.member_learners import MemberLearners, warnings_of
from learners.ensembles.out_of_bag import Judged, OutOfBag
from learners.ensembles.parameters import (
    ClassTreeMembers,
    DrawnMembers,
    OtherClassMembers,
    OtherMembers,
    OtherNumberMembers,
)
from learners.params import learner
from learners.table import Series, Table
from learners.trees.cells import by_column
from learners.trees.column_draws import draw_of
from learners.trees.nodes import Nodes
from learners.trees.too_large import single_leaf_warnings
from learners.types import FloatArray

#: Growing is so much of the work where rows are judged out of bag as well.
_GROWING = 0.8


class FittedBag(FittedEnsemble):
    """What an ensemble of trees on samples holds beside its members.

    Fitted attributes:
        out_of_bag_: see :class:`~learners.ensembles.out_of_bag.OutOfBag`; ``None`` if it was not asked for, or there
            are no such rows.
    """

    min_leaf: float
    min_split: float
    out_of_bag_: OutOfBag | None

    def training_notes(self) -> dict[str, Any]:
        """The error ``out_of_bag`` with the number of rows that tell it, if it was asked for; and ``warnings`` where
        the rows are too few for the least sizes that are asked for, or of members that are other learners."""
        told = {} if self.out_of_bag_ is None else {"out_of_bag": self.out_of_bag_.to_json()}
        members, least = self.members_, {"min_leaf": self.min_leaf, "min_split": self.min_split}
        if isinstance(members, MemberLearners):
            warnings = warnings_of(members.learners)
        else:
            warnings = single_leaf_warnings(members.nodes, members.roots, **least)
        return told | ({"warnings": warnings} if warnings else {})

    def get_state(self) -> ModelState:
        state = super().get_state()
        state.header["out_of_bag"] = None if self.out_of_bag_ is None else self.out_of_bag_.to_json()
        return state

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made: Self = super().from_state(state)
        found = state.header["out_of_bag"]
        made.out_of_bag_ = None if found is None else OutOfBag(**found)
        return made


@learner
class BaggedTrees(FittedBag, DrawnMembers):
    """Base of the ensembles of trees on samples."""

    @property
    def answering_threads(self) -> int:
        return int(self.threads)

    def _grow_all(
        self,
        X: Any,
        table: Table,
        target: Series,
        weights: FloatArray,
        criterion: str,
        utility: FloatArray | None,
        progress: Progress,
    ) -> None:
        """Grow all members, and ask them about the rows out of bag."""
        threads, n_members = int(self.threads), int(self.members)
        progress(0.0, "sorting columns")
        draws = Draws(weights, float(self.sample_fraction), int(self.seed))
        makers = self._makers(table, target, weights, criterion, draws)

        def make(member: int, told: Progress) -> Any:
            return makers.make(member, draws.counts(member), told)

        last = _GROWING if self._judges else 1.0
        made = for_each(make, n_members, threads, span(progress, 0.0, last), "members grown")
        members = makers.joined(made, threads)
        cells = np.ascontiguousarray(target.cells)
        judged = Judged(members, draws, by_column(table.values), cells, utility, threads)
        out_of_bag, importances = self._judge(judged, span(progress, last, 1.0))
        shares = np.full(n_members, 1.0 / n_members)
        self._remember_columns(X, table)
        self.target_ = target.column
        if importances is None:
            importances = makers.importances(made, shares)
        self._set_members(members, shares, importances)
        self.out_of_bag_ = out_of_bag
        progress(1.0, f"{n_members} members")

    def _makers(self, table: Table, target: Series, weights: FloatArray, criterion: str, draws: Draws) -> Makers:
        """How members are learned: as trees."""
        makers = TreeMakers(table, target, weights, self._options(criterion, int(self.threads)), self._finished)
        drawn = self._columns_a_node(makers.columns.n_varying)
        makers.draw = lambda member: draw_of(drawn, draws.column_seed(member))
        return makers

    @abstractmethod
    def _columns_a_node(self, n_columns: int) -> int | None:
        """On how many of the columns each node looks for its test; ``None``: all."""

    @property
    def _judges(self) -> bool:
        return bool(self.out_of_bag) or self.importance == "permutation"

    def _judge(self, judged: Judged, progress: Progress) -> tuple[OutOfBag | None, FloatArray | None]:
        """The error out of bag and the importances by permutation, as far as they are asked for."""
        permutes = self.importance == "permutation"
        error = judged.error(span(progress, 0.0, 0.2 if permutes else 1.0)) if self.out_of_bag else None
        return error, judged.permutation_importances(span(progress, 0.2, 1.0)) if permutes else None

    def _finished(self, nodes: Nodes) -> Nodes:
        return self._followed(nodes)


@learner
class BaggedClassTrees(BaggedTrees, FittedVotes, ClassTreeMembers):
    """The same of classes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Grow each member on a sample of the rows; see :meth:`learners.base.Learner.fit`."""
        table, target, weights = self._training_rows(X, y, sample_weight)
        utility = utility_matrix(self.utility, target.column)
        self._grow_all(X, table, target, weights, self.criterion, utility, progress)
        self._set_classes(target.column)
        return self

    def _finished(self, nodes: Nodes) -> Nodes:
        return ClassTreeMembers._finished(self, nodes)


@learner
class BaggedNumberTrees(BaggedTrees, Regressor):
    """The same of numbers."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Grow each member on a sample of the rows; see :meth:`learners.base.Learner.fit`."""
        self.check_params()
        self.check_together()
        table, target = check_training(X, y, classification=False)
        weights = check_weights(sample_weight, table.n_rows)
        target_numbers(target)
        self._grow_all(X, table, target, weights, "variance", None, progress)
        return self

    def predict(self, X: Any) -> FloatArray:
        """The mean of the members' answers; shape (n,)."""
        return self._answers(X)[:, 0]


_CLASSES = Capabilities(
    task="classification",
    explanations=("votes",),
    missing=True,
    categories=True,
    column_order_matters=True,  # of equally good tests the first column's is made
    row_order_matters=True,  # rows are drawn by their places
)
_NUMBERS = replace(_CLASSES, task="regression")


class AnyBag(BaggedTrees, OtherMembers):
    """Base of those whose members may be other learners."""

    def _makers(self, table: Table, target: Series, weights: FloatArray, criterion: str, draws: Draws) -> Makers:
        if self.member is not None:
            return LearnerMakers(table, target, self._new_member)
        return super()._makers(table, target, weights, criterion, draws)

    def _columns_a_node(self, n_columns: int) -> int | None:
        return None


@learner
class BaggingClassifier(AnyBag, BaggedClassTrees, OtherClassMembers):
    """Trees, or other learners, on samples of the rows; a class's probability is the mean of the members' shares."""

    name: ClassVar[str] = "bagging-classifier"
    summary: ClassVar[str] = (
        "Averages trees, or other learners, that each learned from a sample of the rows, and tells the error to be "
        "expected from the rows that each left out."
    )
    capabilities: ClassVar[Capabilities] = _CLASSES


@learner
class BaggingRegressor(AnyBag, BaggedNumberTrees, OtherNumberMembers):
    """Trees, or other learners, on samples of the rows; the answer is the mean of theirs."""

    name: ClassVar[str] = "bagging-regressor"
    summary: ClassVar[str] = (
        "Averages the numbers of trees, or of other learners, that each learned from a sample of the rows, and tells "
        "the error to be expected from the rows that each left out."
    )
    capabilities: ClassVar[Capabilities] = _NUMBERS
