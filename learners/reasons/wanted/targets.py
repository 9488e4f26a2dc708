"""The answer that is wanted: a class, or a number within a range; and which answers of a model are it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from learners.base import Classifier, Learner
from learners.decisions import decide, expected_utility
from learners.errors import ParameterError, SchemaError, quoted
from learners.table import UNSEEN, Column, Table
from learners.types import BoolArray, FloatArray, Scalar


@dataclass(frozen=True)
class WantedClass:
    """A class that shall be decided for.

    Attributes:
        column: the target.
        code: of the class.
        utility: what the model decides by, shape (K, K); None for the likeliest class.
    """

    column: Column
    code: int
    utility: FloatArray | None

    def holds(self, answers: FloatArray) -> BoolArray:
        """Which answers, shape (n, K), are it."""
        held: BoolArray = decide(answers, self.utility) == self.code
        return held

    def answer(self, answers: FloatArray) -> Scalar:
        """The label of one answer, shape (K,)."""
        label: Scalar = self.column.labels[int(decide(answers[None], self.utility)[0])]
        return label

    def margins(self, answers: FloatArray) -> FloatArray:
        """By how much the class is worth more than each other one, shape (n, K - 1): none is below 0 but by ties."""
        worth = expected_utility(answers, self.utility)
        return np.delete(worth[:, self.code, None] - worth, self.code, axis=1)


@dataclass(frozen=True)
class WantedRange:
    """A number that shall lie from ``least`` to ``greatest``, both inclusive."""

    least: float
    greatest: float

    def holds(self, answers: FloatArray) -> BoolArray:
        held: BoolArray = (answers[:, 0] >= self.least) & (answers[:, 0] <= self.greatest)
        return held

    def margins(self, answers: FloatArray) -> FloatArray:
        """How far a number is within each bound, shape (n, number of bounds); below 0 beyond it."""
        within = [answers[:, 0] - self.least, self.greatest - answers[:, 0]]
        return np.column_stack(
            [one for one, bound in zip(within, (self.least, self.greatest), strict=True) if np.isfinite(bound)]
        )

    def answer(self, answers: FloatArray) -> Scalar:
        return float(answers[0])


Target: TypeAlias = WantedClass | WantedRange


def target_of(learner: Learner, wanted: Any) -> Target:
    """What a caller wants of a model.

    Args:
        learner: fitted.
        wanted: a class label, or (least, greatest) of a regression, either of them None.

    Raises:
        ParameterError: the model has no such class, or the range is none.
    """
    column = learner.target_
    if isinstance(learner, Classifier):
        return WantedClass(column, _class_code(column, wanted), learner.utility_)
    if not isinstance(wanted, tuple) or len(wanted) != 2 or wanted == (None, None):
        raise ParameterError(
            f"of a regression a range is wanted: a minimum, a maximum or both; not {quoted(wanted)}", field="wanted"
        )
    try:
        low = -np.inf if wanted[0] is None else column.encode(wanted[0])
        high = np.inf if wanted[1] is None else column.encode(wanted[1])
    except SchemaError as error:
        raise ParameterError(f"the bounds of what is wanted are numbers: {error}", field="wanted") from None
    if low > high:
        raise ParameterError("the wanted range is empty: its minimum is above its maximum", field="wanted")
    return WantedRange(float(low), float(high))


def _class_code(column: Column, wanted: Any) -> int:
    if not isinstance(wanted, str | int | float | np.generic):
        raise ParameterError(f"of a classifier a class is wanted, not {quoted(wanted)}", field="wanted")
    try:
        code = int(column.encode(wanted))  # type: ignore[arg-type]
    except SchemaError:
        code = int(UNSEEN)
    if code == UNSEEN:
        shown = ", ".join(column.levels[:20]) + (", ..." if len(column.levels) > 20 else "")
        raise ParameterError(f"the model has no class {quoted(wanted)}; it has {shown}", field="wanted")
    return code


def answers_of(learner: Learner, table: Table) -> FloatArray:
    """The model's answers: class probabilities, shape (n, K), or numbers, shape (n, 1)."""
    if isinstance(learner, Classifier):
        return learner.predict_proba(table)
    return np.asarray(learner.predict(table), dtype=np.float64).reshape(-1, 1)
