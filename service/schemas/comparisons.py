"""Wire types of the comparison of two versions."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from service.schemas.base import Answer
from service.schemas.predictions import Condition, Label
from service.schemas.rules import Rule


class ComparedVersion(Answer):
    """One of the two."""

    model: str
    version: int


class Change(Answer):
    """An entry that differs; one that is absent is null."""

    before: Any
    after: Any


class MetricChange(Answer):
    """What either evaluation found of a metric."""

    before: dict[str, Any] | None
    after: dict[str, Any] | None
    difference: float | None = Field(description="of the means, after less before")
    paired: dict[str, Any] | None = Field(
        description="the corrected resampled t-test of the difference with its interval and p-value; null unless both "
        "were judged in the same folds"
    )


class ConditionMove(Answer):
    """A condition whose bounds moved."""

    before: Condition
    after: Condition


class RuleMove(Answer):
    """A rule that says the same but for numbers in it."""

    before: Rule
    after: Rule
    moved: list[ConditionMove]


class RuleChanges(Answer):
    """Which rules came, went and moved; lists are cut at `listed`, totals are not."""

    same_total: int = Field(description="rules that say the same to the bit")
    added_total: int
    removed_total: int
    moved_total: int
    added: list[Rule]
    removed: list[Rule]
    moved: list[RuleMove]


class RowChange(Answer):
    """A row whose answer changes."""

    row: int = Field(description="0-based position in the dataset")
    before: Label
    after: Label


class LabelChange(Answer):
    """How many rows go from one label to another."""

    before: Label
    after: Label
    rows: int


class RowChanges(Answer):
    """Whose answer changes."""

    dataset: str
    first_row: int
    compared: int = Field(description="rows that both answered")
    total: int = Field(description="rows of the dataset")
    learned_from: list[str] = Field(description="which of the two learned from its rows or its file: `before`, `after`")
    changed_total: int
    changed: list[RowChange] = Field(description="in the dataset's order; of numbers the largest changes first")
    changes: list[LabelChange] | None = Field(None, description="of labels, the most frequent first")
    target: dict[str, Any] | None = Field(
        description="where the dataset has the target: of labels how many rows both, either or neither got right, "
        "of numbers the errors of both"
    )


class Comparison(Answer):
    """Two versions compared."""

    before: ComparedVersion
    after: ComparedVersion
    parameters: dict[str, Change] = Field(
        description="learner and parameters that differ, choices of presets and defaults included; of two learners, a "
        "parameter that only one has is left out at its default"
    )
    lineage: dict[str, Change] = Field(description="dataset, target, features and seed, where they differ")
    metrics: dict[str, MetricChange]
    rules: RuleChanges | None = Field(description="null where one of the two has no rules")
    rows: RowChanges | None = Field(
        description="null where no dataset was named and the one that `after` learned from is gone or does not fit"
    )
