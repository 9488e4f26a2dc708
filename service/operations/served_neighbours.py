"""What makes one row by nearest neighbours cheap: the rows that may be near are kept for each cell of the kd-tree.

Where there is no tree, or most rows are near everywhere, one product in single precision tells what need be measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, ldexp
from typing import TypeAlias

import numpy as np

from learners.base import Learner
from learners.neighbors.estimator import NeighborsEstimator
from learners.neighbors.index import RowIndex
from learners.neighbors.search.cells import CellSearch
from learners.neighbors.search.found import Found
from learners.neighbors.search.kd_tree import KdTree
from learners.neighbors.search.scan import ScanSearch
from learners.table import Table
from learners.types import FloatArray, IntArray

#: Nodes beyond which a tree is not copied into lists.
_MAX_NODES = 400_000
#: Numbers of training rows of which all are looked at on the event loop.
_MAX_SCANNED = 2_000_000
#: Neighbours beyond which too many rows would have to be measured.
_MAX_K = 1_000
#: The powers of differences that are the same however they are computed.
_EXACT_POWERS = (1.0, 2.0, inf)
#: Combinations of neighbours' classes whose answers are kept.
_MAX_KNOWN = 20_000

#: Writes an answer as JSON.
Write: TypeAlias = Callable[[list[float]], bytes]


class NeighboursOfOne:
    """Answers single rows of numbers, to the bit as the learner does.

    Args:
        learner: fitted over rows of weight 1, all numbers known, see :func:`neighbours_of_one`.
    """

    def __init__(self, learner: NeighborsEstimator) -> None:
        index, coordinates = learner.index_, learner.coordinates_
        self._learner = learner
        k = int(min(learner.k_, index.n_rows))
        scaling = coordinates.scaling
        numbers = (scaling.exponent, scaling.offset, scaling.unit, coordinates.factor)
        self._scales = [(place, *(array[place].item() for array in numbers)) for place in index.active.tolist()]
        alike = learner.kernel == "uniform" and learner.capabilities.task == "classification"
        few = alike and len(learner.target_.levels) < np.iinfo(np.int16).max
        #: The rows' classes, if an answer follows from those of the neighbours in their order alone.
        self._codes = learner.numbers_.astype(np.int16) if few else None
        self._cells: CellSearch | None = None
        self._scan: ScanSearch | None = None
        tree = index.tree
        if tree is not None and _has_cells(tree):
            self._cells, self._starts = CellSearch(tree, k, self._codes), tree.start.tolist()
        if _can_scan(index, k):
            points = np.ascontiguousarray(index.points[:, index.active])
            self._scan = ScanSearch(points, k, None if tree is None else tree.rows)

    def members(self, cells: Sequence[float], known: dict[bytes, bytes], write: Write) -> bytes | None:
        """A row's answer, no cell of which may be missing; ``None`` where the row goes the general way.

        Args:
            cells: the row.
            known: answers by the neighbours' classes in their order, where these alone decide.
            write: an answer from what the learner makes of the neighbours: class probabilities, or the one value.
        """
        point = self._point(cells)
        if point is None:
            return None
        found = None
        leaf = None if self._cells is None else self._cells.leaf(point)
        cell = None if self._cells is None or leaf is None else self._cells.cell(point, leaf)
        if self._cells is not None and cell is not None:
            if cell.alike is not None and cell.alike in known:
                return known[cell.alike]
            found = self._cells.nearest(point, cell)
        elif self._scan is not None:
            found = self._scan.nearest(point, None if leaf is None else self._starts[leaf])
        return None if found is None else self._answer(cells, found, known, write)

    def _point(self, cells: Sequence[float]) -> list[float] | None:
        """A row's coordinates in the columns of weight; ``None`` where they are not finite."""
        try:
            return [
                (ldexp(cells[place], exponent) - offset) / unit * factor
                for place, exponent, offset, unit, factor in self._scales
            ]
        except OverflowError:
            return None

    def _answer(
        self, cells: Sequence[float], found: tuple[IntArray, FloatArray], known: dict[bytes, bytes], write: Write
    ) -> bytes:
        rows, powers = found
        key = None if self._codes is None else self._codes[rows].tobytes()
        members = known.get(key) if key is not None else None
        if members is None:
            row = Table(self._learner.columns_, np.array([cells], dtype=np.float64))
            members = write(self._learner.answers_from(row, Found(rows[None], powers[None]))[0].tolist())
            if key is not None and len(known) < _MAX_KNOWN:
                known[key] = members
        return members


def neighbours_of_one(learner: Learner) -> NeighboursOfOne | None:
    """What answers a learner's single rows; ``None`` where they go the general way."""
    if not isinstance(learner, NeighborsEstimator) or learner.voters != "nearest":
        return None
    index = learner.index_
    # of rows of other weights more may be needed than k
    if not (index.weights == 1).all() or not (_has_cells(index.tree) or _can_scan(index, learner.k_)):
        return None
    return NeighboursOfOne(learner)


def _has_cells(tree: KdTree | None) -> bool:
    return tree is not None and tree.p in _EXACT_POWERS and len(tree.boxes) <= _MAX_NODES


def _can_scan(index: RowIndex, k: float) -> bool:
    """Whether rows are numbers at Euclidean distances, all of which may be looked at while other requests wait."""
    metric, active = index.metric, index.active
    if k > _MAX_K:
        return False
    if metric.p != 2 or not metric.is_simple or metric.leaves_out or index.tables is not None or not len(active):
        return False
    if index.n_rows * len(active) > _MAX_SCANNED or metric.is_level[active].any():
        return False
    return not np.isnan(index.points[:, active]).any()
