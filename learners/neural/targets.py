"""What output units are to answer, and answers from what they say.

A number has one unit, whose target is the number brought to mean 0 and standard deviation 1. Of classes those that
occur have targets 1 and 0 in the order in which they come first among the rows, so that a network does not depend on
the order of the classes: of two there is one unit, that of the later one; of more one each. A *score* is what goes
into an output unit's link, see :mod:`learners.link`; the link ``sigmoids`` is one logistic function for each of more
than two classes, divided by their sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, Self, TypeAlias

import numpy as np

from learners import link as links
from learners.decisions import tie_width
from learners.linear_function import LARGEST
from learners.link import spread
from learners.types import Array, FloatArray

Link: TypeAlias = links.Link | Literal["sigmoids"]
#: The activation of the output units that goes with a link.
LAST: dict[str, str] = {"identity": "linear", "logistic": "sigmoid", "softmax": "softmax", "sigmoids": "sigmoid"}


class AnyTarget(Protocol):
    """What an estimator needs of its target."""

    @property
    def is_constant(self) -> bool:
        """Whether all rows have one answer, so that there is nothing to learn."""

    @property
    def n_outputs(self) -> int:
        """Number of output units."""

    def answers(self, scores: FloatArray) -> FloatArray:
        """The answers of n rows from their scores (n, O)."""

    def to_arrays(self) -> dict[str, Array]:
        """The target as arrays by name, each name with ``target_`` before it."""


@dataclass(frozen=True, eq=False)
class NumberTarget:
    """A number: ``offset + unit * score``; a unit of 0 where training had one number only."""

    offset: float
    unit: float

    @classmethod
    def fit(cls, cells: FloatArray, weights: FloatArray) -> Self:
        """From the numbers of training rows, shape (n,); weights > 0."""
        exponent = int(np.frexp(np.abs(cells).max(initial=0.0))[1])
        near_one = np.ldexp(cells, -exponent)
        if near_one.max() == near_one.min():
            return cls(float(cells[0]), 0.0)
        shares = weights / weights.sum()
        mean = float(shares @ near_one)
        deviation = float(np.sqrt(shares @ (near_one - mean) ** 2))
        return cls(float(np.ldexp(mean, exponent)), float(np.ldexp(deviation, exponent)))

    @property
    def is_constant(self) -> bool:
        return self.unit == 0

    @property
    def n_outputs(self) -> int:
        return 1

    def coded(self, cells: FloatArray) -> FloatArray:
        """What the unit is to answer, shape (n, 1)."""
        exponent = int(np.frexp(self.unit)[1])
        with np.errstate(over="ignore"):
            moved = np.ldexp(cells, -exponent) - np.ldexp(self.offset, -exponent)
            return np.asarray(moved / np.ldexp(self.unit, -exponent))[:, None]

    def answers(self, scores: FloatArray) -> FloatArray:
        """The numbers, shape (n,), of scores (n, 1); within 1e300."""
        with np.errstate(over="ignore"):
            found: FloatArray = np.clip(self.offset + self.unit * scores[:, 0], -LARGEST, LARGEST)
        return found

    def mean_scores(self) -> FloatArray:
        """The scores of an answer that is the same for all rows, shape (1,)."""
        return np.zeros(1)

    def to_arrays(self) -> dict[str, Array]:
        return {"target_scale": np.array([self.offset, self.unit])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        offset, unit = arrays["target_scale"].tolist()
        return cls(offset, unit)


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """Classes.

    Attributes:
        present: codes of the classes that occur, in the order of their first rows.
        n_classes: K, of the target.
        link: ``logistic`` where two occur; ``softmax`` or ``sigmoids`` where more do.
        shares: of the classes that occur, by weight.
    """

    present: tuple[int, ...]
    n_classes: int
    link: Link
    shares: FloatArray

    @classmethod
    def fit(cls, cells: FloatArray, weights: FloatArray, n_classes: int, link: Link) -> Self:
        """From the classes' codes of training rows, shape (n,); ``link`` is that of more than two classes."""
        codes, first = np.unique(cells.astype(np.int64), return_index=True)
        present = codes[np.argsort(first, kind="stable")]
        by_class = np.array([weights[cells == code].sum() for code in present])
        own: Link = "logistic" if len(present) == 2 else link
        return cls(tuple(present.tolist()), n_classes, own, by_class / by_class.sum())

    @property
    def is_constant(self) -> bool:
        return len(self.present) == 1

    @property
    def n_outputs(self) -> int:
        return 1 if len(self.present) == 2 else len(self.present)

    def places(self, cells: FloatArray) -> FloatArray:
        """Of each row the place of its class in ``present``, shape (n,)."""
        lookup = np.zeros(self.n_classes)
        lookup[list(self.present)] = np.arange(len(self.present))
        found: FloatArray = lookup[cells.astype(np.int64)]
        return found

    def coded(self, cells: FloatArray) -> FloatArray:
        """What the units are to answer, 0 or 1, shape (n, O)."""
        told = (cells[:, None] == np.array(self.present)).astype(np.float64)
        return np.ascontiguousarray(told[:, 1:]) if self.n_outputs == 1 and not self.is_constant else told

    def answers(self, scores: FloatArray) -> FloatArray:
        """Class probabilities, shape (n, K), of scores (n, O)."""
        return class_probabilities(np.ascontiguousarray(scores.T), self.link, self.present, self.n_classes)

    def mean_scores(self) -> FloatArray:
        """The scores of an answer that is the classes' shares for all rows, shape (O,)."""
        logs: FloatArray = np.log(self.shares)
        if len(self.present) == 2:
            logs = logs[1:] - logs[:1]
        elif self.link == "sigmoids" and not self.is_constant:
            logs = logs - np.log1p(-self.shares)
        return logs

    def to_arrays(self) -> dict[str, Array]:
        return {"target_present": np.array(self.present, dtype=np.int64), "target_shares": self.shares}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], n_classes: int, link: Link) -> Self:
        """The inverse; ``link`` as it was."""
        return cls(tuple(arrays["target_present"].tolist()), n_classes, link, arrays["target_shares"])


def class_probabilities(scores: FloatArray, link: Link, present: tuple[int, ...], n_classes: int) -> FloatArray:
    """Class probabilities of n rows, shape (n, K), from the scores of the output units, shape (O, n).

    Logistic functions of large scores are all 1. Of classes that are thus equally likely, see
    :func:`learners.decisions.decide`, each of a lesser score gives up as much to that of the largest as decides for it.
    """
    if link != "sigmoids":
        return spread(scores, present, n_classes)
    found = spread(log_shares(scores), present, n_classes)
    places = list(present)
    shares = found[:, places]
    likeliest = (shares >= shares.max(axis=1, keepdims=True) - tie_width()).T
    if (likeliest.sum(axis=0) < 2).all():
        return found
    best = np.where(likeliest, scores, -np.inf).max(axis=0)
    given = 2.0 * tie_width() * (likeliest & (scores < best - tie_width()))
    first = np.where(likeliest, scores, -np.inf).argmax(axis=0)
    found[:, places] -= given.T
    found[np.arange(len(found)), np.array(places)[first]] += _added(given)
    return found


def _added(columns: FloatArray) -> FloatArray:
    """Sums over the first axis in its order, so that a row alone and among others has the same bits."""
    total = np.zeros(columns.shape[1])
    for one in columns:
        total += one
    return total


def log_shares(scores: FloatArray) -> FloatArray:
    """The logs of one logistic function each, which softmax divides by the functions' sum; any shape."""
    found: FloatArray = np.minimum(scores, 0.0) - np.log1p(np.exp(-np.abs(scores)))
    return found
