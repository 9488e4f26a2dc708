"""Wire types of counterfactuals, questions and importances."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from service.schemas.base import Answer, RequestBody
from service.schemas.jobs import ColumnName
from service.schemas.predictions import Cell, Condition, Decision, Label, RowError, RowWarning, Summary
from service.schemas.rule_support import JudgedDataset

#: Most counterfactuals for one row.
MAX_COUNT = 20
_CELL = {"type": ["string", "number", "boolean", "null"]}
_BOUND = {"type": ["number", "string", "null"]}
_RANGE = {
    "type": "object",
    "properties": {"minimum": _BOUND, "maximum": _BOUND},
    "additionalProperties": False,
    "minProperties": 1,
}
#: Rows are checked one by one, so that a bad one fails no other.
_Row = Annotated[Any, WithJsonSchema({"type": "object", "additionalProperties": _CELL})]
#: Of a class its label, of a regression a range; checked against the model.
_Wanted = Annotated[Any, WithJsonSchema({"anyOf": [{"type": ["string", "number", "boolean"]}, _RANGE]})]
_Allowed = Annotated[
    Any,
    WithJsonSchema({"anyOf": [_RANGE, {"type": "array", "items": {"type": ["string", "number", "boolean"]}}]}),
]
_Utilities = Annotated[
    dict[str, dict[str, float]],
    Field(
        max_length=1000,
        description="what it is worth to decide for a class, by its label, if the true class is another or the same, "
        "by its label; pairs that are not named have 0",
    ),
]
Costs = Annotated[dict[str, float], Field(max_length=10_000)]


class _Rows(RequestBody):
    """Rows and how they are read."""

    #: A number that cannot be read in one of these spoils its row alone.
    spared: ClassVar[tuple[str, ...]] = ("rows",)

    rows: list[_Row] = Field(
        description="objects by column name, in any order of names; `null` is missing", min_length=1
    )
    unseen: Literal["reject", "missing", "other"] = Field(
        "other", description="what becomes of a level that the model does not know; see the predictions"
    )
    strict: bool = Field(False, description="extra and absent columns are errors")


class CounterfactualRequest(_Rows):
    """Rows, the answer that is wanted of them, and what may be changed."""

    wanted: _Wanted = Field(
        description="a class label; of a regression an object with `minimum`, `maximum` or both, inclusive"
    )
    fixed: list[ColumnName] = Field([], max_length=10_000, description="columns that stay as they are")
    directions: dict[str, Literal["up", "down"]] = Field(
        {}, max_length=10_000, description="by column, whether its value may only rise or only fall"
    )
    costs: Costs = Field(
        {}, description="by column, what it costs to change it, >= 0; 1 where none is given", examples=[{"age": 5}]
    )
    allowed: dict[str, _Allowed] = Field(
        {},
        max_length=10_000,
        description="by column, what a new value may be: of numeric and ordinal ones `minimum` and `maximum`, "
        "inclusive; of any column with levels also a list of them",
    )
    count: Annotated[int, Field(ge=1, le=MAX_COUNT, description="how many for each row, the nearest first")] = 1
    diverse: bool = Field(False, description="let no two of a row's change the same set of columns")
    order: Literal["changes", "distance"] = Field(
        "changes",
        description="nearest by the changed columns' costs, then distance; or by distance times costs, then costs",
    )
    decision: Decision = Field(
        None,
        description="of a classifier: a row is answered as wanted if this decides so, instead of what the model was "
        "trained with; see the predictions",
    )


class QuestionRequest(_Rows):
    """Partly filled rows: what is missing may be asked."""

    costs: Costs = Field(
        {}, description="by column, what it costs to ask for it, >= 0; 1 where none is given", examples=[{"x-ray": 40}]
    )
    utility: _Utilities | None = Field(
        None, description="rank by expected utility of the decision; absent: by expected information"
    )
    decision: Decision = Field(
        None,
        description="of a classifier: `possible` tells what is decided so, instead of by what the model was trained "
        "with, and columns are ranked by the expected utility of that; not beside `utility`; see the predictions",
    )


class Asked(Answer):
    """All that a leaf's path asks of one column, and how the row stands to it."""

    condition: Condition
    observed: Cell = Field(description="the row's value, of an unseen level as it was sent; null where missing")
    state: Literal["met", "unmet", "undecided"] = Field(description="undecided: missing or unseen, and divided")


class ChangedValue(Answer):
    """One column's new value: the nearest that the leaf and the request allow."""

    column: str
    before: Cell
    after: Cell
    distance: float = Field(description="share of the training range, of the levels' steps, or 1")


class WhyNot(Answer):
    """The nearest leaf or rule with the wanted answer if all may be changed, and what it asks that the row lacks.

    The changes also lead past the rules that are asked before.
    """

    leaf: int | None = None
    rank: int | None = None
    rule: str | None = None
    conditions: list[Asked]
    changes: list[ChangedValue]


class Counterfactual(Answer):
    """A changed row that the model answers as wanted."""

    leaf: int | None = Field(None, description="node id, the same in the tree, its picture and every explanation")
    rank: int | None = Field(None, description="of a rule set: the place of the rule that answers the changed row")
    rule: str | None = Field(None, description="of a rule set: its id")
    changes: list[ChangedValue]
    cost: float
    distance: float
    exact: bool = Field(
        description="whether surely no row is nearer; false where too much would have had to be looked at"
    )
    label: Label | None = None
    probabilities: list[float] | None = None
    value: float | None = None
    conditions: list[Asked]


class _Answered(Answer):
    """The answer of a row as it is."""

    row: int = Field(ge=0)
    label: Label | None = None
    model_label: Label | None = Field(
        None, description="what the model decides by itself, where the request's decision is another"
    )
    probabilities: list[float] | None = None
    value: float | None = None
    warnings: list[RowWarning] | None = None
    error: RowError | None = None


class CounterfactualsOfRow(_Answered):
    """One row's answer, and the nearest ways to the wanted one."""

    status: Literal["found", "already", "unreachable", "unfinished"] | None = Field(
        None, description="unfinished: none was found before too much had been looked at for this row, or for all rows"
    )
    counterfactuals: list[Counterfactual] | None = None
    unfinished: str | None = Field(None, description="of an unfinished row: what would have to be looked at")
    why_not: WhyNot | None = Field(
        None, description="null where the answer is the wanted one, no leaf has it, or the search was not finished"
    )


class Candidate(Answer):
    """A column without a value."""

    column: str
    gain: float = Field(description="expected: bits, utility, or variance that is explained")
    cost: float
    score: float | None = Field(description="gain divided by cost; null if it is free and tells something")


class QuestionOfRow(_Answered):
    """What is known of a row, and what to ask next."""

    uncertainty: float | None = Field(None, description="of the answer now: entropy in bits, or variance")
    possible: list[Label] | None = Field(None, description="classes that some completion of the row is answered with")
    minimum: float | None = Field(None, description="of a regression: the least value that is still possible")
    maximum: float | None = None
    leaves: int | None = Field(None, description="leaves that a completion of the row may reach")
    ask: str | None = Field(
        None, description="the column to ask for; null where no answers, alone or together, can tell anything"
    )
    candidates: list[Candidate] | None = Field(None, description="all columns without a value, the best first")


class _Of(Answer):
    """Which version answered."""

    model: str
    version: int = Field(ge=1)
    task: Literal["classification", "regression"]
    classes: list[Label] | None = None


class _OfRows(_Of):
    ignored_columns: list[str] | None = Field(None, description="sent, but none of the model's; at most 100 are named")
    ignored_columns_total: int | None = None
    absent_columns: list[str] | None = Field(None, description="the model's, but not sent; they count as missing")
    absent_columns_total: int | None = None
    summary: Summary


class Counterfactuals(_OfRows):
    """The rows in their order."""

    decision: dict[str, Any] | None = Field(None, description="by what labels were decided, if the request said")
    rows: list[CounterfactualsOfRow]


class Questions(_OfRows):
    """The rows in their order."""

    decision: dict[str, Any] | None = Field(None, description="by what labels were decided, if the request said")
    rows: list[QuestionOfRow]


class Importance(Answer):
    """How much a column matters."""

    column: str
    importance: float = Field(
        description="by impurity its share of the decrease, all sum to 1; by permutation how much the metric "
        "worsens, in its own unit: below 0 where it becomes better"
    )
    standard_error: float | None = Field(
        None, description="by permutation: of the mean over the repeats; null for a single one"
    )


class Importances(_Of):
    """The columns in the model's order, and how they were measured."""

    kind: Literal["impurity", "permutation"]
    metric: str | None = None
    repeats: int | None = None
    seed: int | None = None
    dataset: JudgedDataset | None = None
    n_rows: int | None = Field(None, description="rows by which the model was judged: with a target and a weight")
    importances: list[Importance]
