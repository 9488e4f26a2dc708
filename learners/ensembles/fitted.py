"""What fitted ensembles hold, answer and say of themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from learners.base import Classifier, Learner, ModelState
from learners.decisions import utility_matrix
from learners.ensembles.learner_reasons import Sizes, explain_votes_of, sizes_of_votes_of
from learners.ensembles.member_learners import HEADERS, MemberLearners
from learners.ensembles.members import MemberTrees
from learners.ensembles.reasons import explain_votes, votes_sizes
from learners.explanation import Explanation
from learners.table import Column, Table
from learners.trees.cells import by_column
from learners.trees.nodes import Nodes
from learners.types import FloatArray, IntArray, Scalar


class FittedEnsemble(Learner):
    """What an ensemble holds beside what every learner does.

    Fitted attributes:
        members_: the trees, or other learners.
        weights_: the share of each member in the answer, shape (M,); they sum to 1.
        feature_importances_: share of each column in the members' total decrease of impurity, shape (d,); there is
            none where members are learners that decrease no impurity.
    """

    members_: MemberTrees | MemberLearners
    weights_: FloatArray
    feature_importances_: FloatArray

    def _set_members(
        self, members: MemberTrees | MemberLearners, weights: FloatArray, importances: FloatArray | None
    ) -> None:
        self.members_ = members
        self.weights_ = weights
        if importances is not None:
            self.feature_importances_ = importances
        elif hasattr(self, "feature_importances_"):
            del self.feature_importances_

    @property
    def votes_hard(self) -> bool:
        """Whether members vote for one class each, rather than with their class shares."""
        return False

    @property
    def answering_threads(self) -> int:
        """On how many threads many rows are answered."""
        return 1

    @property
    def n_members_(self) -> int:
        self.check_fitted()
        return len(self.members_)

    def _answers(self, X: Any) -> FloatArray:
        table = self.check_table(X)
        cells, threads = by_column(table.values), self.answering_threads
        return self.members_.answers(cells, self.weights_, hard=self.votes_hard, threads=threads)

    def explain(self, X: Any) -> list[Explanation]:
        """The members' votes; see :class:`~learners.ensembles.explanation.VotesExplanation`."""
        table, members = self.check_table(X), self.members_
        told = (self.weights_, table.values, self._labels())
        if isinstance(members, MemberLearners):
            return explain_votes_of(members, *told, hard=self.votes_hard)
        return explain_votes(members, *told, hard=self.votes_hard)

    def _labels(self) -> tuple[Scalar, ...]:
        return () if self.target_.is_numeric else self.target_.labels

    @property
    def unpacked_bytes(self) -> int:
        return self.members_.unpacked_bytes

    def reason_sizes(self, values: FloatArray, of_member: Sizes) -> Iterator[IntArray]:
        """Of some rows at a time, how many votes and tests the reason of each holds.

        Args:
            values: shape (n, d).
            of_member: the same of a member that is another learner.
        """
        told = (self.weights_, values, self._labels())
        if isinstance(self.members_, MemberLearners):
            return sizes_of_votes_of(self.members_, *told, of_member, hard=self.votes_hard)
        return votes_sizes(self.members_, *told, hard=self.votes_hard)

    def get_state(self) -> ModelState:
        state = ModelState(self._header(), {"weights": self.weights_})
        if hasattr(self, "feature_importances_"):
            state.arrays["importances"] = self.feature_importances_
        self.members_.add_to(state)
        return state

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made = cls._of_header(state.header)
        kind = MemberLearners if HEADERS in state.header else MemberTrees
        members = kind.of_state(state, made.columns_, regression=made.target_.is_numeric)
        made._set_members(members, state.arrays["weights"], state.arrays.get("importances"))
        return made


class FittedVotes(FittedEnsemble, Classifier):
    """The same of classes."""

    def predict_proba(self, X: Any) -> FloatArray:
        """The share of the members' votes for each class; shape (n, K)."""
        return np.clip(self._answers(X), 0.0, 1.0)  # the sum of the shares may miss 1 by rounding

    def _set_classes(self, target: Column) -> None:
        self.target_ = target
        self.classes_ = np.array(target.labels, dtype=object if target.level_type == "text" else None)
        self.utility_ = utility_matrix(getattr(self, "utility", None), target)

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made: Self = super().from_state(state)
        made._set_classes(made.target_)
        return made


def impurity_importances(trees: list[Nodes], weights: FloatArray, table: Table) -> FloatArray:
    """The mean over trees, by their weights, of each column's share of the decrease; shape (d,), summing to 1 or 0."""
    total = np.zeros(table.n_columns)
    for tree, weight in zip(trees, weights.tolist(), strict=True):
        inner = np.flatnonzero(tree.feature >= 0)
        decrease = tree.weight.take(inner) * tree.gain.take(inner)
        own = np.bincount(tree.feature.take(inner), weights=decrease, minlength=table.n_columns)
        total += weight * own / own.sum() if own.sum() > 0 else 0.0
    return total / total.sum() if total.sum() > 0 else total
