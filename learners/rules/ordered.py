"""An ordered rule set as flat arrays: the first rule that covers a row answers it, else the default does.

A condition on a missing value is not satisfied (C4.5rules), nor is one on a level that the model does not
know, but for ``not in``, which such a level satisfies. So every row, whatever is missing in it, is answered
by exactly one rule; with nothing known it is the default.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import numpy as np

from learners._accel import inner_kernel, interpreted, kernel
from learners.decisions import decide
from learners.rules.atoms import Atom
from learners.rules.path_states import written_condition
from learners.rules.rule import Rule, RuleCondition, RuleSet, plain_share, rule_id
from learners.table import Column
from learners.types import Array, BoolArray, FloatArray, Int8Array, Int32Array, IntArray


class _Conditions(NamedTuple):
    """What the kernels need of :class:`OrderedRules`."""

    start: Int32Array
    feature: Int32Array
    low: FloatArray
    high: FloatArray
    code_start: Int32Array
    code_count: Int32Array
    negated: Int8Array
    codes: Int32Array


@dataclass(frozen=True)
class OrderedRules:
    """R rules in the order in which they are asked, and the default as number R; C conditions, K classes.

    Attributes:
        start: int32 (R + 2,), the conditions of rule r are start[r] .. start[r + 1] - 1; the default has none.
        feature: int32 (C,), the tested column.
        low, high: float64 (C,), ``low < cell <= high``.
        code_start, code_count: int32 (C,), the condition's slice of ``codes``; the count is -1 for bounds.
        negated: int8 (C,), whether the codes are those that are excluded.
        codes: int32 (L,), ascending within a condition.
        rows: int64 (R + 1,), training rows of positive weight that the rule covers, whether or not an earlier
            one does too; of the default those that no rule covers.
        value: float64 (R + 1, K), their weight by class.
        share: float64 (R + 1, K), the class probabilities.
    """

    start: Int32Array
    feature: Int32Array
    low: FloatArray
    high: FloatArray
    code_start: Int32Array
    code_count: Int32Array
    negated: Int8Array
    codes: Int32Array
    rows: IntArray
    value: FloatArray
    share: FloatArray

    @property
    def n_rules(self) -> int:
        """R: the default does not count."""
        return int(self.start.shape[0]) - 2

    def to_arrays(self) -> dict[str, Array]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> OrderedRules:
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})

    def first(self, values: FloatArray, with_levels: BoolArray) -> Int32Array:
        """The number of the rule that answers each row, shape (n,).

        Args:
            values: float64 (d, n), by column.
            with_levels: bool (d,), which columns have levels.
        """
        return _first(self._kernel_arrays, with_levels, values)

    def holds(self, condition: int, cell: float, has_levels: bool) -> bool:
        """Whether a cell satisfies a condition; the same function as :meth:`first` goes by."""
        return bool(interpreted(_holds)(self._kernel_arrays, condition, cell, has_levels))

    @cached_property
    def _kernel_arrays(self) -> _Conditions:
        return _Conditions(*(getattr(self, name) for name in _Conditions._fields))


def ordered_rules(
    conditions: Sequence[Sequence[Atom]], value: FloatArray, share: FloatArray, rows: Sequence[int]
) -> OrderedRules:
    """The arrays of a rule set.

    Args:
        conditions: of each rule in order, without the default.
        value, share: float64 (R + 1, K), the default's last.
        rows: R + 1 numbers of covered rows.
    """
    flat = [atom for rule in conditions for atom in rule]
    counts = [-1 if atom.codes is None else len(atom.codes) for atom in flat]
    lengths = [len(rule) for rule in conditions]
    ends = np.cumsum([0, *lengths, 0])
    return OrderedRules(
        start=ends.astype(np.int32),
        feature=np.array([atom.feature for atom in flat], dtype=np.int32),
        low=np.array([atom.low for atom in flat], dtype=np.float64),
        high=np.array([atom.high for atom in flat], dtype=np.float64),
        code_start=np.cumsum([0, *(max(count, 0) for count in counts)])[:-1].astype(np.int32),
        code_count=np.array(counts, dtype=np.int32),
        negated=np.array([atom.negated for atom in flat], dtype=np.int8),
        codes=np.array([code for atom in flat for code in atom.codes or ()], dtype=np.int32),
        rows=np.array(rows, dtype=np.int64),
        value=np.ascontiguousarray(value),
        share=np.ascontiguousarray(share),
    )


def rule_set(rules: OrderedRules, columns: tuple[Column, ...], target: Column) -> RuleSet:
    """The same as records, for people, documents and databases; the default is the last."""
    classes = target.labels
    decided = decide(rules.share).tolist()
    records = []
    for number in range(rules.n_rules + 1):
        span = range(int(rules.start[number]), int(rules.start[number + 1]))
        conditions = tuple(_record(rules, condition, columns) for condition in span)
        share = rules.share[number].tolist()
        best = decided[number]
        answer = classes[best]
        records.append(
            Rule(
                id=rule_id(number + 1, (one.text for one in conditions), answer),
                leaf=None,
                conditions=conditions,
                answer=answer,
                distribution=tuple(share),
                confidence=share[best],
                deviation=None,
                rows=int(rules.rows[number]),
                weight=float(rules.value[number].sum()),
                counts=tuple(rules.value[number].tolist()),
                share=plain_share(rules.value[number].tolist(), best),
            )
        )
    return RuleSet(columns, target, classes, tuple(records), ordered=True)


def _record(rules: OrderedRules, condition: int, columns: tuple[Column, ...]) -> RuleCondition:
    feature = int(rules.feature[condition])
    column = columns[feature]
    low, high = float(rules.low[condition]), float(rules.high[condition])
    count, start = int(rules.code_count[condition]), int(rules.code_start[condition])
    codes = None if count < 0 else tuple(rules.codes[start : start + count].tolist())
    negated = bool(rules.negated[condition])
    return RuleCondition(
        feature,
        written_condition(column, low, high, codes, negated),
        low,
        high,
        codes,
        negated,
        missing=0.0,
        unseen=float(negated),
    )


@inner_kernel
def _holds(of: _Conditions, condition: int, cell: float, has_levels: bool) -> bool:
    if math.isnan(cell):
        return False
    count = of.code_count[condition]
    if count < 0:
        return bool(cell > of.low[condition] and cell <= of.high[condition] and not (has_levels and cell < 0))
    first = of.code_start[condition]
    end = first + count
    last = end
    while first < last:
        middle = (first + last) // 2
        if of.codes[middle] < cell:
            first = middle + 1
        else:
            last = middle
    found = first < end and of.codes[first] == cell
    return bool(found) != bool(of.negated[condition])


@kernel
def _first(of: _Conditions, with_levels: BoolArray, values: FloatArray) -> Int32Array:
    n_rows = values.shape[1]
    found = np.empty(n_rows, dtype=np.int32)
    for row in range(n_rows):
        rule = 0
        while True:
            condition = of.start[rule]
            end = of.start[rule + 1]
            while condition < end:
                column = of.feature[condition]
                if not _holds(of, condition, values[column, row], with_levels[column]):
                    break
                condition += 1
            if condition == end:
                break
            rule += 1
        found[row] = rule
    return found
