"""Wire types of jobs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from service.schemas.base import Answer, RequestBody, ShortText, Timestamp

JobKind = Literal[
    "train",
    "cross-validate",
    "select",
    "learning-curve",
    "bias-variance",
    "description-length",
    "compare",
    "evaluate",
    "predict",
]
StateName = Literal["queued", "running", "succeeded", "failed", "cancelled"]
_NAME = {"pattern": r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"}
_NAME_RULE = "1 to 128 letters, digits and ._-, the first a letter or digit"
#: The registry checks names, as it can say the rule in words.
ModelName = Annotated[str, Field(json_schema_extra=_NAME, description=_NAME_RULE)]
AliasName = Annotated[str, Field(json_schema_extra=_NAME, description=f"{_NAME_RULE}; not a number and not `latest`")]
ColumnName = Annotated[str, Field(min_length=1, max_length=1000)]
DatasetId = Annotated[str, Field(min_length=1, max_length=64, examples=["ds_0a1b2c3d4e5f6g7h8i9j0k1l2m"])]


Utility = Annotated[
    dict[str, dict[str, float]], Field(max_length=1000, examples=[{"good": {"bad": -5}, "bad": {"good": -1}}])
]


class Evaluation(RequestBody):
    """How the learner is judged on rows it was not fitted on."""

    method: Annotated[
        Literal["k-fold", "hold-out", "leave-one-out", "none"],
        Field(description="with groups, `leave-one-out` leaves out one group"),
    ] = "k-fold"
    folds: Annotated[int, Field(ge=1, le=1000, description="number of folds (k-fold), at least 2 without time")] = 10
    stratified: Annotated[bool, Field(description="keep the shares of the classes alike in all parts")] = True
    fraction: Annotated[float, Field(gt=0, lt=1, description="share of the rows held out (hold-out)")] = 0.25
    repeats: Annotated[
        int, Field(ge=1, le=1000, description="drawings of k-fold or hold-out; folds times repeats are at most 1000")
    ] = 1
    groups: ColumnName | None = Field(
        None, description="a column whose equal values are never parted; not learned from unless `features` names it"
    )
    time: ColumnName | None = Field(
        None,
        description="a numeric or ordinal column: what is tested is later than all that is learned from; "
        "not learned from unless `features` names it",
    )
    utility: Utility | None = Field(
        None, description="what each decision is worth, by decided and true class; adds the metric `mean_utility`"
    )


class Registration(RequestBody):
    """Under which name a trained model is registered."""

    name: ModelName
    aliases: list[AliasName] = Field(
        [], max_length=20, description="moved to the new version, unless a person or a later job moved them meanwhile"
    )
    notes: Annotated[str, Field(max_length=10_000)] = ""
    tags: list[ShortText] = Field([], max_length=50)


class Selection(RequestBody):
    """What `select` looks at, and on which rows the winner is judged that had no part in the choice."""

    method: Annotated[
        Literal["grid", "size"],
        Field(description="`size`: 1, 2, ... until the training error converges (CROSS-VALIDATION-WRAPPER)"),
    ] = "grid"
    grid: dict[str, Annotated[list[Any], Field(max_length=1000)]] | None = Field(
        None,
        max_length=20,
        description="values by parameter; every combination is a candidate (grid)",
        examples=[{"max_depth": [2, 4, 8], "min_leaf": [1, 10]}],
    )
    size: ShortText | None = Field(
        None,
        description="the parameter that is raised: one that says how large a hypothesis is (`x-size` in its schema)",
        examples=["max_leaves"],
    )
    most: Annotated[int, Field(ge=1, le=2000, description="largest size that is looked at (size)")] = 50
    patience: Annotated[
        int,
        Field(ge=1, le=100, description="sizes in a row without gain (size); as many as `most` or more never end it"),
    ] = 3
    tolerance: Annotated[
        float, Field(ge=0, le=1, description="what counts as no gain: a share of the first training error (size)")
    ] = 0.01
    metric: ShortText | None = Field(
        None, description="by which the best is chosen; default `error`, of numbers `mean_squared_error`"
    )
    nested: Annotated[int, Field(ge=2, le=100, description="outer folds, each with a search of its own")] | None = None
    test_fraction: (
        Annotated[
            float, Field(gt=0, lt=1, description="share of the rows locked away to judge the winner on; of `size` 0.25")
        ]
        | None
    ) = None


class ComparedLearner(RequestBody):
    """One of the learners of a comparison."""

    learner: ShortText = Field(description="a name of the catalogue", examples=["decision-tree-classifier"])
    parameters: dict[str, Any] = Field({}, description="the learner's parameters; see GET /learners/{name}")
    name: ShortText | None = Field(
        None,
        description="what it is called in the result; default the learner's name, with its place if there are more",
    )


class Output(RequestBody):
    """How `predict` writes answers and treats rows; of `cross-validate` and `compare` `format` alone."""

    format: Literal["csv", "tsv", "ndjson", "arrow"] = "csv"
    explain: Annotated[bool, Field(description="add the exact reason to each answer")] = False
    interval: Annotated[
        bool, Field(description="add to each number where a further one should lie; see `interval` of predictions")
    ] = False
    unseen: Annotated[
        Literal["reject", "missing", "other"], Field(description="what becomes of a level that the model does not know")
    ] = "other"
    missing: Annotated[
        Literal["as-model", "fractional", "most-likely", "reject"], Field(description="what becomes of a missing value")
    ] = "as-model"
    decision: dict[str, Any] | None = Field(
        None, description="by what labels are decided; see `decision` of predictions", max_length=1
    )


class JobRequest(RequestBody):
    """A piece of work to be done in the background.

    `evaluate` and `predict` need `version`, `compare` needs `learners`, all other kinds `learner`; the target is left
    out for a learner that learns without one.
    """

    kind: JobKind
    dataset: DatasetId
    target: ColumnName | None = Field(
        None, description="the column to be predicted; none for a learner that is not `supervised`"
    )
    learner: ShortText | None = Field(
        None, description="a name of the catalogue", examples=["decision-tree-classifier"]
    )
    parameters: dict[str, Any] = Field({}, description="the learner's parameters; see GET /learners/{name}")
    features: list[ColumnName] | None = Field(None, description="columns to learn from; default all but the target")
    excluded: list[ColumnName] | None = Field(None, description="columns not to learn from")
    weights: ColumnName | None = Field(None, description="a numeric column that holds the weight of each row")
    seed: Annotated[int, Field(ge=0, le=2**53 - 1, description="same seed, same result")] = 0
    evaluation: Evaluation | None = Field(
        None,
        description="default: 10 folds, none for train; of `select` it judges each candidate; of `evaluate` it "
        "holds `utility` alone; not of `description-length`",
    )
    selection: Selection | None = Field(None, description="select only")
    shares: list[Annotated[float, Field(gt=0, le=1)]] | None = Field(
        None, min_length=1, max_length=100, description="learning-curve only: shares of the training rows, ascending"
    )
    rounds: Annotated[int, Field(ge=2, le=2000)] | None = Field(
        None, description="bias-variance only: bootstrap samples of each split's training rows; default 50"
    )
    version: Annotated[str, Field(max_length=300)] | None = Field(
        None, description="evaluate and predict: `name`, `name:3` or `name@alias`", examples=["credit@champion"]
    )
    against: Annotated[str, Field(max_length=300)] | None = Field(
        None, description="evaluate: a second version, compared on the same rows", examples=["credit:1"]
    )
    learners: list[ComparedLearner] | None = Field(
        None, min_length=2, max_length=10, description="compare only: they are judged on the same folds, and in pairs"
    )
    reference: ShortText | None = Field(
        None,
        description="compare: the name of the learner against which all others are compared; without it all pairs of "
        "up to five learners are, and more against the first",
    )
    output: Output | None = Field(
        None,
        description="predict; with it cross-validate and compare keep the answers out of fold (row, fold, actual, "
        "answer, probabilities) to be downloaded",
    )
    model: Registration | None = Field(None, description="train and select; without it nothing is registered")


class JobPart(Answer):
    """The result of one finished part of a job."""

    part: str = Field(examples=["fold-1"])
    result: dict[str, Any]


class Job(Answer):
    """A piece of work and what became of it."""

    id: str = Field(examples=["job_0a1b2c3d4e5f6g7h8i9j0k1l2m"])
    kind: JobKind
    state: StateName
    progress: float = Field(ge=0, le=1)
    message: str = Field(description="what is being done, or what a queued job waits for")
    request: dict[str, Any] = Field(description="the request with every default filled in")
    result: dict[str, Any] | None = Field(
        description="what was found: `evaluation` (metrics with intervals), `selection` (each candidate's metrics, or "
        "its `failure`), `curve`, `decomposition` (bias and variance), `description` (bits), `curves`, `comparison`, "
        "`learners` and `comparisons`, `predictions`, `training_notes` (what the fit chose, found "
        "and warns of beside its parameters), "
        "and `model`, the version that was registered"
    )
    error: dict[str, Any] | None = Field(description="why it failed, naming the column or parameter at fault")
    parts: list[JobPart] = Field(description="results so far; empty in lists")
    retry_of: str | None
    created_at: Timestamp
    started_at: Timestamp | None
    finished_at: Timestamp | None
    links: dict[str, str] = Field(
        description="addresses of the job, its events, its dataset, its model version, its download"
    )
