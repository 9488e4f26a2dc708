"""Weights that are one: a time-delay network's first layer looks everywhere in its window with the same units.

Each unit of the first hidden layer sees some neighbouring steps; a copy of it with the same weights sees those one step
earlier, and so on through the window, so that what it finds does not depend on when it happened (Waibel et al. 1989;
a convolution over time). Copies move by the average of their gradients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.neural.recurrent.structure import Structure
from learners.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Sharing:
    """Which weights are one.

    Attributes:
        groups: of each weight, shape (P,); -1 of those that are held at 0.
    """

    groups: IntArray

    @property
    def n_free(self) -> int:
        """Different weights."""
        return int(self.groups.max(initial=-1)) + 1

    def alike(self, theta: FloatArray) -> FloatArray:
        """Weights of which each has the value of the first of its group, shape (P,); a copy."""
        free = np.flatnonzero(self.groups >= 0)
        _, first = np.unique(self.groups[free], return_index=True)
        found = np.zeros(len(theta))
        found[free] = theta[free[first]][self.groups[free]]
        return found

    def average(self, gradient: FloatArray) -> None:
        """Make each entry its group's average, in place; 0 where a weight is held."""
        free = self.groups >= 0
        groups = self.groups[free]
        means = np.bincount(groups, gradient[free], self.n_free) / np.bincount(groups, minlength=self.n_free)
        gradient[~free] = 0.0
        gradient[free] = means[groups]


def share_steps(structure: Structure, delays: int, seen: int) -> Sharing:
    """The sharing of a first hidden layer whose units each see some neighbouring steps.

    Args:
        structure: not recurrent; its first hidden layer has as many copies of its units as there are places.
        delays: steps of the window. seen: steps that a unit sees, at most ``delays``.
    """
    places = delays - seen + 1
    width, units = structure.inputs // delays, structure.hidden[0] // places
    groups = np.arange(structure.n_weights) + structure.n_weights
    first = np.full((delays, width, places, units), -1)
    own = np.arange(seen * width * units).reshape(seen, width, units)
    for place in range(places):
        first[place : place + seen, :, place] = own
    biases = np.tile(own.size + np.arange(units), places)
    layer = np.concatenate([first.ravel(), biases])
    groups[: len(layer)] = layer
    held = groups < 0
    groups = np.unique(groups, return_inverse=True)[1].astype(np.int64) - int(held.any())
    return Sharing(groups)
