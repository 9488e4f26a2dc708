"""The parameters of members: of trees those of the trees themselves, as far as they make sense in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from learners.base import Learner
from learners.ensembles.member_learners import CLASSIFIERS, REGRESSORS
from learners.errors import ParameterError
from learners.nesting import LEARNER, PARAMETERS, Nesting, plain
from learners.params import choice, flag, integer, learner, like, nested, real
from learners.table import Column
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.following import follow_all, follow_heaviest
from learners.trees.nodes import Nodes
from learners.trees.pruning.error_based import collapse, prune_error_based
from learners.trees.setup import GrowthOptions

#: The largest whole number that every reader of JSON keeps exactly.
LARGEST_SEED = 2**53 - 1
_MOST_MEMBERS = 100_000


@learner
class TreeMembers(Learner):
    """Base of ensembles of trees: how many members there are, and how each is grown."""

    members: int = integer(100, "Number of members, at most.", minimum=1, maximum=_MOST_MEMBERS, is_size=True)
    max_depth: int | None = like(DecisionTreeClassifier, "max_depth")
    max_leaves: int | None = like(DecisionTreeClassifier, "max_leaves")
    min_leaf: float = like(DecisionTreeClassifier, "min_leaf")
    min_split: float = like(DecisionTreeClassifier, "min_split")
    min_gain: float = like(DecisionTreeClassifier, "min_gain")
    nominal: str = like(DecisionTreeClassifier, "nominal")
    missing: str = like(DecisionTreeClassifier, "missing")
    missing_prediction: str = like(DecisionTreeClassifier, "missing_prediction")

    def _options(self, criterion: str, threads: int) -> GrowthOptions:
        return GrowthOptions(
            criterion=criterion,
            nominal=self.nominal,
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_leaf=self.min_leaf,
            min_split=self.min_split,
            min_gain=self.min_gain,
            missing=self.missing,
            threads=threads,
        )

    def _followed(self, nodes: Nodes) -> Nodes:
        """The tree as answers follow it where a value is missing."""
        if self.missing_prediction == "fractional":
            return follow_all(nodes)
        return follow_heaviest(nodes) if self.missing_prediction == "most-likely" else nodes


@learner
class ClassTreeMembers(TreeMembers):
    """The same of trees for classes, which may be pruned."""

    criterion: str = like(DecisionTreeClassifier, "criterion")
    pruning: str = like(
        DecisionTreeClassifier,
        "pruning",
        choices=("none", "error-based"),
        meaning="How each member is pruned: not, or by C4.5's pessimistic error estimate.",
    )
    confidence: float = like(DecisionTreeClassifier, "confidence")
    class_weight: dict[str, float] | None = like(DecisionTreeClassifier, "class_weight")
    utility: dict[str, dict[str, float]] | None = like(DecisionTreeClassifier, "utility")

    def _finished(self, nodes: Nodes) -> Nodes:
        if self.pruning == "error-based":
            nodes = prune_error_based(collapse(nodes), confidence=float(self.confidence))
        return self._followed(nodes)


@learner
class DrawnMembers(TreeMembers):
    """The same of members that learn from samples of the rows."""

    sample_fraction: float = real(
        1.0,
        "How many rows are drawn for a member, with replacement, as a share of all; a row's weight counts as rows.",
        minimum=0.001,
        maximum=1,
    )
    out_of_bag: bool = flag(
        True,
        "Also answer each training row by the members that did not learn from it, which tells the error to be "
        "expected of new rows.",
    )
    importance: str = choice(
        "impurity",
        ("impurity", "permutation"),
        "What tells how much a column matters: its share of the members' decrease of impurity, or how much a member's "
        "error rises on rows that it did not learn from if the column's values are shuffled among them.",
    )
    seed: int = integer(0, "Which rows, and which columns, are drawn.", minimum=0, maximum=LARGEST_SEED)
    threads: int = integer(
        1,
        "Number of threads that grow members at once and, where there is a compiler, answer many rows; model and "
        "answers are the same.",
        minimum=1,
        maximum=256,
    )


#: The parameter that makes members of other learners.
OTHER_MEMBERS = "member"
_MEANING = (
    "What is learned in place of trees by the parameters beside: a learner with parameters of its own, by rows with "
    "weights. Members with a seed draw by it plus their number, from 0 on."
)
_TREES = "trees by the parameters beside"
_CLASSES = Nesting(CLASSIFIERS, without=("class_weight", "utility"))
_NUMBERS = Nesting(REGRESSORS)


class OtherMembers(Learner):
    """Base of ensembles whose members may be other learners than trees by the ensemble's own parameters."""

    member: dict[str, Any] | None

    def check_together(self) -> None:
        """The same, and the parameters of trees, which have no effect where members are something else."""
        super().check_together()
        if self.member is not None:
            of_trees = {parameter.name for parameter in ClassTreeMembers.parameters()} - _OF_ALL
            reason = f"members are {self.member[LEARNER]}; give its parameters in {OTHER_MEMBERS}.{PARAMETERS}"
            self._refuse_changed(sorted(of_trees), reason)

    def check_columns(self, columns: Sequence[Column], target: Column | None) -> None:
        super().check_columns(columns, target)
        if self.member is not None:
            try:
                self._new_member(0).check_columns(columns, target)
            except ParameterError as error:
                raise ParameterError(str(error), field=f"{OTHER_MEMBERS}.{PARAMETERS}.{error.field}") from None

    def _plain(self, name: str, value: Any) -> Any:
        return plain(value) if name == OTHER_MEMBERS else super()._plain(name, value)

    def _new_member(self, number: int) -> Learner:
        """An unfitted member, from 0 on."""
        made: Learner = nesting_of(type(self)).make(self.member or {}, OTHER_MEMBERS, number)
        return made


@learner
class OtherClassMembers(OtherMembers):
    """The same of classes."""

    member: dict[str, Any] | None = nested(_CLASSES, _MEANING, none_means=_TREES)


@learner
class OtherNumberMembers(OtherMembers):
    """The same of numbers."""

    member: dict[str, Any] | None = nested(_NUMBERS, _MEANING, none_means=_TREES)


#: Parameters of :class:`ClassTreeMembers` that speak of the whole.
_OF_ALL = {"members", *_CLASSES.without}


def nesting_of(learner: type[Learner]) -> Nesting:
    """Which learners the members of an ensemble may be.

    Raises:
        TypeError: its members are always trees.
    """
    for parameter in learner.parameters():
        if parameter.name == OTHER_MEMBERS and parameter.nesting is not None:
            return parameter.nesting
    raise TypeError(f"{learner.name} is an ensemble of trees alone")
