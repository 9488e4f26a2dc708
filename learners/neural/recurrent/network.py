"""A fitted recurrent or time-delay network: scores after the last step, after each step, and step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from learners.neural.forward import slopes
from learners.neural.recurrent.sequences import Sequences
from learners.neural.recurrent.state import State, read_state
from learners.neural.recurrent.stepping import advance, scores
from learners.neural.recurrent.structure import Structure
from learners.types import Array, FloatArray

#: Between what units are, by activation.
_BOUNDS = {"tanh": (-1.0, 1.0), "sigmoid": (0.0, 1.0), "relu": (0.0, np.inf)}
#: Numbers of steps and units that are held at once on the way back.
_AT_ONCE = 2_000_000


@dataclass(frozen=True, eq=False)
class RecurrentNetwork:
    """Weights and what they mean.

    Attributes:
        structure: its inputs are those of ``delays`` steps, this one first.
        theta: float64 (P,).
        delays: how many steps the inputs of one step are.
    """

    structure: Structure
    theta: FloatArray
    delays: int = 1

    @property
    def step_width(self) -> int:
        """V, the variables of one step."""
        return self.structure.inputs // self.delays

    @cached_property
    def _layers(self) -> list[FloatArray]:
        return self.structure.layers(self.theta)

    def start(self) -> State:
        """Before the first step."""
        return State(0, np.zeros((self.delays - 1, self.step_width)), np.zeros(self.structure.n_remembered))

    def read_state(self, record: Any) -> State:
        """A caller's state.

        Raises:
            StateError: it is none of this network's.
        """
        bounds = _BOUNDS[self.structure.activation]
        return read_state(record, self.delays - 1, self.step_width, self.structure.n_remembered, bounds)

    def feed(self, steps: FloatArray, state: State) -> tuple[FloatArray, State]:
        """Feed some steps of one sequence.

        Args:
            steps: shape (T, V).
            state: after the steps before, or :meth:`start`.

        Returns:
            The scores after each step, shape (T, O), and the state after the last.
        """
        found = np.empty((len(steps), self.structure.outputs))
        window = np.vstack([np.zeros((1, self.step_width)), state.window])
        units = state.units[None] if self.structure.is_recurrent else self._nothing(1)
        for place, step in enumerate(steps):
            window[0] = step
            together = window.reshape(1, -1)
            units = self._advance(together, units)
            found[place] = scores(self.structure, self._layers, together, units)[0]
            window[1:] = window[:-1].copy()
        remembered = units[0, : self.structure.n_remembered]
        return found, State(state.steps + len(steps), window[1:].copy(), remembered)

    def scores(self, rows: Sequences) -> FloatArray:
        """The scores after the last step of each of n sequences, shape (n, O)."""
        last = rows.last_windows(self.delays)
        units = self._states(rows) if self.structure.is_recurrent else self._advance(last, self._nothing(len(rows)))
        return scores(self.structure, self._layers, last, units)

    def _states(self, rows: Sequences) -> FloatArray:
        """After the last step of each sequence, shape (n, U)."""
        lengths = rows.lengths
        windows = rows.windows(self.delays)
        order = np.argsort(-lengths, kind="stable")
        units = self._nothing(len(rows))
        begins, left = rows.starts[:-1][order], lengths[order]
        for step in range(int(left.max(initial=0))):
            running = int(np.searchsorted(-left, -step))  # those longer than this step come first
            units[:running] = self._advance(windows[begins[:running] + step], units[:running])
        found = np.empty_like(units)
        found[order] = units
        return found

    def input_gradients(self, rows: Sequences, unit: int) -> FloatArray:
        """Derivatives of the score of an output by all variables of all steps, shape (m, T V).

        Args:
            rows: m sequences of T steps each.
            unit: which output.
        """
        length = len(rows.values) // max(len(rows), 1)
        at_once = max(1, _AT_ONCE // (length * (self.step_width + self.structure.n_units)))
        found = np.empty((len(rows), length * self.step_width))
        for start in range(0, len(rows), at_once):
            chosen = np.arange(start, min(start + at_once, len(rows)))
            found[chosen] = self._gradients(rows.take(chosen), length, unit)
        return found

    def _gradients(self, rows: Sequences, length: int, unit: int) -> FloatArray:
        n_rows, structure = len(rows), self.structure
        if structure.is_recurrent:
            windows, first = rows.windows(self.delays).reshape(n_rows, length, -1), 0
        else:  # the last window alone decides
            windows, first = rows.last_windows(self.delays)[:, None], length - 1
        states = [self._nothing(n_rows)]
        for step in range(first, length):
            states.append(self._advance(np.ascontiguousarray(windows[:, step - first]), states[-1]))
        top = structure.n_units - structure.hidden[-1]
        later = self._nothing(n_rows)
        later[:, top:] = self._layers[-1][: structure.hidden[-1], unit]
        found = np.zeros((n_rows, length + self.delays - 1, self.step_width))
        for step in range(length - 1, first - 1, -1):
            later, below = self._back(later, states[step - first + 1])
            if structure.shortcuts and step == length - 1:
                below = below + self._layers[-1][structure.hidden[-1] : -1, unit]
            moved = below.reshape(n_rows, self.delays, self.step_width)
            for delay in range(self.delays):
                found[:, step - delay + self.delays - 1] += moved[:, delay]
        return found[:, self.delays - 1 :].reshape(n_rows, -1)

    def _back(self, later: FloatArray, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What an error of the states (m, U) is of the states one step before, and of the inputs of this step."""
        structure, layers = self.structure, self._layers
        errors, before = later.copy(), np.zeros_like(later)
        first, below = structure.n_units, np.zeros(0)
        for layer, size in zip(layers[-2::-1], structure.hidden[::-1], strict=True):
            first -= size
            own = slice(first, first + size)
            errors[:, own] *= slopes(structure.activation, states[:, own])
            inputs = len(layer) - 1 - (size if structure.is_recurrent else 0)
            if structure.is_recurrent:
                before[:, own] = errors[:, own] @ layer[inputs:-1].T
            below = errors[:, own] @ layer[:inputs].T
            if first > 0:
                errors[:, first - inputs : first] += below
        return before, below

    def _advance(self, step: FloatArray, states: FloatArray) -> FloatArray:
        return advance(self.structure, self._layers, step, states)

    def _nothing(self, n_rows: int) -> FloatArray:
        return np.zeros((n_rows, self.structure.n_units))

    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {"structure": asdict(self.structure), "delays": self.delays}, {"theta": self.theta}

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        record = header["structure"]
        structure = Structure(**(record | {"hidden": tuple(record["hidden"])}))
        return cls(structure, arrays["theta"], header["delays"])
