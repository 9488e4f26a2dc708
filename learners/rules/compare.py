"""What changed between two sets of rules: which are the same, which moved a bound, which came and went.

Two rules are *the same* if they say the same in every bit. They have the same *structure* if they say the
same but for the numbers in their bounds; of these, the nearest are paired as one rule that *moved*. What
is left was added or removed. Everything goes by names and labels, so the two may come from tables whose
columns and levels are numbered differently.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from learners._pausing import Pause, no_pause, paced
from learners.conditions import AnyCondition, Condition, name_text
from learners.rules.rule import Rule, RuleCondition, RuleSet

#: Structures with more pairs than this are paired in the order of their bounds instead of by nearness.
_MAX_PAIRS = 250_000


@dataclass(frozen=True)
class Move:
    """A rule whose bounds moved.

    Attributes:
        before, after: the rule in either set.
    """

    before: Rule
    after: Rule

    @property
    def conditions(self) -> list[tuple[AnyCondition, AnyCondition]]:
        """The conditions that differ, before and after."""
        pairs = zip(_by_column(self.before), _by_column(self.after), strict=True)
        return [(one.condition, other.condition) for one, other in pairs if one.condition != other.condition]

    def to_json(self) -> dict[str, Any]:
        moved = [{"before": one.to_json(), "after": other.to_json()} for one, other in self.conditions]
        return {"before": self.before.to_json(), "after": self.after.to_json(), "moved": moved}


@dataclass(frozen=True)
class RuleDifference:
    """What changed from one set of rules to another.

    Attributes:
        same: pairs of rules that say the same; their support may differ.
        moved: rules whose bounds moved.
        added, removed: rules without a partner, in the order of their set.
    """

    same: tuple[tuple[Rule, Rule], ...]
    moved: tuple[Move, ...]
    added: tuple[Rule, ...]
    removed: tuple[Rule, ...]


def compare_rules(before: RuleSet, after: RuleSet, pause: Pause = no_pause) -> RuleDifference:
    """Pair the rules of two sets. Time in proportion to what is written, but for pairing within one structure.

    Args:
        before, after: the sets.
        pause: called between some rules with how many are done, of each of several passes.
    """
    same, old, new = _same(before.rules, after.rules, pause)
    waiting: dict[str, list[Rule]] = defaultdict(list)
    for rule in paced(new, pause):
        waiting[structure(rule)].append(rule)
    grouped: dict[str, list[Rule]] = defaultdict(list)
    for rule in paced(old, pause):
        grouped[structure(rule)].append(rule)
    pairs: list[tuple[Rule, Rule]] = []
    done = 0
    for key, rules in grouped.items():
        if key in waiting:
            pause(done, len(old))
            pairs += _nearest(rules, waiting[key])
        done += len(rules)
    gone = {id(one) for one, _ in pairs}
    come = {id(other) for _, other in pairs}
    return RuleDifference(
        same=tuple(same),
        moved=tuple(Move(one, other) for one, other in pairs),
        added=tuple(rule for rule in new if id(rule) not in come),
        removed=tuple(rule for rule in old if id(rule) not in gone),
    )


def content(rule: Rule) -> str:
    """All that a rule says, as one text: equal texts, equal rules."""
    return _content(rule, [one.text for one in _by_column(rule)])


def structure(rule: Rule) -> str:
    """What a rule says without the numbers in its bounds."""
    return _structure(rule, [_structure_text(one) for one in _by_column(rule)])


def contents_and_structures(rules: Iterable[Rule]) -> list[tuple[str, str]]:
    """Both of many rules, which share their conditions: each condition is looked at once."""
    known: dict[int, tuple[str, str, str]] = {}
    found = []
    for rule in rules:
        for one in rule.conditions:
            if id(one) not in known:
                known[id(one)] = (one.condition.subject, one.text, _structure_text(one))
        conditions = sorted((known[id(one)] for one in rule.conditions), key=itemgetter(0))
        texts = [text for _, text, _ in conditions]
        found.append((_content(rule, texts), _structure(rule, [text for _, _, text in conditions])))
    return found


def _content(rule: Rule, texts: Sequence[str]) -> str:
    return f"{' and '.join(texts) or 'always'}: {rule.conclusion()}"


def _structure(rule: Rule, texts: Sequence[str]) -> str:
    return f"{' and '.join(texts) or 'always'}: {rule.conclusion() if rule.distribution else '…'}"


def _structure_text(one: RuleCondition) -> str:
    return _without_bounds(one.condition) if bounds(one) else one.text


def _by_column(rule: Rule) -> list[RuleCondition]:
    """The conditions in one order, whatever the order of the tests was."""
    return sorted(rule.conditions, key=lambda one: one.condition.subject)


def _without_bounds(condition: AnyCondition) -> str:
    if not isinstance(condition, Condition):
        return condition.text()
    name = name_text(condition.column)
    return f"… < {name} <= …" if condition.operator == "interval" else f"{name} {condition.operator} …"


def bounds(condition: RuleCondition) -> tuple[float, ...]:
    """The finite bounds of a condition on an ordered column, in cells; none for one on levels or several values."""
    if condition.codes is not None or not isinstance(condition.condition, Condition):
        return ()
    return tuple(bound for bound in (condition.low, condition.high) if math.isfinite(bound))


def _same(
    before: Sequence[Rule], after: Sequence[Rule], pause: Pause
) -> tuple[list[tuple[Rule, Rule]], list[Rule], list[Rule]]:
    """Pairs of equal rules, and what is left on either side."""
    waiting: dict[str, list[Rule]] = defaultdict(list)
    for rule in paced(after[::-1], pause):
        waiting[content(rule)].append(rule)
    same, old = [], []
    for rule in paced(before, pause):
        partners = waiting[content(rule)]
        if partners:
            same.append((rule, partners.pop()))
        else:
            old.append(rule)
    left = {id(rule) for rules in waiting.values() for rule in rules}
    return same, old, [rule for rule in after if id(rule) in left]


def _nearest(before: Sequence[Rule], after: Sequence[Rule]) -> list[tuple[Rule, Rule]]:
    """Pairs of rules of one structure, the nearest first; of the larger side some stay alone."""
    old, new = sorted(before, key=_all_bounds), sorted(after, key=_all_bounds)
    if len(old) * len(new) > _MAX_PAIRS:
        return list(zip(old, new, strict=False))
    near = sorted(
        (_distance(_all_bounds(one), _all_bounds(other)), i, j)
        for i, one in enumerate(old)
        for j, other in enumerate(new)
    )
    used_old: set[int] = set()
    used_new: set[int] = set()
    pairs = []
    for _, i, j in near:
        if i not in used_old and j not in used_new:
            used_old.add(i)
            used_new.add(j)
            pairs.append((old[i], new[j]))
    return pairs


def _all_bounds(rule: Rule) -> tuple[float, ...]:
    own = tuple(bound for condition in _by_column(rule) for bound in bounds(condition))
    # A number that a regression answers moves like a bound.
    return own if rule.distribution is not None else (*own, float(rule.answer))


def _distance(one: Iterable[float], other: Iterable[float]) -> float:
    """Sum of the bounds' relative differences: between 0 and 2 each, whatever the units."""
    total = 0.0
    for a, b in zip(one, other, strict=True):
        size = abs(a) / 2 + abs(b) / 2
        total += abs(a / 2 - b / 2) / size if size > 0 else 0.0
    return total
