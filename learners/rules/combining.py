"""Conditions on one column as sets of cells: whether one is empty, is all, lies in another, and their union."""

from __future__ import annotations

import math
from dataclasses import replace

from learners.rules.path_states import written_condition
from learners.rules.rule import UNBOUNDED, RuleCondition
from learners.table import Column

#: Sums of shares this near to 1 are 1.
_ROUNDING = 1e-12


def codes_of(condition: RuleCondition, column: Column) -> frozenset[int]:
    """The level codes that satisfy a condition."""
    levels = range(len(column.levels))
    if condition.codes is None:
        return frozenset(code for code in levels if condition.low < code <= condition.high)
    return frozenset(levels).difference(condition.codes) if condition.negated else frozenset(condition.codes)


def is_never(condition: RuleCondition, column: Column) -> bool:
    """Whether no cell satisfies the condition, not even in part."""
    if column.is_numeric:
        return condition.missing == 0 and not condition.low < condition.high
    return condition.missing == 0 and condition.unseen == 0 and not codes_of(condition, column)


def is_always(condition: RuleCondition, column: Column) -> bool:
    """Whether every cell satisfies the condition wholly."""
    if column.is_numeric:
        return condition.missing == 1 and (condition.low, condition.high) == UNBOUNDED
    return condition.missing == 1 and condition.unseen == 1 and len(codes_of(condition, column)) == len(column.levels)


def is_within(narrow: RuleCondition, wide: RuleCondition, column: Column) -> bool:
    """Whether every cell has at least as large a share of the one condition as of the other."""
    if narrow.missing > wide.missing:
        return False
    if column.is_numeric:
        return wide.low <= narrow.low and narrow.high <= wide.high
    return narrow.unseen <= wide.unseen and codes_of(narrow, column) <= codes_of(wide, column)


def united(one: RuleCondition, other: RuleCondition, column: Column) -> RuleCondition | None:
    """The condition whose share of each cell is the sum of two; ``None`` if there is none.

    Two intervals of numbers must touch; two sets of levels must have none in common.
    """
    shares = _whole(one.missing + other.missing), _whole(one.unseen + other.unseen)
    if shares[0] > 1 or (column.levels and shares[1] > 1):
        return None
    union = _joined(one, other, column) if column.is_numeric else _together(one, other, column)
    if union is None:
        return None
    if _says_nothing(union, column):  # that a value is known, whatever it is, cannot be said in one condition
        is_all = shares[0] == 1 and (column.is_numeric or shares[1] == 1)
        return everything(one.feature, column) if is_all else None
    return replace(union, missing=shares[0], unseen=shares[1])


def _says_nothing(union: RuleCondition, column: Column) -> bool:
    """Whether every known value satisfies a condition that is written as bounds or as exclusion."""
    if column.is_numeric:
        return (union.low, union.high) == UNBOUNDED
    return union.negated and not union.codes


def _joined(one: RuleCondition, other: RuleCondition, column: Column) -> RuleCondition | None:
    """Two intervals that touch as one; an empty one, which a path may hold, adds nothing."""
    for empty, whole in ((one, other), (other, one)):
        if not empty.low < empty.high:
            return whole
    lower, upper = (one, other) if one.low <= other.low else (other, one)
    if lower.high != upper.low:
        return None
    if (lower.low, upper.high) == UNBOUNDED:
        return replace(lower, high=upper.high)
    return replace(lower, high=upper.high, condition=written_condition(column, lower.low, upper.high, None, False))


def _together(one: RuleCondition, other: RuleCondition, column: Column) -> RuleCondition | None:
    """Two sets of levels without a common one as one; two ranges that touch as a range."""
    first, second = codes_of(one, column), codes_of(other, column)
    if first & second:
        return None
    if not first or not second:
        return one if first else other
    touching = _touching(one, other, column) if one.codes is None and other.codes is None else None
    if touching is not None:
        return touching
    together = first | second
    negated = one.negated or other.negated
    codes = tuple(sorted(frozenset(range(len(column.levels))) - together if negated else together))
    written = written_condition(column, *UNBOUNDED, codes, negated)
    return RuleCondition(one.feature, written, *UNBOUNDED, codes, negated, missing=0.0, unseen=0.0)


def _touching(one: RuleCondition, other: RuleCondition, column: Column) -> RuleCondition | None:
    """Two ranges of an ordered column as one, if no level lies between them and the union has a bound."""
    lower, upper = (one, other) if one.low <= other.low else (other, one)
    if not math.isfinite(lower.high) or math.floor(lower.high) != math.floor(upper.low):
        return None
    if (lower.low, upper.high) == UNBOUNDED:
        return None
    written = written_condition(column, lower.low, upper.high, None, negated=False)
    return replace(lower, high=upper.high, condition=written)


def everything(feature: int, column: Column) -> RuleCondition:
    """The condition on a column that every cell satisfies."""
    codes = None if column.is_numeric else ()
    written = written_condition(column, *UNBOUNDED, codes or (), True)
    return RuleCondition(feature, written, *UNBOUNDED, codes, negated=codes is not None, missing=1.0, unseen=1.0)


def _whole(share: float) -> float:
    return 1.0 if abs(share - 1) <= _ROUNDING else share
