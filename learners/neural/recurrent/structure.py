"""Which units a recurrent or time-delay network has, and which weights between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.neural.recurrent.unfolding import LINEAR, LOGISTIC, RELU, SIGMOID, SOFTMAX, TANH, Shape
from learners.types import FloatArray

ACTIVATIONS = {"tanh": TANH, "sigmoid": SIGMOID, "relu": RELU}
#: By the link from scores to answers.
ANSWERS = {"identity": LINEAR, "logistic": LOGISTIC, "softmax": SOFTMAX}


@dataclass(frozen=True)
class Structure:
    """L hidden layers, whose weights lie in one array as :mod:`learners.neural.recurrent.unfolding` says.

    Attributes:
        inputs: V, variables of a step.
        hidden: units of each hidden layer, at least one layer.
        outputs: O.
        activation: of hidden units, see :data:`ACTIVATIONS`.
        link: of the outputs, see :data:`ANSWERS`.
        is_recurrent: whether each unit sees its whole layer at the step before.
        shortcuts: whether the outputs see the inputs too.
    """

    inputs: int
    hidden: tuple[int, ...]
    outputs: int
    activation: str = "tanh"
    link: str = "identity"
    is_recurrent: bool = True
    shortcuts: bool = False

    @property
    def n_units(self) -> int:
        return sum(self.hidden)

    @property
    def n_remembered(self) -> int:
        """Units whose states the next step depends on."""
        return self.n_units if self.is_recurrent else 0

    @property
    def n_weights(self) -> int:
        return sum(rows * size for rows, size in self._blocks())

    def shape(self) -> Shape:
        """For kernels."""
        sizes = np.array([self.inputs, *self.hidden, self.outputs], dtype=np.int64)
        kinds = (int(self.is_recurrent), int(self.shortcuts))
        return Shape(sizes, *kinds, ACTIVATIONS[self.activation], ANSWERS[self.link])

    def layers(self, theta: FloatArray) -> list[FloatArray]:
        """Views of the weights of each layer, the output layer last: (inputs + own units + 1, units)."""
        found, place = [], 0
        for rows, size in self._blocks():
            found.append(theta[place : place + rows * size].reshape(rows, size))
            place += rows * size
        return found

    def initial(self, generator: np.random.Generator) -> FloatArray:
        """Weights to begin with, shape (P,): uniform with variance 1 / inputs of the unit; biases 0.

        Those of a layer from itself are a random rotation, by which what is remembered neither fades nor grows (Saxe,
        McClelland and Ganguli 2014).
        """
        theta = np.zeros(self.n_weights)
        own = (*(self.hidden if self.is_recurrent else [0] * len(self.hidden)), 0)
        for layer, units in zip(self.layers(theta), own, strict=True):
            below = len(layer) - 1 - units
            bound = np.sqrt(3.0 / max(below, 1))
            layer[:below] = generator.uniform(-bound, bound, (below, layer.shape[1]))
            if units:
                layer[below:-1] = np.linalg.qr(generator.normal(size=(units, units)))[0]
        return theta

    def _blocks(self) -> list[tuple[int, int]]:
        below = (self.inputs, *self.hidden[:-1])
        blocks = [
            (lower + (size if self.is_recurrent else 0) + 1, size)
            for lower, size in zip(below, self.hidden, strict=True)
        ]
        return [*blocks, (self.hidden[-1] + (self.inputs if self.shortcuts else 0) + 1, self.outputs)]
