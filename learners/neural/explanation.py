"""Why a network answered as it did: what each attribute adds to its scores, on the way from the mean of training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from learners.attribute_contribution import AttributeContribution
from learners.conditions import scalar_text
from learners.neural.targets import Link, class_probabilities
from learners.table import number_text
from learners.types import FloatArray, Scalar


@dataclass(frozen=True)
class AttributedScore:
    """One score of a row: that of the baseline, the contributions and the gap, added in this order.

    Attributes:
        label: the class that it is the score of; ``None`` of a number.
        baseline: the score of a row of training means.
        contributions: of the columns that have inputs, by integrated gradients
            (:mod:`learners.neural.attributing`), in the model's order.
        gap: what these are incomplete by.
        complete: whether the gap is none to speak of, see :class:`learners.neural.attributing.Attributions`.
    """

    label: Scalar | None
    baseline: float
    contributions: tuple[AttributeContribution, ...]
    gap: float
    complete: bool = True

    @property
    def value(self) -> float:
        """The score."""
        total = self.baseline
        for one in self.contributions:
            total += one.amount
        return total + self.gap

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {} if self.label is None else {"label": self.label}
        return record | {
            "baseline": self.baseline,
            "contributions": [one.to_json() for one in self.contributions],
            "gap": self.gap,
            "complete": self.complete,
            "score": self.value,
        }


@dataclass(frozen=True)
class AttributionExplanation:
    """The scores of a row's output units, and how the answer follows from them.

    Attributes:
        scores: of a regression one, the answer itself; of two classes that of the one which the unit stands for; of
            more one each.
        link: ``identity``; ``logistic``, 1 / (1 + exp(-score)) is that class's probability; ``softmax``; or
            ``sigmoids``, a logistic function of each score, divided by their sum.
        labels: all classes of the target, empty for a regression.
        present: places of those that occurred in training, in the order of the units; others have probability 0.
    """

    scores: tuple[AttributedScore, ...]
    link: Link
    labels: tuple[Scalar, ...] = ()
    present: tuple[int, ...] = ()
    kind: Literal["attributions"] = "attributions"

    @property
    def n_tests(self) -> int:
        """Number of contributions: the explanation's length."""
        return sum(len(one.contributions) for one in self.scores)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "link": self.link, "scores": [one.to_json() for one in self.scores]}

    def text(self) -> str:
        """One line a score, the largest contributions first."""
        lines = []
        for one in self.scores:
            ordered = sorted(one.contributions, key=lambda part: -abs(part.amount))
            parts = " ".join([number_text(one.baseline), *(part.text() for part in ordered)])
            label = "" if one.label is None else f"{scalar_text(one.label)}: "
            gap = f"gap {one.gap:.1g}" + ("" if one.complete else ": the contributions are incomplete")
            lines.append(f"{label}{parts} = {one.value:.6g} ({gap})")
        return "\n".join(lines)

    def replayed(self) -> FloatArray:
        """The answer by the scores alone: class probabilities, shape (K,), or the value, shape ()."""
        values = np.array([[one.value] for one in self.scores])
        if self.link == "identity":
            return np.asarray(values[0, 0])
        found: FloatArray = class_probabilities(values, self.link, self.present, len(self.labels))[0]
        return found
