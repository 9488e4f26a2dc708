"""Searching for parameters by cross-validation: over a grid, or by size until the training error converges.

The second is CROSS-VALIDATION-WRAPPER of Russell and Norvig (Artificial Intelligence: A Modern Approach,
section 18.4): size = 1, 2, ... until the training error converges; the size of least validation error; refitted
on all examples; judged on a test part that was locked away before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from learners.base import Learner, Progress, no_progress
from learners.errors import ParameterError, numbered_by, quoted
from learners.evaluation.candidates import Candidate, Search, searched
from learners.evaluation.choosing import Convergence, check_metric, converged_after, grid_points, loss_of
from learners.evaluation.crossval import CrossValidation, copies_of, cross_validate, prepared
from learners.evaluation.failing import AllFailed, Failed, refusals
from learners.evaluation.fold import evaluate_fold
from learners.evaluation.folds import Split
from learners.evaluation.judging import Judging
from learners.evaluation.plan import Plan
from learners.evaluation.results import FoldResult
from learners.evaluation.summary import combine
from learners.parts import part_of, parted
from learners.table import Series, Table

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
        size: a parameter that says how large a hypothesis is (:attr:`~learners.parameter.Parameter.is_size`).
        most: the largest size that is looked at.

    Raises:
        ParameterError: the learner has no such parameter.
    """
    sizes = {parameter.name: parameter for parameter in learner.parameters() if parameter.is_size}
    if size not in sizes:
        raise ParameterError(f"parameter size must be one of {', '.join(sizes)}; it is {quoted(size)}", field="size")
    first = max(1, int(sizes[size].minimum or 0))
    way = _Way(learner, plan or Plan(), seed, metric, convergence)

    def search(table: Table, target: Series, judging: Judging, progress: Progress = no_progress) -> Search:
        judged = replace(judging, judge_training=True)
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
        self.plan.splits(target, self.seed, groups=judging.groups, times=judging.times)  # else each would fail by it
        found: list[Candidate] = []
        table = parted(table)  # by all candidates alike
        for point in points:
            progress(0.0, f"looking at {point}")
            found.append(self._candidate(point, table, target, judging))
            if self._is_enough(metric, found):
                break
        return searched(found, metric)

    def _candidate(self, point: dict[str, Any], table: Table, target: Series, judging: Judging) -> Candidate:
        make = copies_of(self.learner, **point)
        make()  # a name that no parameter has is the caller's mistake
        try:
            with refusals():
                found = cross_validate(make, table, target, self.plan, self.seed, judging=judging)
        except Failed as failed:
            return Candidate(point, {}, failed.failure)
        return Candidate(point, found.summary)

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
    data = parted(data)
    judging = judging or Judging()
    if test is None:

        def fitted(parameters: dict[str, Any]) -> Learner:
            model = copies_of(learner, **parameters)()
            with refusals(), numbered_by(judging.rows):
                model.fit(data, truth, judging.weights, progress=progress)
            return model

        return Selection(*searcher(data, truth, judging, progress).settled(fitted))
    split = test.splits(truth, seed, groups=judging.groups, times=judging.times)[0]
    known = split.train

    def judged(parameters: dict[str, Any]) -> FoldResult:
        with refusals():
            return evaluate_fold(copies_of(learner, **parameters), data, truth, split, judging, progress=progress)

    search = searcher(part_of(data, known), truth.take(known), judging.taken(known), progress)
    search, result = search.settled(judged)
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

    The error of the best candidate of one search is too good, as it was chosen for being low; this is not. An outer
    fold in which every candidate fails has no part in it, and a warning of the summary says so.

    Raises:
        AllFailed: every candidate fails in every outer fold.
    """
    _, data, truth = prepared(learner, table, target)
    plan, judging = plan or Plan(folds=5), judging or Judging()
    splits = plan.splits(truth, seed, groups=judging.groups, times=judging.times)
    data = parted(data)
    results, failures = [], []
    for number in range(len(splits)):
        progress(number / len(splits), f"outer fold {number + 1} of {len(splits)}")
        try:
            results.append(_outer(learner, searcher, data, truth, splits[number], judging, number + 1))
        except AllFailed as error:
            failures.append(f"outer fold {number + 1} failed: {error}")
    if not results:
        raise AllFailed("; ".join(failures))
    warnings = [*splits.warnings, *failures]
    summary = combine(results, truth.column, warnings=warnings, method=plan.method, repeats=plan.repeats)
    return CrossValidation(tuple(results), summary)


def _outer(
    learner: Learner, searcher: Searcher, table: Table, target: Series, split: Split, judging: Judging, fold: int
) -> FoldResult:
    def judged(parameters: dict[str, Any]) -> FoldResult:
        with refusals():
            return evaluate_fold(copies_of(learner, **parameters), table, target, split, judging, fold=fold)

    known = split.train
    search = searcher(part_of(table, known), target.take(known), judging.taken(known), no_progress)
    return search.settled(judged)[1]
