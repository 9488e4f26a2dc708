"""What a search looked at: each candidate's evaluation or failure, and which is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from learners.evaluation.choosing import best_of
from learners.evaluation.failing import AllFailed, Failed, Failure, told

Learned = TypeVar("Learned")


@dataclass(frozen=True, eq=False)
class Candidate:
    """Parameters, and what their evaluation says.

    Attributes:
        summary: empty of one that failed.
        failed: why they cannot be learned with; it is never chosen.
    """

    parameters: dict[str, Any]
    summary: dict[str, Any]
    failed: Failure | None = None

    def value(self, metric: str) -> float | None:
        """Mean of the metric over the folds; ``None`` where it is undefined, and of one that failed."""
        found: float | None = None if self.failed else self.summary["metrics"][metric]["mean"]
        return found

    def training(self, metric: str) -> float | None:
        """The same on the rows that were learned from."""
        found: float | None = None if self.failed else self.summary["training"][metric]
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

    def settled(self, learn: Callable[[dict[str, Any]], Learned]) -> tuple[Search, Learned]:
        """What is learned with the best candidate; with the next best where that fails on these rows.

        Returns:
            The search, in which those that failed say so and that which did not is chosen, and what was learned.

        Raises:
            AllFailed: it fails with every candidate.
        """
        search = self
        while True:
            try:
                return search, learn(search.parameters)
            except Failed as failed:
                candidates = list(search.candidates)
                candidates[search.chosen] = replace(candidates[search.chosen], failed=failed.failure)
                search = searched(candidates, search.metric)


def searched(candidates: Sequence[Candidate], metric: str) -> Search:
    """The best of some candidates.

    Raises:
        AllFailed: none did not fail. DataError: the metric is undefined for all that did not.
    """
    failures = [(one.parameters, one.failed) for one in candidates if one.failed is not None]
    if len(failures) == len(candidates):
        raise AllFailed(f"none of the {len(candidates)} candidates can be learned with: {told(failures)}", failures)
    return Search(tuple(candidates), metric, best_of(metric, [one.value(metric) for one in candidates]))
