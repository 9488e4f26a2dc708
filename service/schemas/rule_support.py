"""Wire types of what rules do on stored rows."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from service.schemas.base import Answer
from service.schemas.predictions import Cell
from service.schemas.rules import Rule, Rules


class Support(Answer):
    """What a rule does on the rows of a dataset."""

    rows: int = Field(description="of which it answers a share")
    weight: float = Field(description="of these rows, times its share of each")
    counts: list[float] | None = Field(None, description="weight by true class, in the order of `classes`")
    confidence: float | None = Field(
        None, description="share of the rule's class in `counts`, no estimate; null without weight"
    )
    mean: float | None = Field(None, description="of a regression: mean of the true values")
    deviation: float | None = Field(
        None, description="of a regression: root of the mean square of their distance from the rule's answer"
    )


class RuleOnDataset(Rule):
    """A rule, and what it does on the rows of a dataset."""

    on_dataset: Support


class JudgedDataset(Answer):
    """The rows on which a version or its rules are judged."""

    id: str
    rows: int
    learned_from: bool = Field(
        description="whether the version was trained on its rows, also in another upload or revision of the file; "
        "else they are new to it"
    )


class RulesOnDataset(Rules):
    """Every rule of a version with its support and confidence on a dataset."""

    dataset: JudgedDataset
    rules: list[RuleOnDataset]  # type: ignore[assignment]


class Surrogate(Answer):
    """How rules of a tree in place of a model were learned, and how faithful they are to its answers."""

    dataset: JudgedDataset
    n_rows: int = Field(
        description="rows of it whose answers were asked of the model: all that count, or as many as make 15,000 cells "
        "(750 of 20 columns), drawn once for all; `judged_rows` of them judge, the others teach"
    )
    measure: Literal["agreement", "r_squared"] = Field(
        description="share of the model's labels that the rules give too, or R^2 against the model's numbers"
    )
    fidelity: float = Field(description="by that measure, on rows that the tree was not learned from")
    judged_rows: int = Field(description="how many these are, a quarter of `n_rows`")


class SurrogateRules(Rules):
    """Rules of a tree that was fitted to the version's answers: what it does about as well as `fidelity` says."""

    surrogate: Surrogate


class RowOfRule(Answer):
    """A row that a rule answers."""

    row: int = Field(ge=0, description="0-based number in the dataset")
    share: float = Field(description="1, or less where the row is divided since a value is missing")
    values: dict[str, Cell]


class RowsOfRule(Answer):
    """A page of the rows that a rule answers."""

    model: str
    version: int = Field(ge=1)
    rule: dict[str, Any]
    dataset: JudgedDataset
    offset: int
    total: int = Field(description="of all its rows")
    rows: list[RowOfRule]
