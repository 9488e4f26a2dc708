"""AdaBoost over trees, stumps by default, or over any other classifier that takes weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from learners.base import Capabilities, ModelState, Progress, no_progress
from learners.decisions import utility_matrix
from learners.ensembles.boosting import Boosted, boost
from learners.ensembles.fitted import FittedVotes
from learners.ensembles.learner_reasons import Sizes
from learners.ensembles.making import LearnerMakers, Makers, TreeMakers
from learners.ensembles.member_learners import MemberLearners, warnings_of
from learners.ensembles.members import MemberTrees
from learners.ensembles.parameters import ClassTreeMembers, OtherClassMembers
from learners.ensembles.reasons import explain_columns
from learners.explanation import Explanation
from learners.params import choice, learner, like
from learners.table import Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.types import BoolArray, FloatArray, IntArray


class FittedBoosting(FittedVotes):
    """What a boosted ensemble holds beside its members.

    Fitted attributes:
        boosted_: the members' votes and errors, and how it ended.
    """

    boosted_: Boosted

    @property
    def votes_hard(self) -> bool:
        """Members vote for one class each, but one that is kept though it is no better than a guess is not sure."""
        return self.boosted_.ended != "guess"


@learner
class AdaBoostClassifier(FittedBoosting, OtherClassMembers, ClassTreeMembers):
    """Members that each learn most from the rows which those before got wrong, and vote by how right they are.

    :mod:`~learners.ensembles.boosting` says how rows and votes are weighted and when it ends before all members
    are there. Members are trees, stumps unless ``max_depth`` says otherwise, or by ``member`` any learner that takes
    weights. Stop rules of the trees count the rows' given weights, not those of the round; other learners know the
    latter alone. A class's probability is its share of all votes; where not even the first member is better than a
    guess, it is that member's.
    """

    name: ClassVar[str] = "adaboost-classifier"
    summary: ClassVar[str] = (
        "Lets small trees, or other learners, vote, each learned for the rows that those before got wrong; of trees "
        "with one test it tells exactly what each column adds."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(
        task="classification",
        explanations=("additive", "votes"),
        missing=True,
        categories=True,
        column_order_matters=True,  # of equally good tests the first column's is made
    )

    max_depth: int | None = like(DecisionTreeClassifier, "max_depth", default=1)
    algorithm: str = choice(
        "samme",
        ("samme", "m1"),
        "What a member of more than two classes must be better than, and how much its vote counts: a guess among the "
        "classes (SAMME, Zhu et al. 2009), or half of the rows (AdaBoost.M1, Freund and Schapire 1996). Of two "
        "classes they are one.",
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Grow and weigh member after member; see :meth:`learners.base.Learner.fit`."""
        table, target, weights = self._training_rows(X, y, sample_weight)
        codes = target.cells.astype(np.int64)
        utility_matrix(self.utility, target.column)  # refused before the work if it is bad
        n_classes = len(np.unique(codes[weights > 0]))
        progress(0.0, "sorting columns")
        makers = self._makers(table, target, weights)
        made: list[Any] = []

        def learn(weights: FloatArray, told: Progress) -> BoolArray:
            made.append(makers.make(len(made), weights, told))
            return makers.wrong(made[-1])

        samme = self.algorithm == "samme"
        boosted = boost(learn, weights, n_classes, int(self.members), samme=samme, progress=progress)
        made = made[: len(boosted.votes)]
        self._remember_columns(X, table)
        self._set_classes(target.column)
        shares = boosted.votes / boosted.votes.sum()
        self._set_members(makers.joined(made), shares, makers.importances(made, shares))
        self.boosted_ = boosted
        progress(1.0, f"{len(made)} members")
        return self

    def _makers(self, table: Table, target: Series, weights: FloatArray) -> Makers:
        if self.member is not None:
            return LearnerMakers(table, target, self._new_member)
        options = self._options(self.criterion, 1)
        return TreeMakers(table, target, weights, options, self._finished, by_given=True)

    def training_notes(self) -> dict[str, Any]:
        """How many ``members`` there are, why there are no more (``ended``), and ``warnings`` of other learners."""
        members = self.members_
        warnings = warnings_of(members.learners) if isinstance(members, MemberLearners) else []
        told = {"members": self.n_members_, "ended": self.boosted_.ended}
        return told | ({"warnings": warnings} if warnings else {})

    def get_state(self) -> ModelState:
        state = super().get_state()
        state.header["ended"] = self.boosted_.ended
        state.arrays |= {"votes": self.boosted_.votes, "errors": self.boosted_.errors}
        return state

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made: Self = super().from_state(state)
        made.boosted_ = Boosted(state.arrays["votes"], state.arrays["errors"], state.header["ended"])
        return made

    def explain(self, X: Any) -> list[Explanation]:
        """Of stumps what each column adds, else the members' votes; see :mod:`learners.ensembles.explanation`."""
        stumps = self._stumps if self.is_fitted else None
        if stumps is None:
            return super().explain(X)
        values = self.check_table(X).values
        total = float(self.boosted_.votes.sum())
        return explain_columns(stumps, self.weights_, total, values, self._labels(), hard=self.votes_hard)

    def reason_sizes(self, values: FloatArray, of_member: Sizes) -> Iterator[IntArray]:
        """Of some rows at a time the columns that are told of each, or the votes and tests."""
        stumps = self._stumps
        if stumps is None:
            return super().reason_sizes(values, of_member)
        used = np.unique(stumps.nodes.feature[stumps.roots])
        return iter((np.full(len(values), len(used), np.int64),))

    @property
    def _stumps(self) -> MemberTrees | None:
        """The members, if they are trees of one test."""
        members = self.members_
        return members if isinstance(members, MemberTrees) and members.is_of_stumps else None
