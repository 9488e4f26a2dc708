"""From a dataset and a job's request to what a learner is given: table, target and weights.

Rows without a target are dropped and counted. In a warm process the last preparation is kept, so
that the folds of a job that run there share it, and what learners prepare of its columns for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from learners.decisions import utility_matrix
from learners.errors import DataError, quoted
from learners.evaluation import Judging, Plan
from learners.evaluation.plan import Splits
from learners.neural.autoencoder.estimator import RECONSTRUCTION_ERROR
from learners.parts import part_of, parted
from learners.table import Series, Table
from learners.types import FloatArray, IntArray
from learners.validation import check_weights
from service.formats.table_file import open_table


@dataclass(frozen=True, eq=False)
class LearningData:
    """What a learner is given.

    Attributes:
        table: the features, n rows.
        target: n labels or numbers, none missing.
        weights: n weights, or None.
        groups, times: what the evaluation parts the rows by, or None.
        rows: their numbers in the dataset, which errors name; None where all of it is there.
        dropped: rows that were left out because their target is missing.
        drawn: how the rows were parted before, by what that depends on; see :meth:`splits`.
    """

    table: Table
    target: Series
    weights: FloatArray | None
    dropped: int
    groups: Series | None = None
    times: Series | None = None
    rows: IntArray | None = None
    drawn: dict[tuple[Plan, int], Splits] = field(default_factory=dict)

    def splits(self, plan: Plan, seed: int) -> Splits:
        """How the rows are parted; the last one is kept, for the parts of a job ask for the same.

        Raises:
            ParameterError, DataError: see :meth:`~learners.evaluation.plan.Plan.splits`.
        """
        if (plan, seed) not in self.drawn:
            self.drawn.clear()
            self.drawn[plan, seed] = plan.splits(self.target, seed, groups=self.groups, times=self.times)
        return self.drawn[plan, seed]

    def judging(self, evaluation: Mapping[str, Any], *, training: bool = False) -> Judging:
        """How the rows are judged; with ``training`` those that were learned from too."""
        utility = utility_matrix(evaluation.get("utility"), self.target.column)
        return Judging(self.weights, self.groups, self.times, utility, training, self.rows)

    def taken(self, rows: IntArray) -> LearningData:
        """Some of the rows."""
        return LearningData(
            part_of(self.table, rows),
            self.target.take(rows),
            None if self.weights is None else self.weights[rows],
            self.dropped,
            None if self.groups is None else self.groups.take(rows),
            None if self.times is None else self.times.take(rows),
            rows if self.rows is None else self.rows[rows],
        )


_kept: tuple[tuple[Any, ...], LearningData] | None = None


def prepare(path: Path, request: Mapping[str, Any]) -> LearningData:
    """The learning data of a request from its table file.

    Raises:
        DataError: no row has a target, or a weight is missing, negative or infinite.
    """
    global _kept  # noqa: PLW0603 - a process keeps the last preparation
    evaluation = request.get("evaluation", {})
    key = (
        str(path),
        tuple(request["features"]),
        request["target"],
        request.get("weights"),
        evaluation.get("groups"),
        evaluation.get("time"),
        _learns_in_parts(request),
    )
    if _kept is None or _kept[0] != key:
        _kept = None  # let go of the old one before the new one takes its room
        _kept = (key, _prepare(open_table(path), request))
    return _kept[1]


def _prepare(table: Table, request: Mapping[str, Any]) -> LearningData:
    target = target_of(table, request["target"])
    weights = weights_of(table, request.get("weights"))
    features = select(table, request["features"])
    known = ~np.isnan(target.cells)
    kept = int(np.count_nonzero(known))
    if kept == 0:
        raise DataError(f"the target {quoted(request['target'])} is missing in every row", field=request["target"])
    evaluation = request.get("evaluation", {})
    groups, times = (table.column(evaluation[name]) if name in evaluation else None for name in ("groups", "time"))
    data = LearningData(features, target, weights, len(known) - kept, groups, times)
    data = data if kept == len(known) else data.taken(np.flatnonzero(known))
    return replace(data, table=parted(data.table)) if _learns_in_parts(request) else data


def _learns_in_parts(request: Mapping[str, Any]) -> bool:
    """Whether several parts of the rows are learned from one after the other, so that they may share what they can."""
    evaluation = request.get("evaluation", {})
    splits = evaluation.get("folds", 1) * evaluation.get("repeats", 1)
    return splits > 1 or evaluation.get("method") == "leave-one-out" or "selection" in request or "shares" in request


def target_of(table: Table, name: str | None) -> Series:
    """A column of the table; for a learner without a target, whose request names none, what it should answer."""
    return Series(RECONSTRUCTION_ERROR, np.zeros(table.n_rows)) if name is None else table.column(name)


def select(table: Table, names: Sequence[str]) -> Table:
    """The named columns; without a copy where they lie side by side in this order."""
    positions = [table.position(name) for name in names]
    first = positions[0]
    if positions == list(range(first, first + len(positions))):
        end = first + len(positions)
        return Table(table.columns[first:end], table.values[:, first:end])
    return table.select(names)


def weights_of(table: Table, name: str | None) -> FloatArray | None:
    """The weights of the rows, checked; None where no column is named."""
    if name is None:
        return None
    weights = table.column(name).cells
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        value = "missing" if np.isnan(weights[row]) else repr(float(weights[row]))
        raise DataError(
            f"the weight in column {quoted(name)}, row {row} (counted from 0) is {value}; "
            "weights are finite numbers >= 0",
            field=name,
            row=row,
        )
    try:
        return check_weights(weights, len(weights))
    except DataError as error:
        raise DataError(f"column {quoted(name)}: {error}", field=name, row=error.row) from None
