"""Fewer and shorter rules that decide every row as before.

Each step is exact, by an argument about what rules answer:

* A rule that covers no row, since one of its conditions nothing satisfies, answers for nothing.
* A condition that every cell satisfies wholly, missing and unseen ones included, decides nothing.
* Two rules that differ in their condition on one column only answer, of any row, for the rest's share times
  the sum of the two conditions' shares. If that sum is again one condition (adjacent intervals, disjoint sets
  of levels), one rule with it answers for exactly as much. Sibling leaves of a tree are of this kind.
* In an ordered set a rule that an earlier one covers altogether is never reached; the order of rules of one
  answer without another between them decides nothing, so there a later one serves as well.

What may be merged: rules with equal distributions, always: then the probabilities stay too. Rules with the
same answer but other distributions only where no row is ever divided among rules, because in a divided row
the merged distribution could tip the balance; with ``complete_rows_only`` that is left aside, and the decision
is kept for rows in which no tested value is missing or unseen. A merged rule has the mean distribution, by weight.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from learners._pausing import Pause, no_pause, paced
from learners.rules.combining import everything, is_always, is_never, is_within, united
from learners.rules.rule import Rule, RuleCondition, RuleSet, plain_share, rule_id
from learners.table import Column

#: Decimals to which shares of missing values are compared: sums in another order are equal.
_DIGITS = 12


def simplified(rules: RuleSet, *, complete_rows_only: bool = False, pause: Pause = no_pause) -> RuleSet:
    """The rules with whatever can be merged or left out by the module's argument.

    Args:
        rules: of a tree, or an ordered set.
        complete_rows_only: keep the decision only for rows in which no tested value is missing or unseen;
            merges more rules of a tree that divides rows.
        pause: called between some rules with how many are done, of each of many passes.

    Returns:
        Rules in the order of their first parts, conditions in theirs. A merged rule of a tree has ``leaves``
        in place of ``leaf``. Ranks of an ordered set, and so the first parts of its ids, count anew.
    """
    by_answer = rules.ordered or complete_rows_only or not _divides(rules)
    work = _Simplification(rules, by_answer, pause)
    return replace(rules, rules=tuple(work.run()))


def _sum(one: tuple[float, ...] | None, other: tuple[float, ...] | None) -> tuple[float, ...] | None:
    if one is None or other is None:
        return None
    return tuple(left + right for left, right in zip(one, other, strict=True))


def _divides(rules: RuleSet) -> bool:
    """Whether some row may be shared by several rules."""
    return any(
        share not in (0.0, 1.0)
        for rule in rules.rules
        for condition in rule.conditions
        for share in _shares(condition, rules.tested[condition.feature])
    )


def _shares(condition: RuleCondition, column: Column) -> tuple[float, ...]:
    return (condition.missing,) if column.is_numeric else (condition.missing, condition.unseen)


class _Simplification:
    """The rules while they are being merged; ``None`` where one is gone."""

    def __init__(self, rules: RuleSet, by_answer: bool, pause: Pause) -> None:
        self.pause = pause
        self.columns = rules.tested
        self.classes = rules.classes or ()
        self.place_of = {label: place for place, label in enumerate(rules.classes or ())}
        self.ordered = rules.ordered
        self.by_answer = by_answer
        self.rules = list(rules.rules)
        self.numbers: dict[RuleCondition, int] = {}
        self.numbered: dict[tuple[RuleCondition, ...], tuple[dict[int, int], frozenset[int]]] = {}
        self.known: dict[tuple[Any, ...], int] = {}

    def run(self) -> list[Rule]:
        self.rules = [self._without_idle(rule) for rule in paced(self.rules, self.pause) if not self._is_idle(rule)]
        while True:
            before = len(self.rules)
            self._merge_all()
            if self.ordered:
                self._leave_out_unreached()
            if len(self.rules) == before:
                break
        if not self.ordered:
            return self.rules
        return [
            rule._replace(id=rule_id(rank, (one.text for one in rule.conditions), rule.answer))
            for rank, rule in enumerate(self.rules, start=1)
        ]

    def _is_idle(self, rule: Rule) -> bool:
        return any(is_never(condition, self.columns[condition.feature]) for condition in rule.conditions)

    def _without_idle(self, rule: Rule) -> Rule:
        """The rule without conditions that decide nothing."""
        kept = tuple(one for one in rule.conditions if not is_always(one, self.columns[one.feature]))
        if len(kept) == len(rule.conditions):
            return rule
        place = rule.leaf if rule.leaf is not None else min(rule.leaves, default=0)
        return rule._replace(conditions=kept, id=rule_id(place, (one.text for one in kept), rule.answer))

    def _merge_all(self) -> None:
        """Merge what differs in one column only, column by column."""
        testing: dict[int, list[int]] = defaultdict(list)
        for place, rule in enumerate(self.rules):
            for condition in rule.conditions:
                testing[condition.feature].append(place)
        blocks = self._blocks()
        gone: set[int] = set()
        for feature in sorted(testing):
            groups = self._groups(feature, [one for one in testing[feature] if one not in gone], blocks)
            for places in paced(groups, self.pause):
                gone |= self._merge_group(places, feature)
        self.rules = [rule for place, rule in enumerate(self.rules) if place not in gone]

    def _blocks(self) -> list[int]:
        """Of an ordered set: rules of one answer without another between them have the same number; else all 0."""
        blocks, block = [], 0
        for place, rule in enumerate(self.rules):
            block += self.ordered and place > 0 and rule.answer != self.rules[place - 1].answer
            blocks.append(block)
        return blocks

    def _groups(self, feature: int, places: Sequence[int], blocks: Sequence[int]) -> list[list[int]]:
        """Those of some rules, which test a column, that are alike in all else, at least two together."""
        groups: dict[Any, list[int]] = defaultdict(list)
        for place in paced(places, self.pause):
            numbers, whole = self._numbered(self.rules[place])
            own = numbers.get(feature)
            if own is not None:  # an earlier merge may have dropped the test
                groups[blocks[place], self._said(self.rules[place]), whole - {own}].append(place)
        return [group for group in groups.values() if len(group) > 1]

    def _said(self, rule: Rule) -> tuple[Any, ...]:
        """What rules must have in common to be merged."""
        shares = None if self.by_answer else rule.distribution
        return type(rule.answer), rule.answer, rule.function, rule.deviation, shares

    def _numbered(self, rule: Rule) -> tuple[dict[int, int], frozenset[int]]:
        """A rule's conditions as numbers, by column and together."""
        found = self.numbered.get(rule.conditions)
        if found is None:
            numbers = {one.feature: self._number(one) for one in rule.conditions}
            found = self.numbered[rule.conditions] = numbers, frozenset(numbers.values())
        return found

    def _number(self, condition: RuleCondition) -> int:
        """The same number for conditions that say the same."""
        number = self.numbers.get(condition)
        if number is None:
            number = self.numbers[condition] = self.known.setdefault(_identity(condition), len(self.known))
        return number

    def _merge_group(self, places: Sequence[int], feature: int) -> set[int]:
        """Unite rules along a column as far as that goes; the places of those that are gone."""
        column = self.columns[feature]
        gone: set[int] = set()
        sets: list[tuple[float, int]] = []
        intervals: list[tuple[float, int]] = []
        for place in places:
            own = self._condition(place, feature)
            (intervals if own.codes is None and column.is_numeric else sets).append((own.low, place))
        for chain in (sorted(intervals), sorted(sets)):
            last: int | None = None
            for _, place in chain:
                if last is None:
                    last = place
                    continue
                one, other = self._condition(last, feature), self._condition(place, feature)
                union = united(one, other, column)
                if union is None:
                    last = place
                    continue
                kept, lost = min(last, place), max(last, place)
                self.rules[kept] = self._merged(self.rules[kept], self.rules[lost], feature, union)
                gone.add(lost)
                last = kept
        return gone

    def _condition(self, place: int, feature: int) -> RuleCondition:
        """The rule's condition on a column; where merging has dropped it, one that everything satisfies."""
        for condition in self.rules[place].conditions:
            if condition.feature == feature:
                return condition
        return everything(feature, self.columns[feature])

    def _merged(self, one: Rule, other: Rule, feature: int, union: RuleCondition) -> Rule:
        counts = _sum(one.counts, other.counts)
        conditions = tuple(union if own.feature == feature else own for own in one.conditions)
        weight = one.weight + other.weight
        merged = one._replace(
            leaf=None,
            leaves=() if self.ordered else tuple(sorted({*_leaves(one), *_leaves(other)})),
            conditions=conditions,
            rows=one.rows + other.rows,
            weight=weight,
            counts=counts,
            share=plain_share(counts, self.place_of.get(one.answer, 0)),
        )
        if one.distribution is not None and other.distribution is not None and one.distribution != other.distribution:
            parts = (one.weight, other.weight) if weight > 0 else (1.0, 1.0)
            pairs = zip(one.distribution, other.distribution, strict=True)
            shares = tuple((parts[0] * left + parts[1] * right) / sum(parts) for left, right in pairs)
            merged = merged._replace(distribution=shares, confidence=shares[self.place_of[one.answer]])
        place = min(merged.leaves, default=0)
        merged = merged._replace(id=rule_id(place, (own.text for own in conditions), one.answer))
        return self._without_idle(merged)

    def _leave_out_unreached(self) -> None:
        """Of an ordered set: rules of which another one covers all rows."""
        kept: list[Rule] = []
        for rule in paced(self.rules, self.pause):
            if not any(self._covers(earlier, rule) for earlier in kept):
                kept.append(rule)
        later: list[Rule] = []
        for rule in reversed(kept):
            if not self._is_needless(rule, later):
                later.append(rule)
        self.rules = later[::-1]

    def _is_needless(self, rule: Rule, later: Sequence[Rule]) -> bool:
        """Whether one of the next rules, given last to first, all of the same answer, covers all its rows.

        The default is not asked: how many rows no rule covers would be another number without the rule.
        """
        for follower in reversed(later[1:]):
            if follower.answer != rule.answer:
                return False
            if self._covers(follower, rule):
                return True
        return False

    def _covers(self, wide: Rule, narrow: Rule) -> bool:
        """Whether every row that one rule covers is covered by another."""
        own = {condition.feature: condition for condition in narrow.conditions}
        return all(
            condition.feature in own and is_within(own[condition.feature], condition, self.columns[condition.feature])
            for condition in wide.conditions
        )


def _leaves(rule: Rule) -> Iterable[int]:
    return rule.leaves if rule.leaf is None else (rule.leaf,)


def _identity(condition: RuleCondition) -> tuple[Any, ...]:
    """What makes two conditions the same."""
    return (
        condition.feature,
        condition.low,
        condition.high,
        condition.codes,
        condition.negated,
        round(condition.missing, _DIGITS),
        round(condition.unseen, _DIGITS) if math.isfinite(condition.unseen) else 0.0,
    )
