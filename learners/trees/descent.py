"""One row through a tree or through several: for a handful of tests plain numbers are faster than any array."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import isnan
from struct import Struct
from typing import Any, Protocol

import numpy as np

from learners.table import Column
from learners.trees.branching import FIRST_CHILD, UPPER
from learners.trees.combined.column import CombinedColumn
from learners.trees.traverse import PackedTree
from learners.trees.walk_layout import BETWEEN, COMPARED, RANKED, TABLED, WalkLayout
from learners.types import Array

#: Up to so many nodes are copied into lists, which are read fastest and take most memory. Of more nodes what a step
#: reads is one record, for most of them lie in no cache.
_FEW_NODES = 200_000
_RECORD = np.dtype(
    [("threshold", "<f8"), ("to", "<i4"), ("column", "<i4"), ("largest", "<i4"), ("kind", "<i4")], align=True
)
_READ = Struct("<diiii").unpack_from
#: How a node with a test of several values leads on, beside the ways of :mod:`learners.trees.walk_layout`.
_COMBINED = -1


class _Test(Protocol):
    def value(self, cells: Sequence[float]) -> float: ...


class Descent:
    """Finds the leaf of one row, by what batches read too (:class:`~learners.trees.walk_layout.WalkLayout`).

    Args:
        tree: laid out for walking.
        columns: what it tests, tests of several values included.
    """

    def __init__(self, tree: PackedTree, columns: Sequence[Column]) -> None:
        layout = tree.layout
        self._layout, self._tree = layout, tree
        kinds, self._tests = layout.kind.copy(), _tests(layout.column, columns)
        kinds[list(self._tests)] = _COMBINED
        self._kind, self._first, self._column = _numbers(kinds), _numbers(layout.first), _numbers(layout.column)
        self._threshold, self._absent = _numbers(layout.threshold), _numbers(layout.absent)
        self._table, self._place, self._largest = (
            _numbers(array) for array in (layout.table, layout.place, layout.largest)
        )
        self._n_branches = _numbers(layout.n_branches)
        self._records = None if len(kinds) <= _FEW_NODES else _records(layout, kinds)
        self._ends: dict[int, list[float]] = {}
        self._listed: dict[int, dict[int, int]] = {}

    def leaf(self, cells: Sequence[float], node: int = 0) -> int:
        """The leaf in which a row ends, from a root on; -1 if a test decides nothing. No cell may be missing."""
        node = self.end(cells, node)
        return -1 if self._n_branches[node] else node

    def end(self, cells: Sequence[float], node: int) -> int:
        """The same, or the node whose test decides nothing."""
        if self._records is not None:
            return self._end_of_records(self._records, cells, node)
        kind, first, column, threshold = self._kind, self._first, self._column, self._threshold
        place, largest, table = self._place, self._largest, self._table
        while True:
            how = kind[node]
            if how == COMPARED:
                after = first[node] + (cells[column[node]] > threshold[node])
            elif how == TABLED:
                code, end = int(cells[column[node]]), largest[node]
                after = table[place[node] + (code if code < end else end)]
            else:
                after = self._otherwise(how, node, cells)
            if after == node:
                return node
            node = after

    def _end_of_records(self, records: memoryview, cells: Sequence[float], node: int) -> int:
        """The same of many nodes."""
        table, size = self._table, _RECORD.itemsize
        while True:
            threshold, after, column, end, how = _READ(records, size * node)
            if how == COMPARED:
                after += cells[column] > threshold
            elif how == TABLED:
                code = int(cells[column])
                after = table[after + (code if code < end else end)]
            else:
                after = self._otherwise(how, node, cells)
            if after == node:
                return node
            node = after

    def _otherwise(self, how: int, node: int, cells: Sequence[float]) -> int:
        """Where a node of a rarer kind leads."""
        first: int = self._first[node]
        if how == _COMBINED:
            value = self._tests[node].value(cells)
            return int(self._absent[node]) if isnan(value) else first + (value > self._threshold[node])
        value = cells[self._column[node]]
        if how == RANKED:
            return int(self._absent[node]) if value < 0 else first + (value > self._threshold[node])
        if how == BETWEEN:
            return first + bisect_left(self._ends.get(node) or self._ends_of(node), value)
        listed = self._listed.get(node) or self._codes_of(node)
        return listed.get(int(value), int(self._layout.unlisted[node]))

    def _ends_of(self, node: int) -> list[float]:
        """Where the intervals of a node end."""
        first = int(self._tree.links[node, FIRST_CHILD])
        found: list[float] = self._tree.splits[first : first + self._n_branches[node], UPPER].tolist()
        self._ends[node] = found
        return found

    def _codes_of(self, node: int) -> dict[int, int]:
        """Where the codes lead that a node lists."""
        keys, targets = self._layout.codes_of(node)
        found = self._listed[node] = dict(zip(keys.tolist(), targets.tolist(), strict=True))
        return found


def _records(layout: WalkLayout, kinds: Array) -> memoryview:
    """What a step reads of each node, one after the other."""
    records = np.empty(len(kinds), _RECORD)
    records["threshold"], records["column"], records["kind"] = layout.threshold, layout.column, kinds
    records["to"] = np.where(kinds == TABLED, layout.place, layout.first)
    records["largest"] = layout.largest
    return records.view(np.uint8).data


def _numbers(array: Array) -> Any:
    """An array from which single numbers are read fast."""
    return array.tolist() if len(array) <= _FEW_NODES else array.data


def _tests(feature: Array, columns: Sequence[Column]) -> Mapping[int, _Test]:
    """The tests of several values, by their nodes."""
    if not any(isinstance(column, CombinedColumn) for column in columns):
        return {}
    asked = ((node, columns[place]) for node, place in enumerate(feature.tolist()))
    return {node: column.test for node, column in asked if isinstance(column, CombinedColumn)}
