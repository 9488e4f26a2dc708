"""Wire types of predictions, as the OpenAPI document shows them.

Bodies are read and answers written by :mod:`service.operations`, which is many times faster than
going through these types; tests hold both against each other.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, WithJsonSchema

from service.schemas.base import Answer, ProblemFault
from service.schemas.contributions import AttributedScore, LinearPredictor, ReconstructedColumn
from service.schemas.ensembles import ColumnVotes, MemberVote
from service.schemas.linear import LinearReason
from service.schemas.neighbours import NeighbourInterval, NeighbourReason, OmittedNeighbours

Cell = StrictBool | StrictInt | StrictFloat | StrictStr | None
Label = StrictBool | StrictInt | StrictFloat | StrictStr


class RowOptions(BaseModel):
    """How rows are taken."""

    model_config = ConfigDict(extra="forbid")

    unseen: Literal["reject", "missing", "other"] = Field(
        "other",
        description="a level that the model does not know: its row is an error, it counts as missing, or it takes "
        "the branch of all other levels where a test has one (else it counts as missing)",
    )
    missing: Literal["as-model", "fractional", "most-likely", "reject"] = Field(
        "as-model",
        description="answer as the model was trained to; or, of trees that did not learn missing as a value of its "
        "own, follow every branch with its weight, or the one that most training rows took; or make the row an error",
    )
    strict: StrictBool = Field(False, description="extra and absent columns are errors")


_UTILITIES = {
    "anyOf": [
        {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": "number"}}},
        {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
    ],
    "description": "by the decided class, then by the true one: objects by label, in which pairs that are not named "
    "have 0, or arrays in the order of `classes`",
}
_THRESHOLD = {
    "type": "object",
    "description": "of two classes: `class` is decided where its probability is >= `at` (within 1e-12), else the other",
    "properties": {
        "class": {"type": ["string", "number", "boolean"]},
        "at": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["class", "at"],
    "additionalProperties": False,
}
#: Checked against the model's classes, see :mod:`service.operations.decision`.
Decision = Annotated[
    Any,
    WithJsonSchema(
        {
            "type": ["object", "null"],
            "properties": {"utility": _UTILITIES, "costs": _UTILITIES, "threshold": _THRESHOLD},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 1,
        }
    ),
]


class _Options(RowOptions):
    """What may be asked beside the rows."""

    explain: StrictBool = Field(False, description="add the exact reason to each answer")
    interval: StrictBool = Field(
        False,
        description="add to each number where a further one like it should lie; of learners with `intervals` (GET "
        "/learners)",
    )
    decision: Decision = Field(
        None,
        description="of a classifier: decide by this instead of by what the model was trained with; probabilities stay",
    )


class NamedRows(_Options):
    """Rows as objects by column name."""

    rows: list[dict[str, Cell]] = Field(description="in any order of names; `null` is missing")


class Matrix(_Options):
    """Rows as arrays under column names that are given once."""

    columns: list[StrictStr] = Field(description="names in the order of the values, all different")
    data: list[list[Cell]] = Field(description="one array a row; `null` is missing")


class RowError(Answer):
    """Why a row has no answer."""

    title: str
    errors: list[ProblemFault]
    errors_total: int


class RowWarning(Answer):
    """What had to be assumed of a row."""

    kind: Literal["unseen", "missing"]
    column: str | None = Field(None, description="of an unseen level")
    value: Cell = Field(None, description="the unseen level")
    treated_as: Literal["missing", "other", "fractional", "most-likely"] | None = None
    columns: list[str] | None = Field(None, description="those without a value: sent empty, or not at all")


class Summary(Answer):
    """How many rows were sent, and how many have no answer."""

    rows: int = Field(ge=0)
    failed: int = Field(ge=0)


class Prediction(Answer):
    """The answer for one row: a label with its probabilities, or a value; or an error."""

    row: int = Field(ge=0, description="0-based position among the rows sent")
    label: Label | None = Field(None, description="of a classifier, in its own type")
    model_label: Label | None = Field(
        None, description="what the model decides by itself, where the request's decision is another"
    )
    probabilities: list[float] | None = Field(None, description="in the order of `classes`")
    value: float | None = Field(None, description="of a regression")
    interval: NeighbourInterval | None = Field(
        None, description="of `value`, if asked for: the one that the reason tells; null where nothing tells it"
    )
    warnings: list[RowWarning] | None = None
    explanation: dict[str, Any] | None = Field(None, description="the reason; see the explanations route")
    error: RowError | None = None


class _Answers(Answer):
    """What every answer says besides its rows."""

    model: str
    version: int = Field(ge=1, description="the version that answered")
    task: Literal["classification", "regression"]
    classes: list[Label] | None = Field(None, description="the labels, in the order of all probabilities")
    decision: dict[str, Any] | None = Field(None, description="by what labels were decided, if the request said")
    ignored_columns: list[str] | None = Field(None, description="sent, but none of the model's; at most 100 are named")
    ignored_columns_total: int | None = None
    absent_columns: list[str] | None = Field(None, description="the model's, but not sent; they count as missing")
    absent_columns_total: int | None = None
    summary: Summary


class Predictions(_Answers):
    """The answers, in the order of the rows."""

    predictions: list[Prediction]


class Weight(Answer):
    """A column of a weighted sum."""

    column: str
    weight: float


class Condition(Answer):
    """One test, in the form in which the branch satisfies it. Thresholds are exact.

    Of one column; or of a weighted sum of columns (`weights`, added up in their order) against a threshold; or
    whether `at least` or `fewer than` so many (`count`) of some `conditions` hold.
    """

    column: str | None = Field(None, description="absent of tests of several values")
    operator: Literal["<=", ">", "in", "not in", "interval", "at least", "fewer than"]
    threshold: Label | None = None
    low: Label | None = None
    high: Label | None = None
    values: list[Label] | None = None
    weights: list[Weight] | None = Field(None, description="of a weighted sum")
    count: int | None = Field(None, description="of `at least` and `fewer than`")
    conditions: list[Condition] | None = Field(None, description="those that are counted, each of one column")
    text: str


class Step(Answer):
    """One test met on the way down."""

    node: int
    condition: Condition
    observed: Cell = Field(
        description="the row's value, of an unseen level as it was sent; of a weighted sum the sum, of a count how "
        "many conditions hold, of an interval and its opposite the value; null where missing"
    )
    state: Literal["known", "missing", "unseen"]
    child: int
    weight: float = Field(description="share of the row that follows this branch")


class Share(Answer):
    """A class's share of a leaf."""

    label: Label
    share: float


class Branch(Answer):
    """One way from the root to a leaf that some share of the row follows."""

    leaf: int
    weight: float
    steps: list[Step]
    rows: int = Field(description="training rows in the leaf")
    training_weight: float
    distribution: list[Share] | None = None
    value: float | None = None
    linear: LinearReason | None = Field(None, description="of a model tree: how `value` comes about")


class Omitted(Answer):
    """Branches that are not given because there are too many: the lightest ones."""

    branches: int
    weight: float


class Judgement(Answer):
    """A condition of a rule with the row's value."""

    condition: Condition
    observed: Cell = Field(description="the row's value, of an unseen level as it was sent; null where missing")
    state: Literal["known", "missing", "unseen"]


class FailedRule(Answer):
    """A rule that was asked before the one that answered."""

    rank: int
    rule: str = Field(description="its id")
    failed: Judgement = Field(description="its first condition that does not hold")


class MemberPath(Answer):
    """The way of the row through one member's tree."""

    member: int
    kind: Literal["path"]
    branches: list[Branch]
    omitted: Omitted | None = None


class Reason(Answer):
    """The fields of all reasons but votes."""

    kind: (
        Literal["path", "rule", "neighbours", "contributions", "attributions", "reconstruction", "votes", "additive"]
        | None
    ) = None
    branches: list[Branch] | None = None
    omitted: Omitted | None = None
    rank: int | None = Field(None, description="the rule's place, from 1 on")
    rule: str | None = Field(None, description="the rule's id")
    default: bool | None = Field(None, description="whether no rule covers the row, so that the default answered")
    answer: Label | None = None
    conditions: list[Judgement] | None = Field(None, description="the rule's conditions, all of which hold")
    rows: int | None = Field(None, description="training rows that the rule covers; of the default: that no rule does")
    support: float | None = Field(None, description="their weight")
    confidence: float | None = Field(
        None, description="the answer's probability, a Laplace estimate: not a share of the rows, see `counts`"
    )
    distribution: list[Share] | None = Field(
        None, description="of a rule the class probabilities, Laplace estimates: (count + 1) / (support + classes)"
    )
    counts: list[float] | None = Field(
        None, description="weight of the training rows that the rule covers by class, in the order of `distribution`"
    )
    failed: list[FailedRule] | None = Field(None, description="rules asked before; of many the first")
    omitted_failed: int | None = Field(None, description="rules asked before that are not given")
    undecided: int | None = Field(None, description="rules asked before that failed on a missing or unseen value")
    neighbours: list[NeighbourReason] | None = None
    by: Literal["share", "mean", "median", "linear"] | None = Field(
        None,
        description="of neighbours: votes are added up by label, the mean or the median of numbers is taken, or votes "
        "times numbers are added up",
    )
    omitted_neighbours: OmittedNeighbours | None = None
    interval: NeighbourInterval | None = Field(None, description="of neighbours; null where they do not tell")
    link: Literal["identity", "logistic", "softmax", "sigmoids"] | None = Field(
        None,
        description="how the answer follows from `predictors` or `scores`: it is the sum; the class that has one has "
        "1 / (1 + exp(-sum)), the other the rest; each class has exp(sum), or 1 / (1 + exp(-sum)), divided by all of "
        "these, and where several of the latter are 1 the class with the largest sum is decided for",
    )
    predictors: list[LinearPredictor] | None = Field(None, description="linear functions of the row")
    scores: list[AttributedScore] | None = Field(None, description="of a network")
    code: list[float] | None = Field(None, description="of an autoencoder: what the units of the middle layer say")
    reconstructed: list[ReconstructedColumn] | None = Field(
        None, description="of an autoencoder; the errors added up are the answer"
    )


class MemberReason(Reason):
    """Why one member that is another learner than a tree of the ensemble's own votes as it does, by its own kind."""

    member: int


class Explanation(Prediction, Reason):
    """The reason of one answer, `kind` tells its form.

    A `path` has the branches that the row followed; a `rule` the first rule that covers the row; `neighbours` the
    training rows that voted, the nearest first; `contributions` what each column adds to a linear model's answer;
    `attributions` what each column adds to a network's scores; `reconstruction` an autoencoder's code and what comes
    back; `votes` every member's vote and the paths or reasons of a few; `additive` what each column adds to the votes.
    """

    interval: NeighbourInterval | None = Field(None, description="of neighbours; null where they do not tell")
    votes: list[MemberVote] | None = None
    paths: list[MemberPath] | None = Field(None, description="of the members that the answer owes most")
    reasons: list[MemberReason] | None = Field(None, description="the same of members that are other learners")
    against: Label | None = Field(None, description="of additive reasons: the class with the next most votes")
    margin: float | None = Field(None, description="the answer's share of all votes less that of `against`")
    weight: float | None = Field(None, description="of all votes: the sum of the members' log odds to be right")
    columns: list[ColumnVotes] | None = Field(None, description="of additive reasons, the largest margin first")


class Explanations(_Answers):
    """The reasons, in the order of the rows."""

    explanations: list[Explanation]
