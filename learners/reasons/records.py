"""What searches find, and what is told of a counterfactual; all are plain data, :meth:`to_json` gives JSON values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from learners.conditions import AnyCondition
from learners.errors import LearnerError
from learners.table import UNSEEN, Column
from learners.types import FloatArray, Scalar


@dataclass(frozen=True)
class Way:
    """A changed row, what the changes cost, how far they go, and how far each."""

    cells: FloatArray
    cost: float
    distance: float
    steps: dict[int, float]


@dataclass(frozen=True)
class Asked:
    """All that a leaf's path asks of one column, and how the row stands to it.

    Attributes:
        condition: in labels and exact numbers.
        observed: the row's value; None where missing or unseen.
        state: ``met``; ``unmet``; or ``undecided`` where the row is divided, since the value is missing or unseen.
    """

    condition: AnyCondition
    observed: Scalar | None
    state: Literal["met", "unmet", "undecided"]

    def to_json(self) -> dict[str, Any]:
        return {"condition": self.condition.to_json(), "observed": self.observed, "state": self.state}


@dataclass(frozen=True)
class Change:
    """One column's new value.

    Attributes:
        before: None where missing or unseen.
        after: the nearest value that the leaf allows.
        distance: scaled.
    """

    column: str
    before: Scalar | None
    after: Scalar | None
    distance: float

    def to_json(self) -> dict[str, Any]:
        return {"column": self.column, "before": self.before, "after": self.after, "distance": self.distance}


@dataclass(frozen=True)
class Counterfactual:
    """A row with the wanted answer, and what leads to it.

    Attributes:
        leaf: the leaf whose conditions the changes meet; of a row that values left missing divide among several the
            one that takes most of it, of those with the wanted answer if there are any. None of a rule set.
        rank, rule: of a rule set the place, from 1 on, and the id of the rule that answers the changed row.
        changes: in the order in which the leaf's path tests the columns, then those that other paths test.
        cost: the sum of the changed columns' costs.
        distance: the sum of the changes' scaled distances.
        asked: everything that the leaf's path asks, changed or not: what the row does not meet is why
            it is not answered so.
        cells: the changed row, shape (d,).
        answer: the model's answer to it; ``probabilities`` in class order, None for regression.
        exact: whether there is surely no nearer row; False where the search met its bound.
    """

    leaf: int | None
    changes: tuple[Change, ...]
    cost: float
    distance: float
    asked: tuple[Asked, ...]
    cells: FloatArray = field(repr=False)
    answer: Scalar
    probabilities: tuple[float, ...] | None
    rank: int | None = None
    rule: str | None = None
    exact: bool = True

    def place(self) -> dict[str, Any]:
        """Where in the model it is answered, as JSON."""
        return {"leaf": self.leaf} if self.rule is None else {"rank": self.rank, "rule": self.rule}

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = self.place() | {"changes": [change.to_json() for change in self.changes]}
        record |= {"cost": self.cost, "distance": self.distance, "exact": self.exact}
        if self.probabilities is None:
            record["value"] = self.answer
        else:
            record |= {"label": self.answer, "probabilities": list(self.probabilities)}
        return record | {"conditions": [one.to_json() for one in self.asked]}


class Ways(list[Counterfactual]):
    """The counterfactuals of one row, the nearest first.

    Attributes:
        unfinished: what is left to look at, of a row for which none was found within the work that is allowed; None
            of any other row, for which none means that there is none.
    """

    unfinished: str | None = None


class SearchEnded(LearnerError):
    """The work that is allowed for one row is done; the message says what would be left to look at.

    Attributes:
        best: the nearest of the rows that were found where it ended, if there was one.
    """

    best: Way | None = None

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(
            f"more than {what} would have to be looked at; {remedy}fix more columns, or narrow what is allowed"
        )


def shown_cell(column: Column, cell: float) -> Scalar | None:
    """A row's value; None where missing or unseen."""
    return None if not column.is_numeric and cell == UNSEEN else column.decode(float(cell))
