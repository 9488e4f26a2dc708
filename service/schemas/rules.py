"""Wire types of a model's rules."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from service.schemas.base import Answer
from service.schemas.linear import LinearFunction
from service.schemas.predictions import Condition, Label


class RuleCondition(Condition):
    """All tests of one path on one column, merged."""

    missing: float = Field(description="the rule's share of a row whose value is missing")
    unseen: float = Field(description="the rule's share of a row whose level the model does not know")


class Rule(Answer):
    """IF all conditions THEN the answer. The last one of an ordered rule set has none: it is the default."""

    id: str = Field(description="the leaf's node id, or in an ordered set the rank, and a hash of what the rule says")
    leaf: int | None = Field(
        None, description="of a tree: node id, the same in the tree, its picture and every explanation"
    )
    leaves: list[int] | None = Field(None, description="of several leaves that were merged into one rule: their ids")
    conditions: list[RuleCondition]
    answer: Label = Field(description="of a model tree the mean of the leaf's training targets; see `linear`")
    linear: LinearFunction | None = Field(None, description="of a model tree: the answer of each row")
    distribution: list[float] | None = Field(
        None,
        description="class probabilities, in the order of `classes`: of an ordered set Laplace estimates, (count + 1) "
        "/ (weight + number of classes) of its rows; of a tree the leaf's, see its `leaf_estimate`",
    )
    confidence: float | None = Field(
        None, description="the answer's class's in `distribution`; of an ordered set an estimate, not a share"
    )
    counts: list[float] | None = Field(
        None,
        description="weight of the training rows by class, in the order of `classes`; absent of a tree whose leaves "
        "are estimated, and of a leaf without rows",
    )
    share: float | None = Field(
        None, description="the answer's class's plain share of `counts`; null without weight, absent where they are"
    )
    deviation: float | None = Field(
        None, description="of a regression: standard deviation of the training targets, not of the errors of `linear`"
    )
    rows: int = Field(
        description="training rows in the leaf; in an ordered set those that the rule covers, of the default those "
        "that no rule covers"
    )
    weight: float


class Rules(Answer):
    """A page of the rules of a version, in the order in which its tree is read or its rules are asked."""

    model: str
    version: int
    task: Literal["classification", "regression"]
    classes: list[Label] | None = None
    utility: list[list[float]] | None = Field(
        None,
        description="what each decision (row) is worth for each true class (column); absent: the likeliest decides",
    )
    columns: list[dict[str, Any]]
    target: dict[str, Any]
    ordered: bool = Field(
        description="whether the first rule that covers a row answers alone; else each rule answers for a share of it"
    )
    rules: list[Rule]
    n_rules: int = Field(description="of all pages")
    next_cursor: str | None = Field(description="give it as `cursor` to get the next page; null on the last one")
