"""AdaBoost over trees, stumps by default, or over any other classifier that takes weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from learners.base import Capabilities, ModelState, Progress, check_training, check_weights, no_progress
from learners.class_weights import class_factors, weigh
from learners.decisions import decide, utility_matrix
from learners.ensembles.boosting import Boosted, boost
from learners.ensembles.fitted import FittedVotes, impurity_importances
from learners.ensembles.members import MemberTrees
from learners.ensembles.parameters import ClassTreeMembers
from learners.ensembles.reasons import explain_columns
from learners.explanation import Explanation
from learners.params import choice, learner, like
from learners.table import Series, Table
from learners.trees.cells import by_column
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.nodes import Nodes
from learners.trees.shared import SharedColumns
from learners.trees.traverse import pack
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
class AdaBoostClassifier(FittedBoosting, ClassTreeMembers):
    """Trees that each learn most from the rows which those before got wrong, and vote by how right they are.

    :mod:`~learners.ensembles.boosting` says how rows and votes are weighted and when it ends before all members
    are there. Stop rules of the trees count the rows' given weights, not those of the round. A class's probability
    is its share of all votes; where not even the first member is better than a guess, it is the share in its leaf.
    """

    name: ClassVar[str] = "adaboost-classifier"
    summary: ClassVar[str] = (
        "Lets small trees vote, each grown for the rows that those before got wrong; of trees with one test it tells "
        "exactly what each column adds."
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
        self.check_params()
        self.check_together()
        table, target = check_training(X, y, classification=True)
        weights = check_weights(sample_weight, table.n_rows)
        codes = target.cells.astype(np.int64)
        if self.class_weight is not None:
            weights = weigh(weights, class_factors(self.class_weight, target.column)[codes])
        utility_matrix(self.utility, target.column)  # refused before the work if it is bad
        n_classes = len(np.unique(codes[weights > 0]))
        progress(0.0, "sorting columns")
        weak = _WeakTrees(self, table, target, weights)
        samme = self.algorithm == "samme"
        boosted = boost(weak.learn, weights, n_classes, int(self.members), samme=samme, progress=progress)
        trees = weak.trees[: len(boosted.votes)]
        self._remember_columns(X, table)
        self._set_classes(target.column)
        shares = boosted.votes / boosted.votes.sum()
        self._set_members(MemberTrees.of(trees, table.columns, regression=False), shares)
        self.boosted_ = boosted
        self.feature_importances_ = impurity_importances(trees, shares, table)
        progress(1.0, f"{len(trees)} members")
        return self

    def training_notes(self) -> dict[str, Any]:
        """How many ``members`` there are, and why there are no more (``ended``)."""
        return {"members": self.n_members_, "ended": self.boosted_.ended}

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
        if self.is_fitted and self.members_.is_of_stumps:
            values = self.check_table(X).values
            total = float(self.boosted_.votes.sum())
            return explain_columns(self.members_, self.weights_, total, values, self._labels(), hard=self.votes_hard)
        return super().explain(X)

    def reason_sizes(self, values: FloatArray) -> Iterator[IntArray]:
        """Of some rows at a time the columns that are told of each, or the votes and tests."""
        if self.members_.is_of_stumps:
            used = np.unique(self.members_.nodes.feature[self.members_.roots])
            return iter((np.full(len(values), len(used), np.int64),))
        return super().reason_sizes(values)


class _WeakTrees:
    """Grows members on columns that are laid out once."""

    def __init__(self, learner: AdaBoostClassifier, table: Table, target: Series, weights: FloatArray) -> None:
        options = learner._options(learner.criterion, 1)
        self._codes = target.cells.astype(np.int64)
        self._columns = table.columns
        self._cells = by_column(table.values)
        self._finish = learner._finished
        self._shared = SharedColumns(
            table, np.ascontiguousarray(target.cells), len(target.column.levels), weights, options
        )
        self.trees: list[Nodes] = []

    def learn(self, weights: FloatArray, progress: Progress) -> BoolArray:
        tree = self._finish(self._shared.grow(weights, by_given=True, progress=progress))
        self.trees.append(tree)
        packed = pack(tree, self._columns, regression=False)
        nodes, undecided = packed.descended(self._cells)
        decided = decide(packed.answers)[nodes]
        if len(undecided):
            decided[undecided] = decide(packed.predict(self._cells[:, undecided]))
        wrong: BoolArray = decided != self._codes
        return wrong
