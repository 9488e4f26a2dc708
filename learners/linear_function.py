"""Linear functions of a row as data: what a leaf of a model tree answers, and the reason that follows from it.

A function is ``intercept + c1 + c2 + ...``, added from left to right, where each contribution is a coefficient
times the value of a variable: a numeric column's value, or 1 or 0 by whether a level is one of some. A value
that is missing, or a level of which the variable knows nothing, counts as the variable's mean in training. A
contribution is kept within 1e300 on either side, so that no answer is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from learners.conditions import name_text, scalar_text
from learners.explanation import Branch, PathExplanation
from learners.table import UNSEEN, Column, number_text
from learners.types import FloatArray, Scalar

#: No contribution is larger than this, so that sums of them are finite.
LARGEST = 1e300


@dataclass(frozen=True)
class LinearTerm:
    """A coefficient times a variable.

    Attributes:
        feature: index of the column.
        column: its name.
        coefficient: finite.
        default: what a value that is not known counts as: the variable's mean in training.
        ones, zeros: level codes, ascending, for which the variable is 1 or 0; both ``None`` for a column's number.
        values: the labels of ``ones``.
    """

    feature: int
    column: str
    coefficient: float
    default: float
    ones: tuple[int, ...] | None = None
    zeros: tuple[int, ...] | None = None
    values: tuple[Scalar, ...] = ()

    def value(self, cell: float) -> float:
        """What one cell counts as."""
        if self.ones is None or self.zeros is None:
            return self.default if math.isnan(cell) else cell
        return 1.0 if cell in self.ones else 0.0 if cell in self.zeros else self.default

    def contribution(self, cell: float) -> float:
        """Coefficient times value, kept within bounds."""
        return min(max(self.coefficient * self.value(cell), -LARGEST), LARGEST)

    def contributions(self, cells: FloatArray) -> FloatArray:
        """The same of many cells, shape (n,)."""
        if self.ones is None or self.zeros is None:
            counted = np.where(np.isnan(cells), self.default, cells)
        else:
            known = np.where(np.isin(cells, self.zeros), 0.0, self.default)
            counted = np.where(np.isin(cells, self.ones), 1.0, known)
        with np.errstate(over="ignore"):
            bounded: FloatArray = np.clip(self.coefficient * counted, -LARGEST, LARGEST)
        return bounded

    def variable_text(self) -> str:
        """The variable for people: a name, or a question that is 1 where it holds."""
        name = name_text(self.column)
        if self.ones is None:
            return name
        shown = ", ".join(scalar_text(value) for value in self.values)
        return f"[{name} = {shown}]" if len(self.values) == 1 else f"[{name} in {{{shown}}}]"

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"column": self.column, "coefficient": self.coefficient, "default": self.default}
        return record if self.ones is None else record | {"values": list(self.values)}


@dataclass(frozen=True)
class LinearFunction:
    """An intercept and terms, in the order in which they are added."""

    intercept: float
    terms: tuple[LinearTerm, ...]

    def value(self, cells: Sequence[float]) -> float:
        """The function of one row, shape (d,)."""
        total = self.intercept
        for term in self.terms:
            total += term.contribution(cells[term.feature])
        return total

    def values(self, cells: FloatArray) -> FloatArray:
        """The function of each row of a table's cells, shape (n, d); equal to :meth:`value` to the bit."""
        total = np.full(len(cells), self.intercept)
        for term in self.terms:
            total += term.contributions(cells[:, term.feature])
        return total

    def text(self) -> str:
        """``3.1 + 0.5 * width - 2 * [colour in {red, blue}]``; every number reads back to the same double."""
        pieces = [number_text(self.intercept)]
        for term in self.terms:
            sign = "-" if term.coefficient < 0 else "+"
            pieces.append(f"{sign} {number_text(abs(term.coefficient))} * {term.variable_text()}")
        return " ".join(pieces)

    def to_json(self) -> dict[str, Any]:
        terms = [term.to_json() for term in self.terms]
        return {"intercept": self.intercept, "terms": terms, "text": self.text()}


@dataclass(frozen=True)
class Contribution:
    """What one term adds to a row's answer.

    Attributes:
        term: coefficient and variable.
        observed: the row's value; ``None`` where missing or unseen.
        state: ``known``; ``missing`` or ``unseen`` where the variable's default stands for it; or ``bounded``: known,
            but what it adds lies beyond 1e300 and counts as that.
        value: what the variable is.
        amount: what is added.
    """

    term: LinearTerm
    observed: Scalar | None
    state: Literal["known", "missing", "unseen", "bounded"]
    value: float
    amount: float

    @classmethod
    def of(cls, term: LinearTerm, column: Column, cell: float) -> Contribution:
        """The contribution of one cell."""
        if math.isnan(cell):
            return cls(term, None, "missing", term.default, term.contribution(cell))
        unseen = not column.is_numeric and cell == UNSEEN
        untold = unseen or (term.ones is not None and cell not in (*term.ones, *(term.zeros or ())))
        observed = None if unseen else column.decode(cell)
        amount = term.contribution(cell)
        known: Literal["known", "bounded"] = "bounded" if abs(amount) >= LARGEST else "known"
        return cls(term, observed, "unseen" if untold else known, term.value(cell), amount)

    def to_json(self) -> dict[str, Any]:
        return self.term.to_json() | {
            "observed": self.observed,
            "state": self.state,
            "value": self.value,
            "contribution": self.amount,
        }


@dataclass(frozen=True)
class LinearBranch(Branch):
    """A way to a leaf that answers by a linear function.

    ``value`` is the function of the row: ``intercept`` plus the contributions, added in their order, to the bit.

    Attributes:
        function: the leaf's function.
        contributions: one for each of its terms.
    """

    function: LinearFunction = LinearFunction(0.0, ())
    contributions: tuple[Contribution, ...] = ()

    def to_json(self, written: dict[int, dict[str, Any]] | None = None) -> dict[str, Any]:
        linear = {
            "intercept": self.function.intercept,
            "terms": [contribution.to_json() for contribution in self.contributions],
            "text": self.function.text(),
        }
        return super().to_json(written) | {"linear": linear}


@dataclass(frozen=True)
class LinearPathExplanation(PathExplanation):
    """The paths of a model tree; the text says the leaves' functions too."""

    @property
    def n_tests(self) -> int:
        """Number of tests and of contributions on all branches that are given."""
        return sum(len(branch.steps) + _n_contributions(branch) for branch in self.branches)

    def text(self) -> str:
        lines = super().text().split("\n")
        for place, branch in enumerate(self.branches):
            if isinstance(branch, LinearBranch):
                lines[place] += f": {branch.function.text()} = {number_text(branch.value or 0.0)}"
        return "\n".join(lines)


def _n_contributions(branch: Branch) -> int:
    return len(branch.contributions) if isinstance(branch, LinearBranch) else 0
