"""The class of the nearest rows."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from learners.base import Capabilities, Classifier, ModelState, Progress, no_progress
from learners.explanation import labelled
from learners.neighbors.condensing import reduced
from learners.neighbors.electorate import Electorate
from learners.neighbors.estimator import MAX_TOLD, NeighborsEstimator
from learners.neighbors.explanation import NeighbourExplanation, Omitted
from learners.neighbors.fitting import fit_rows
from learners.neighbors.intervals import share_interval
from learners.neighbors.left_out import is_exact, left_out_answers
from learners.neighbors.notes import told_of_rows
from learners.neighbors.training_rows import Rows
from learners.neighbors.voting import class_shares
from learners.params import choice, learner
from learners.table import OPEN_KINDS
from learners.types import FloatArray


@learner
class NearestNeighborsClassifier(NeighborsEstimator, Classifier):
    """Answers with the classes of the nearest training rows: k-NN, and 1-NN with k = 1.

    A class's probability is the sum of the votes for it (see :mod:`learners.neighbors.voting`), without kernel the
    share of the k nearest rows; of equally likely classes the first in ``classes_`` is decided for.
    """

    name: ClassVar[str] = "nearest-neighbors-classifier"
    summary: ClassVar[str] = "Decides by the classes of the nearest training rows; each answer names those that voted."
    capabilities: ClassVar[Capabilities] = Capabilities(
        task="classification",
        explanations=("neighbours",),
        missing=True,
        categories=True,
        texts=True,
        sequences=True,
        row_order_matters=True,  # of equally distant rows the first counts first
    )

    reduction: str = choice(
        "none",
        ("none", "condensed", "edited", "edited-condensed"),
        "Which training rows are kept: all; only those that 1-NN needs to answer all of them as before (Hart 1968); "
        "all but those that their 3 nearest others contradict (Wilson 1972); or the condensed ones of these.",
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Keep the training rows; see :meth:`learners.base.Learner.fit`."""
        table, target, weights = self._training_rows(X, y, sample_weight, opened=OPEN_KINDS)
        rows = Rows.of(table, target, weights)
        fitted = fit_rows(self, rows, progress, reduced)
        self._learned(X, table, target.column, fitted)
        self.classes_ = _labels_array(self.target_.labels, is_text=target.column.level_type == "text")
        progress(1.0, told_of_rows(self))
        return self

    @property
    def leaves_one_out(self) -> bool:
        """Whether, by its parameters, :meth:`leave_one_out` knows a way that is exact."""
        return is_exact(self)

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> FloatArray | None:
        """See :class:`learners.evaluation.leaving_out.LeavesOneOut`."""
        return left_out_answers(self, X, y, sample_weight)

    def predict_proba(self, X: Any) -> FloatArray:
        """Shares of the votes by class, shape (n, K)."""
        self.check_fitted()
        return self._answers(X)

    @property
    def _n_answers(self) -> int:
        return len(self.target_.levels)

    def _answer(self, points: FloatArray, electorate: Electorate) -> FloatArray:
        return class_shares(electorate.votes, electorate.numbers.astype(np.int64), electorate.n_classes)

    def _label(self, number: float) -> Any:
        return self.target_.labels[int(number)]

    def _explained(
        self, point: FloatArray, electorate: Electorate, row: int, answer: FloatArray
    ) -> NeighbourExplanation:
        votes = electorate.votes[row]
        told, voting = self._told(point, electorate, row, votes, MAX_TOLD)
        rest, omitted = voting[len(told) :], None
        if len(rest):
            codes = electorate.numbers[row, rest].astype(np.int64)
            sums = np.bincount(codes, weights=votes[rest], minlength=self._n_answers)
            shares = labelled(self.target_.labels, sums.tolist())
            omitted = Omitted(len(rest), float(votes[rest].sum()), distribution=shares)
        decided = int(self.decide(answer[None])[0])
        return NeighbourExplanation(
            told,
            "share",
            distribution=labelled(self.target_.labels, answer.tolist()),
            omitted=omitted,
            interval=share_interval(float(answer[decided]), votes, float(self.interval_level)),
        )

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made: Self = super().from_state(state)
        made.classes_ = _labels_array(made.target_.labels, is_text=made.target_.level_type == "text")
        return made


def _labels_array(labels: tuple[Any, ...], *, is_text: bool) -> Any:
    return np.array(labels, dtype=object) if is_text else np.array(labels)
