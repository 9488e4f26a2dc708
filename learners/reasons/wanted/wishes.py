"""What a caller allows to be changed of a row, and at what price; checked against a model's columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from learners.errors import ParameterError, SchemaError, quoted
from learners.table import UNSEEN, Column, Kind
from learners.types import BoolArray, FloatArray, Scalar

#: Of a numeric or ordinal column (least, greatest), either of them None for no bound; else the levels that may be.
Range: TypeAlias = tuple[Scalar | None, Scalar | None] | Collection[Scalar]

#: Beyond this a sum of costs might not be finite.
_LARGEST = 1e150


@dataclass(frozen=True)
class Wishes:
    """What may be changed, by column index.

    Attributes:
        fixed: (d,), columns that stay as they are.
        rising, falling: (d,), whether a value may rise, or fall; of a missing value both mean nothing.
        costs: (d,), what it costs to change a column at all, >= 0.
        least, greatest: (d,), inclusive bounds of new values of numeric columns.
        levels: by column with levels, flags of the levels that it may be changed to.
    """

    fixed: BoolArray
    rising: BoolArray
    falling: BoolArray
    costs: FloatArray
    least: FloatArray
    greatest: FloatArray
    levels: dict[int, BoolArray]

    @property
    def is_free(self) -> bool:
        """Whether everything may be changed to anything at equal cost."""
        bounded = bool(np.isfinite(self.least).any() or np.isfinite(self.greatest).any() or self.levels)
        equal = bool((self.costs == 1).all())
        return equal and not bounded and not self.fixed.any() and bool(self.rising.all() and self.falling.all())

    @classmethod
    def of(
        cls,
        columns: Sequence[Column],
        *,
        fixed: Collection[str] = (),
        directions: Mapping[str, str] | None = None,
        costs: Mapping[str, float] | None = None,
        allowed: Mapping[str, Range] | None = None,
    ) -> Wishes:
        """Check wishes by column name.

        Args:
            columns: the model's.
            fixed: names of columns that stay.
            directions: ``up`` or ``down`` by name, for numeric and ordinal columns.
            costs: >= 0 by name; 1 where none is given.
            allowed: what a new value may be, by name; see :data:`Range`. The value that a row has may
                always stay.

        Raises:
            ParameterError: a name, direction, cost or range is not allowed; ``field`` says where it stands.
        """
        places = {column.name: place for place, column in enumerate(columns)}
        d = len(columns)
        made = cls(
            np.zeros(d, np.bool_),
            np.ones(d, np.bool_),
            np.ones(d, np.bool_),
            np.ones(d),
            np.full(d, -np.inf),
            np.full(d, np.inf),
            {},
        )
        for name in fixed:
            made.fixed[_place(places, name, "fixed")] = True
        for name, direction in (directions or {}).items():
            made._direct(columns, _place(places, name, "directions"), direction)
        for name, cost in (costs or {}).items():
            made.costs[_place(places, name, "costs")] = _cost(name, cost)
        for name, wanted in (allowed or {}).items():
            made._allow(columns, _place(places, name, "allowed"), wanted)
        return made

    def _direct(self, columns: Sequence[Column], place: int, direction: str) -> None:
        column = columns[place]
        if column.kind not in (Kind.NUMERIC, Kind.ORDINAL):
            raise ParameterError(
                f"column {quoted(column.name)} is {column.kind}, so it has no direction; numeric and ordinal ones have",
                field=f"directions.{column.name}",
            )
        if direction not in ("up", "down"):
            raise ParameterError(
                f"a direction is 'up' or 'down', not {quoted(direction)}", field=f"directions.{column.name}"
            )
        self.rising[place], self.falling[place] = direction == "up", direction == "down"

    def _allow(self, columns: Sequence[Column], place: int, wanted: Range) -> None:
        column = columns[place]
        if not column.is_numeric and not _is_pair(column, wanted):
            self.levels[place] = _flags(column, wanted)
            return
        if not _is_pair(column, wanted):
            raise ParameterError(
                f"what is allowed of the numeric column {quoted(column.name)} is a range, not a list of levels",
                field=f"allowed.{column.name}",
            )
        low, high = (_bound(column, bound) for bound in wanted)
        low, high = (-np.inf if low is None else low), (np.inf if high is None else high)
        if low > high:
            raise ParameterError(
                f"the range of column {quoted(column.name)} is empty: its minimum is above its maximum",
                field=f"allowed.{column.name}",
            )
        if column.is_numeric:
            self.least[place], self.greatest[place] = low, high
        else:
            codes = np.arange(len(column.levels))
            self.levels[place] = (codes >= low) & (codes <= high)


def check_costs(columns: Sequence[Column], costs: Mapping[str, float] | None) -> FloatArray:
    """Costs by column, shape (d,); 1 where none is given.

    Raises:
        ParameterError: see :meth:`Wishes.of`.
    """
    return Wishes.of(columns, costs=costs).costs


def _is_pair(column: Column, wanted: Any) -> bool:
    """Whether a range is meant: a pair, of a column that has an order."""
    ordered = column.kind in (Kind.NUMERIC, Kind.ORDINAL)
    return ordered and isinstance(wanted, tuple) and len(wanted) == 2


def _place(places: Mapping[str, int], name: str, parameter: str) -> int:
    place = places.get(name) if isinstance(name, str) else None
    if place is None:
        shown = ", ".join(list(places)[:20]) + (f", ... ({len(places)} columns)" if len(places) > 20 else "")
        raise ParameterError(f"the model has no column {quoted(name)}; it has {shown}", field=parameter)
    return place


def _cost(name: str, cost: float) -> float:
    number = isinstance(cost, int | float | np.number) and not isinstance(cost, bool)
    if not number or not 0 <= cost <= _LARGEST:
        raise ParameterError(
            f"the cost of column {quoted(name)} is a number from 0 to {_LARGEST:g}, not {quoted(cost)}",
            field=f"costs.{name}",
        )
    return float(cost)


def _bound(column: Column, bound: Scalar | None) -> float | None:
    """A bound as a cell."""
    if bound is None:
        return None
    try:
        cell = column.encode(bound)
    except SchemaError as error:
        raise ParameterError(str(error), field=f"allowed.{column.name}") from None
    if not column.is_numeric and cell == UNSEEN:
        raise _unknown_level(column, bound)
    return cell


def _flags(column: Column, wanted: Any) -> BoolArray:
    if isinstance(wanted, str) or not isinstance(wanted, Collection) or not wanted:
        raise ParameterError(
            f"what is allowed of column {quoted(column.name)} is a list of some of its levels",
            field=f"allowed.{column.name}",
        )
    flags = np.zeros(len(column.levels), np.bool_)
    for level in wanted:
        cell = UNSEEN if level is None else _bound(column, level)
        if cell is None or cell == UNSEEN:
            raise _unknown_level(column, level)
        flags[int(cell)] = True
    return flags


def _unknown_level(column: Column, level: object) -> ParameterError:
    shown = ", ".join(column.levels[:20]) + (", ..." if len(column.levels) > 20 else "")
    return ParameterError(
        f"column {quoted(column.name)} has no level {quoted(level)}; it has {shown}", field=f"allowed.{column.name}"
    )
