"""A request on its way through the checks: what it is checked against, and what was found wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from learners import catalog
from learners.base import Learner
from learners.errors import ParameterError, quoted
from service.errors import Fault
from service.formats.options import EXCLUDED
from service.store.tables import Dataset

#: Names that a message of what is allowed lists at most.
SHOWN_NAMES = 20


def told_rows(count: int, first: int | None) -> str:
    """How many rows, and the first of them.

    Args:
        count: at least 1.
        first: its number from 0; ``None`` where an older profile does not tell.
    """
    if first is None:
        return f"{count} row" if count == 1 else f"{count} rows"
    return f"row {first}" if count == 1 else f"{count} rows, the first of them row {first}"


def told_range(least: int, most: int) -> str:
    """The whole numbers from the least to the most, which is no less."""
    return str(least) if least == most else f"a whole number >= {least} and <= {most}"


class Asked:
    """A submission's request.

    Args:
        dataset: the record of the dataset that it names.
        request: the JSON body.
        learns: whether it names a learner.

    Attributes:
        columns: the dataset's columns by name, as JSON.
        learner: that is named; None if there is no such learner, which is a fault then, or none is named.
        faults: what is wrong so far.
    """

    def __init__(self, dataset: Dataset, request: Mapping[str, Any], *, learns: bool = False) -> None:
        self.dataset = dataset
        self.columns: dict[str, Mapping[str, Any]] = {column["name"]: column for column in dataset.columns}
        self.request = request
        self.faults: list[Fault] = []
        self.learner = self._find_learner() if learns and request.get("learner") is not None else None

    def refuse(
        self, message: str, parameter: str, *, column: Any = None, row: int | None = None, allowed: Any = None
    ) -> None:
        """Note a fault."""
        name = column if isinstance(column, str) else None
        self.faults.append(Fault(message, row=row, parameter=parameter, column=name, allowed=allowed))

    def refuse_missing(self, subject: str, needed: str, parameter: str, column: str) -> None:
        """Note that a column has no value in some rows.

        Args:
            subject: what is missing, with its verb.
            needed: what every row must have.
        """
        count, first = self.columns[column]["missing"], self.profile(column).get("first_missing")
        message = f"{subject} missing in {told_rows(count, first)}; {needed}"
        self.refuse(message, parameter, column=column, row=first)

    def is_column(self, name: Any, parameter: str) -> bool:
        """Whether the dataset has a column; if not, that is a fault of the parameter."""
        if isinstance(name, str) and name in self.columns:
            return True
        excluded = self.dataset.options.get("kinds", {}).get(name) == EXCLUDED
        reason = "is excluded from the dataset" if excluded else "is not in the dataset"
        self.refuse(
            f"the column {quoted(name)} {reason}", parameter, column=name, allowed=list(self.columns)[:SHOWN_NAMES]
        )
        return False

    @property
    def is_supervised(self) -> bool:
        """Whether the learner that is named learns from a target."""
        return self.learner is None or self.learner.capabilities.supervised

    def usable_rows(self) -> int:
        """Number of rows that have a target."""
        column = self.columns.get(str(self.request.get("target")), {})
        return int(self.dataset.n_rows) - int(column.get("missing") or 0)

    def profile(self, name: Any) -> Mapping[str, Any]:
        """What is known of a column's values, in rows without a target too; empty if nothing is."""
        found = (column for column in self.dataset.profile if column["name"] == name)
        return next(found, {})

    def _find_learner(self) -> type[Learner] | None:
        name = self.request.get("learner")
        try:
            return catalog.get(str(name))
        except ParameterError:
            names = [known.name for known in catalog.LEARNERS]
            self.refuse(f"there is no learner {quoted(name)}", "learner", allowed=names)
            return None
