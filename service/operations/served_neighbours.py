"""What makes one row by nearest neighbours cheap: the rows that may be near are kept for each cell of the kd-tree."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, ldexp

import numpy as np

from learners.base import Learner
from learners.neighbors.estimator import NeighborsEstimator
from learners.neighbors.search.cells import CellSearch
from learners.neighbors.search.found import Found
from learners.table import Table

#: Nodes beyond which a tree is not copied into lists.
_MAX_NODES = 400_000
#: The powers of differences that are the same however they are computed.
_EXACT_POWERS = (1.0, 2.0, inf)


class NeighboursOfOne:
    """Answers single rows of numbers, to the bit as the learner does.

    Args:
        learner: fitted with a tree over rows of weight 1, see :func:`neighbours_of_one`.
    """

    def __init__(self, learner: NeighborsEstimator) -> None:
        index, coordinates = learner.index_, learner.coordinates_
        if index.tree is None:
            raise TypeError("there is no tree to search")
        self._learner = learner
        self._search = CellSearch(index.tree, int(min(learner.k_, index.n_rows)))
        scaling = coordinates.scaling
        numbers = (scaling.exponent, scaling.offset, scaling.unit, coordinates.factor)
        self._scales = [(place, *(array[place].item() for array in numbers)) for place in index.active.tolist()]
        self._codes = learner.numbers_.astype(np.int16)
        alike = learner.kernel == "uniform" and learner.capabilities.task == "classification"
        self._is_told_by_classes = alike and len(learner.target_.levels) < np.iinfo(np.int16).max

    def nearest(self, cells: Sequence[float]) -> Found | None:
        """The rows that vote, one query's; ``None`` where the row goes the general way. No cell may be missing."""
        try:
            point = [
                (ldexp(cells[place], exponent) - offset) / unit * factor
                for place, exponent, offset, unit, factor in self._scales
            ]
        except OverflowError:
            return None
        near = self._search.nearest(point)
        return None if near is None else Found(near[0][None], near[1][None])

    def key(self, found: Found) -> bytes | None:
        """What the answer follows from, if that is the neighbours' classes in their order alone."""
        return self._codes[found.rows].tobytes() if self._is_told_by_classes else None

    def numbers(self, cells: Sequence[float], found: Found) -> list[float]:
        """What the learner makes of these neighbours: class probabilities, or the one value."""
        row = Table(self._learner.columns_, np.array([cells], dtype=np.float64))
        answer: list[float] = self._learner.answers_from(row, found)[0].tolist()
        return answer


def neighbours_of_one(learner: Learner) -> NeighboursOfOne | None:
    """What answers a learner's single rows; ``None`` where they go the general way."""
    if not isinstance(learner, NeighborsEstimator) or learner.voters != "nearest":
        return None
    index = learner.index_
    if index.tree is None or index.tree.p not in _EXACT_POWERS or len(index.tree.boxes) > _MAX_NODES:
        return None
    # of rows of other weights more may be needed than k
    return NeighboursOfOne(learner) if bool((index.weights == 1).all()) else None
