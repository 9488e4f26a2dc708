"""The mean or the median of the nearest rows' numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from learners.base import Capabilities, Progress, Regressor, check_training, check_weights, no_progress, target_numbers
from learners.errors import ParameterError, quoted
from learners.explanation import Bounds
from learners.neighbors.electorate import Electorate
from learners.neighbors.estimator import MAX_TOLD, NeighborsEstimator
from learners.neighbors.explanation import NeighbourExplanation, Omitted
from learners.neighbors.fitting import fit_rows
from learners.neighbors.intervals import number_interval
from learners.neighbors.left_out import is_exact, left_out_answers
from learners.neighbors.notes import told_of_rows
from learners.neighbors.search.found import Found
from learners.neighbors.training_rows import Rows
from learners.neighbors.voting import mean_of, mean_of_equals, median_of, median_of_equals
from learners.params import choice, learner
from learners.table import OPEN_KINDS
from learners.types import FloatArray


@learner
class NumbersOfNeighbors(NeighborsEstimator, Regressor):
    """What the learners of numbers by neighbours share."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Keep the training rows; see :meth:`learners.base.Learner.fit`."""
        self.check_params()
        self.check_together()
        table, target = check_training(X, y, classification=False, opened=OPEN_KINDS)
        target_numbers(target)  # else refused
        weights = check_weights(sample_weight, table.n_rows)
        rows = Rows.of(table, target, weights)
        fitted = fit_rows(self, rows, progress)
        self._learned(X, table, target.column, fitted)
        progress(1.0, told_of_rows(self))
        return self

    def predict(self, X: Any) -> FloatArray:
        """The answer of each row's neighbours, shape (n,)."""
        self.check_fitted()
        return self._answers(X)[:, 0]

    def predict_intervals(self, X: Any, level: float | None = None) -> list[Bounds | None]:
        """By the spread of the neighbours' numbers, see :meth:`learners.base.Regressor.predict_intervals`.

        ``None`` where it tells nothing, as of one neighbour; ``interval_level`` is the level of reasons.
        """
        self.check_fitted()
        asked = float(self.interval_level) if level is None else level
        if not 0 < asked < 1:
            raise ParameterError(f"level must be a number > 0 and < 1; it is {quoted(asked)}", field="level")
        points, index = self._asked(X)
        found: list[Bounds | None] = []
        for place, electorate in self._voters(index, points):
            part = points[place]
            answers = self._answer(part, electorate)[:, 0].tolist()
            found += [self._bounds(part[row], electorate, row, answer, asked) for row, answer in enumerate(answers)]
        return found

    @property
    def _n_answers(self) -> int:
        return 1

    def _label(self, number: float) -> Any:
        return self.target_.decode(number)

    def _bounds(
        self, point: FloatArray, electorate: Electorate, row: int, answer: float, level: float
    ) -> Bounds | None:
        return number_interval(answer, electorate.votes[row], electorate.numbers[row], level)


@learner
class NearestNeighborsRegressor(NumbersOfNeighbors):
    """Answers with the mean or the median of the nearest training rows' numbers, weighted by their votes."""

    name: ClassVar[str] = "nearest-neighbors-regressor"
    summary: ClassVar[str] = "Estimates a number by those of the nearest training rows; each answer names the rows."
    capabilities: ClassVar[Capabilities] = Capabilities(
        task="regression",
        explanations=("neighbours",),
        missing=True,
        categories=True,
        texts=True,
        sequences=True,
        intervals=True,
        row_order_matters=True,  # of equally distant rows the first counts first
    )

    answer: str = choice(
        "mean",
        ("mean", "median"),
        "What is made of the neighbours' numbers: their mean by votes, or their median (the middle of two where half "
        "of the votes lies on either side).",
        only_with={"voters": ("nearest",)},
    )

    @property
    def leaves_one_out(self) -> bool:
        """Whether, by its parameters, :meth:`leave_one_out` knows a way that is exact."""
        return is_exact(self)

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> FloatArray | None:
        """See :class:`learners.evaluation.leaving_out.LeavesOneOut`."""
        found = left_out_answers(self, X, y, sample_weight)
        return None if found is None else found[:, 0]

    def _answer(self, points: FloatArray, electorate: Electorate) -> FloatArray:
        combine = median_of if self.answer == "median" else mean_of
        return combine(electorate.votes, electorate.numbers)[:, None]

    def answer_from(self, place: Sequence[float] | FloatArray, found: Found) -> list[float]:
        if self.kernel != "uniform":
            return super().answer_from(place, found)
        combine = median_of_equals if self.answer == "median" else mean_of_equals
        return [combine(self.numbers_[found.rows[0]].tolist())]

    def _explained(
        self, point: FloatArray, electorate: Electorate, row: int, answer: FloatArray
    ) -> NeighbourExplanation:
        votes, value = electorate.votes[row], float(answer[0])
        is_median = self.answer == "median"
        told, voting = self._told(point, electorate, row, votes, len(votes) if is_median else MAX_TOLD)
        rest, omitted = voting[len(told) :], None
        if len(rest):
            numbers = electorate.numbers[row, rest]
            omitted = Omitted(len(rest), float(votes[rest].sum()), value=float((votes[rest] * numbers).sum()))
        bounds = self._bounds(point, electorate, row, value, float(self.interval_level))
        return NeighbourExplanation(
            told, "median" if is_median else "mean", value=value, omitted=omitted, interval=bounds
        )
