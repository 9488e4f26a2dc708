"""Searching for parameters by cross-validation: over a grid, or by size until the training error converges.

The second is CROSS-VALIDATION-WRAPPER of Russell and Norvig (Artificial Intelligence: A Modern Approach,
section 18.4): size = 1, 2, ... until the training error converges; the size of least validation error; refitted
on all examples; judged on a test part that was locked away before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from learners.base import Learner, Progress, no_progress
from learners.errors import ParameterError, quoted
from learners.evaluation.choosing import (
    Convergence,
    best_of,
    check_metric,
    converged_after,
    grid_points,
    loss_of,
)
from learners.evaluation.crossval import CrossValidation, copies_of, cross_validate, prepared
from learners.evaluation.fold import MakeLearner, evaluate_fold
from learners.evaluation.judging import Judging
from learners.evaluation.plan import Plan
from learners.evaluation.results import FoldResult
from learners.evaluation.summary import combine
from learners.table import Series, Table


@dataclass(frozen=True, eq=False)
class Candidate:
    """Parameters, and what their evaluation says."""

    parameters: dict[str, Any]
    summary: dict[str, Any]

    def value(self, metric: str) -> float | None:
        """Mean of the metric over the folds."""
        found: float | None = self.summary["metrics"][metric]["mean"]
        return found

    def training(self, metric: str) -> float | None:
        """The same on the rows that were learned from."""
        found: float | None = self.summary["training"][metric]
        return found


@dataclass(frozen=True, eq=False)
class Search:
    """What a search looked at.

    Attributes:
        candidates: in the order in which they were looked at.
        metric: by which it was chosen.
        chosen: the place of the best.
    """

    candidates: tuple[Candidate, ...]
    metric: str
    chosen: int

    @property
    def parameters(self) -> dict[str, Any]:
        """Of the best."""
        return self.candidates[self.chosen].parameters


#: Searches on rows for parameters.
Searcher = Callable[[Table, Series, Judging, Progress], Search]


@dataclass(frozen=True, eq=False)
class Selection:
    """A search on some rows, the model that came of it, and how it was judged on rows that had no part in that.

    Attributes:
        search: the search.
        model: fitted with the parameters found, on all rows that the search knew.
        test: on the locked rows; ``None`` where none were locked.
    """

    search: Search
    model: Learner
    test: FoldResult | None = None


def grid_search(
    learner: Learner,
    grid: Mapping[str, Sequence[Any]],
    plan: Plan | None = None,
    seed: int = 0,
    metric: str | None = None,
) -> Searcher:
    """A searcher over every combination of some parameters' values.

    Args:
        learner: unfitted; its other parameters stay.
        grid: values by parameter.
        plan, seed: of the evaluation of each combination; the same rows for all.
        metric: which is best; by default the error or the mean squared error.
    """
    points = grid_points(grid)
    way = _Way(learner, plan or Plan(), seed, metric)

    def search(table: Table, target: Series, judging: Judging, progress: Progress = no_progress) -> Search:
        return way.search(points, table, target, judging, progress)

    return search


def size_search(
    learner: Learner,
    size: str,
    plan: Plan | None = None,
    seed: int = 0,
    metric: str | None = None,
    *,
    most: int = 100,
    convergence: Convergence = Convergence(),  # noqa: B008 - frozen
) -> Searcher:
    """A searcher by size = 1, 2, ..., which stops when the training error has converged.

    Args:
        size: the whole-number parameter that says how large a hypothesis is.
        most: the largest size that is looked at.

    Raises:
        ParameterError: the learner has no such parameter.
    """
    sizes = {parameter.name: parameter for parameter in learner.parameters() if parameter.type == "integer"}
    if size not in sizes:
        raise ParameterError(f"parameter size must be one of {', '.join(sizes)}; it is {quoted(size)}", field="size")
    first = max(1, int(sizes[size].minimum or 0))
    way = _Way(learner, plan or Plan(), seed, metric, convergence)

    def search(table: Table, target: Series, judging: Judging, progress: Progress = no_progress) -> Search:
        judged = Judging(judging.weights, judging.groups, judging.times, judging.utility, judge_training=True)
        points = ({size: value} for value in range(first, most + 1))
        return way.search(points, table, target, judged, progress)

    return search


@dataclass(frozen=True, eq=False)
class _Way:
    """How candidates are looked at and when there are enough of them."""

    learner: Learner
    plan: Plan
    seed: int
    metric: str | None
    convergence: Convergence | None = None

    def search(
        self, points: Iterable[dict[str, Any]], table: Table, target: Series, judging: Judging, progress: Progress
    ) -> Search:
        has_utility = judging.utility is not None or getattr(self.learner, "utility", None) is not None
        metric = check_metric(self.metric, self.learner.capabilities.task, has_utility=has_utility)
        found: list[Candidate] = []
        for point in points:
            progress(0.0, f"looking at {point}")
            make = copies_of(self.learner, **point)
            summary = cross_validate(make, table, target, self.plan, self.seed, judging=judging).summary
            found.append(Candidate(point, summary))
            if self._is_enough(metric, found):
                break
        return Search(tuple(found), metric, best_of(metric, [one.value(metric) for one in found]))

    def _is_enough(self, metric: str, found: Sequence[Candidate]) -> bool:
        if self.convergence is None:
            return False
        losses = [loss_of(metric, one.training(metric)) for one in found]
        return converged_after(losses, self.convergence) is not None


def select(
    learner: Learner,
    searcher: Searcher,
    table: Any,
    target: Any,
    *,
    judging: Judging | None = None,
    test: Plan | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Selection:
    """Search, and fit the best on all rows that the search knew.

    Args:
        learner: the one that the searcher varies.
        test: a hold-out by which rows are locked away before, to judge the fitted model on.
        seed: of that hold-out.
    """
    _, data, truth = prepared(learner, table, target)
    judging = judging or Judging()
    if test is None:
        search = searcher(data, truth, judging, progress)
        model = copies_of(learner, **search.parameters)()
        model.fit(data, truth, judging.weights, progress=progress)
        return Selection(search, model)
    split = test.splits(truth, seed, groups=judging.groups, times=judging.times)[0]
    known = split.train
    search = searcher(data.take(known), truth.take(known), judging.taken(known), progress)
    result = evaluate_fold(copies_of(learner, **search.parameters), data, truth, split, judging, progress=progress)
    if result.model is None:
        raise RuntimeError("a fold keeps its model")
    return Selection(search, result.model, result)


def nested(
    learner: Learner,
    searcher: Searcher,
    table: Any,
    target: Any,
    plan: Plan | None = None,
    seed: int = 0,
    *,
    judging: Judging | None = None,
    progress: Progress = no_progress,
) -> CrossValidation:
    """How good searching is: in each outer fold a search of its own on the training rows, judged on the others.

    The error of the best candidate of one search is too good, as it was chosen for being low; this is not.
    """
    _, data, truth = prepared(learner, table, target)
    plan, judging = plan or Plan(folds=5), judging or Judging()
    splits = plan.splits(truth, seed, groups=judging.groups, times=judging.times)
    results = []
    for number in range(len(splits)):
        split = splits[number]
        progress(number / len(splits), f"outer fold {number + 1} of {len(splits)}")
        search = searcher(data.take(split.train), truth.take(split.train), judging.taken(split.train), no_progress)
        make: MakeLearner = copies_of(learner, **search.parameters)
        results.append(evaluate_fold(make, data, truth, split, judging, fold=number + 1))
    summary = combine(results, truth.column, warnings=splits.warnings, method=plan.method, repeats=plan.repeats)
    return CrossValidation(tuple(results), summary)
