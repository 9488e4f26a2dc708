"""Columns laid out once for many trees, each of which grows by row weights of its own.

Sorting and coding the columns costs as much as a small tree. The codes are only read by growing and are shared;
keys, row numbers and weights are moved, so each tree has its own copy of those.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learners._accel import lean_kernel
from learners.base import Progress, no_progress
from learners.table import Table
from learners.trees.build import grow_prepared
from learners.trees.growth import Growth
from learners.trees.nodes import Nodes
from learners.trees.problem import MASS, WEIGHT, Problem
from learners.trees.setup import GrowthOptions, Prepared, prepare
from learners.types import FloatArray, Int32Array, IntArray


class SharedColumns:
    """A table's columns and its target, ready for trees.

    Args:
        table, target, n_classes, weights, options: as for :func:`~learners.trees.setup.prepare`; only rows of
            positive weight can be learned from later. The options' threads share the work of laying out alone.
    """

    def __init__(
        self, table: Table, target: FloatArray, n_classes: int, weights: FloatArray, options: GrowthOptions
    ) -> None:
        self._table = table
        self._prepared = prepare(table, target, n_classes, weights, options)
        self._options = replace(options, threads=1)
        self._rows = np.flatnonzero(weights > 0)
        self._given = weights
        #: One for each thread; trees take and leave them in whatever order.
        self._finished: list[Growth] = []

    @property
    def n_varying(self) -> int:
        """How many columns have more than one value."""
        plain = self._prepared.problem.columns.view(np.ndarray)
        return int(np.count_nonzero(~plain["is_coded"] | (plain["n_codes"] > 1)))

    def grow(
        self,
        weights: FloatArray,
        *,
        by_given: bool = False,
        draw: IntArray | None = None,
        progress: Progress = no_progress,
    ) -> Nodes:
        """The tree of the rows with these weights, the same as if it were grown alone. Threads may grow at once.

        Args:
            weights: shape (n,), >= 0; 0 where the weights given at first are.
            by_given: stop rules count the weights given at first in place of these.
            draw: how columns are drawn for each node, see :func:`~learners.trees.column_draws.draw_of`; None: all.
            progress: see :data:`~learners.base.Progress`.
        """
        before = self._taken()
        prepared = self._weighted(weights, self._given if by_given else weights, before)
        if draw is not None:
            prepared = replace(prepared, problem=prepared.problem._replace(draw=draw))
        return grow_prepared(prepared, self._table, weights, self._options, progress, before, self._finished)

    def _taken(self) -> Growth | None:
        """A finished growth whose memory is free: making it anew costs as much as the passes over the rows."""
        try:
            return self._finished.pop()
        except IndexError:
            return None

    def _of_rows(self, weights: FloatArray) -> FloatArray:
        """The weights of the rows that may be learned from."""
        return weights if len(self._rows) == len(weights) else weights[self._rows]

    def _weighted(self, weights: FloatArray, masses: FloatArray, before: Growth | None) -> Prepared:
        shared, problem = self._prepared, self._prepared.problem
        n_kept = int(np.count_nonzero(weights > 0))
        if before is None:
            capacity = max(len(problem.row), shared.n_rows + 1)  # room for one more, see take_rows
            row, keys = np.empty(capacity, np.int32), np.empty((len(problem.keys), capacity), np.int64)
        else:
            row, keys = before.problem.row, before.problem.keys
        numbers = None if before is None else before.problem.numbers
        if numbers is None or numbers.shape[1] < len(row):
            numbers = np.empty((3, len(row)))
        ids = np.empty(shared.n_rows, np.int32)
        own = self._of_rows(weights)
        own_masses = own if masses is weights else self._of_rows(masses)
        are_one, are_mass = take_rows(problem, own, own_masses, ids, row, numbers, keys)
        unit = shared.rules.unit and bool(are_one)
        if unit and shared.rules.n_stats == shared.rules.n_values:
            numbers = np.zeros((3, 1))
        mass_row = WEIGHT if are_mass else MASS
        rules = shared.rules._replace(unit=unit, mass_is_weight=bool(are_mass), mass_row=mass_row)
        return Prepared(problem._replace(keys=keys, row=row, numbers=numbers), rules, n_kept, shared.cuts)


@lean_kernel
def take_rows(
    problem: Problem,
    weights: FloatArray,
    masses: FloatArray,
    ids: Int32Array,
    row: Int32Array,
    numbers: FloatArray,
    keys: IntArray,
) -> tuple[bool, bool]:
    """Number the rows of positive weight anew.

    Every row is written and only the end moves on, by 1 for those that are kept, so there is room for one more.

    Args:
        weights, masses: by old id.
        ids: gets each old id's new one, shape (n,); of one that is not kept anything below 0.
        row, numbers, keys: get what the problem has of the rows that are kept.

    Returns:
        Whether all weights are 1, and whether all are the row's mass.
    """
    end = np.uint64(0)
    are_one = True
    are_mass = True
    for one in range(np.uint64(ids.shape[0])):
        weight = weights[one]
        mass = max(masses[one], 1.0)
        is_kept = weight > 0.0
        row[end] = problem.row[one]
        numbers[WEIGHT, end] = weight
        numbers[MASS, end] = mass
        ids[one] = np.int32(end) if is_kept else np.int32(-1)
        are_one &= weight == 1.0 or not is_kept
        are_mass &= weight == mass or not is_kept
        end += np.uint64(is_kept)
    shift = problem.layout.label_bits
    id_mask = (np.int64(1) << (problem.layout.rank_shift - shift)) - 1
    for column in range(keys.shape[0]):
        if problem.columns[column].is_coded:
            continue
        place = np.uint64(0)
        for i in range(np.uint64(ids.shape[0])):
            key = problem.keys[np.uint64(column), i]
            old = (key >> shift) & id_mask
            new = np.int64(ids[np.uint64(old)])
            keys[np.uint64(column), place] = key + ((new - old) << shift)
            place += np.uint64(new >= 0)
    return are_one, are_mass
