"""What a caller may say about the steps before each row: rows of a table as moments of one or several series."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from service.errors import Fault, Invalid

#: Most steps of a window.
LONGEST: Final = 10_000
_CALLED = "The reading options are not valid: "


@dataclass(frozen=True)
class WindowOptions:
    """A column to add, of the steps before each row; rows that have too few are left out.

    Attributes:
        columns: numeric ones, whose numbers make a step.
        length: steps of a window, 1 to :data:`LONGEST`.
        name: of the column of sequences.
        time: the numeric column that orders the rows, or None where they come one after the other.
        groups: the column that tells which series a row is of, or None where there is one.
        gap: the largest difference of times between neighbours, above 0; None for 1.5 times the median one.
    """

    columns: tuple[str, ...]
    length: int
    name: str = "past"
    time: str | None = None
    groups: str | None = None
    gap: float | None = None

    def named(self) -> list[tuple[str, str]]:
        """Columns of the file that it speaks of, each with the place where it does."""
        found = [("columns", name) for name in self.columns]
        return found + [(place, name) for place in ("time", "groups") if (name := getattr(self, place)) is not None]

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :meth:`from_json` makes equal options."""
        return asdict(self) | {"columns": list(self.columns)}

    @classmethod
    def from_json(cls, record: Any) -> WindowOptions | None:
        """Options from a caller's JSON value; null: none.

        Raises:
            Invalid: a member is unknown, missing or not allowed; the fault names it.
        """
        if record is None:
            return None
        if not isinstance(record, Mapping):
            raise _invalid("windows must be an object", "options.windows")
        known = [one.name for one in fields(cls)]
        for name in record:
            if name not in known:
                raise _invalid(f"windows has no {name!r}"[:200], f"options.windows.{name}"[:200], known)
        for name, is_right, what in _MEMBERS:
            if name not in record and name in ("columns", "length"):
                raise _invalid(f"windows needs {name}, {what}", f"options.windows.{name}")
            if name in record and not is_right(record[name]):
                raise _invalid(f"windows.{name} must be {what}", f"options.windows.{name}")
        if record.get("gap") is not None and record.get("time") is None:
            raise _invalid("windows.gap has no effect without windows.time", "options.windows.gap")
        return cls(**{**record, "columns": tuple(record["columns"])})


def _invalid(message: str, parameter: str, allowed: Any = None) -> Invalid:
    return Invalid(_CALLED + message, [Fault(message, parameter=parameter, allowed=allowed)])


def _are_names(value: object) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str) or not 0 < len(value) <= LONGEST:
        return False
    return all(isinstance(name, str) for name in value) and len(set(value)) == len(value)


def _is_length(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LONGEST


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


def _is_name_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_gap(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (is_number and 0 < value < math.inf)  # type: ignore[operator]


_MEMBERS = (
    ("columns", _are_names, "a list of different columns of numbers"),
    ("length", _is_length, f"a whole number from 1 to {LONGEST}"),
    ("name", _is_name, "the name of the new column"),
    ("time", _is_name_or_none, "a column of numbers or null"),
    ("groups", _is_name_or_none, "a column or null"),
    ("gap", _is_gap, "a number above 0 or null"),
)
