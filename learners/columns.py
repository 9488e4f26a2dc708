"""Columns: what the values of one column mean, and the one text under which a value is a level.

A numeric cell is its number; a cell of a nominal, ordinal or boolean column is the code of its
level. Two facts that are often confused are kept apart in every column: ``MISSING`` (NaN) says that
no value is known, ``UNSEEN`` that a value is known but is none of the column's levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from learners.errors import DataError, SchemaError, quoted
from learners.types import Scalar

MISSING = math.nan
UNSEEN = -1.0
#: The largest magnitude below which every integer is exactly a float64.
EXACT_INTEGER = 2**53
#: Larger whole numbers are written with an exponent.
_LARGEST_PLAIN = 2**63

LevelType: TypeAlias = Literal["text", "number", "boolean"]


class Kind(StrEnum):
    """What the values of a column mean, and so which tests make sense on it."""

    NUMERIC = "numeric"  # a quantity; order and distance count
    NOMINAL = "nominal"  # names without order
    ORDINAL = "ordinal"  # names in a declared order
    BOOLEAN = "boolean"  # two names, the first of them the false one


def number_text(value: float) -> str:
    """The shortest text that reads back as the same double; whole numbers up to 2^63 without a point.

    ``1`` and ``1.0`` are one text, so they are one level.

    Raises:
        DataError: NaN or infinite.
    """
    if not math.isfinite(value):
        raise DataError(f"{value!r} is not a finite number")
    if abs(value) <= _LARGEST_PLAIN and value == math.floor(value):
        return str(int(value))
    return repr(float(value))


def canonical_text(value: Scalar) -> str:
    """The text under which a value is a level: texts as they are, ``true``/``false``, numbers shortest."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return _integer_text(int(value))
    return _double_text(float(value))


#: Whole numbers below this are written with all their digits as levels, whether they came as integers or doubles.
_PLAIN_INTEGER = 10**22


def _integer_text(value: int) -> str:
    """Its digits; from 10^22 on as the equal double is written, if there is one."""
    if abs(value) < _PLAIN_INTEGER:
        return str(value)
    try:
        number = float(value)
    except OverflowError:
        return str(value)
    return repr(number) if number == value else str(value)


def _double_text(value: float) -> str:
    """The level of a double: equal to that of the equal integer."""
    text = number_text(value)
    return str(int(value)) if value == math.floor(value) and abs(value) < _PLAIN_INTEGER else text


def parse_number(text: str) -> float | None:
    """A finite double written in plain decimal or scientific notation, else ``None``.

    Python's own extras (underscores, ``nan``, ``infinity``, full-width digits) are not numbers here.
    """
    stripped = text.strip()
    if not stripped or not set(stripped) <= _NUMBER_CHARACTERS:
        return None
    try:
        number = float(stripped)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


_NUMBER_CHARACTERS = frozenset("0123456789+-.eE")


def _numeric_level(text: str) -> str:
    """The level of a text in a column whose levels are numbers: ``1``, ``1.0`` and ``01`` are one."""
    number = parse_number(text)
    if number is None:
        return text
    if abs(number) >= EXACT_INTEGER:
        digits = text.strip().lstrip("+-")
        if digits.isdecimal():  # a double would lose digits that are there
            sign = "-" if number < 0 else ""
            return _integer_text(int(sign + (digits.lstrip("0"))))
    return _double_text(number)


@dataclass(frozen=True)
class Column:
    """Name, kind and levels of one column.

    Attributes:
        name: unique within its table.
        kind: see :class:`Kind`.
        levels: canonical texts; the position is the code. Empty for a numeric column. For an
            ordinal column in its order; for a boolean one (false, true).
        level_type: the type in which labels are given back and, for ``number``, compared:
            with ``number``, the inputs ``1``, ``1.0``, ``"1"`` and ``"1.0"`` are one level.

    Raises:
        DataError: two levels are alike, a numeric column has levels, a boolean one not two.
    """

    name: str
    kind: Kind = Kind.NUMERIC
    levels: tuple[str, ...] = ()
    level_type: LevelType = "text"

    def __post_init__(self) -> None:
        if len(self._codes) != len(self.levels):
            twice = next(level for code, level in enumerate(self.levels) if self._codes[level] != code)
            raise DataError(f"column {quoted(self.name)} has the level {quoted(twice)} twice", field=self.name)
        if self.kind is Kind.NUMERIC and self.levels:
            raise DataError(f"column {quoted(self.name)} is numeric, so it has no levels", field=self.name)
        if self.kind is Kind.BOOLEAN and len(self.levels) != 2:
            raise DataError(
                f"column {quoted(self.name)} is boolean, so it has two levels, not {len(self.levels)}", field=self.name
            )

    @cached_property
    def is_numeric(self) -> bool:
        return self.kind is Kind.NUMERIC

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {level: code for code, level in enumerate(self.levels)}

    @cached_property
    def labels(self) -> tuple[Scalar, ...]:
        """The levels in their own type, as they are given back to the caller."""
        return tuple(self._label(level) for level in self.levels)

    def _label(self, level: str) -> Scalar:
        if self.level_type == "boolean":
            return level == self.levels[-1]
        if self.level_type == "number":
            number = parse_number(level)
            if number is not None:
                return int(level) if level.lstrip("-").isdecimal() else number
        return level

    def level_text(self, value: Scalar) -> str:
        """The canonical text of a value in this column, whether or not it is one of its levels."""
        if self.level_type == "number" and isinstance(value, str):
            return _numeric_level(value)
        if self.kind is Kind.BOOLEAN and isinstance(value, bool | np.bool_):
            return self.levels[int(value)]
        return canonical_text(value)

    def encode(self, value: Scalar | None) -> float:
        """The cell for one value: its number, its level's code, ``MISSING`` or ``UNSEEN``.

        Raises:
            SchemaError: something that is not a finite number, for a numeric column; NaN or infinity
                for any.
        """
        if value is None:
            return MISSING
        if not self.is_numeric:
            if isinstance(value, float | np.floating) and not math.isfinite(value):
                raise SchemaError(f"column {quoted(self.name)} takes labels, not {quoted(value)}", field=self.name)
            return float(self._codes.get(self.level_text(value), UNSEEN))
        number = _as_number(value)
        if number is None:
            raise SchemaError(f"column {quoted(self.name)} takes finite numbers, not {quoted(value)}", field=self.name)
        return number

    def decode(self, cell: float) -> Scalar | None:
        """The value of a cell; ``None`` for a missing one and for an unseen one, whose value is not kept."""
        if math.isnan(cell):
            return None
        if self.is_numeric:
            return int(cell) if cell == math.floor(cell) and abs(cell) < EXACT_INTEGER else float(cell)
        return None if cell == UNSEEN else self.labels[int(cell)]

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :meth:`from_json` makes an equal column."""
        record: dict[str, Any] = {"name": self.name, "kind": self.kind.value}
        if not self.is_numeric:
            record["levels"] = list(self.levels)
            record["level_type"] = self.level_type
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Column:
        return cls(
            name=record["name"],
            kind=Kind(record["kind"]),
            levels=tuple(record.get("levels", ())),
            level_type=record.get("level_type", "text"),
        )


def _as_number(value: Scalar) -> float | None:
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, str):
        return parse_number(value)
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def infer_column(name: str, values: Iterable[Scalar | None]) -> Column:
    """Describe a column by the Python types of its values; see :meth:`Table.from_columns`."""
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool | np.bool_) for value in known):
        return Column(name, Kind.BOOLEAN, ("false", "true"), "boolean")
    if all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in known):
        return Column(name, Kind.NUMERIC)
    return Column(name, Kind.NOMINAL, nominal_levels(name, known))


def nominal_levels(name: str, values: Iterable[Scalar]) -> tuple[str, ...]:
    """Sorted canonical levels; two values of different type may not share one.

    Raises:
        DataError: e.g. ``1`` and ``"1"`` both occur, and no choice between them would be visible.
    """
    seen: dict[str, Scalar] = {}
    for value in values:
        text = canonical_text(value)
        first = seen.setdefault(text, value)
        if isinstance(first, str) != isinstance(value, str) or isinstance(first, bool) != isinstance(value, bool):
            raise DataError(
                f"column {quoted(name)} holds {quoted(first)} and {quoted(value)}, which are written alike "
                "but differ in type; write both the same way",
                field=name,
            )
    return tuple(sorted(seen))
