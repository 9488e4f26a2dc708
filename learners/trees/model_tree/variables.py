"""The variables of linear models: the columns and indicators that a tree's tests ask for.

A test on a numeric column gives the column's value. A test that parts the levels of a column in two gives the
indicator that is 1 for the levels of its second branch. Each is one variable however often it is tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.linear_function import LinearTerm
from learners.table import Column
from learners.trees.nodes import LEAF, THRESHOLD, Nodes
from learners.types import FloatArray, Int8Array, Int32Array, IntArray

#: In a variable's table of levels: of this one it knows nothing.
_UNTOLD = -1


@dataclass(frozen=True, eq=False)
class Variables:
    """V variables, by column; of one column those that are 1 for the most levels first.

    Attributes:
        column: int32 (V,).
        start: int64 (V,), where the variable's levels begin in ``levels``; -1 of a column's number.
        levels: int8, 1 or 0 by level code, and -1 for a level that did not occur.
    """

    column: Int32Array
    start: IntArray
    levels: Int8Array

    def values(self, variable: int, cells: FloatArray) -> FloatArray:
        """A variable of some cells of its column, NaN where it is not known; shape (n,)."""
        start = int(self.start[variable])
        if start < 0:
            return cells
        return self.looked_up(np.full(len(cells), start), cells)

    def looked_up(self, starts: IntArray, cells: FloatArray) -> FloatArray:
        """Indicators of cells that hold codes; ``starts`` are entries of ``start``; shape (n,)."""
        known = cells >= 0
        told = self.levels[starts + np.where(known, cells, 0).astype(np.int64)]
        return np.where(known & (told != _UNTOLD), told, np.nan)

    def term(self, variable: int, coefficient: float, default: float, columns: Sequence[Column]) -> LinearTerm:
        """A coefficient times this variable."""
        feature = int(self.column[variable])
        column = columns[feature]
        start = int(self.start[variable])
        if start < 0:
            return LinearTerm(feature, column.name, coefficient, default)
        told = self.levels[start : start + len(column.levels)]
        ones, zeros = (tuple(np.flatnonzero(told == side).tolist()) for side in (1, 0))
        labels = tuple(column.labels[code] for code in ones)
        return LinearTerm(feature, column.name, coefficient, default, ones, zeros, labels)


def variables_of(nodes: Nodes, columns: Sequence[Column]) -> tuple[Variables, IntArray]:
    """The variables that a tree of two-way tests asks for, and that of each node, -1 at a leaf."""
    known: dict[tuple[int, bytes], int] = {}
    found: list[tuple[int, Int8Array | None]] = []
    of_node = np.full(nodes.n_nodes, -1, dtype=np.int64)
    for node in np.flatnonzero(nodes.test != LEAF).tolist():
        feature = int(nodes.feature[node])
        told = _told(nodes, node, columns[feature])
        key = (feature, b"" if told is None else told.tobytes())
        if key not in known:
            known[key] = len(found)
            found.append((feature, told))
        of_node[node] = known[key]
    order = sorted(range(len(found)), key=lambda one: _reading_place(*found[one]))
    place = np.empty(len(found) + 1, dtype=np.int64)
    place[order], place[-1] = np.arange(len(found)), -1
    tables = [found[one][1] for one in order]
    sizes = np.array([0 if told is None else len(told) for told in tables], dtype=np.int64)
    start = np.where(sizes > 0, np.cumsum(sizes) - sizes, -1)
    levels = np.concatenate([told for told in tables if told is not None] or [np.zeros(0, np.int8)])
    column = np.array([found[one][0] for one in order], dtype=np.int32)
    return Variables(column, start, levels), place[of_node]


def _reading_place(feature: int, told: Int8Array | None) -> tuple[int, int, bytes]:
    return (feature, 0, b"") if told is None else (feature, -int(np.count_nonzero(told == 1)), told.tobytes())


def _told(nodes: Nodes, node: int, column: Column) -> Int8Array | None:
    """The second branch's indicator by level code; ``None`` of a numeric column."""
    if column.is_numeric:
        return None
    if nodes.test[node] == THRESHOLD:
        return np.asarray(np.arange(len(column.levels)) > nodes.threshold[node], dtype=np.int8)
    told = np.full(len(column.levels), _UNTOLD, dtype=np.int8)
    codes, branches = nodes.levels_of(node)
    told[codes] = branches
    return told
