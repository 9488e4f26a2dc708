"""A grown cascade: inputs, hidden units one after the other, and outputs that see all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.errors import ModelFormatError
from learners.neural.cascade.activation import ACTIVATIONS, unit_slopes, unit_values
from learners.types import Array, FloatArray, IntArray

#: Weights stay below this in magnitude, so that no sum of theirs leaves the finite numbers.
LARGEST_WEIGHT = 1e12


@dataclass(frozen=True, eq=False)
class Cascade:
    """V inputs, H hidden units, O outputs; unit 0 is the bias, units 1 to V are the inputs, the hidden ones follow.

    Attributes:
        hidden: float64 (H, 1 + V + H), weights into each hidden unit; 0 from itself, later ones and its siblings.
        kinds: int64 (H,), activations, see :mod:`learners.neural.cascade.activation`.
        layers: int64 (H,), depth of each hidden unit, from 1.
        weights: float64 (O, 1 + V + H), weights into each output.
    """

    hidden: FloatArray
    kinds: IntArray
    layers: IntArray
    weights: FloatArray

    def __post_init__(self) -> None:
        n_hidden = len(self.hidden)
        agree = self.hidden.shape == (n_hidden, self.weights.shape[-1]) and self.weights.shape[-1] > n_hidden
        known = (
            self.kinds.shape == self.layers.shape == (n_hidden,) and np.isin(self.kinds, range(len(ACTIVATIONS))).all()
        )
        if not (agree and known and np.isfinite(self.hidden).all() and np.isfinite(self.weights).all()):
            raise ModelFormatError("a cascade has finite weights into each hidden unit and each output from all units")

    @property
    def n_hidden(self) -> int:
        return len(self.hidden)

    @property
    def n_inputs(self) -> int:
        return int(self.weights.shape[1]) - 1 - self.n_hidden

    @property
    def depth(self) -> int:
        """Layers of hidden units."""
        return int(self.layers.max(initial=0))

    def units(self, inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The sums and the values of all units for rows of inputs (n, V); both of shape (1 + V + H, n)."""
        n_rows, first = len(inputs), 1 + self.n_inputs
        values = np.empty((first + self.n_hidden, n_rows))
        values[0] = 1.0
        values[1:first] = inputs.T
        sums = values.copy()
        for place, (weights, kind) in enumerate(zip(self.hidden, self.kinds.tolist(), strict=True)):
            unit = first + place
            sums[unit] = weighted(weights[:unit], values)
            values[unit] = unit_values(kind, sums[unit])
        return sums, values

    def scores(self, inputs: FloatArray) -> FloatArray:
        """The outputs' sums for rows of inputs (n, V), shape (n, O): of a row alone and among others the same bits."""
        _, values = self.units(inputs)
        return np.ascontiguousarray(np.stack([weighted(weights, values) for weights in self.weights], axis=1))

    def input_gradients(self, inputs: FloatArray, unit: int) -> FloatArray:
        """Derivatives of one output's sum by the inputs, shape (n, V)."""
        first = 1 + self.n_inputs
        sums, values = self.units(inputs)
        slopes = np.repeat(self.weights[unit][:, None], len(inputs), axis=1)
        for place in range(self.n_hidden - 1, -1, -1):
            own = first + place
            pull = slopes[own] * unit_slopes(int(self.kinds[place]), sums[own], values[own])
            for below in np.flatnonzero(self.hidden[place, :own]).tolist():
                slopes[below] += self.hidden[place, below] * pull
        return np.ascontiguousarray(slopes[1:first].T)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {}, {f"cascade_{name}": array for name, array in vars(self).items()}

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Cascade:
        return cls(**{name: arrays[f"cascade_{name}"] for name in cls.__dataclass_fields__})


def weighted(weights: FloatArray, values: FloatArray) -> FloatArray:
    """The weighted sum of units' values (U, n), unit by unit in their order, shape (n,); a weight of 0 adds nothing."""
    total = np.zeros(values.shape[1])
    for unit in np.flatnonzero(weights).tolist():
        total += weights[unit] * values[unit]
    return total
