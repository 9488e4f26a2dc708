"""A straight line through the neighbours: weighted least squares at each row that is asked."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from learners.base import Capabilities
from learners.explanation import Bounds
from learners.neighbors.electorate import Electorate
from learners.neighbors.estimator import MAX_TOLD
from learners.neighbors.explanation import NeighbourExplanation, Omitted
from learners.neighbors.intervals import interval_about
from learners.neighbors.regressor import NumbersOfNeighbors
from learners.params import integer, learner, real
from learners.types import FloatArray

#: Directions in which the neighbours spread by less than this share of the widest, squared, are singular.
_SINGULAR = 1e-10
#: Rows whose votes spread by less than this share of their places, squared, are as if in one place.
_ONE_PLACE = 1e-24


@learner
class LocalLinearRegressor(NumbersOfNeighbors):
    """Fits a linear function to the neighbours of each row, weighted by their votes, and answers with its value there.

    Source: Cleveland, Robust locally weighted regression (1979). The answer is a sum of the neighbours' numbers with
    factors that sum to 1, which reasons tell as their votes; some may be below 0. A level counts as 1 where it differs
    from the row's, a text or a sequence by its distance, a missing value as the neighbours' mean.
    """

    name: ClassVar[str] = "local-linear-regressor"
    summary: ClassVar[str] = (
        "Estimates a number by a linear function fitted to the nearest training rows; each answer names the rows."
    )
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

    k: int = integer(
        20,
        "How many neighbours are fitted: the nearest rows until their weights reach k, the last with what is left; all "
        "rows where there are fewer. Of equally distant rows the one that comes first in training counts first.",
        minimum=1,
        only_with={"voters": ("nearest",)},
        is_size=True,
    )
    ridge: float = real(
        1e-3,
        "By what share of their widest spread neighbours are taken to spread further in directions in which they "
        "hardly do; in others least squares are exact.",
        minimum=1e-9,
        maximum=1e9,
    )

    def _answer(self, points: FloatArray, electorate: Electorate) -> FloatArray:
        answers = np.empty((len(points), 1))
        for row, point in enumerate(points):
            factors = self._factors(point, electorate, row)[0]
            answers[row] = np.cumsum(factors * electorate.numbers[row])[-1]
        return answers

    def _factors(self, point: FloatArray, electorate: Electorate, row: int) -> tuple[FloatArray, FloatArray]:
        """What each neighbour's number is multiplied by in the answer, and how all differ from their mean."""
        votes = electorate.votes[row]
        voting = np.flatnonzero(votes > 0)  # so that how many were searched does not matter
        off = self._differences(point, electorate, electorate.rows[row, voting], votes[voting])
        found, spread = np.zeros(len(votes)), np.zeros((len(votes), off.shape[1]))
        found[voting], spread[voting] = equivalent_votes(off, votes[voting], float(self.ridge))
        return found, spread

    def _differences(self, point: FloatArray, electorate: Electorate, rows: Any, votes: FloatArray) -> FloatArray:
        """How some fitted rows differ from a point in the columns of weight, shape (k, columns)."""
        metric, columns = electorate.index.metric, electorate.index.active
        off = electorate.index.points[np.ix_(rows, columns)] - point[columns]
        for place, column in enumerate(columns.tolist()):
            if metric.is_level[column] or (metric.lookups and metric.lookups[column] is not None):
                alone = metric.difference(column, point[column], electorate.index.points[rows, column])
                off[:, place] = np.where(np.isnan(point[column]), np.nan, alone)
        known = ~np.isnan(off)
        share = (known * votes[:, None]).sum(axis=0)
        mean = (np.where(known, off, 0.0) * votes[:, None]).sum(axis=0) / np.where(share > 0, share, 1.0)
        return np.asarray(np.where(known, off, mean))

    def _explained(
        self, point: FloatArray, electorate: Electorate, row: int, answer: FloatArray
    ) -> NeighbourExplanation:
        factors = self._factors(point, electorate, row)[0]
        told, voting = self._told(point, electorate, row, factors, MAX_TOLD)
        rest, omitted = voting[len(told) :], None
        if len(rest):
            numbers = electorate.numbers[row, rest]
            omitted = Omitted(len(rest), float(factors[rest].sum()), value=float((factors[rest] * numbers).sum()))
        bounds = self._bounds(point, electorate, row, float(answer[0]), float(self.interval_level))
        return NeighbourExplanation(told, "linear", value=float(answer[0]), omitted=omitted, interval=bounds)

    def _bounds(
        self, point: FloatArray, electorate: Electorate, row: int, answer: float, level: float
    ) -> Bounds | None:
        """About the line, by how the neighbours scatter about it."""
        voting = electorate.votes[row] > 0
        factors, off = (one[voting] for one in self._factors(point, electorate, row))
        votes, numbers = electorate.votes[row, voting], electorate.numbers[row, voting]
        root = np.sqrt(votes)[:, None]
        left = numbers - float((votes * numbers).sum())
        slopes = np.linalg.lstsq(root * off, root[:, 0] * left, rcond=None)[0]
        return interval_about(answer, factors, (votes, left - off @ slopes, off), level)


def equivalent_votes(off: FloatArray, votes: FloatArray, ridge: float) -> tuple[FloatArray, FloatArray]:
    """By what the numbers of k rows are multiplied in the value, at 0, of the linear function that fits them best.

    Args:
        off: where the rows lie, shape (k, d).
        votes: their weights, which sum to 1, shape (k,).
        ridge: added to the squared spread in singular directions, as a share of the widest.

    Returns:
        The factors (k,), which sum to 1; and the rows less their mean (k, d).
    """
    mean = votes @ off
    spread = off - mean
    inner = spread.T @ (votes[:, None] * spread)
    if not inner.size:
        return votes, spread
    sizes, directions = np.linalg.eigh(inner)
    widest = float(sizes[-1])
    if widest <= _ONE_PLACE * float((spread * spread).max()):
        return votes, spread
    sizes = np.where(sizes < _SINGULAR * widest, np.maximum(sizes, 0.0) + ridge * widest, sizes)
    slopes = directions @ ((directions.T @ -mean) / sizes)
    factors = votes * (1.0 + spread @ slopes)
    return np.asarray(factors / factors.sum()), spread
