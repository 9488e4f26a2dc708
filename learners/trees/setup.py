"""From a table, a target and weights to the :class:`~learners.trees.problem.Problem` of the kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from learners.table import Column, Table
from learners.trees.binning import binned, cuts_of
from learners.trees.cells import by_column, coded_columns, has_gaps, read_only
from learners.trees.column_draws import draw_of
from learners.trees.criteria import CRITERIA, ENTROPY, GINI, VARIANCE
from learners.trees.extras import extras_of
from learners.trees.layout import ColumnPlan, lay_columns, levels_of
from learners.trees.presort import KeyLayout
from learners.trees.problem import (
    BINNED,
    MASS,
    MISSING_RULES,
    MULTIWAY,
    NOMINAL,
    ORDERED,
    WEIGHT,
    Problem,
    Records,
    Rules,
)
from learners.trees.wholes import part_in_whole
from learners.types import FloatArray, Int32Array

#: Sums of fractions miss a whole number by rounding, one way or the other with the order of the rows.
_SLACK = 1 - 1e-9


@dataclass(frozen=True)
class GrowthOptions:
    """How to grow; the fields are those of the tree estimators (see there)."""

    criterion: str
    nominal: str = "subset"
    max_depth: int | None = None
    max_leaves: int | None = None
    min_leaf: float = 1.0
    min_split: float = 2.0
    min_gain: float = 0.0
    threshold: str = "midpoint"
    threshold_penalty: bool = False
    threshold_minimum: str = "min-leaf"
    missing: str = "fractional"
    discretise: str = "none"
    bins: int = 10
    threads: int = 1
    costs: Mapping[str, float] | None = None
    cost_form: str = "none"
    cost_exponent: float = 1.0
    stop_significance: float | None = None
    interval_tests: bool = False
    formula_tests: str = "none"
    max_terms: int = 5
    oblique_tests: bool = False
    oblique_l2: float = 1e-4

    @property
    def combines(self) -> bool:
        """Whether tests of several values are looked for."""
        return self.interval_tests or self.oblique_tests or self.formula_tests != "none"


@dataclass(frozen=True)
class Prepared:
    """A problem ready to grow; ``cuts`` holds those of columns that were cut into intervals.

    Its rows are the table's, or of a part of a whole that is laid out (:mod:`~learners.trees.wholes`) the whole's.
    """

    problem: Problem
    rules: Rules
    n_rows: int
    cuts: list[FloatArray | None] = field(default_factory=list)


def prepare(table: Table, target: FloatArray, n_classes: int, weights: FloatArray, options: GrowthOptions) -> Prepared:
    """Sort or code every column and lay out all arrays.

    Args:
        table: n rows.
        target: class codes or, for regression, numbers, shape (n,).
        n_classes: K, or 0 for regression.
        weights: shape (n,), >= 0; rows of weight 0 are left out.
        options: see :class:`GrowthOptions`.
    """
    rows = np.flatnonzero(weights > 0).astype(np.int32)
    own, learned = weights[rows], target[rows]
    layout = KeyLayout.of(len(rows), max(n_classes, 1))
    labels = learned.astype(np.int32) if n_classes else np.zeros(len(rows), np.int32)
    part = part_in_whole(table, len(rows), options.threads) if options.discretise == "none" else None
    gaps = part.has_gaps if part is not None else has_gaps(by_column(table.values), coded_columns(table.columns))
    # Where missing is a value, rows are divided by tests of several values alone.
    divides = gaps and (options.missing != "as-value" or options.combines)
    capacity = len(rows) + (len(rows) // 4 + 64 if divides else 0)
    cuts: list[FloatArray | None] = [None] * len(table.columns)
    cells = part.source.cells if part is not None else by_column(table.values)
    if options.discretise != "none":
        cuts = cuts_of(cells, table.columns, rows, target, weights, options.discretise, options.bins)
        cells = read_only(binned(cells, cuts))
    plans = [plan_of(column, own_cuts, options) for column, own_cuts in zip(table.columns, cuts, strict=True)]
    if part is None:
        laid = lay_columns(cells, plans, rows, labels, layout, capacity, options.threads)
    else:
        rows, target = part.numbers(rows), part.by_row(target)
        laid = part.taken(plans, rows, labels, layout, capacity)
    unit = not divides and bool((own == 1.0).all())
    rules = _rules(options, n_classes, unit, bool((own >= 1.0).all()))
    row, numbers = _by_id(rows, own, unit, n_classes == 0, capacity)
    problem = Problem(
        keys=laid.keys,
        codes=laid.codes,
        values=laid.values,
        layout=layout,
        cells=cells,
        columns=laid.columns,
        answer=read_only(target),
        row=row,
        numbers=numbers,
        logs=_log_table(len(rows)) if rules.criterion == ENTROPY and unit else np.zeros(1),
        draw=draw_of(None, 0),
        extras=extras_of(
            table.columns,
            options.cost_form,
            options.costs,
            options.cost_exponent,
            options.stop_significance,
            most_freedom(laid.columns, n_classes),
        ),
    )
    return Prepared(problem, rules, len(rows), cuts)


def plan_of(column: Column, cuts: FloatArray | None, options: GrowthOptions) -> ColumnPlan:
    """How a column is laid out for growing."""
    with_missing = options.missing == "as-value"
    if cuts is not None:
        return ColumnPlan(BINNED, len(cuts) + 1, is_level=False, with_missing=with_missing)
    n_levels = levels_of(column)
    kind = NOMINAL[options.nominal] if n_levels else ORDERED
    return ColumnPlan(kind, n_levels, is_level=not column.is_numeric, with_missing=with_missing)


def most_freedom(columns: Records, n_classes: int) -> int:
    """The most degrees of freedom that a test can have: branches less 1 times classes less 1."""
    plain = columns.view(np.ndarray)  # whose fields are read in a tenth of the time
    levels = plain["n_codes"][(plain["kind"] == MULTIWAY) | (plain["kind"] == BINNED)]
    return (max(int(np.max(levels, initial=2)), 2) - 1) * max(n_classes - 1, 1)


def _rules(options: GrowthOptions, n_classes: int, unit: bool, mass_is_weight: bool) -> Rules:
    criterion = CRITERIA[options.criterion]
    return Rules(
        criterion=criterion,
        by_ratio=options.criterion == "gain-ratio",
        by_deviation=options.criterion == "deviation",
        nominal=NOMINAL[options.nominal],
        missing=MISSING_RULES[options.missing],
        unit=unit,
        mass_is_weight=mass_is_weight,
        mass_row=WEIGHT if mass_is_weight else MASS,
        binary=criterion == GINI and n_classes == 2,
        n_values=2 if criterion == VARIANCE else n_classes,
        n_stats=3 if criterion == VARIANCE else n_classes,
        max_depth=-1 if options.max_depth is None else int(options.max_depth),
        min_leaf=float(options.min_leaf) * _SLACK,
        min_split=float(options.min_split) * _SLACK,
        min_gain=float(options.min_gain),
        penalty=bool(options.threshold_penalty),
        quinlan_minimum=options.threshold_minimum == "c4.5",
    )


def _by_id(
    rows: Int32Array, weights: FloatArray, unit: bool, regression: bool, capacity: int
) -> tuple[Int32Array, FloatArray]:
    """``row`` and ``numbers`` with spare room.

    A row's mass is its weight, but at least 1: stop rules count a row that is not divided at least
    as one row, so weights that a booster has normalised do not stop growth.
    """
    row = np.zeros(capacity, np.int32)
    row[: len(rows)] = rows
    numbers = np.zeros((3, 1 if unit and not regression else capacity))
    if not unit:
        numbers[WEIGHT, : len(rows)] = weights
        numbers[MASS, : len(rows)] = np.maximum(weights, 1.0)
    return row, numbers


def _log_table(n: int) -> FloatArray:
    counts = np.arange(n + 1, dtype=np.float64)
    counts[1:] *= np.log2(counts[1:])
    return counts
