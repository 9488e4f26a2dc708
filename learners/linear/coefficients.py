"""The coefficients of a fitted linear model as a table: estimate, standard error, t, p and interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from learners.conditions import name_text, scalar_text
from learners.preprocessing.encode import GAP, LEVEL, Encoding
from learners.table import Column, number_text
from learners.types import Scalar


@dataclass(frozen=True)
class Variable:
    """What a coefficient is multiplied by.

    Attributes:
        kind: ``intercept``: 1; ``number``: a numeric column's value, or an ordinal one's rank from 0 on; ``power``:
            ``((value - centre) / unit) ** power``; ``level``: 1 where the column has the level, else 0; ``missing``: 1
            where it has no value, else 0.
        column: its name; ``None`` of the intercept.
        level: of ``level``. reference: its column's level for which all indicators are 0.
        power, centre, unit: of ``power``.
    """

    kind: Literal["intercept", "number", "power", "level", "missing"]
    column: str | None = None
    level: Scalar | None = None
    reference: Scalar | None = None
    power: int | None = None
    centre: float | None = None
    unit: float | None = None

    def text(self) -> str:
        """For people: ``width``, ``((width - 3) / 0.5)^2``, ``[colour = red]``, ``[width is missing]``."""
        if self.column is None:
            return "intercept"
        name = name_text(self.column)
        if self.kind == "number":
            return name
        if self.kind == "level":
            return f"[{name} = {scalar_text(self.level)}]"
        if self.kind == "missing":
            return f"[{name} is missing]"
        centre = self.centre or 0.0
        moved = f"{name} {'-' if centre >= 0 else '+'} {number_text(abs(centre))}"
        base = f"(({moved}) / {number_text(self.unit or 1.0)})"
        return base if self.power == 1 else f"{base}^{self.power}"

    def to_json(self) -> dict[str, Any]:
        told = {name: value for name, value in vars(self).items() if value is not None}
        return {"variable": self.text(), **told}


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of one function.

    Attributes:
        label: the class that the function is the score of; ``None`` of a regression.
        variable: what it is multiplied by.
        estimate: in the units of the data.
        standard_error, t, p_value, low, high: ``None`` where there is none, the last four under a penalty too; ``t``
            and ``p_value`` of the hypothesis that it is 0 (for a classifier by the normal distribution), the interval
            at the level asked for. See :mod:`learners.linear.inference`.
    """

    label: Scalar | None
    variable: Variable
    estimate: float
    standard_error: float | None = None
    t: float | None = None
    p_value: float | None = None
    low: float | None = None
    high: float | None = None

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {} if self.label is None else {"label": self.label}
        record |= self.variable.to_json() | {"estimate": self.estimate}
        for name in ("standard_error", "t", "p_value", "low", "high"):
            record[name] = getattr(self, name)
        return record


def variables_of(encoding: Encoding, columns: Sequence[Column]) -> list[Variable]:
    """The encoding's variables in words, in their order."""
    starts = [0]
    for column in columns:
        starts.append(starts[-1] + len(column.levels))
    found = []
    for place, index in enumerate(encoding.column.tolist()):
        column = columns[index]
        kind, detail = int(encoding.kind[place]), int(encoding.detail[place])
        if kind == GAP:
            found.append(Variable("missing", column.name))
        elif kind == LEVEL:
            reference = int(encoding.seen[starts[index] : starts[index + 1]].argmax())
            found.append(Variable("level", column.name, column.labels[detail], column.labels[reference]))
        elif ((encoding.column == index) & (encoding.kind == kind)).sum() > 1:
            factor = float(encoding.factor[index])
            centre, unit = float(encoding.offset[index]) / factor, float(encoding.unit[index]) / factor
            found.append(Variable("power", column.name, power=detail, centre=centre, unit=unit))
        else:
            found.append(Variable("number", column.name))
    return found


def coefficient(
    label: Scalar | None,
    variable: Variable,
    estimate: float,
    error: float,
    freedom: float | None,
    level: float | None,
) -> Coefficient:
    """One coefficient with its interval.

    Args:
        error: NaN where there is none.
        freedom: degrees of freedom of Student's t; ``None`` for the normal distribution.
        level: of the interval; ``None``: no interval, no t and no p-value.
    """
    if not math.isfinite(error) or (freedom is not None and freedom <= 0):
        return Coefficient(label, variable, estimate)
    if level is None:
        return Coefficient(label, variable, estimate, error)
    width = _quantile(0.5 + level / 2, freedom) * error
    low, high = max(estimate - width, -1e308), min(estimate + width, 1e308)
    if error == 0:
        return Coefficient(label, variable, estimate, error, None, None, low, high)
    t = estimate / error
    if not math.isfinite(t):
        return Coefficient(label, variable, estimate, error, None, None, low, high)
    return Coefficient(label, variable, estimate, error, t, 2 * _below(-abs(t), freedom), low, high)


def _quantile(share: float, freedom: float | None) -> float:
    from scipy.special import ndtri, stdtrit

    return float(ndtri(share) if freedom is None else stdtrit(freedom, share))


def _below(t: float, freedom: float | None) -> float:
    from scipy.special import ndtr, stdtr

    return float(ndtr(t) if freedom is None else stdtr(freedom, t))


def formula_text(rows: Sequence[Coefficient]) -> Iterator[str]:
    """One line a function: ``size = 3.1 + 0.5 * width - 2 * [colour = red]``; numbers read back to the same doubles."""
    by_label: dict[Scalar | None, list[Coefficient]] = {}
    for row in rows:
        by_label.setdefault(row.label, []).append(row)
    for label, own in by_label.items():
        pieces = [number_text(own[0].estimate)]
        for row in own[1:]:
            sign = "-" if row.estimate < 0 else "+"
            pieces.append(f"{sign} {number_text(abs(row.estimate))} * {row.variable.text()}")
        yield ("" if label is None else f"{scalar_text(label)}: ") + " ".join(pieces)
