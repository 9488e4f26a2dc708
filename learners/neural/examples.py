"""What passes between the base of all networks and a family that learns: examples there, a network back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from learners.neural.inputs import AnyInputs
from learners.neural.targets import Link
from learners.types import Array, FloatArray


@dataclass(frozen=True, eq=False)
class Part:
    """Rows to learn from, or to judge by.

    Attributes:
        rows: float64 (n, V), row-major; or the batch of a family's own inputs.
        targets: what the output units are to answer, shape (n, O).
        weights: > 0, shape (n,).
    """

    rows: Any
    targets: FloatArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class Examples:
    """What a family learns from.

    Attributes:
        training: the rows to learn from.
        validation: rows held out to stop by, or ``None``.
        link: from the output units' scores to answers.
        inputs: how rows became numbers.
        seed: of everything that chance decides.
    """

    training: Part
    validation: Part | None
    link: Link
    inputs: AnyInputs
    seed: int

    @property
    def n_inputs(self) -> int:
        return self.inputs.n_inputs

    @property
    def n_outputs(self) -> int:
        return int(self.training.targets.shape[1])


class Network(Protocol):
    """A fitted network; answers by numpy alone, a row alone and among others alike to the bit."""

    def scores(self, rows: Any) -> FloatArray:
        """What goes into the links of the output units, shape (n, O)."""

    def input_gradients(self, rows: Any, unit: int) -> FloatArray:
        """The derivatives of one unit's score by the numbers of each row, shape (n, W)."""

    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """JSON values and arrays from which :meth:`from_state` makes an equal network."""

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The inverse; arrays are used as they are."""


@dataclass(frozen=True, eq=False)
class Learned:
    """What learning gave.

    Attributes:
        network: the one that answers.
        history: how it went, as columns of one length: epochs, errors, numbers of units.
        notes: what was found, plain JSON.
        warnings: sentences.
    """

    network: Network
    history: dict[str, FloatArray] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ConstantNetwork:
    """One answer to all rows: of one class, one number, or columns that tell nothing.

    Attributes:
        values: the scores, shape (O,).
    """

    values: FloatArray

    def scores(self, rows: Any) -> FloatArray:
        return np.tile(self.values, (len(rows), 1))

    def input_gradients(self, rows: Any, unit: int) -> FloatArray:
        return np.zeros_like(rows)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {}, {"values": self.values}

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        return cls(arrays["values"])
