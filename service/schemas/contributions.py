"""Wire types of what attributes add to the answer of a linear model or a network, and of coefficients."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from service.schemas.base import Answer

_Value = StrictBool | StrictInt | StrictFloat | StrictStr


class AttributeContribution(Answer):
    """What one column adds."""

    column: str
    observed: _Value | list[float] | list[list[float]] | None = Field(
        description="the row's value, of an unseen level as it was sent; null where missing"
    )
    state: Literal["known", "missing", "unseen", "bounded"] = Field(
        description="a missing value counts as the training mean, and adds what the indicator of missing values does; "
        "an unseen level, which one is too that no training row had, counts as the mean; what a value adds beyond "
        "1e300, as powers of huge numbers would, counts as 1e300 and is `bounded`"
    )
    contribution: float
    steps: list[float] | None = Field(
        None, description="of a sequence or text that a network goes through step by step: what each step adds"
    )


class LinearPredictor(Answer):
    """A linear function of the row: intercept and contributions, added in their order, are `sum` to the bit."""

    label: _Value | None = Field(None, description="of a classifier: the class that it is the score of")
    intercept: float = Field(description="where all numbers are at their training means, all levels the reference")
    contributions: list[AttributeContribution]
    sum: float


class AttributedScore(Answer):
    """A score of a network: baseline, contributions and gap, added in their order, are `score`."""

    label: _Value | None = Field(None, description="of a classifier: the class that it is the score of")
    baseline: float = Field(description="the score of a row of training means")
    contributions: list[AttributeContribution] = Field(
        description="by integrated gradients along the straight way from the baseline to the row"
    )
    gap: float = Field(
        description="what the contributions are incomplete by: at most 1e-6, or that share of score less baseline, in "
        "the scale of the outputs (of numbers: standard deviations of the training target), where `complete` is true"
    )
    complete: bool = Field(
        description="false where the way has more kinks than are looked for, or contributions so much larger than the "
        "score that it goes under in their sum: they then do not account for the score"
    )
    score: float


class ReconstructedColumn(Answer):
    """One column of a row and of what comes back of it."""

    column: str
    observed: _Value | None = Field(
        description="the row's value, of an unseen level as it was sent; null where missing"
    )
    state: Literal["known", "missing", "unseen"]
    reconstructed: _Value | None = Field(description="null of a column of which training knew no value")
    error: float = Field(description="the squares of what its inputs differ by, divided by the number of all inputs")


class Coefficient(Answer):
    """A coefficient of a linear function in the units of the data; what has no standard error has null."""

    label: _Value | None = Field(None, description="of a classifier: the class that the function is the score of")
    variable: str = Field(description="what it is multiplied by, in words")
    kind: Literal["intercept", "number", "power", "level", "missing"]
    column: str | None = None
    level: _Value | None = Field(None, description="of an indicator: the level for which it is 1")
    reference: _Value | None = Field(None, description="the column's level for which all indicators are 0")
    power: int | None = None
    centre: float | None = Field(None, description="of powers: the variable is ((value - centre) / unit) ^ power")
    unit: float | None = None
    estimate: float
    standard_error: float | None = Field(
        description="deviation of the estimate in repeated samples, of a ridge about what it estimates, which is "
        "nearer to 0 than the truth; null where there is none: with a penalty that leaves variables out (lasso, "
        "elastic-net) or `class_weight`, where no degree of freedom is left, of a variable that follows from others, "
        "and of very many coefficients of classes"
    )
    t: float | None = Field(
        description="estimate divided by standard error; with p-value and interval null under a penalty, too, see "
        "`without_intervals`"
    )
    p_value: float | None = Field(
        description="two-sided, of t under the hypothesis of 0: Student's t, for a classifier the normal distribution"
    )
    low: float | None = Field(description="of the confidence interval")
    high: float | None


class TriedFit(Answer):
    """A strength and degree that was judged by rows left out."""

    alpha: float
    degree: int
    loss: float | None = Field(
        description="mean squared error, or nats of cross-entropy, on the rows left out; null where some row alone "
        "tells a coefficient, so that it cannot be left out"
    )
    standard_error: float | None
    chosen: bool


class Coefficients(Answer):
    """A linear model's coefficients, its fit to the training rows, and what was tried to choose it."""

    model: str
    version: int = Field(ge=1)
    task: Literal["classification", "regression"]
    classes: list[_Value] | None = None
    link: Literal["identity", "logistic", "softmax"]
    alpha: float = Field(
        description="strength of the penalty; 0 without, but for separable classes, which get a ridge and a warning"
    )
    degree: int
    level: float = Field(description="of the confidence intervals")
    without_intervals: str | None = Field(
        description="why no coefficient has a t, p-value and interval: these are of estimates without penalty; null "
        "where they have, but for coefficients without standard error"
    )
    formula: str
    coefficients: list[Coefficient]
    statistics: dict[str, float | None]
    warnings: list[str] = Field(description="what was done otherwise than asked")
    tried: list[TriedFit] | None = Field(None, description="null where nothing was to be chosen")
