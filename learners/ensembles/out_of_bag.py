"""What rows tell that a member did not learn from: the error to expect, and which columns matter (Breiman 2001)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.base import Progress
from learners.decisions import decide
from learners.ensembles.drawing import Draws
from learners.ensembles.growing import for_each
from learners.ensembles.making import Members
from learners.types import FloatArray, IntArray

#: The purpose for which values are shuffled, among those of a member's chance.
_SHUFFLES = 1


@dataclass(frozen=True)
class OutOfBag:
    """How right the members are together about rows that they did not learn from.

    Attributes:
        error: share of the rows' weight that is answered wrong, or the mean squared error.
        rows: how many rows at least one member did not learn from; of others nothing can be said.
    """

    error: float
    rows: int

    def to_json(self) -> dict[str, Any]:
        return {"error": self.error, "rows": self.rows}


@dataclass(frozen=True, eq=False)
class Judged:
    """Members, and the rows that they were grown on.

    Attributes:
        members, draws: see there.
        cells: shape (d, n).
        target: class codes or numbers, shape (n,).
        utility: by which classes are decided.
        threads: on which the work is done; what is found is the same.
    """

    members: Members
    draws: Draws
    cells: FloatArray
    target: FloatArray
    utility: FloatArray | None
    threads: int

    def error(self, progress: Progress) -> OutOfBag | None:
        """The error out of bag, or ``None`` where every member learned from every row."""

        def answer(member: int, _: Progress) -> tuple[IntArray, FloatArray]:
            rows = self.draws.left_out(member)
            return rows, self.members.of_member(member, self.cells, rows)

        sums = np.zeros((len(self.target), self.members.n_values))
        counts = np.zeros(len(self.target))
        for rows, answers in for_each(answer, len(self.members), self.threads, progress, "judging rows out of bag"):
            sums[rows] += answers
            counts[rows] += 1
        judged = np.flatnonzero(counts)
        if not len(judged):
            return None
        losses = self._losses(sums[judged] / counts[judged, None], judged)
        return OutOfBag(float(np.average(losses, weights=self.draws.weights[judged])), len(judged))

    def permutation_importances(self, progress: Progress) -> FloatArray:
        """By how much a member's error rises if a column's values are shuffled among its rows out of bag.

        The mean over the members, shape (d,).
        """

        def rises(member: int, _: Progress) -> FloatArray:
            rows = self.draws.left_out(member)
            found = np.zeros(len(self.cells))
            weights = self.draws.weights[rows]
            if not len(rows):
                return found
            cells, places = self.cells[:, rows].copy(), np.arange(len(rows))
            generator = self.draws.generator(member, _SHUFFLES)
            plain = np.average(self._losses(self.members.of_member(member, cells, places), rows), weights=weights)
            for column in self.members.looked_at(member):
                own = cells[column].copy()
                cells[column] = generator.permutation(own)
                answers = self.members.of_member(member, cells, places)
                found[column] = np.average(self._losses(answers, rows), weights=weights) - plain
                cells[column] = own
            return found

        total = np.zeros(len(self.cells))
        for own in for_each(rises, len(self.members), self.threads, progress, "shuffling columns out of bag"):
            total += own
        means: FloatArray = total / len(self.members)
        return means

    def _losses(self, answers: FloatArray, rows: IntArray) -> FloatArray:
        if self.members.regression:
            return np.asarray((answers[:, 0] - self.target[rows]) ** 2)
        return np.asarray(decide(answers, self.utility) != self.target[rows], dtype=np.float64)
