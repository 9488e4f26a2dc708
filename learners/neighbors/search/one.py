"""One query at a time by machine code, in processes that have no numba: from a row's cells to its nearest rows."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from threading import Lock
from typing import Any

import numpy as np

from learners._lanes import LANES
from learners._native import array_at, native
from learners.neighbors.search.found import Found
from learners.neighbors.search.pools import SUBSETS
from learners.neighbors.search.walk import search_one
from learners.types import Array, FloatArray, IntArray

#: Numbers compared beyond which another search is due: half a millisecond.
_MOST_NUMBERS = 2_000_000
#: Of more neighbours keeping them in order takes longer than finding them.
MOST_K = 250
#: The powers of differences that are the same however they are computed.
EXACT_POWERS = (1.0, 2.0, inf)
#: Halved or doubled so often a number is multiplied by one that there is.
MOST_DOUBLINGS = 1_023


#: Columns of what cells are scaled by.
_SCALES = 5


@native("pipf")
def nearest_one(arrays: Any, sizes: IntArray, room: Any, cells: FloatArray) -> int:
    """The nearest rows of one row, see :class:`OneSearch`: whether they were found."""
    n_columns, n_inner, n_pools, n_groups, k, n_wait, n_cells = (
        sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6],
    )  # fmt: skip
    scales = array_at(arrays[14], (n_columns, _SCALES), np.float64)
    places = array_at(arrays[15], n_columns, np.int64)
    labels = array_at(arrays[16], sizes[9], np.int16)
    limits = array_at(arrays[17], 2, np.float64)
    row = array_at(cells, n_cells, np.float64)
    query = array_at(room[0], n_columns, np.float64)
    for column in range(n_columns):
        cell = row[places[column]]
        if cell >= scales[column, 4]:
            scaled = (cell * scales[column, 0] - scales[column, 1]) / scales[column, 2]
            query[column] = min(max(scaled, -limits[1]), limits[1]) * scales[column, 3]
        else:
            query[column] = np.nan
    slots = array_at(arrays[9], (n_columns + 2, 2), np.int64)
    tree = (
        array_at(arrays[0], (n_inner, LANES), np.int64),
        array_at(arrays[1], n_inner + n_pools, np.int64),
        array_at(arrays[2], (n_pools + 1, 3), np.int64),
        array_at(arrays[3], n_groups * LANES, np.int64),
        array_at(arrays[4], n_groups * LANES * n_columns, np.float64),
        array_at(arrays[5], n_columns + 1, np.int64),
        array_at(arrays[6], n_columns, np.float64),
        array_at(arrays[7], n_inner * slots[n_columns, 0], np.float64),
        array_at(arrays[8], n_inner * slots[n_columns, 1], np.uint8),
        slots,
        array_at(arrays[10], SUBSETS * LANES, np.float64),
        array_at(arrays[11], sizes[10], np.float64),
        array_at(arrays[12], sizes[11], np.uint8),
        array_at(arrays[13], sizes[12], np.uint8),
    )
    powers, rows = array_at(room[1], k, np.float64), array_at(room[2], k, np.int64)
    work = (
        array_at(room[4], 2 * LANES, np.float64),
        array_at(room[5], n_wait, np.int64),
        array_at(room[6], n_wait, np.float64),
        array_at(room[7], sizes[13], np.float64),
    )
    pairs = array_at(room[8], sizes[13], np.int16)
    visited = search_one(limits[0], tree, query, sizes[7], powers, rows, work, pairs)
    if visited > sizes[7]:
        return 0
    if sizes[8] > 0:
        codes = array_at(room[3], k, np.int16)
        for place in range(k):
            codes[place] = labels[rows[place]]
    return 1


@dataclass(frozen=True)
class Scales:
    """How cells become d coordinates.

    Attributes:
        places: int64 (d,), which cells of a row.
        factors: float64 (d, 5): what a cell is multiplied by, what is taken away, by what that is divided, by what the
            coordinate is multiplied at last; and the least cell, as a smaller one, or none, is missing.
        largest: that coordinates may be in magnitude before that.
    """

    places: IntArray
    factors: FloatArray
    largest: float


def unscaled(n_columns: int) -> Scales:
    """Coordinates as they are."""
    return Scales(np.arange(n_columns), np.tile([1.0, 0.0, 1.0, 1.0, -np.inf], (n_columns, 1)), np.inf)


class OneSearch:
    """Finds the k nearest rows of single rows, to the bit as every search does. Threads may share it.

    Args:
        p: Minkowski's exponent.
        tree: of :func:`learners.neighbors.search.pools.pooled`, over d coordinates of n rows.
        k: how many are asked for, at most n.
        scales: of the cells.
        labels: int16 (n,), of the rows, if those of the nearest shall be told.
    """

    def __init__(self, p: float, tree: tuple[Array, ...], k: int, scales: Scales, labels: Array | None = None) -> None:
        if nearest_one.loaded is None:
            raise TypeError("there is no machine code")
        self._function = nearest_one.loaded
        told = np.zeros(1, np.int16) if labels is None else labels
        self._model = _Addresses(*tree, scales.factors, scales.places, told, np.array([p, scales.largest]))
        d, n_wait = len(scales.places), int(tree[9][-1, 0])
        self._k, self._n_cells = k, int(scales.places.max()) + 1
        n_groups, most = len(tree[3]) // LANES, _MOST_NUMBERS // d
        parts = [d, len(tree[0]), len(tree[2]) - 1, n_groups, k, n_wait, self._n_cells, most, labels is not None]
        n_asked = -(-d // LANES) * LANES
        self._sizes = np.array([*parts, len(told), *map(len, tree[11:14]), n_asked], np.int64)
        #: The row's coordinates, then powers, rows and labels of the nearest, one after the other.
        self._found = np.empty(8 * d + k * (8 + 8 + 2), np.uint8)
        self._starts = 8 * d, 8 * d + 8 * k, 8 * d + 16 * k
        place, *found = np.split(self._found, self._starts)
        work = (np.empty(2 * LANES), np.empty(n_wait, np.int64), np.empty(n_wait), np.zeros(n_asked))
        self._room = _Addresses(place, *found, *work, np.empty(n_asked, np.int16))
        self._given = (self._model.address, self._sizes.ctypes.data, self._room.address)
        self._packed = struct.Struct(f"{self._n_cells}d").pack
        self._lock = Lock()

    def nearest(self, cells: Sequence[float]) -> bytes | None:
        """What is found for a row, for the functions below; ``None`` where another search is due.

        Args:
            cells: the row; finite numbers, or NaN, in the columns that become coordinates.
        """
        try:
            packed = self._packed(*cells[: self._n_cells])
        except struct.error:  # a whole number beyond all doubles
            return None
        with self._lock:
            return self._found.tobytes() if self._function(*self._given, packed) else None

    def labels(self, found: bytes) -> bytes:
        """The labels of the nearest rows in their order."""
        return found[self._starts[2] :]

    def rows(self, found: bytes) -> tuple[IntArray, FloatArray]:
        """Rows and powers of their distances, both (k,), the nearest first."""
        powers, rows, _ = self._starts
        return np.frombuffer(found, np.int64, self._k, rows), np.frombuffer(found, np.float64, self._k, powers)

    def place(self, found: bytes) -> FloatArray:
        """The row's coordinates, (d,)."""
        return np.frombuffer(found, np.float64, self._starts[0] // 8)


class FewSearch:
    """Finds the nearest rows of some queries one after the other. Threads may share it.

    Args:
        p, tree: see :class:`OneSearch`.
        n_columns: d.
    """

    def __init__(self, p: float, tree: tuple[Array, ...], n_columns: int) -> None:
        self._p, self._tree, self._scales = p, tree, unscaled(n_columns)
        self._by_k: dict[int, OneSearch] = {}

    def nearest(self, queries: FloatArray, k: int) -> Found | None:
        """The nearest k <= n rows of each query, shape (m, d), m >= 1; ``None`` where another search is due."""
        search = self._by_k.get(k)
        if search is None:
            search = self._by_k[k] = OneSearch(self._p, self._tree, k, self._scales)
        found = []
        for query in queries.tolist():
            one = search.nearest(query)
            if one is None:
                return None
            found.append(search.rows(one))
        return Found(np.array([rows for rows, _ in found]), np.array([powers for _, powers in found]))


class _Addresses:
    """Where some arrays lie, themselves an array; they stay there as long as this does."""

    def __init__(self, *arrays: Array) -> None:
        self._arrays = arrays
        if not all(array.flags.c_contiguous for array in arrays):
            raise TypeError("arrays are in one piece")
        self._table = np.array([array.ctypes.data for array in arrays], np.uint64)
        self.address = self._table.ctypes.data
