"""Rules and rule sets as data that can be applied to rows on their own, without the tree.

A rule answers for a share of a row: 1 or 0 where the values that it tests are known. Where one is
missing, the tree follows several branches by their shares of the training rows; the rule then
answers for the product of the shares on its own path. The shares of all rules sum to 1 for every
row, and their mean answer is the tree's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.explanation import Condition
from learners.table import Column, Table
from learners.types import Array, FloatArray, Scalar


@dataclass(frozen=True, eq=False)
class RuleCondition:
    """All tests of one path on one column, merged.

    Attributes:
        feature: index of the column.
        condition: what a known value must satisfy, in labels.
        low, high: the same in cells, ``low < cell <= high``, for numeric and ordinal columns.
        codes: the same as a set of level codes, or ``None``.
        negated: whether the codes are those that are excluded.
        missing: the rule's share of a row whose value is missing.
        unseen: the rule's share of a row whose level the model does not know.
    """

    feature: int
    condition: Condition
    low: float
    high: float
    codes: tuple[int, ...] | None
    negated: bool
    missing: float
    unseen: float

    def shares(self, cells: FloatArray, is_numeric: bool) -> FloatArray:
        """The share of each cell, shape (n,)."""
        if self.codes is None:
            holds = (cells > self.low) & (cells <= self.high)
        else:
            holds = np.isin(cells, self.codes, invert=self.negated)
        shares = np.where(np.isnan(cells), self.missing, holds.astype(np.float64))
        return shares if is_numeric else np.where(cells < 0, self.unseen, shares)

    def to_json(self) -> dict[str, Any]:
        return self.condition.to_json() | {"missing": self.missing, "unseen": self.unseen}


@dataclass(frozen=True)
class Rule:
    """IF all conditions THEN the answer.

    Attributes:
        id: the leaf's node id and a hash of conditions and answer, e.g. ``17-5f2a...``: equal
            content under two ids in two versions of a model shows in its second part.
        leaf: node id of the leaf, the same as in the tree, its picture and its paths.
        conditions: one a column, in the order in which the path first tests them.
        answer: the class label, or the mean.
        distribution: class shares in class order; ``None`` for regression.
        confidence: share of the answer's class; ``None`` for regression.
        deviation: standard deviation of the training targets here; ``None`` for classification.
        rows: training rows that reached the leaf, fractions counted whole; ``weight``: their weight.
    """

    id: str
    leaf: int
    conditions: tuple[RuleCondition, ...]
    answer: Scalar
    distribution: tuple[float, ...] | None
    confidence: float | None
    deviation: float | None
    rows: int
    weight: float

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "id": self.id,
            "leaf": self.leaf,
            "conditions": [condition.to_json() for condition in self.conditions],
            "answer": self.answer,
        }
        if self.distribution is not None:
            record |= {"distribution": list(self.distribution), "confidence": self.confidence}
        else:
            record["deviation"] = self.deviation
        return record | {"rows": self.rows, "weight": self.weight}


@dataclass(frozen=True)
class RuleSet:
    """One rule for each leaf, in the order in which the tree is read.

    Attributes:
        columns: the model's columns; the table to be judged has the same.
        target: the target's column.
        classes: labels in class order, or ``None`` for regression.
        rules: every rule; nothing is left out.
    """

    columns: tuple[Column, ...]
    target: Column
    classes: tuple[Scalar, ...] | None
    rules: tuple[Rule, ...]

    def shares(self, table: Table, rule: Rule) -> FloatArray:
        """The rule's share of each row, shape (n,)."""
        shares = np.ones(table.n_rows)
        for condition in rule.conditions:
            numeric = self.columns[condition.feature].is_numeric
            shares *= condition.shares(table.values[:, condition.feature], numeric)
        return shares

    def matches(self, table: Table) -> FloatArray:
        """Every rule's share of every row, shape (n, number of rules); each row sums to 1."""
        return np.column_stack([self.shares(table, rule) for rule in self.rules])

    def predict_proba(self, table: Table) -> FloatArray:
        """Class shares of each row, shape (n, K).

        Raises:
            TypeError: the rules are of a regression.
        """
        if self.classes is None:
            raise TypeError("rules of a regression give no probabilities")
        return self._mean(table, np.array([rule.distribution for rule in self.rules]))

    def predict(self, table: Table) -> Array:
        """The answer for each row, shape (n,); of equally likely classes the first."""
        if self.classes is None:
            return self._mean(table, np.array([[rule.answer] for rule in self.rules], dtype=np.float64))[:, 0]
        labels = np.empty(len(self.classes), dtype=object)
        labels[:] = self.classes
        answers: Array = labels[np.argmax(self.predict_proba(table), axis=1)]
        return answers

    def _mean(self, table: Table, answers: FloatArray) -> FloatArray:
        total = np.zeros((table.n_rows, answers.shape[1]))
        for rule, answer in zip(self.rules, answers, strict=True):
            shares = self.shares(table, rule)
            reached = shares > 0
            total[reached] += shares[reached, None] * answer
        return total

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"columns": [column.to_json() for column in self.columns]}
        record["target"] = self.target.to_json()
        if self.classes is not None:
            record["classes"] = list(self.classes)
        return record | {"rules": [rule.to_json() for rule in self.rules]}


#: The bounds of a condition that bounds nothing.
UNBOUNDED = (-math.inf, math.inf)
