"""The tests of several values that a growing tree looks for beside the simple ones, and splitting by one.

A combined test is made only where it scores better than the best simple test of the node.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learners.table import Column, Kind
from learners.trees.combined.formulas import best_formula
from learners.trees.combined.intervals import best_interval
from learners.trees.combined.judging import FoundTest, NodeRows
from learners.trees.combined.oblique import best_sum
from learners.trees.combined.tests import CombinedTests
from learners.trees.dividing import divide_in_two
from learners.trees.growth import Growth
from learners.trees.pricing import FREE
from learners.trees.problem import TIE
from learners.trees.setup import GrowthOptions
from learners.types import FloatArray, IntArray

__all__ = ["CombinedSearch", "FoundTest", "split_by"]


class CombinedSearch:
    """Looks for the best combined test of a node.

    Args:
        columns: the table's.
        options: which kinds are asked for.
    """

    def __init__(self, columns: Sequence[Column], options: GrowthOptions) -> None:
        self._columns = columns
        self._options = options
        self._costs: FloatArray | None = None
        self._ordered = [place for place, column in enumerate(columns) if column.kind in (Kind.NUMERIC, Kind.ORDINAL)]
        self._numeric = np.array([place for place, column in enumerate(columns) if column.is_numeric], dtype=np.int64)

    def pay(self, growth: Growth, node: int) -> None:
        """Before a node's tests are searched: columns of combined tests above it are paid for."""
        extras = growth.problem.extras
        if extras is None or extras.cost_form == FREE:
            return
        if self._costs is None:
            self._costs = extras.costs.copy()
        extras.costs[:] = self._costs
        for feature in _features_above(growth, node):
            extras.costs[feature] = extras.paid

    def best(self, growth: Growth, node: int) -> FoundTest | None:
        """The best combined test, if it scores better than the best simple one, which has been searched."""
        extras = growth.problem.extras
        priced = extras is not None and extras.cost_form != FREE
        rows = NodeRows.of(growth, node, extras.costs if priced and extras is not None else None)
        score, average = rows.simple()
        if not growth.rules.by_ratio and not priced and score >= rows.scale * (1.0 - TIE):
            return None  # it gains all there is
        best: FoundTest | None = None
        for found in self._found(rows):
            if found is not None and found.gain >= average and found.score > score + rows.slack(score):
                best, score = found, found.score
        if best is None or not rows.differs(_branches(growth, node, best)):
            return None
        return best

    def _found(self, rows: NodeRows) -> list[FoundTest | None]:
        options, found = self._options, []
        if options.interval_tests:
            found += [best_interval(rows, one, is_numeric=self._columns[one].is_numeric) for one in self._ordered]
        if options.formula_tests != "none":
            found.append(best_formula(rows, self._columns, options.formula_tests, options.max_terms))
        if options.oblique_tests:
            found.append(best_sum(rows, self._numeric, options.oblique_l2))
        return found


def _features_above(growth: Growth, node: int) -> list[int]:
    """The columns that are tested above a node."""
    d, nodes = len(growth.problem.columns), growth.grown.nodes
    found: list[int] = []
    above = int(nodes[node].parent)
    while above >= 0:
        feature = int(nodes[above].feature)
        found += [feature] if feature < d else [term.feature for term in growth.combined[feature - d].terms]
        above = int(nodes[above].parent)
    return found


def _branches(growth: Growth, node: int, found: FoundTest) -> IntArray:
    """Where each row of a node goes: a branch, or -1 where its value is missing and nothing else is said."""
    record = growth.grown.nodes[node]
    start = int(record.start)
    rows = growth.problem.row[start : start + int(record["count"])].astype(np.int64)
    tests = CombinedTests.of(len(growth.problem.columns), [found.test])
    values = tests.values(np.zeros(len(rows), np.int64), growth.problem.cells, rows)
    branches: IntArray = np.where(np.isnan(values), found.missing_branch, values > found.threshold)
    return branches


def split_by(growth: Growth, node: int, found: FoundTest) -> tuple[int, int]:
    """Make the children of a node by a combined test.

    Returns:
        What :func:`learners.trees.steps.divide` does, by which the keys are moved.
    """
    branches = _branches(growth, node, found)
    while True:
        start = int(growth.grown.nodes[node].start)
        growth.work.branch[start : start + len(branches)] = branches
        said = divide_in_two(growth.problem, growth.rules, growth.work, growth.grown, growth.counters, node)
        if said >= 0:
            break
        growth.make_space()
    record = growth.grown.nodes[node]
    record.feature = len(growth.problem.columns) + len(growth.combined)
    record.threshold, record.gain = found.threshold, max(found.gain, 0.0)
    record.missing_branch = found.missing_branch
    growth.combined.append(found.test)
    return 2, int(said)
