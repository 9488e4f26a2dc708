"""Permutation importance: how much worse a model answers when one column tells nothing (Breiman 2001).

The cells of one column are shuffled among the rows, which keeps its distribution and breaks its tie
with everything else. Of a model that goes through several sequences step by step, which are equally long in a row,
cells are shuffled among the rows of one length. On rows that the model has not seen this measures what the model owes
to the column; on its training rows also what it has learned by heart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners._pausing import Division, undivided
from learners.base import Classifier, Learner, check_training, check_weights
from learners.errors import DataError, ParameterError, quoted
from learners.evaluation.metrics import classification_metrics, regression_metrics
from learners.neural.recurrent.inputs import row_steps
from learners.table import OPEN_KINDS, Series, Table
from learners.types import FloatArray, IntArray

#: Metrics of which less is better.
LOSSES = frozenset(
    {"error", "log_loss", "brier_score", "mean_absolute_error", "root_mean_squared_error", "relative_absolute_error"}
)
#: Rows that are predicted at once, so that all repeats need not lie in memory together.
_ROWS_AT_ONCE = 200_000


@dataclass(frozen=True)
class PermutationImportance:
    """How much a column matters; in the metric's unit, positive where it helps.

    Attributes:
        mean: over the repeats, how much worse the metric becomes.
        standard_error: of the mean; 0 for a single repeat.
        values: of each repeat.
    """

    column: str
    mean: float
    standard_error: float
    values: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        return {"column": self.column, "mean": self.mean, "standard_error": self.standard_error}


def default_metric(learner: Learner) -> str:
    """By what a model is judged if nobody says."""
    if not learner.capabilities.supervised:
        return "mean_absolute_error"  # of answers that should all be 0, which R^2 says nothing of
    return "accuracy" if isinstance(learner, Classifier) else "r2"


def permutation_importance(
    learner: Learner,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    metric: str | None = None,
    repeats: int = 10,
    seed: int = 0,
    division: Division = undivided,
) -> list[PermutationImportance]:
    """The importance of each column of a fitted model on given rows, in the model's order of columns.

    Args:
        learner: any fitted learner.
        X, y: n rows and their targets.
        sample_weight: (n,), for the metric.
        metric: a name of :data:`learners.evaluation.metrics.MEANINGS`; by default accuracy, or r2 of a regression.
        repeats: shuffles of each column, >= 1.
        seed: same seed, same result; each column's shuffles depend on nothing but it and the column's place.
        division: of the rows that are answered together: those given, and then those of some shuffles.

    Raises:
        ParameterError: the metric is none of the task's, ``repeats`` is less than 1.
        DataError: the metric is undefined on these rows.
    """
    table = learner.check_table(X)
    _, target = check_training(table, y, classification=isinstance(learner, Classifier), opened=OPEN_KINDS)
    judge = _Judge(learner, target, check_weights(sample_weight, table.n_rows), metric, division)
    if repeats < 1:
        raise ParameterError(f"repeats must be a whole number >= 1, not {quoted(repeats)}", field="repeats")
    before = judge.score(judge.answers(table))
    return [_of_column(judge, table, place, before, repeats, seed) for place in range(table.n_columns)]


def _of_column(
    judge: _Judge, table: Table, place: int, before: float, repeats: int, seed: int
) -> PermutationImportance:
    random = np.random.default_rng([seed, place])
    groups = _exchangeable(judge.learner, table, place)
    shuffles = [_shuffled(table.values[:, place], groups, random) for _ in range(repeats)]
    worse = [before - judge.score(answers) for answers in _shuffled_answers(judge, table, place, shuffles)]
    mean = math.fsum(worse) / repeats
    spread = math.fsum((value - mean) ** 2 for value in worse)
    error = math.sqrt(spread / (repeats - 1) / repeats) if repeats > 1 else 0.0
    return PermutationImportance(table.columns[place].name, mean, error, tuple(worse))


def _exchangeable(learner: Learner, table: Table, place: int) -> IntArray | None:
    """Of each row the number of steps that its cell has, where only cells of as many may take its place."""
    column = table.columns[place]
    if not column.is_open or not learner.capabilities.steps or sum(one.is_open for one in table.columns) < 2:
        return None
    return row_steps(Table((column,), table.values[:, [place]]))


def _shuffled(cells: FloatArray, groups: IntArray | None, random: np.random.Generator) -> FloatArray:
    if groups is None:
        return random.permutation(cells)
    made = cells.copy()
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        made[members] = random.permutation(cells[members])
    return made


def _shuffled_answers(judge: _Judge, table: Table, place: int, shuffles: list[FloatArray]) -> Iterator[FloatArray]:
    """The answers to the table with each of the shuffled columns; several tables are predicted in one go."""
    n = table.n_rows
    at_once = max(1, _ROWS_AT_ONCE // max(n, 1))
    for first in range(0, len(shuffles), at_once):
        batch = shuffles[first : first + at_once]
        values = np.asfortranarray(np.tile(table.values, (len(batch), 1)))
        values[:, place] = np.concatenate(batch)
        answers = judge.answers(Table(table.columns, values))
        yield from (answers[start : start + n] for start in range(0, len(values), n))


class _Judge:
    """A model with the metric by which it is judged; more is better."""

    def __init__(
        self, learner: Learner, target: Series, weights: FloatArray, metric: str | None, division: Division
    ) -> None:
        self.learner, self.division = learner, division
        self.classifier = learner if isinstance(learner, Classifier) else None
        self.metric = metric or default_metric(learner)
        self.sign = -1.0 if self.metric in LOSSES else 1.0
        self.weights = weights
        self.actual = target.cells if self.classifier is None else _codes(self.classifier, target)

    def answers(self, table: Table) -> FloatArray:
        parts = [table.values[rows] for rows in self.division(table.n_rows)]
        return np.concatenate([self._answers(Table(table.columns, np.asfortranarray(part))) for part in parts])

    def score(self, answers: FloatArray) -> float:
        if self.classifier is None:
            found = regression_metrics(self.actual, answers, self.weights)
        else:
            found = classification_metrics(self.actual, answers, self.classifier.decide(answers), self.weights)
        if self.metric not in found:
            raise ParameterError(f"metric must be one of {', '.join(found)}, not {quoted(self.metric)}", field="metric")
        value = found[self.metric]
        if value is None:
            raise DataError(f"{self.metric} is undefined on these rows", field="metric")
        return self.sign * value

    def _answers(self, table: Table) -> FloatArray:
        if self.classifier is not None:
            return self.classifier.predict_proba(table)
        return np.asarray(self.learner.predict(table), dtype=np.float64)


def _codes(learner: Classifier, target: Series) -> Any:
    """The target's classes by the model's codes."""
    wanted = learner.target_
    mapping = np.array([wanted.encode(label) for label in target.column.labels])
    codes = mapping[target.cells.astype(np.int64)]
    if (codes < 0).any():
        strange = target.column.labels[int(target.cells[np.argmax(codes < 0)])]
        raise DataError(f"the model has no class {quoted(strange)}", field=target.column.name)
    return codes.astype(np.int64)
