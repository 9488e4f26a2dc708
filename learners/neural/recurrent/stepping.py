"""A recurrent network at work: steps in, scores out, with numpy alone.

Sums are added up input by input in one order, so that a sequence alone and among others, fed whole or in pieces, gives
the same numbers to the bit; see :mod:`learners.neural.recurrent.unfolding` for the network.
"""

from __future__ import annotations

import numpy as np

from learners.neural.forward import activated, weighted_sums
from learners.neural.recurrent.structure import Structure
from learners.types import FloatArray


def advance(structure: Structure, layers: list[FloatArray], step: FloatArray, states: FloatArray) -> FloatArray:
    """The states of all units after one step of n sequences, shape (n, U).

    Args:
        layers: views of the weights.
        step: the inputs, shape (n, V); of a network that is not recurrent the last of them may be left out if they
            are 0.
        states: before the step, shape (n, U).
    """
    after = np.empty_like(states)
    below, first = step, 0
    for layer, size in zip(layers, structure.hidden, strict=False):
        if structure.is_recurrent:
            below = np.concatenate([below, states[:, first : first + size]], axis=1)
        below = activated(structure.activation, weighted_sums(_left_out(layer, below), below))
        after[:, first : first + size] = below
        first += size
    return after


def scores(structure: Structure, layers: list[FloatArray], step: FloatArray, states: FloatArray) -> FloatArray:
    """The outputs, before any link, after a step; shape (n, O).

    Args:
        layers, step: as above.
        states: after the step, shape (n, U).
    """
    top = states[:, structure.n_units - structure.hidden[-1] :]
    came = np.concatenate([top, step], axis=1) if structure.shortcuts else np.ascontiguousarray(top)
    return weighted_sums(_left_out(layers[-1], came), came)


def _left_out(layer: FloatArray, came: FloatArray) -> FloatArray:
    """The weights without those of inputs that are left out."""
    return layer if came.shape[1] == len(layer) - 1 else np.concatenate([layer[: came.shape[1]], layer[-1:]])
