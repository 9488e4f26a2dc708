"""From neighbours to votes: which count, how much each, and what they say together.

k is a weight: the nearest rows count until their weights reach k, the last of them with what is left, so a row of
weight 2 counts as two rows. Each vote is the counted weight times a kernel of the distance, over the sum of all.
Kernels are told relative to the nearest row's, which no sum notices but which neither overflows nor vanishes
everywhere: a query far from all rows is answered by the nearest. Where a distance is 0, the kernels 1/d and 1/d^2
leave the vote to the exact matches alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.types import FloatArray, IntArray

#: Kernels by name; see :func:`relative_kernel`.
KERNELS = ("uniform", "inverse", "inverse-square", "shifted-inverse-square", "gaussian")


@dataclass(frozen=True)
class Kernel:
    """How votes fall with the distance d.

    Attributes:
        name: ``uniform`` 1, ``inverse`` 1/d, ``inverse-square`` 1/d^2, ``shifted-inverse-square`` 1/(shift + d^2),
            ``gaussian`` exp(-d^2 / bandwidth^2).
        shift, bandwidth: > 0.
    """

    name: str = "uniform"
    shift: float = 1.0
    bandwidth: float = 1.0

    def relative(self, distances: FloatArray) -> FloatArray:
        """The kernel of ascending distances, shape (m, k), in units of that of the first."""
        if self.name == "uniform":
            return np.ones(distances.shape)
        nearest = distances[:, :1]
        with np.errstate(under="ignore", over="ignore", invalid="ignore", divide="ignore"):
            if self.name == "gaussian":
                # (d - d0)(d + d0) keeps the digits that d^2 - d0^2 would lose
                off = (distances - nearest) / self.bandwidth * ((distances + nearest) / self.bandwidth)
                return np.asarray(np.exp(-off))
            if self.name == "shifted-inverse-square":
                return np.asarray((self.shift + nearest**2) / (self.shift + distances**2))
            ratio = np.where(distances > 0, nearest / np.where(distances > 0, distances, 1.0), 1.0)
            return ratio if self.name == "inverse" else ratio * ratio


def counted(weights: FloatArray, k: float | None) -> FloatArray:
    """How much of the weights of neighbours, shape (m, k), counts until k is reached; all of it for ``None``."""
    if k is None:
        return weights
    before = np.cumsum(weights, axis=1) - weights
    return np.minimum(np.maximum(k - before, 0.0), weights)


def votes_of(counts: FloatArray, distances: FloatArray, kernel: Kernel) -> FloatArray:
    """Each neighbour's share in the answer, shape (m, k); each row sums to 1.

    Args:
        counts: what counts of the weights, see :func:`counted`; of each row at least one > 0.
        distances: ascending, shape (m, k).
        kernel: how votes fall with the distance.
    """
    first = np.argmax(counts > 0, axis=1)[:, None]
    if first.any():  # the nearest row does not count, so others are compared with the first that does
        own = np.take_along_axis(distances, first, axis=1)
        distances = np.maximum(distances, own)
    strength = counts * kernel.relative(distances)
    total = np.cumsum(strength, axis=1)[:, -1:]
    votes: FloatArray = strength / total
    return votes


def class_shares(votes: FloatArray, codes: IntArray, n_classes: int) -> FloatArray:
    """Votes added up by class in the order of the neighbours, shape (m, K).

    Args:
        votes: shape (m, k).
        codes: the neighbours' classes, shape (m, k).
        n_classes: K.
    """
    place = np.arange(len(votes))[:, None] * n_classes + codes
    sums = np.bincount(place.ravel(), weights=votes.ravel(), minlength=len(votes) * n_classes)
    shares: FloatArray = np.minimum(sums.reshape(len(votes), n_classes), 1.0)
    return shares


def mean_of(votes: FloatArray, numbers: FloatArray) -> FloatArray:
    """Mean of the neighbours' numbers by their votes, both (m, k); shape (m,)."""
    if not len(votes):
        return np.empty(0)
    voting = votes != 0
    low = np.where(voting, numbers, np.inf).min(axis=1)
    high = np.where(voting, numbers, -np.inf).max(axis=1)
    with np.errstate(over="ignore", under="ignore"):
        total = np.cumsum(votes * numbers, axis=1)[:, -1]
    return np.asarray(np.clip(total, low, high))  # rounding must not leave the neighbours' range


def median_of(votes: FloatArray, numbers: FloatArray) -> FloatArray:
    """Weighted median, both (m, k): the middle of two numbers where half of the votes lies on either side; (m,)."""
    if not len(votes):
        return np.empty(0)
    order = np.argsort(numbers, axis=1, kind="stable")
    ordered, cumulated = np.take_along_axis(numbers, order, 1), np.cumsum(np.take_along_axis(votes, order, 1), axis=1)
    half = cumulated[:, -1:] / 2
    slack = half * 1e-12
    lower = np.argmax(cumulated >= half - slack, axis=1)[:, None]
    upper = np.argmax(cumulated > half + slack, axis=1)[:, None]
    low, high = np.take_along_axis(ordered, lower, 1)[:, 0], np.take_along_axis(ordered, upper, 1)[:, 0]
    return np.asarray(low / 2 + high / 2)


def mean_of_equals(numbers: Sequence[float]) -> float:
    """:func:`mean_of` of some numbers with a vote each, to the bit: of a few sooner than by arrays."""
    vote = 1.0 / len(numbers)
    total = vote * numbers[0]
    for number in numbers[1:]:
        total += vote * number
    if total == 0:  # whose sign depends on how arrays are cut to a range
        return float(mean_of(np.full((1, len(numbers)), vote), np.array([numbers]))[0])
    return min(max(total, min(numbers)), max(numbers))


def median_of_equals(numbers: Sequence[float]) -> float:
    """:func:`median_of` of some numbers with a vote each."""
    ordered = sorted(numbers)
    return ordered[(len(ordered) - 1) // 2] / 2 + ordered[len(ordered) // 2] / 2
