"""What a feed-forward network is made of: layers of units, each with all units of the layer before it.

All weights lie in one vector, so that optimisers, masks, ties and decay speak of weights without knowing of layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from math import sqrt
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from learners.errors import ParameterError, quoted
from learners.types import BoolArray, FloatArray

Number = TypeVar("Number", bound=np.generic)

#: What a unit makes of its weighted sum; the place of a name is its code in the kernels.
ACTIVATIONS = ("linear", "sigmoid", "tanh", "relu", "softmax")
#: What is minimised; the place of a name is its code in the kernels.
LOSSES = ("squared", "cross-entropy")
#: How weights are drawn at first.
SCHEMES = ("glorot", "uniform")


@dataclass(frozen=True)
class Layout:
    """Sizes and activations of a network's layers.

    Attributes:
        sizes: number of inputs, of each hidden layer's units, and of outputs; at least two, each >= 1.
        activations: one of :data:`ACTIVATIONS` for each layer after the inputs; ``softmax`` for the last one only.
    """

    sizes: tuple[int, ...]
    activations: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) < 2 or min(self.sizes) < 1:
            raise ParameterError("a network has inputs and outputs, and each layer at least one unit")
        if len(self.activations) != len(self.sizes) - 1:
            raise ParameterError(f"{len(self.sizes) - 1} layers have as many activations, not {len(self.activations)}")
        for place, name in enumerate(self.activations):
            if name not in ACTIVATIONS:
                raise ParameterError(f"activation {quoted(name)} is none of {', '.join(ACTIVATIONS)}")
            if name == "softmax" and place < len(self.activations) - 1:
                raise ParameterError("softmax is for the last layer only")

    @property
    def n_inputs(self) -> int:
        return self.sizes[0]

    @property
    def n_outputs(self) -> int:
        return self.sizes[-1]

    @property
    def n_layers(self) -> int:
        """Without the inputs."""
        return len(self.activations)

    @cached_property
    def n_weights(self) -> int:
        """Biases included."""
        return sum((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(self.sizes))

    def spans(self) -> list[slice]:
        """Where each layer's weights lie in the vector of all."""
        bounds = accumulate(((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(self.sizes)), initial=0)
        return [slice(first, end) for first, end in pairwise(bounds)]

    def layers(self, theta: NDArray[Number]) -> list[NDArray[Number]]:
        """Views of the weights, shape (P,), layer by layer: (fan_in + 1, fan_out), the biases last.

        Of any other vector of so many entries, such as a mask or a gradient, too.
        """
        shapes = [(fan_in + 1, fan_out) for fan_in, fan_out in pairwise(self.sizes)]
        return [theta[span].reshape(shape) for span, shape in zip(self.spans(), shapes, strict=True)]

    def is_bias(self) -> BoolArray:
        """Which weights are biases, shape (P,)."""
        found = np.zeros(self.n_weights, dtype=np.bool_)
        for layer in self.layers(found):
            layer[-1] = True
        return found

    def initial(self, rng: np.random.Generator, scheme: str = "glorot", scale: float = 0.5) -> FloatArray:
        """Weights to begin with, shape (P,).

        Args:
            rng: source of chance.
            scheme: ``glorot`` draws each layer's weights evenly within +-sqrt(6 / (fan_in + fan_out)) (Glorot and
                Bengio 2010), sqrt(6 / fan_in) before ReLU (He et al. 2015), biases 0; ``uniform`` draws weights and
                biases within +-scale.
            scale: for ``uniform``.

        Raises:
            ParameterError: the scheme is unknown.
        """
        if scheme not in SCHEMES:
            raise ParameterError(f"scheme {quoted(scheme)} is none of {', '.join(SCHEMES)}")
        theta = rng.uniform(-1.0, 1.0, self.n_weights)
        if scheme == "uniform":
            return theta * scale
        for layer, activation in zip(self.layers(theta), self.activations, strict=True):
            fan_in, fan_out = layer.shape[0] - 1, layer.shape[1]
            layer[:-1] *= sqrt(6.0 / fan_in) if activation == "relu" else sqrt(6.0 / (fan_in + fan_out))
            layer[-1] = 0.0
        return theta

    def check(self, loss: str) -> None:
        """Refuse a loss that does not go with the last layer's activation.

        Raises:
            ParameterError: it is unknown, or of the wrong kind.
        """
        last = self.activations[-1]
        if loss not in LOSSES:
            raise ParameterError(f"loss {quoted(loss)} is none of {', '.join(LOSSES)}", field="loss")
        if loss == "cross-entropy" and last not in ("sigmoid", "softmax"):
            raise ParameterError(f"cross-entropy needs sigmoid or softmax outputs, not {last}", field="loss")
        if loss == "squared" and last == "softmax":
            raise ParameterError("softmax outputs go with cross-entropy", field="loss")

    def to_json(self) -> dict[str, Any]:
        """Sizes and activations as plain JSON."""
        return {"sizes": list(self.sizes), "activations": list(self.activations)}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Self:
        """The layout that :meth:`to_json` tells of."""
        return cls(tuple(int(size) for size in told["sizes"]), tuple(str(name) for name in told["activations"]))
