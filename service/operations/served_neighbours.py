"""What makes one row by nearest neighbours cheap: machine code that walks the kd-tree, once it is loaded.

Until then the rows that may be near are kept for each cell of the tree. Where there is no tree, or most rows are near
everywhere, one product in single precision tells what need be measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, ldexp
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from learners.base import Learner
from learners.neighbors.distances import largest_coordinate
from learners.neighbors.estimator import NeighborsEstimator
from learners.neighbors.index import RowIndex
from learners.neighbors.search.cells import CellSearch
from learners.neighbors.search.found import Found
from learners.neighbors.search.kd_tree import KdTree
from learners.neighbors.search.one import EXACT_POWERS, MOST_DOUBLINGS, MOST_K, OneSearch, Scales
from learners.neighbors.search.scan import ScanSearch
from learners.table import Kind
from learners.types import Array, FloatArray, IntArray

#: Nodes beyond which a tree is not copied into lists.
_MAX_NODES = 400_000
#: Numbers of training rows of which all are looked at on the event loop.
_MAX_SCANNED = 2_000_000
#: Neighbours beyond which too many rows would have to be measured.
_MAX_K = 1_000
#: Rows from which on machine code is worth its memory.
_MANY_ROWS = 1_000
#: How levels are scaled: by nothing.
_AS_IT_IS = (1.0, 0.0, 1.0, 1.0)
#: Combinations of neighbours' classes whose answers are kept.
_MAX_KNOWN = 20_000

#: Writes an answer as JSON.
Write: TypeAlias = Callable[[list[float]], bytes]


class Near(NamedTuple):
    """What is near a row.

    Attributes:
        rows, powers: of the nearest rows, the nearest first, and of their distances, both (k,).
        place: the row's coordinates in the columns of weight.
    """

    rows: IntArray
    powers: FloatArray
    place: Sequence[float] | FloatArray

    @property
    def found(self) -> Found:
        return Found(self.rows[None], self.powers[None])


class NeighboursOfOne:
    """Answers single rows of numbers, to the bit as the learner does. Threads may share it.

    Args:
        learner: fitted over rows of weight 1, all numbers known, see :func:`neighbours_of_one`.
    """

    def __init__(self, learner: NeighborsEstimator) -> None:
        self._learner = learner
        self._k = int(min(learner.k_, learner.index_.n_rows))
        #: How many neighbours and columns a row's reason tells at most.
        self.most_told = int(learner.reason_sizes(1)[0])
        alike = learner.kernel == "uniform" and learner.capabilities.task == "classification"
        few = alike and len(learner.target_.levels) < np.iinfo(np.int16).max
        #: The rows' classes, if an answer follows from those of the neighbours in their order alone.
        self._codes = learner.numbers_.astype(np.int16) if few else None
        self._way: _ByArrays | _ByMachineCode = _ByArrays(learner, self._k, self._codes)

    @property
    def gains_by_machine_code(self) -> bool:
        """Whether rows would be answered sooner by machine code than they are."""
        if self._learner.index_.n_rows < _MANY_ROWS or isinstance(self._way, _ByMachineCode):
            return False
        return _ByMachineCode.covers(self._learner, self._k)

    def take_up_machine_code(self) -> None:
        """Answer by machine code from now on, which is loaded."""
        self._way = _ByMachineCode(self._learner, self._k, self._codes)
        self._learner.index_ = self._learner.index_.by_machine_code()

    @property
    def is_quick(self) -> bool:
        """Whether rows are found without looking at all."""
        return self._learner.index_.tree is not None or isinstance(self._way, _ByMachineCode)

    def members(self, cells: Sequence[float], known: dict[bytes, bytes], write: Write) -> bytes | None:
        """A row's answer, no cell of which may be missing; ``None`` where the row goes the general way.

        Args:
            cells: the row.
            known: answers by the neighbours' classes in their order, where these alone decide.
            write: an answer from what the learner makes of the neighbours: class probabilities, or the one value.
        """
        found = self._found(cells, known)
        if found is None or isinstance(found, bytes):
            return found
        key = None if self._codes is None else self._codes[found.rows].tobytes()
        members = known.get(key) if key is not None else None
        if members is None:
            members = write(self._learner.answer_from(found.place, found.found))
            if key is not None and len(known) < _MAX_KNOWN:
                known[key] = members
        return members

    def reason(self, cells: Sequence[float], write: Write) -> tuple[bytes, Any] | None:
        """The same with the reason, from the same neighbours."""
        found = self._found(cells, {})
        if found is None or isinstance(found, bytes):
            return None
        answers, reason = self._learner.reason_from(found.place, found.found)
        return write(answers), reason

    def _found(self, cells: Sequence[float], known: dict[bytes, bytes]) -> Near | bytes | None:
        try:
            return self._way.nearest(cells, known)
        except OverflowError:  # no double
            return None


class _ByMachineCode:
    """The nearest rows by the walk that batches are answered by."""

    def __init__(self, learner: NeighborsEstimator, k: int, codes: Array | None) -> None:
        coordinates, active = learner.coordinates_, learner.index_.active
        scaling, p = coordinates.scaling, coordinates.metric.p
        factors = [np.ldexp(1.0, scaling.exponent), scaling.offset, scaling.unit, coordinates.factor]
        # an unseen level of an ordinal column is missing
        least = [0.0 if column.kind is Kind.ORDINAL else -inf for column in learner.columns_]
        scales = np.column_stack([*factors, least])
        scales[coordinates.metric.is_level, :4] = _AS_IT_IS
        given = Scales(active, np.ascontiguousarray(scales[active]), largest_coordinate(p))
        self._search = OneSearch(p, learner.index_.walked, k, given, codes)
        self._tells_codes = codes is not None

    @staticmethod
    def covers(learner: NeighborsEstimator, k: int) -> bool:
        """Whether a learner's rows can be answered so."""
        index, scaling = learner.index_, learner.coordinates_.scaling
        if not index.has_walk or learner.search == "brute" or k > MOST_K:
            return False
        numbers = index.active[~index.metric.is_level[index.active]]
        return bool((scaling.unit[numbers] > 0).all() and (scaling.exponent[numbers] <= MOST_DOUBLINGS).all())

    def nearest(self, cells: Sequence[float], known: dict[bytes, bytes]) -> Near | bytes | None:
        """What is near a row, or an answer that is known; ``None`` where another search is due."""
        search = self._search
        found = search.nearest(cells)
        if found is None:
            return None
        if self._tells_codes:
            members = known.get(search.labels(found))
            if members is not None:
                return members
        return Near(*search.rows(found), search.place(found))


class _ByArrays:
    """The nearest rows by operations on whole arrays: from cells, or by looking at all rows."""

    def __init__(self, learner: NeighborsEstimator, k: int, codes: Array | None) -> None:
        index, coordinates = learner.index_, learner.coordinates_
        scaling = coordinates.scaling
        numbers = (scaling.exponent, scaling.offset, scaling.unit, coordinates.factor)
        self._scales = [(place, *(array[place].item() for array in numbers)) for place in index.active.tolist()]
        self._cells: CellSearch | None = None
        self._scan: ScanSearch | None = None
        tree = index.tree
        if tree is not None and _has_cells(tree):
            self._cells, self._starts = CellSearch(tree, k, codes), tree.start.tolist()
        if _can_scan(index, k):
            points = np.ascontiguousarray(index.points[:, index.active])
            self._scan = ScanSearch(points, k, None if tree is None else tree.rows)

    def nearest(self, cells: Sequence[float], known: dict[bytes, bytes]) -> Near | bytes | None:
        """What is near a row, or an answer that is known; ``None`` where another search is due."""
        if self._cells is None and self._scan is None:
            return None
        point = self._point(cells)
        leaf = None if self._cells is None else self._cells.leaf(point)
        cell = None if self._cells is None or leaf is None else self._cells.cell(point, leaf)
        if self._cells is not None and cell is not None:
            members = known.get(cell.alike) if cell.alike is not None else None
            return Near(*self._cells.nearest(point, cell), point) if members is None else members
        if self._scan is None:
            return None
        found = self._scan.nearest(point, None if leaf is None else self._starts[leaf])
        return None if found is None else Near(*found, point)

    def _point(self, cells: Sequence[float]) -> list[float]:
        """A row's coordinates in the columns of weight.

        Raises:
            OverflowError: they are not finite.
        """
        return [
            (ldexp(cells[place], exponent) - offset) / unit * factor
            for place, exponent, offset, unit, factor in self._scales
        ]


def neighbours_of_one(learner: Learner) -> NeighboursOfOne | None:
    """What answers a learner's single rows; ``None`` where they go the general way."""
    if not isinstance(learner, NeighborsEstimator) or learner.voters != "nearest":
        return None
    index = learner.index_
    if not (index.weights == 1).all():  # of rows of other weights more may be needed than k
        return None
    answered = _has_cells(index.tree) or _can_scan(index, learner.k_) or _ByMachineCode.covers(learner, 1)
    return NeighboursOfOne(learner) if answered else None


def _has_cells(tree: KdTree | None) -> bool:
    return tree is not None and tree.p in EXACT_POWERS and len(tree.boxes) <= _MAX_NODES


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
