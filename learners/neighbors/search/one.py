"""One query at a time by machine code, in processes that have no numba: from a row's cells to its nearest rows."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from learners._native import array_at, native
from learners.neighbors.search.kd_tree import KdTree
from learners.neighbors.search.walk import DEEPEST, search_one
from learners.types import Array, FloatArray, IntArray

#: Numbers compared beyond which another search is due: half a millisecond.
_MOST_NUMBERS = 2_000_000
#: Of more neighbours keeping them in order takes longer than finding them.
MOST_K = 250
#: Halved or doubled so often a number is multiplied by one that there is.
MOST_DOUBLINGS = 1_023


@native("pipf")
def nearest_one(arrays: Any, sizes: IntArray, room: Any, cells: FloatArray) -> int:
    """The nearest rows of one row, see :class:`OneSearch`: whether they were found."""
    n_columns, n_inner, n_rows, k, widest, n_cells = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    scales = array_at(arrays[6], (n_columns, 4), np.float64)
    places = array_at(arrays[7], n_columns, np.int64)
    labels = array_at(arrays[8], n_rows, np.int16)
    limits = array_at(arrays[9], 2, np.float64)
    row = array_at(cells, n_cells, np.float64)
    query = array_at(room[0], n_columns, np.float64)
    for column in range(n_columns):
        scaled = (row[places[column]] * scales[column, 0] - scales[column, 1]) / scales[column, 2]
        query[column] = min(max(scaled, -limits[1]), limits[1]) * scales[column, 3]
    tree = (
        array_at(arrays[0], n_inner, np.int32),
        array_at(arrays[1], n_inner, np.float64),
        array_at(arrays[2], (2 * n_inner + 1, 2, n_columns), np.float64),
        array_at(arrays[3], n_inner + 2, np.int64),
        array_at(arrays[4], n_rows, np.int64),
        array_at(arrays[5], n_columns * n_rows, np.float64),
    )
    powers, rows = array_at(room[1], k, np.float64), array_at(room[2], k, np.int64)
    work = (
        array_at(room[4], widest, np.float64),
        array_at(room[5], DEEPEST, np.int64),
        array_at(room[6], DEEPEST, np.float64),
    )
    visited = search_one(limits[0], tree, query, sizes[6], powers, rows, work)
    if visited > sizes[6]:
        return 0
    if sizes[7] > 0:
        codes = array_at(room[3], k, np.int16)
        for place in range(k):
            codes[place] = labels[rows[place]]
    return 1


class OneSearch:
    """Finds the k nearest rows of single rows, to the bit as every search does. Threads may share it.

    Args:
        tree: over d coordinates of n rows.
        k: how many are asked for, at most n.
        places: int64 (d,), which cells of a row become coordinates.
        scales: float64 (d, 4): what a cell is multiplied by, what is taken away, by what that is divided, and by what
            the coordinate is multiplied at last.
        largest: that coordinates may be in magnitude before that.
        labels: int16 (n,), of the rows, if those of the nearest shall be told.
    """

    def __init__(
        self, tree: KdTree, k: int, places: IntArray, scales: FloatArray, largest: float, labels: Array | None = None
    ) -> None:
        if nearest_one.loaded is None:
            raise TypeError("there is no machine code")
        self._function = nearest_one.loaded
        start = tree.searched[3]
        widest = int(np.diff(start).max())
        told = np.zeros(1, np.int16) if labels is None else labels
        self._model = _Addresses(*tree.searched, scales, places, told, np.array([tree.p, largest]))
        d, n_inner = len(places), len(start) - 2
        self._k, self._n_cells = k, int(places.max()) + 1
        sizes = [d, n_inner, tree.n_rows, k, widest, self._n_cells, _MOST_NUMBERS // d, labels is not None]
        self._sizes = np.array(sizes, np.int64)
        #: Powers, rows and labels of the nearest one after the other.
        self._found = np.empty(k * (8 + 8 + 2), np.uint8)
        parts = (self._found[: 8 * k], self._found[8 * k : 16 * k], self._found[16 * k :])
        work = (np.empty(widest), np.empty(DEEPEST, np.int64), np.empty(DEEPEST))
        self._room = _Addresses(np.empty(d), *parts, *work)
        self._given = (self._model.address, self._sizes.ctypes.data, self._room.address)
        self._packed = struct.Struct(f"{self._n_cells}d").pack
        self._lock = Lock()

    def nearest(self, cells: Sequence[float]) -> bytes | None:
        """What is found for a row, for the functions below; ``None`` where another search is due.

        Args:
            cells: the row, known and finite numbers in the columns that become coordinates.
        """
        try:
            packed = self._packed(*cells[: self._n_cells])
        except struct.error:  # a whole number beyond all doubles
            return None
        with self._lock:
            return self._found.tobytes() if self._function(*self._given, packed) else None

    def labels(self, found: bytes) -> bytes:
        """The labels of the nearest rows in their order."""
        return found[16 * self._k :]

    def rows(self, found: bytes) -> tuple[IntArray, FloatArray]:
        """Rows and powers of their distances, both (k,), the nearest first."""
        return np.frombuffer(found, np.int64, self._k, 8 * self._k), np.frombuffer(found, np.float64, self._k)


class _Addresses:
    """Where some arrays lie, themselves an array; they stay there as long as this does."""

    def __init__(self, *arrays: Array) -> None:
        self._arrays = arrays
        if not all(array.flags.c_contiguous for array in arrays):
            raise TypeError("arrays are in one piece")
        self._table = np.array([array.ctypes.data for array in arrays], np.uint64)
        self.address = self._table.ctypes.data
