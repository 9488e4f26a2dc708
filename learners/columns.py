"""Columns: what the values of one column mean, and the one text under which a value is a level.

A numeric cell is its number; a cell of a nominal, ordinal or boolean column is the code of its
level. Two facts that are often confused are kept apart in every column: ``MISSING`` (NaN) says that
no value is known, ``UNSEEN`` that a value is known but is none of the column's levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from learners.boolean_texts import boolean_level
from learners.errors import DataError, SchemaError, quoted
from learners.number_texts import EXACT_INTEGER, canonical_text, number_text, numeric_level, parse_number
from learners.sequences import check_widths, parse_sequence, sequence_text, sequence_value, step_width
from learners.types import FloatArray, Scalar, Value

__all__ = [
    "EXACT_INTEGER",
    "MISSING",
    "OPEN_KINDS",
    "UNSEEN",
    "Column",
    "Kind",
    "LevelType",
    "canonical_text",
    "infer_column",
    "nominal_levels",
    "number_text",
    "parse_number",
]

MISSING = math.nan
UNSEEN = -1.0
LevelType: TypeAlias = Literal["text", "number", "boolean"]


class Kind(StrEnum):
    """What the values of a column mean, and so which tests make sense on it."""

    NUMERIC = "numeric"  # a quantity; order and distance count
    NOMINAL = "nominal"  # names without order
    ORDINAL = "ordinal"  # names in a declared order
    BOOLEAN = "boolean"  # two names, the first of them the false one
    TEXT = "text"  # texts that are more or less alike; any other may come
    SEQUENCE = "sequence"  # numbers in the order of their steps; any other sequence may come


#: Kinds whose levels are no more than the values met so far, so that a new one is no stranger.
OPEN_KINDS = frozenset({Kind.TEXT, Kind.SEQUENCE})


@dataclass(frozen=True)
class Column:
    """Name, kind and levels of one column.

    Attributes:
        name: unique within its table.
        kind: see :class:`Kind`.
        levels: canonical texts; the position is the code. Empty for a numeric column. For an
            ordinal column in its order; for a boolean one (false, true). For a column of texts or
            sequences the values that were met, a sequence as :func:`learners.sequences.sequence_text` writes it.
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
    def is_open(self) -> bool:
        """Whether any other text or sequence may come, so that no level is unseen."""
        return self.kind in OPEN_KINDS

    @cached_property
    def sequences(self) -> tuple[FloatArray, ...]:
        """Of a column of sequences, each level as an array of shape (T, k)."""
        return tuple(parse_sequence(level) for level in self.levels)

    def extended(self, values: Iterable[Value | None]) -> Column:
        """An open column that knows these values too, in the order in which they come, after those that it knew.

        Raises:
            SchemaError: a value is none of its kind, or a sequence has other steps than those before.
        """
        texts = (self.open_text(value) for value in values if value is not None)
        new = dict.fromkeys(text for text in texts if text not in self._codes)
        if self.kind is Kind.SEQUENCE:
            self._check_widths(new)
        return replace(self, levels=(*self.levels, *new)) if new else self

    def open_text(self, value: Value) -> str:
        """The text under which an open column knows a value.

        Raises:
            SchemaError: the value is none of its kind, or a sequence has other steps than those that it knows.
        """
        try:
            text = sequence_text(value) if self.kind is Kind.SEQUENCE else _plain_text(value)
        except DataError as error:
            raise SchemaError(f"column {quoted(self.name)}: {error}", field=self.name) from None
        if self.kind is Kind.SEQUENCE and self.levels:
            self._check_widths([text])
        return text

    def _check_widths(self, texts: Iterable[str]) -> None:
        try:
            check_widths(texts, step_width(self.levels[0]) if self.levels else None)
        except DataError as error:
            raise SchemaError(f"column {quoted(self.name)}: {error}", field=self.name) from None

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {level: code for code, level in enumerate(self.levels)}

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """The levels in their own type, as they are given back to the caller."""
        if self.kind is Kind.SEQUENCE:
            return tuple(sequence_value(level) for level in self.levels)
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
        """The canonical text of a value in this column, whether or not it is one of its levels.

        In a boolean column that is the level which the value spells, see :func:`~learners.boolean_texts.boolean_level`.
        """
        if self.kind is Kind.BOOLEAN:
            if isinstance(value, bool | np.bool_):
                return self.levels[int(value)]
            level = boolean_level(canonical_text(value), self.levels)
            if level is not None:
                return level
        if self.level_type == "number" and isinstance(value, str):
            return numeric_level(value)
        return canonical_text(value)

    def encode(self, value: Value | None) -> float:
        """The cell for one value: its number, its level's code, ``MISSING`` or ``UNSEEN``.

        Of an open column ``UNSEEN`` says that it does not know the value yet; see :meth:`extended`.

        Raises:
            SchemaError: something that is not a finite number, for a numeric column; no sequence, for one of
                sequences; NaN or infinity for any.
        """
        if value is None:
            return MISSING
        if self.is_open:
            return float(self._codes.get(self.open_text(value), UNSEEN))
        if not self.is_numeric:
            if isinstance(value, list | tuple):
                raise SchemaError(f"column {quoted(self.name)} takes labels, not {quoted(value)}", field=self.name)
            if isinstance(value, float | np.floating) and not math.isfinite(value):
                raise SchemaError(f"column {quoted(self.name)} takes labels, not {quoted(value)}", field=self.name)
            return float(self._codes.get(self.level_text(value), UNSEEN))
        number = _as_number(value)
        if number is None:
            raise SchemaError(f"column {quoted(self.name)} takes finite numbers, not {quoted(value)}", field=self.name)
        return number

    def decode(self, cell: float) -> Any:
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


def _as_number(value: Value) -> float | None:
    if isinstance(value, bool | np.bool_ | list | tuple):
        return None
    if isinstance(value, str):
        return parse_number(value)
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _plain_text(value: Value) -> str:
    if not isinstance(value, str | bool | int | float | np.generic):
        raise DataError(f"{quoted(value)} is no text")
    return canonical_text(value)


def infer_column(name: str, values: Iterable[Value | None]) -> Column:
    """Describe a column by the Python types of its values; see :meth:`Table.from_columns`."""
    found = [value for value in values if value is not None]
    known = [value for value in found if not isinstance(value, list | tuple)]
    if found and not known:
        return Column(name, Kind.SEQUENCE).extended(found)
    if len(known) < len(found):
        raise DataError(f"column {quoted(name)} holds sequences beside other values", field=name)
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
