"""Rules and rule sets as data that can be applied to rows on their own, without the model that they tell of.

Of a tree each rule answers for a share of a row: 1 or 0 where the values that it tests are known. Where one is
missing, the tree follows several branches by their shares of the training rows; the rule then
answers for the product of the shares on its own path. The shares of all rules sum to 1 for every
row, and their mean answer is the tree's.

An ordered rule set is asked from its first rule on: the first one that covers a row answers it alone,
and the last one, the default, has no conditions. A condition on a missing value covers nothing there.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from learners.conditions import AnyCondition, scalar_text
from learners.decisions import decide
from learners.linear_function import LinearFunction
from learners.table import Column, Table
from learners.trees.combined.column import CombinedColumn
from learners.types import Array, FloatArray, Scalar


@dataclass(eq=False, slots=True)
class RuleCondition:
    """All tests of one path on one column, merged; or one test of several values.

    Nobody changes one, since rules share them; it is not frozen because making it would take three times as long.

    Attributes:
        feature: index of the column; those of combined tests follow the table's.
        condition: what a known value must satisfy, in labels.
        low, high: the same in cells, ``low < cell <= high``, for numeric and ordinal columns.
        codes: the same as a set of level codes, or ``None``.
        negated: whether the codes are those that are excluded.
        missing: the rule's share of a row whose value is missing.
        unseen: the rule's share of a row whose level the model does not know.
        text: the condition for people, written once, since rules share their conditions.
    """

    feature: int
    condition: AnyCondition
    low: float
    high: float
    codes: tuple[int, ...] | None
    negated: bool
    missing: float
    unseen: float
    text: str = field(init=False, repr=False)
    _record: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.text = self.condition.text()

    def shares(self, cells: FloatArray, is_numeric: bool) -> FloatArray:
        """The share of each cell, shape (n,)."""
        if self.codes is None:
            holds = (cells > self.low) & (cells <= self.high)
        else:
            holds = np.isin(cells, self.codes, invert=self.negated)
        shares = np.where(np.isnan(cells), self.missing, holds.astype(np.float64))
        return shares if is_numeric else np.where(cells < 0, self.unseen, shares)

    def to_json(self) -> dict[str, Any]:
        """A JSON object, the same each time."""
        try:
            return self._record
        except AttributeError:  # not asked for before
            self._record = self.condition.record(self.text) | {"missing": self.missing, "unseen": self.unseen}
            return self._record


class Rule(NamedTuple):
    """IF all conditions THEN the answer.

    Attributes:
        id: the leaf's node id, or in an ordered set the rank from 1 on, and a hash of conditions and
            answer, e.g. ``17-5f2a...``: equal content under two ids in two versions of a model shows in
            its second part.
        leaf: node id of the leaf, the same as in the tree, its picture and its paths; ``None`` in an
            ordered set, and of a rule that several leaves were merged into.
        conditions: one a column, in the order in which the path first tests them.
        answer: the class label, or the mean.
        function: of a model tree the linear function that answers in place of ``answer``.
        distribution: class probabilities in class order, of an ordered set Laplace estimates
            (:func:`~learners.rules.ranking.laplace_distribution`), of a tree its leaf's; ``None`` for regression.
        confidence: the answer's class's, under utilities not always the largest; ``None`` for regression.
        deviation: standard deviation of the training targets here; ``None`` for classification.
        rows: training rows that reached the leaf, fractions counted whole; in an ordered set those that
            the rule covers, of the default those that no rule covers. ``weight``: their weight.
        leaves: node ids of the leaves of which a merged rule was made; else empty.
        counts: ``weight`` by class; ``None`` for regression, and of a tree's leaf without rows or with estimated
            probabilities.
        share: the plain share of the answer's class in them; ``None`` without weight.
    """

    id: str
    leaf: int | None
    conditions: tuple[RuleCondition, ...]
    answer: Scalar
    distribution: tuple[float, ...] | None
    confidence: float | None
    deviation: float | None
    rows: int
    weight: float
    leaves: tuple[int, ...] = ()
    function: LinearFunction | None = None
    counts: tuple[float, ...] | None = None
    share: float | None = None

    def conclusion(self) -> str:
        """What the rule answers, for people: a label, a number or a linear function."""
        return scalar_text(self.answer) if self.function is None else self.function.text()

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"id": self.id}
        if self.leaf is not None:
            record["leaf"] = self.leaf
        if self.leaves:
            record["leaves"] = list(self.leaves)
        record["conditions"] = [condition.to_json() for condition in self.conditions]
        record["answer"] = self.answer
        if self.distribution is not None:
            record |= {"distribution": list(self.distribution), "confidence": self.confidence}
            if self.counts is not None:
                record |= {"counts": list(self.counts), "share": self.share}
        else:
            record["deviation"] = self.deviation
        if self.function is not None:
            record["linear"] = self.function.to_json()
        return record | {"rows": self.rows, "weight": self.weight}


@dataclass(frozen=True)
class RuleSet:
    """One rule for each leaf, in the order in which the tree is read; or rules in the order in which they are asked.

    Attributes:
        columns: the model's columns; the table to be judged has the same.
        target: the target's column.
        classes: labels in class order, or ``None`` for regression.
        rules: every rule; nothing is left out.
        ordered: whether the first rule that covers a row answers alone; then the last has no conditions.
        utility: shape (K, K), by which a class is decided for (see :mod:`learners.decisions`); ``None``:
            the likeliest.
        combined: what the conditions ask of several values at once, as columns that follow the others.
    """

    columns: tuple[Column, ...]
    target: Column
    classes: tuple[Scalar, ...] | None
    rules: tuple[Rule, ...]
    ordered: bool = False
    utility: FloatArray | None = None
    combined: tuple[CombinedColumn, ...] = ()

    @cached_property
    def tested(self) -> tuple[Column, ...]:
        """The columns by which the conditions' features are numbered."""
        return self.columns + self.combined

    def cells(self, table: Table, feature: int) -> FloatArray:
        """What a condition on a feature judges of each row, shape (n,)."""
        column = self.tested[feature]
        values = table.values
        return column.values(values.T) if isinstance(column, CombinedColumn) else values[:, feature]

    def shares(self, table: Table, rule: Rule) -> FloatArray:
        """The rule's share of each row, shape (n,), whatever rules come before it."""
        shares = np.ones(table.n_rows)
        for condition in rule.conditions:
            numeric = self.tested[condition.feature].is_numeric
            shares *= condition.shares(self.cells(table, condition.feature), numeric)
        return shares

    def matches(self, table: Table) -> FloatArray:
        """Every rule's share of every row, shape (n, number of rules); each row sums to 1."""
        matches = np.column_stack([self.shares(table, rule) for rule in self.rules])
        if self.ordered:
            first = matches.argmax(axis=1)
            matches = (first[:, None] == np.arange(len(self.rules))).astype(np.float64)
        return matches

    def predict_proba(self, table: Table) -> FloatArray:
        """Class shares of each row, shape (n, K).

        Raises:
            TypeError: the rules are of a regression.
        """
        if self.classes is None:
            raise TypeError("rules of a regression give no probabilities")
        return self._mean(table, [np.array(rule.distribution) for rule in self.rules])

    def predict(self, table: Table) -> Array:
        """The answer for each row, shape (n,); of equally good classes the first."""
        if self.classes is None:
            said = [rule.function or np.array([rule.answer], dtype=np.float64) for rule in self.rules]
            return self._mean(table, said)[:, 0]
        labels = np.empty(len(self.classes), dtype=object)
        labels[:] = self.classes
        answers: Array = labels[decide(self.predict_proba(table), self.utility)]
        return answers

    def _mean(self, table: Table, answers: Sequence[FloatArray | LinearFunction]) -> FloatArray:
        """The mean answer by the rules' shares; a linear function answers each row by its values."""
        total = np.zeros((table.n_rows, len(self.classes or (self.target,))))
        left = np.ones(table.n_rows)
        for rule, answer in zip(self.rules, answers, strict=True):
            shares = self.shares(table, rule) * left
            reached = shares > 0
            part = answer.values(table.values[reached])[:, None] if isinstance(answer, LinearFunction) else answer
            total[reached] += shares[reached, None] * part
            if self.ordered:
                left[reached] = 0.0
        return total

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"columns": [column.to_json() for column in self.columns]}
        record["target"] = self.target.to_json()
        if self.classes is not None:
            record["classes"] = list(self.classes)
        if self.utility is not None:
            record["utility"] = self.utility.tolist()
        return record | {"ordered": self.ordered, "rules": [rule.to_json() for rule in self.rules]}


def plain_share(counts: Sequence[float] | None, place: int) -> float | None:
    """The share of one class in weights by class; ``None`` where they are not known, or there is none."""
    total = sum(counts or ())
    return None if counts is None or not total > 0 else counts[place] / total


def rule_id(place: int, conditions: Iterable[str], answer: Scalar) -> str:
    """The place (a leaf's node id or a rank), and a hash of what the rule says; a function is given by its text."""
    content = "\n".join([*conditions, scalar_text(answer)])
    return f"{place}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


class Once(dict[RuleCondition, str]):
    """The text of each condition in some form, written when it is first asked for; rules share conditions."""

    def __init__(self, write: Callable[[RuleCondition], str]) -> None:
        super().__init__()
        self.write = write

    def __missing__(self, condition: RuleCondition) -> str:
        text = self[condition] = self.write(condition)
        return text

    def of(self, rule: Rule) -> list[str]:
        """The texts of all conditions of a rule."""
        return list(map(self.__getitem__, rule.conditions))


#: The bounds of a condition that bounds nothing.
UNBOUNDED = (-math.inf, math.inf)
