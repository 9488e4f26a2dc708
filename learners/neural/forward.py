"""A fitted network answers: with numpy alone, and for a row by itself to the bit as among others.

Each weighted sum is added up input by input, the bias last, never by a matrix product, whose order of addition
depends on how many rows it is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from learners.errors import ModelFormatError
from learners.neural.layout import Layout
from learners.types import Array, FloatArray

#: Rows taken at once, so that a layer's sums stay in the nearest caches.
_ROWS_AT_ONCE = 128
#: Beyond this an exponential is as good as 0 or infinite.
_FURTHEST = 708.0


@dataclass(frozen=True, eq=False)
class Network:
    """A feed-forward network with its weights.

    Attributes:
        layout: sizes and activations.
        theta: all weights, shape (P,).
    """

    layout: Layout
    theta: FloatArray

    def __post_init__(self) -> None:
        if self.theta.shape != (self.layout.n_weights,) or not np.isfinite(self.theta).all():
            raise ModelFormatError(f"a network of this layout has {self.layout.n_weights} finite weights")

    def outputs(self, rows: FloatArray) -> FloatArray:
        """What the output units say, after their activation; rows (n, V), shape (n, O)."""
        return self.hidden(rows, self.layout.n_layers)

    def scores(self, rows: FloatArray) -> FloatArray:
        """The output units' weighted sums, before their activation, shape (n, O)."""
        return self._through(rows, self.layout.n_layers, with_last=False)

    def hidden(self, rows: FloatArray, layer: int) -> FloatArray:
        """Activations of a layer's units, counted from 1, the inputs being 0; shape (n, H)."""
        return self._through(rows, layer, with_last=True)

    def input_gradients(self, rows: FloatArray, unit: int) -> FloatArray:
        """How the unit's score, see :meth:`scores`, changes with each input, shape (n, V)."""
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        found = np.empty((len(rows), self.layout.n_inputs))
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            part = slice(first, first + _ROWS_AT_ONCE)
            found[part] = self._gradients(rows[part], unit)
        return found

    def to_arrays(self) -> dict[str, Array]:
        """What is stored beside the layout."""
        return {"theta": self.theta}

    @classmethod
    def from_arrays(cls, layout: Layout, arrays: dict[str, Array]) -> Self:
        """The network of stored arrays, which may be read-only.

        Raises:
            ModelFormatError: there are too few or too many weights, or one is not finite.
        """
        return cls(layout, arrays["theta"])

    @cached_property
    def _layers(self) -> list[tuple[FloatArray, str]]:
        return list(zip(self.layout.layers(self.theta), self.layout.activations, strict=True))

    def _through(self, rows: FloatArray, n_layers: int, *, with_last: bool) -> FloatArray:
        steps = self._layers[:n_layers]
        if steps and not with_last:
            steps[-1] = (steps[-1][0], "linear")
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        found = np.empty((len(rows), self.layout.sizes[n_layers]))
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            block = rows[first : first + _ROWS_AT_ONCE]
            for weights, activation in steps:
                block = activated(activation, weighted_sums(weights, block))
            found[first : first + _ROWS_AT_ONCE] = block
        return found

    def _gradients(self, block: FloatArray, unit: int) -> FloatArray:
        reached = [block]
        for weights, activation in self._layers[:-1]:
            reached.append(activated(activation, weighted_sums(weights, reached[-1])))
        back = np.repeat(self._layers[-1][0][:-1, unit][None], len(block), axis=0)
        for (weights, activation), units in zip(reversed(self._layers[:-1]), reversed(reached), strict=False):
            back *= slopes(activation, units)
            back = weighted_sums(np.vstack([weights[:-1].T, np.zeros(len(weights) - 1)]), back)
        return back


def slopes(activation: str, reached: FloatArray) -> FloatArray:
    """Derivatives of an activation by the weighted sum, from the activations reached; of the same shape."""
    if activation == "sigmoid":
        return np.asarray(reached * (1.0 - reached))
    if activation == "tanh":
        return np.asarray(1.0 - reached * reached)
    if activation == "relu":
        return (reached > 0).astype(np.float64)
    return np.ones_like(reached)


def weighted_sums(weights: FloatArray, block: FloatArray) -> FloatArray:
    """Weighted sums of a block of rows (n, I), with weights (I + 1, J), shape (n, J).

    Of a single row by one call, in the same order of addition.
    """
    if len(block) == 1:
        products = np.empty(weights.shape)
        np.multiply(weights[:-1], block.T, out=products[:-1])
        products[-1] = weights[-1]
        return np.asarray(np.add.accumulate(products, axis=0)[-1:])
    found: FloatArray = np.multiply.outer(block[:, 0], weights[0])
    products = np.empty_like(found)
    for own, came in zip(weights[1:-1], block.T[1:], strict=True):
        np.multiply.outer(came, own, out=products)
        found += products
    found += weights[-1]
    return found


def activated(activation: str, sums: FloatArray) -> FloatArray:
    """Activations of weighted sums, C-contiguous; may change these."""
    if activation == "sigmoid":
        np.negative(sums, out=sums)
        np.minimum(np.maximum(sums, -_FURTHEST, out=sums), _FURTHEST, out=sums)
        np.exp(sums, out=sums)
        sums += 1.0
        return np.divide(1.0, sums, out=sums)
    if activation == "tanh":
        return np.tanh(sums, out=sums)
    if activation == "relu":
        return np.maximum(sums, 0.0, out=sums)
    if activation == "softmax":
        sums -= sums.max(axis=1, keepdims=True)
        np.exp(sums, out=sums)
        sums /= np.add.accumulate(sums, axis=1)[:, -1:]
        return sums
    return sums
