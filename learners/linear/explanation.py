"""Why a linear model answered as it did: what each attribute adds to the linear predictor, and the link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from learners.attribute_contribution import AttributeContribution
from learners.conditions import scalar_text
from learners.link import Link, spread
from learners.table import number_text
from learners.types import FloatArray, Scalar


@dataclass(frozen=True)
class LinearPredictor:
    """One linear function of a row: the intercept and the contributions, added in their order, are its value.

    Attributes:
        label: the class that it is the score of; ``None`` of a regression.
        intercept: the value where all numbers are at their training means and all levels the reference.
        contributions: of the columns that the function uses, in the model's order.
    """

    label: Scalar | None
    intercept: float
    contributions: tuple[AttributeContribution, ...]

    @property
    def value(self) -> float:
        total = self.intercept
        for one in self.contributions:
            total += one.amount
        return total

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {} if self.label is None else {"label": self.label}
        return record | {
            "intercept": self.intercept,
            "contributions": [one.to_json() for one in self.contributions],
            "sum": self.value,
        }


@dataclass(frozen=True)
class ContributionExplanation:
    """The linear predictors of a row, and how the answer follows from them.

    Attributes:
        predictors: of a regression one; of two classes that of the second; of more one each.
        link: ``identity``; ``logistic``, 1 / (1 + exp(-sum)) is the second class's probability; or ``softmax``.
        labels: all classes of the target, empty for a regression.
        present: places of those that occurred in training; others have probability 0.
    """

    predictors: tuple[LinearPredictor, ...]
    link: Link
    labels: tuple[Scalar, ...] = ()
    present: tuple[int, ...] = ()
    kind: Literal["contributions"] = "contributions"

    @property
    def n_tests(self) -> int:
        """Number of contributions: the explanation's length."""
        return sum(len(one.contributions) for one in self.predictors)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "link": self.link, "predictors": [one.to_json() for one in self.predictors]}

    def text(self) -> str:
        """One line a predictor, the largest contributions first."""
        lines = []
        for one in self.predictors:
            ordered = sorted(one.contributions, key=lambda part: -abs(part.amount))
            parts = " ".join([number_text(one.intercept), *(part.text() for part in ordered)])
            label = "" if one.label is None else f"{scalar_text(one.label)}: "
            lines.append(f"{label}{parts} = {one.value:.6g}")
        return "\n".join(lines) or f"always {scalar_text(self.labels[self.present[0]])}"

    def replayed(self) -> FloatArray:
        """The answer by the predictors alone: class probabilities, shape (K,), or the value, shape ()."""
        values = np.array([one.value for one in self.predictors])
        if self.link == "identity":
            return np.asarray(values[0])
        found: FloatArray = spread(values[:, None], self.present, len(self.labels))[0]
        return found
