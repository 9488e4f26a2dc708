"""Why an ordered rule set answered as it did: the rule that fired, and why the earlier ones did not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from learners.explanation import FailedRule, Judgement, RuleExplanation, labelled
from learners.rules.ordered import OrderedRules
from learners.rules.rule import RuleCondition, RuleSet
from learners.table import UNSEEN, Column
from learners.types import FloatArray

#: Of so many earlier rules an explanation says why they did not fire.
MAX_FAILED = 50


def explain_row(rules: OrderedRules, records: RuleSet, row: FloatArray, fired: int) -> RuleExplanation:
    """The reason of one row.

    Args:
        rules: the rule set; ``records`` is the same as records.
        row: float64 (d,).
        fired: the number of the rule that answers the row.
    """
    failures: list[FailedRule] = []
    undecided = 0
    for number in range(fired):
        judgement = _first_failure(rules, records, row, number)
        undecided += judgement.state != "known"
        if len(failures) < MAX_FAILED:
            failures.append(FailedRule(number + 1, records.rules[number].id, judgement))
    rule = records.rules[fired]
    return RuleExplanation(
        rank=fired + 1,
        rule=rule.id,
        is_default=fired == rules.n_rules,
        answer=rule.answer,
        conditions=tuple(_judgement(records.columns, condition, row) for condition in rule.conditions),
        rows=rule.rows,
        support=rule.weight,
        confidence=float(rule.confidence or 0.0),
        distribution=labelled(records.target.labels, rules.share[fired].tolist()),
        counts=tuple(rules.value[fired].tolist()),
        failed=tuple(failures),
        omitted=fired - len(failures),
        undecided=undecided,
    )


def _first_failure(rules: OrderedRules, records: RuleSet, row: FloatArray, number: int) -> Judgement:
    """The first condition of a rule that the row does not satisfy."""
    start = int(rules.start[number])
    for place, condition in enumerate(records.rules[number].conditions):
        has_levels = not records.columns[condition.feature].is_numeric
        if not rules.holds(start + place, float(row[condition.feature]), has_levels):
            return _judgement(records.columns, condition, row)
    raise AssertionError(f"rule {number + 1} covers the row, but a later one answered")


def _judgement(columns: Sequence[Column], condition: RuleCondition, row: FloatArray) -> Judgement:
    column = columns[condition.feature]
    cell = float(row[condition.feature])
    state: Literal["known", "missing", "unseen"] = "known"
    if math.isnan(cell):
        state = "missing"
    elif not column.is_numeric and cell == UNSEEN:
        state = "unseen"
    return Judgement(condition.condition, column.decode(cell), state)
