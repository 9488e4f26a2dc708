"""Second derivatives of the loss by single weights and by single units, exactly, or in the Gauss-Newton form.

Back through the layers go, row by row, the second derivatives by all pairs of a layer's weighted sums (Le Cun, Denker
and Solla 1990 keep the diagonal alone, which is exact for one hidden layer and separate outputs; here nothing is left
out). The Gauss-Newton form leaves out what the activations' own curvature adds; it is never negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.neural.forward import Network, slopes
from learners.neural.problem import Problem, Sample
from learners.types import FloatArray

#: Second derivatives held at once.
_CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True, eq=False)
class Curvature:
    """Second derivatives of the mean loss, without decay.

    Attributes:
        weights: by each weight, shape (P,).
        gains: by a factor on each hidden unit's activation, at 1; by hidden layer, shape (H,).
    """

    weights: FloatArray
    gains: list[FloatArray]


def curvature(problem: Problem, sample: Sample, theta: FloatArray, *, gauss_newton: bool = False) -> Curvature:
    """Second derivatives of the mean loss over the rows.

    Args:
        problem: layout and loss; its mask, ties and decay are not looked at.
        sample: the rows.
        theta: the weights, shape (P,).
        gauss_newton: leave out the activations' own curvature.
    """
    layout = problem.layout
    found = np.zeros(layout.n_weights)
    gains = [np.zeros(size) for size in layout.sizes[1:-1]]
    shares = sample.weights / sample.weights.sum()
    at_once = max(1, _CELLS_AT_ONCE // max(size * size for size in layout.sizes[1:]))
    for first in range(0, len(shares), at_once):
        part = slice(first, first + at_once)
        rows = _Rows(problem, theta, sample.inputs[part], sample.targets[part], shares[part], gauss_newton)
        rows.add_to(layout.layers(found), gains)
    return Curvature(found, gains)


def diagonal_hessian(problem: Problem, sample: Sample, theta: FloatArray, *, gauss_newton: bool = False) -> FloatArray:
    """Second derivatives by each weight of what is minimised, decay included, shape (P,)."""
    found: FloatArray = curvature(problem, sample, theta, gauss_newton=gauss_newton).weights + problem.hold().decay
    return found


class _Rows:
    """Some rows on their way back."""

    def __init__(
        self,
        problem: Problem,
        theta: FloatArray,
        inputs: FloatArray,
        targets: FloatArray,
        shares: FloatArray,
        gauss_newton: bool,
    ) -> None:
        self._activations, self._gauss_newton = problem.layout.activations, gauss_newton
        network = Network(problem.layout, theta)
        self._weights = problem.layout.layers(theta)
        self._reached = [network.hidden(inputs, layer) for layer in range(problem.layout.n_layers + 1)]
        outputs, last = self._reached[-1], self._activations[-1]
        apart = (outputs - targets) * shares[:, None]
        if problem.loss == "squared":
            slope = slopes(last, outputs)
            self._by_sums = apart * slope
            own = shares[:, None] * slope**2 + (0.0 if gauss_newton else apart * _bends(last, outputs))
        else:
            self._by_sums = apart
            own = shares[:, None] * outputs * (1.0 if last == "softmax" else 1.0 - outputs)
        self._pairs = own[:, :, None] * np.eye(own.shape[1])
        if last == "softmax":
            self._pairs -= shares[:, None, None] * outputs[:, :, None] * outputs[:, None, :]

    def add_to(self, layers: list[FloatArray], gains: list[FloatArray]) -> None:
        """Layer by layer, from the last."""
        for place in range(len(layers) - 1, -1, -1):
            own = np.ascontiguousarray(np.einsum("njj->nj", self._pairs))
            layers[place][:-1] += (self._reached[place] ** 2).T @ own
            layers[place][-1] += own.sum(axis=0)
            if place:
                self._step(place, gains)

    def _step(self, place: int, gains: list[FloatArray]) -> None:
        """From a layer's weighted sums to those of the layer before."""
        units, activation, weights = self._reached[place], self._activations[place - 1], self._weights[place][:-1]
        slope = slopes(activation, units)
        by_units = self._by_sums @ weights.T
        pairs = weights @ self._pairs @ weights.T
        gains[place - 1] += (np.einsum("nii->ni", pairs) * units**2).sum(axis=0)
        pairs *= slope[:, :, None] * slope[:, None, :]
        if not self._gauss_newton:
            np.einsum("nii->ni", pairs)[:] += by_units * _bends(activation, units)
        self._by_sums, self._pairs = by_units * slope, pairs


def _bends(activation: str, reached: FloatArray) -> FloatArray:
    """Second derivatives of an activation by the weighted sum, from the activations reached."""
    if activation == "sigmoid":
        return np.asarray(reached * (1.0 - reached) * (1.0 - 2.0 * reached))
    if activation == "tanh":
        return np.asarray(-2.0 * reached * (1.0 - reached * reached))
    return np.zeros_like(reached)
