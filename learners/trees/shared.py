"""Columns laid out once for many trees, each of which grows by row weights of its own.

Sorting and coding the columns costs as much as a small tree. The codes are only read by growing and are shared;
keys, row numbers and weights are moved, so each tree has its own copy of those.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learners.base import Progress, no_progress
from learners.table import Table
from learners.trees.build import grow_prepared
from learners.trees.nodes import Nodes
from learners.trees.problem import MASS, WEIGHT, Problem
from learners.trees.setup import GrowthOptions, Prepared, prepare
from learners.types import BoolArray, FloatArray, IntArray


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
        self._given = weights

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
        prepared = self._weighted(weights, self._given if by_given else weights)
        if draw is not None:
            prepared = replace(prepared, problem=prepared.problem._replace(draw=draw))
        return grow_prepared(prepared, self._table, weights, self._options, progress)

    def _weighted(self, weights: FloatArray, masses: FloatArray) -> Prepared:
        shared, problem = self._prepared, self._prepared.problem
        rows = problem.row[: shared.n_rows]
        own = weights.take(rows)
        kept = own > 0
        places = np.flatnonzero(kept)
        n_kept = len(places)
        if n_kept < len(rows):
            rows, own = rows.take(places), own.take(places)  # in a fraction of the time that a mask takes
        mass = np.maximum(own if masses is weights else masses.take(rows), 1.0)
        unit = shared.rules.unit and bool((own == 1.0).all())
        capacity = n_kept + len(problem.row) - shared.n_rows
        row = np.zeros(capacity, np.int32)
        row[:n_kept] = rows
        numbers = np.zeros((3, 1 if unit and shared.rules.n_stats == shared.rules.n_values else capacity))
        if not unit:
            numbers[WEIGHT, :n_kept] = own
            numbers[MASS, :n_kept] = mass
        keys = _keys_of(problem, kept, n_kept, capacity)
        is_weight = bool((mass == own).all())
        mass_row = WEIGHT if is_weight else MASS
        rules = shared.rules._replace(unit=unit, mass_is_weight=is_weight, mass_row=mass_row)
        return Prepared(problem._replace(keys=keys, row=row, numbers=numbers), rules, n_kept, shared.cuts)


def _keys_of(problem: Problem, kept: BoolArray, n_kept: int, capacity: int) -> IntArray:
    """The keys of the rows that are kept, which are numbered anew."""
    layout = problem.layout
    mask = (1 << (layout.rank_shift - layout.label_bits)) - 1
    moved: IntArray = np.cumsum(kept, dtype=np.int64)
    moved -= np.arange(1, len(kept) + 1)
    moved <<= layout.label_bits
    keys = np.empty((len(problem.keys), capacity), np.int64)
    for column in np.flatnonzero(~problem.columns.view(np.ndarray)["is_coded"]):
        own = problem.keys[column, : len(kept)]
        if n_kept < len(kept):
            ids = (own >> layout.label_bits) & mask
            chosen = np.flatnonzero(kept.take(ids))
            own = own.take(chosen) + moved.take(ids.take(chosen))
        keys[column, :n_kept] = own
    return keys
