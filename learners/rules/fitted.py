"""What a fitted ordered rule set holds and answers, however its rules were found."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from learners.base import Classifier
from learners.explanation import Explanation
from learners.rules.ordered import OrderedRules, rule_set
from learners.rules.reasons import explain_row
from learners.rules.rule import RuleSet
from learners.table import Column, Table
from learners.trees.cells import by_column
from learners.types import FloatArray, Int32Array


class FittedRules(Classifier):
    """What an ordered rule set holds beside what every classifier does.

    Fitted attributes:
        ordered_rules_: the rules as arrays.
        rules_: the same as records, the default last.
    """

    ordered_rules_: OrderedRules

    def _set_rules(self, rules: OrderedRules, target: Column) -> None:
        self.ordered_rules_ = rules
        self.target_ = target
        self.classes_ = np.array(target.labels, dtype=object if target.level_type == "text" else None)
        self.__dict__.pop("rules_", None)

    @cached_property
    def rules_(self) -> RuleSet:
        """The rules as records, the default last."""
        self.check_fitted()
        return rule_set(self.ordered_rules_, self.columns_, self.target_)

    @property
    def n_rules_(self) -> int:
        """Number of rules; the default does not count."""
        self.check_fitted()
        return self.ordered_rules_.n_rules

    def apply(self, X: Any) -> Int32Array:
        """The number of the rule that answers each row, from 0 on, shape (n,); ``n_rules_`` is the default."""
        return self._fired(self.check_table(X))

    def _fired(self, table: Table) -> Int32Array:
        with_levels = np.array([not column.is_numeric for column in table.columns])
        return self.ordered_rules_.first(by_column(table.values), with_levels)

    def predict_proba(self, X: Any) -> FloatArray:
        """Laplace estimates of the class probabilities where the answering rule holds; shape (n, K)."""
        fired = self.apply(X)
        return self.ordered_rules_.share[fired]

    def explain(self, X: Any) -> list[Explanation]:
        """The rule that answers each row; see :class:`~learners.explanation.RuleExplanation`."""
        table = self.check_table(X)
        fired = self._fired(table).tolist()
        return [
            explain_row(self.ordered_rules_, self.rules_, row, number)
            for row, number in zip(table.values, fired, strict=True)
        ]
