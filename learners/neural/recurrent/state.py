"""What a network remembers of a sequence between two of its pieces, as its caller keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from learners.errors import DataError, quoted
from learners.types import FloatArray

_MEMBERS = ("steps", "window", "units", "columns")
#: More steps than any sequence has.
_MOST_STEPS = 2**53
#: No number of a state that a model gave is larger.
_LARGEST = 1e300


class StateError(DataError):
    """What a caller handed back is no state of this model."""


@dataclass(frozen=True, eq=False)
class State:
    """After some steps.

    Attributes:
        steps: how many there were.
        window: the last of them, the latest first, shape (delays - 1, V); 0 before the first.
        units: what a recurrent network's hidden units said, shape (U,).
        columns: what holds for the whole sequence: of each column of sequences or texts 1 if it is known, else 0; then
            the numbers that the other columns enter as.
    """

    steps: int
    window: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    units: FloatArray = field(default_factory=lambda: np.zeros(0))
    columns: FloatArray = field(default_factory=lambda: np.zeros(0))

    def to_json(self) -> dict[str, Any]:
        """Numbers that read back to the bit."""
        return {
            "steps": self.steps,
            "window": self.window.tolist(),
            "units": self.units.tolist(),
            "columns": self.columns.tolist(),
        }


def read_state(
    record: Any, n_window: int, n_variables: int, n_units: int, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> State:
    """The inverse of :meth:`State.to_json`, of a caller's data.

    Args:
        record: what was handed back.
        n_window, n_variables: shape of the window.
        n_units: number of hidden units.
        bounds: between what these are.

    Raises:
        StateError: another shape, or a number that is none or not finite; says which member.
    """
    steps = steps_before(record)
    window = record["window"]
    if not isinstance(window, list) or len(window) != n_window:
        raise StateError(f"state.window is a list of the last {n_window} steps")
    rows = [_numbers(step, n_variables, f"state.window[{place}]") for place, step in enumerate(window)]
    units = _numbers(record["units"], n_units, "state.units")
    for unit in units:
        if not bounds[0] <= unit <= bounds[1]:
            least, most = (f"{bound:g}" for bound in bounds)
            within = f"not below {least}" if bounds[1] == np.inf else f"from {least} to {most}"
            raise StateError(f"state.units holds {quoted(unit)}; what these units say is {within}")
    return State(steps, np.array(rows, dtype=np.float64).reshape(n_window, n_variables), np.array(units))


def columns_before(record: Any, count: int) -> FloatArray:
    """What held for the whole sequence, by a caller's state; shape (count,).

    Raises:
        StateError: as :func:`read_state`.
    """
    steps_before(record)
    return np.array(_numbers(record["columns"], count, "state.columns"))


def steps_before(record: Any) -> int:
    """How many steps were before, by a caller's state.

    Raises:
        StateError: it has not the members of a state, or the number is none.
    """
    if not isinstance(record, Mapping) or set(record) != set(_MEMBERS):
        raise StateError(f"state has the members {', '.join(_MEMBERS)}, as it was handed back")
    steps = record["steps"]
    if isinstance(steps, bool) or not isinstance(steps, int) or not 0 <= steps < _MOST_STEPS:
        raise StateError(f"state.steps is a number of steps, not {quoted(steps)}")
    return steps


def _numbers(values: Any, count: int, name: str) -> list[float]:
    if not isinstance(values, list) or len(values) != count:
        raise StateError(f"{name} is a list of {count} numbers")
    for value in values:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not abs(value) <= _LARGEST:
            raise StateError(f"{name} holds {quoted(value)}, which is no number of a state")
    return [float(value) for value in values]
