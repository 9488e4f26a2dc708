"""What a test of a tree or a rule may ask of a row, and how it is told.

All are plain data: :meth:`to_json` gives JSON that holds no NaN and no numpy type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from learners.table import number_text
from learners.types import Scalar

Operator: TypeAlias = Literal["<=", ">", "in", "not in", "interval"]


class Condition(NamedTuple):
    """One test on one column.

    ``<=`` and ``>`` compare a numeric column with ``threshold``, or an ordinal one by the order of
    its levels with the level ``threshold``. ``interval`` is ``low < x <= high``. ``in`` asks whether
    the value is one of ``values`` (labels, not codes), ``not in`` whether it is known and none of them,
    which a level that the model has not seen is too; without values they ask whether the value is
    missing, or known. Thresholds are exact.
    """

    column: str
    operator: Operator
    threshold: Scalar | None = None
    low: Scalar | None = None
    high: Scalar | None = None
    values: tuple[Scalar, ...] = ()

    @property
    def subject(self) -> str:
        """What it is about, for people."""
        return name_text(self.column)

    def text(self) -> str:
        """For people; every number prints so that it reads back to the same double."""
        name, operator = name_text(self.column), self.operator
        if operator == "interval":
            return f"{scalar_text(self.low)} < {name} <= {scalar_text(self.high)}"
        if operator in ("<=", ">"):
            return f"{name} {operator} {scalar_text(self.threshold)}"
        if not self.values:
            return f"{name} is missing" if operator == "in" else f"{name} is known"
        shown = ", ".join(scalar_text(value) for value in self.values)
        if len(self.values) == 1:
            return f"{name} {'=' if operator == 'in' else '!='} {shown}"
        return f"{name} {operator} {{{shown}}}"

    def to_json(self) -> dict[str, Any]:
        return self.record(self.text())

    def record(self, text: str) -> dict[str, Any]:
        """The same for one that has the text already."""
        record: dict[str, Any] = {"column": self.column, "operator": self.operator}
        if self.operator in ("in", "not in"):
            record["values"] = list(self.values)
        elif self.operator == "interval":
            record["low"], record["high"] = self.low, self.high
        else:
            record["threshold"] = self.threshold
        record["text"] = text
        return record


@dataclass(frozen=True)
class CountCondition:
    """Whether at least ``need`` of some conditions hold; ``holds`` false: whether fewer do.

    Two that all must hold on one column are its interval, which is told as that.
    """

    conditions: tuple[Condition, ...]
    need: int
    holds: bool

    @property
    def interval(self) -> Condition | None:
        """The interval that two bounds on one column make, or ``None``."""
        if len(self.conditions) != 2 or self.need != 2:
            return None
        low, high = self.conditions
        if low.column != high.column or (low.operator, high.operator) != (">", "<="):
            return None
        return Condition(low.column, "interval", low=low.threshold, high=high.threshold)

    @property
    def subject(self) -> str:
        if self.interval is not None:
            return self.interval.text()
        return self.among("all of", "any of", f"{self.need} of")

    def among(self, every: str, one: str, some: str) -> str:
        """One of three words by how many must hold, and the conditions."""
        word = every if self.need == len(self.conditions) else one if self.need == 1 else some
        return f"{word} ({', '.join(condition.text() for condition in self.conditions)})"

    def text(self) -> str:
        """For people, as :meth:`Condition.text`."""
        if self.interval is not None:
            return self.interval.text() if self.holds else f"not {self.interval.text()}"
        if self.holds:
            return self.among("all of", "any of", f"at least {self.need} of")
        return self.among("not all of", "none of", f"fewer than {self.need} of")

    def to_json(self) -> dict[str, Any]:
        return self.record(self.text())

    def record(self, text: str) -> dict[str, Any]:
        """As :meth:`Condition.record`."""
        operator = "at least" if self.holds else "fewer than"
        conditions = [condition.to_json() for condition in self.conditions]
        return {"operator": operator, "count": self.need, "conditions": conditions, "text": text}


@dataclass(frozen=True)
class SumCondition:
    """Whether a weighted sum of numeric columns, added up in this order, is at most or above a threshold."""

    weights: tuple[tuple[str, float], ...]
    operator: Literal["<=", ">"]
    threshold: float

    @property
    def subject(self) -> str:
        return sum_text(self.weights)

    def text(self) -> str:
        """For people, as :meth:`Condition.text`."""
        return f"{sum_text(self.weights)} {self.operator} {scalar_text(self.threshold)}"

    def to_json(self) -> dict[str, Any]:
        return self.record(self.text())

    def record(self, text: str) -> dict[str, Any]:
        """As :meth:`Condition.record`."""
        weights = [{"column": column, "weight": weight} for column, weight in self.weights]
        return {"operator": self.operator, "weights": weights, "threshold": self.threshold, "text": text}


#: What a test may ask; ``subject`` and ``text`` tell it, ``to_json`` writes it.
AnyCondition: TypeAlias = Condition | CountCondition | SumCondition


def sum_text(weights: Iterable[tuple[str, float]]) -> str:
    """A weighted sum of columns: ``0.31 a - 2.5 b``."""
    pieces: list[str] = []
    for column, weight in weights:
        sign = ("- " if weight < 0 else "+ ") if pieces else ("-" if weight < 0 else "")
        factor = "" if abs(weight) == 1 else f"{scalar_text(abs(weight))} "
        pieces.append(f"{sign}{factor}{name_text(column)}")
    return " ".join(pieces)


def scalar_text(value: Scalar | None) -> str:
    """A label or number as shown in a condition; a text with blanks or signs in it stands in quotes."""
    if isinstance(value, float):
        return _number_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return name_text(value) if isinstance(value, str) else str(value)


#: The rules of a tree name a threshold again and again, mostly one soon after the other.
_number_text = lru_cache(maxsize=2**12)(number_text)


@lru_cache(maxsize=2**10)
def name_text(name: str) -> str:
    """A column's name or a level, in JSON's quotes unless it is one plain word: no text reads two ways.

    A word that elsewhere stands for a missing value or a truth value is in quotes too.
    """
    is_plain = _PLAIN.fullmatch(name) and name.lower() not in _SPOKEN_FOR
    return name if is_plain else json.dumps(name, ensure_ascii=False)


_PLAIN = re.compile(r"[\w.+-]+")
_SPOKEN_FOR = frozenset({"null", "none", "nan", "na", "true", "false"})
