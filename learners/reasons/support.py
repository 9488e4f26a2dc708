"""Which rows a model's rules answer, and how right they are on rows that may be others than those of the training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from learners._pausing import Pause, no_pause, paced
from learners.base import Learner
from learners.rules.rule import Rule, RuleSet
from learners.table import Table
from learners.trees.cells import by_column
from learners.trees.estimator import FittedTree
from learners.trees.model_tree.fitted import FittedModelTree
from learners.types import FloatArray, IntArray

_ROWS_AT_ONCE = 50_000
#: Shares of rows that are looked at together: a row with gaps may have one of every leaf.
_SHARES_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Covered:
    """Which share of which row is answered by which rule; one entry for each share that is not 0.

    Attributes:
        rules: places in the rule set, shape (entries,).
        rows: row numbers; shares: > 0, those of a row sum to 1.
        answers: of a model tree, what each rule answers each row; else None.
    """

    rules: IntArray
    rows: IntArray
    shares: FloatArray
    answers: FloatArray | None = None


def covered(learner: Learner, rules: RuleSet, table: Table, pause: Pause = no_pause) -> Iterator[Covered]:
    """The rows of a table by the rules that answer them, some rows at a time, in their order.

    Args:
        learner: fitted.
        rules: all of its rules as :func:`learners.rules.access.rules_of` gives them, not simplified.
        table: any rows that have the model's columns.
        pause: called between some rows with how many are done.

    Raises:
        SchemaError: the table lacks a column, or has it of another kind.
    """
    places = {rule.leaf: place for place, rule in enumerate(rules.rules)}
    place_of = np.array([places.get(leaf, -1) for leaf in range(max((leaf or 0 for leaf in places), default=0) + 1)])
    for first in range(0, table.n_rows, _ROWS_AT_ONCE):
        part = learner.check_table(Table(table.columns, table.values[first : first + _ROWS_AT_ONCE]))
        if not isinstance(learner, FittedTree):
            yield _answered(rules, part, first, partial(_pause_among_rules, pause, first, table.n_rows))
            continue
        cells = by_column(part.values)
        for some in _some_rows(part, len(rules.rules)):
            pause(first + some.start, table.n_rows)
            leaves, rows, shares = learner.packed_tree_.placed(cells, np.arange(some.start, some.stop))
            answers = None
            if isinstance(learner, FittedModelTree):
                answers = learner.linear_.values(leaves.astype(np.int64), rows, cells)
            yield Covered(place_of[leaves], rows + first, shares, answers)


def _some_rows(table: Table, n_leaves: int) -> Iterator[slice]:
    """The rows in parts of not too many shares: one a row, or as many as leaves where a value is missing or unseen."""
    is_known = np.ones(table.n_rows, np.bool_)
    for column, cells in zip(table.columns, table.values.T, strict=True):
        is_known &= ~np.isnan(cells) if column.is_numeric else cells >= 0
    most = np.where(is_known, 1, n_leaves)
    first = 0
    while first < table.n_rows:
        count = int(np.searchsorted(np.cumsum(most[first:]), _SHARES_AT_ONCE, side="right"))
        yield slice(first, first + max(count, 1))
        first += max(count, 1)


def _pause_among_rules(pause: Pause, rows: int, n_rows: int, done: int, count: int) -> None:
    pause(rows, n_rows)


def _answered(rules: RuleSet, table: Table, first: int, pause: Pause) -> Covered:
    """The same of rules that are asked one after the other, or all."""
    left = np.ones(table.n_rows)
    found: list[tuple[IntArray, IntArray, FloatArray]] = []
    for place, rule in enumerate(paced(rules.rules, pause)):
        shares = rules.shares(table, rule) * left
        rows = np.flatnonzero(shares > 0)
        found.append((np.full(len(rows), place), rows + first, shares[rows]))
        if rules.ordered:
            left[rows] = 0.0
    return Covered(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))


@dataclass(frozen=True)
class Support:
    """What a rule does on some rows.

    Attributes:
        rows: those of which it answers a share; ``weight``: their weight times shares.
        counts: weight by true class, in class order.
        confidence: the share of the rule's class in it; None without weight.
        mean, deviation: of a regression, of the true values: their mean, and the root of the mean square of
            their distance from the rule's answer. None without weight.
    """

    rows: int
    weight: float
    counts: tuple[float, ...] | None = None
    confidence: float | None = None
    mean: float | None = None
    deviation: float | None = None

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"rows": self.rows, "weight": self.weight}
        if self.counts is not None:
            return record | {"counts": list(self.counts), "confidence": self.confidence}
        return record | {"mean": self.mean, "deviation": self.deviation}


def supports(
    learner: Learner,
    rules: RuleSet,
    table: Table,
    actual: FloatArray,
    weights: FloatArray | None = None,
    pause: Pause = no_pause,
) -> list[Support]:
    """The support of each rule on given rows, in the rules' order.

    Args:
        learner, rules, table: see :func:`covered`.
        actual: (n,), class codes of the rule set's target, or numbers; NaN or below 0 where a class is not known:
            such a row counts as a row, but nothing is said of its truth.
        weights: (n,), >= 0; rows of weight 0 do not count.
        pause: see :func:`covered`.
    """
    n_rules = len(rules.rules)
    weight = np.ones(table.n_rows) if weights is None else weights
    known = ~np.isnan(actual) if rules.classes is None else actual >= 0
    answers = _answers(rules)
    n_sums = 3 if rules.classes is None else len(rules.classes)
    rows, mass, sums = np.zeros(n_rules, np.int64), np.zeros(n_rules), np.zeros((n_rules, n_sums))
    for part in covered(learner, rules, table, pause):
        counted = weight[part.rows] > 0
        places, numbers = part.rules[counted], part.rows[counted]
        shares = part.shares[counted] * weight[numbers]
        # added one after the other, so that the sums are the same however the rows are divided
        np.add.at(rows, places, 1)
        np.add.at(mass, places, shares)
        judged = known[numbers]
        places, truth, shares = places[judged], actual[numbers[judged]], shares[judged]
        if rules.classes is None:
            said = answers[places] if part.answers is None else part.answers[counted][judged]
            for k, values in enumerate((shares, shares * truth, shares * (truth - said) ** 2)):
                np.add.at(sums[:, k], places, values)
        else:
            np.add.at(sums, (places, truth.astype(np.int64)), shares)
    return [
        _support(rule, rules, int(rows[place]), float(mass[place]), sums[place])
        for place, rule in enumerate(rules.rules)
    ]


def _answers(rules: RuleSet) -> FloatArray:
    """The numbers that rules of a regression answer; zeros of others."""
    return np.array([0.0 if rules.classes else float(rule.answer) for rule in rules.rules])


def _support(rule: Rule, rules: RuleSet, rows: int, weight: float, sums: FloatArray) -> Support:
    if rules.classes is None:
        known, total, squares = sums.tolist()
        if known <= 0:
            return Support(rows, weight)
        return Support(rows, weight, mean=total / known, deviation=float(np.sqrt(squares / known)))
    judged = float(sums.sum())
    own = float(sums[rules.classes.index(rule.answer)])
    return Support(rows, weight, tuple(sums.tolist()), own / judged if judged > 0 else None)


def rows_of_rule(
    learner: Learner, rules: RuleSet, place: int, table: Table, pause: Pause = no_pause
) -> tuple[IntArray, FloatArray]:
    """Numbers of the rows that one rule answers, ascending, and its share of each; ``pause`` as of :func:`covered`."""
    numbers: list[IntArray] = []
    shares: list[FloatArray] = []
    for part in covered(learner, rules, table, pause):
        own = part.rules == place
        order = np.argsort(part.rows[own], kind="stable")
        numbers.append(part.rows[own][order])
        shares.append(part.shares[own][order])
    if not numbers:
        return np.zeros(0, np.int64), np.zeros(0)
    return np.concatenate(numbers), np.concatenate(shares)
