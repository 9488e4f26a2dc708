"""Why neighbours answered as they did: the rows that voted, how far each is, and in which columns it differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from learners.conditions import scalar_text
from learners.errors import LearnerError
from learners.explanation import Bounds
from learners.neighbors.voting import mean_of, median_of
from learners.types import FloatArray, Scalar


@dataclass(frozen=True)
class Neighbour:
    """A training row that voted.

    Attributes:
        row: its place among the training rows, from 0 on.
        distance: from the row that was asked.
        weight: what of its training weight counted.
        vote: its share in the answer; those of all neighbours sum to 1. A local linear fit may give votes below 0.
        answer: its label, or its number.
        shares: by column, what part of the distance (raised to the metric's power) lies in it; they sum to 1.
            Columns without a part are not told, so an exact match has none.
    """

    row: int
    distance: float
    weight: float
    vote: float
    answer: Scalar
    shares: tuple[tuple[str, float], ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "row": self.row,
            "distance": self.distance,
            "weight": self.weight,
            "vote": self.vote,
            "answer": self.answer,
            "shares": [{"column": column, "share": share} for column, share in self.shares],
        }


@dataclass(frozen=True)
class Omitted:
    """Neighbours that are not told because they are many: the farthest ones, and what they vote for together.

    Attributes:
        neighbours: their number.
        vote: the sum of their votes.
        distribution: that sum by label, in the order of the classes; or ``None``.
        value: the sum of votes times numbers; or ``None``.
    """

    neighbours: int
    vote: float
    distribution: tuple[tuple[Scalar, float], ...] | None = None
    value: float | None = None

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"neighbours": self.neighbours, "vote": self.vote}
        if self.distribution is not None:
            record["distribution"] = [{"label": label, "share": share} for label, share in self.distribution]
        if self.value is not None:
            record["value"] = self.value
        return record


@dataclass(frozen=True)
class NeighbourExplanation:
    """The neighbours that voted, the nearest first.

    Attributes:
        neighbours: at least one.
        by: ``share`` adds up votes by label, ``mean`` and ``median`` are taken of the neighbours' numbers, ``linear``
            is a sum of votes times numbers.
        distribution: class probabilities by label, or ``None``.
        value: the answer of a regression, or ``None``; the answer tells it, so the JSON does not.
        omitted: what is not told; or ``None``.
        interval: where the answer may lie; ``None`` where the neighbours do not tell.
    """

    neighbours: tuple[Neighbour, ...]
    by: Literal["share", "mean", "median", "linear"]
    distribution: tuple[tuple[Scalar, float], ...] | None = None
    value: float | None = None
    omitted: Omitted | None = None
    interval: Bounds | None = None
    kind: Literal["neighbours"] = "neighbours"

    @property
    def n_tests(self) -> int:
        """Number of neighbours and of columns told with them: the explanation's length."""
        return sum(1 + len(one.shares) for one in self.neighbours)

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"kind": self.kind, "by": self.by}
        record["neighbours"] = [one.to_json() for one in self.neighbours]
        if self.omitted is not None:
            record["omitted_neighbours"] = self.omitted.to_json()
        if self.distribution is not None:
            record["distribution"] = [{"label": label, "share": share} for label, share in self.distribution]
        record["interval"] = None if self.interval is None else self.interval.to_json()
        return record

    def text(self) -> str:
        """One line a neighbour."""
        lines = [
            f"row {one.row} at distance {one.distance:.6g} votes {one.vote:.6g} for {scalar_text(one.answer)}"
            for one in self.neighbours
        ]
        if self.omitted is not None:
            lines.append(f"and {self.omitted.neighbours} rows further away (votes {self.omitted.vote:.6g})")
        return "\n".join(lines)

    def replayed(self) -> FloatArray:
        """The answer by the votes alone: class probabilities, shape (K,), or the value, shape ().

        Raises:
            LearnerError: a median of which not all neighbours are told.
        """
        if self.distribution is not None:
            return self._shares(self.distribution)
        votes = np.array([[one.vote for one in self.neighbours]])
        numbers = np.array([[float(one.answer) for one in self.neighbours]])
        if self.by == "median":
            if self.omitted is not None:
                raise LearnerError("a median cannot be told from some of the neighbours")
            return np.asarray(median_of(votes, numbers)[0])
        if self.omitted is None and self.by == "mean":
            return np.asarray(mean_of(votes, numbers)[0])
        rest = 0.0 if self.omitted is None or self.omitted.value is None else self.omitted.value
        return np.asarray((votes * numbers).sum() + rest)

    def _shares(self, distribution: tuple[tuple[Scalar, float], ...]) -> FloatArray:
        place = {label: index for index, (label, _) in enumerate(distribution)}
        shares = np.zeros(len(place))
        for one in self.neighbours:
            shares[place[one.answer]] += one.vote
        if self.omitted is not None and self.omitted.distribution is not None:
            shares += [share for _, share in self.omitted.distribution]
        return shares
