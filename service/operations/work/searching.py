"""A search among candidates whose folds are parts of a job: which are wanted next, and which is best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from learners.evaluation.choosing import Convergence, best_of, converged_after, grid_points, loss_of
from learners.evaluation.failing import AllFailed, Failed, Failure, told
from service.errors import Invalid
from service.operations.submission.selection import n_candidates, n_splits
from service.operations.work.part import FIT, Request
from service.operations.work.refusing import nothing_learned

#: Sizes that are looked at beside each other.
_AT_ONCE = 4

#: Results of parts by name.
Done = Mapping[str, Mapping[str, Any]]
#: Why candidates failed after they were judged, by their place from 0.
Unfit = Mapping[int, Failure]
Learned = TypeVar("Learned")


@dataclass(frozen=True)
class Search:
    """One search of a job: that on all its rows, or that of an outer fold.

    Attributes:
        request: the job's.
        outer: ``outer-o``, or empty.
    """

    request: Request
    outer: str = ""

    @property
    def conclusion(self) -> str:
        """The part that uses what was found."""
        return self.outer or FIT

    def names(self, point: int) -> list[str]:
        """The parts of a candidate, counted from 1."""
        before = f"{self.outer}-" if self.outer else ""
        count = n_splits(self.request["evaluation"])
        return [f"{before}point-{point}-fold-{fold}" for fold in range(1, count + 1)]

    def wanted(self, done: Done) -> list[str]:
        """The parts to be carried out next; none if the search is at its end."""
        selection = self.request["selection"]
        total = n_candidates(selection)
        looked_at = self.looked_at(done)
        if looked_at == total or (selection["method"] == "size" and self.converged_after(done) is not None):
            return []
        last = total if selection["method"] == "grid" else min(total, looked_at + _AT_ONCE)
        return [name for point in range(looked_at + 1, last + 1) for name in self.names(point)]

    def looked_at(self, done: Done) -> int:
        """How many candidates are judged in all folds."""
        count = 0
        while count < n_candidates(self.request["selection"]) and all(name in done for name in self.names(count + 1)):
            count += 1
        return count

    def converged_after(self, done: Done) -> int | None:
        """After how many sizes the training error had converged, if it has."""
        selection = self.request["selection"]
        rule = Convergence(selection["patience"], selection["tolerance"])
        metric = selection["metric"]
        means = [self._mean(done, point, metric, "training") for point in range(1, self.looked_at(done) + 1)]
        return converged_after([loss_of(metric, mean) for mean in means], rule)

    def counted(self, done: Done) -> int:
        """How many candidates have a part in the choice."""
        looked_at = self.looked_at(done)
        if self.request["selection"]["method"] == "grid":
            return looked_at
        return self.converged_after(done) or looked_at

    def chosen(self, done: Done, unfit: Unfit) -> int:
        """The best candidate, counted from 0.

        Args:
            unfit: why those failed that were the best, when they learned from all rows of the search.

        Raises:
            Invalid: none did not fail; each reason is named. DataError: the metric is undefined for all that did not.
        """
        metric = self.request["selection"]["metric"]
        points = range(self.counted(done))
        failures = {point: unfit.get(point) or self.failure(done, point) for point in points}
        if None not in failures.values():
            raise self._all_failed({point: failure for point, failure in failures.items() if failure})
        means = [None if failures[point] else self._mean(done, point + 1, metric, "metrics") for point in points]
        return best_of(metric, means)

    def settled(self, done: Done, learn: Callable[[dict[str, Any]], Learned]) -> tuple[dict[int, Failure], Learned]:
        """What is learned with the best candidate; with the next best where that fails on these rows.

        Returns:
            Why those failed that were better, by their place from 0, and what was learned.

        Raises:
            Invalid: it fails with every candidate.
        """
        unfit: dict[int, Failure] = {}
        while True:
            point = self.chosen(done, unfit)
            try:
                return unfit, learn(self.parameters(point))
            except Failed as failed:
                unfit[point] = failed.failure

    def failure(self, done: Done, point: int) -> Failure | None:
        """Why a candidate, counted from 0, failed in the first fold in which it did; ``None``: in no fold."""
        records = [done[name]["failure"] for name in self.names(point + 1) if "failure" in done[name]]
        return Failure.from_json(records[0]) if records else None

    def _all_failed(self, failures: Mapping[int, Failure]) -> Invalid:
        of = [(self.parameters(point), failure) for point, failure in failures.items()]
        return nothing_learned(AllFailed(f"none of the {len(of)} candidates can be learned with: {told(of)}", of))

    def parameters(self, point: int) -> dict[str, Any]:
        """What a candidate, counted from 0, has in place of the request's parameters."""
        selection = self.request["selection"]
        if selection["method"] == "size":
            return {selection["size"]: selection["first"] + point}
        return grid_points(selection["grid"])[point]

    def _mean(self, done: Done, point: int, metric: str, of: Literal["metrics", "training"]) -> float | None:
        if self.failure(done, point - 1) is not None:
            return None
        values = [done[name][of][metric] for name in self.names(point)]
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if known else None


def searches(request: Request) -> Iterator[Search]:
    """Those of the outer folds, and that on all rows."""
    for number in range(1, request["selection"].get("nested", 0) + 1):
        yield Search(request, f"outer-{number}")
    yield Search(request)
