"""From scores, the values of linear functions or of output units, to class probabilities: logistic function, softmax.

Two classes have one function, that of the second class; the first one's is 0. More classes have one each. Every
step is done element by element and class by class, so that a row alone and among others has the same bits.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from learners.types import FloatArray

#: How an answer follows from scores.
Link: TypeAlias = Literal["identity", "logistic", "softmax"]


def with_reference(scores: FloatArray) -> FloatArray:
    """One score a class, shape (K, n), from the functions' values (F, n): of a single one with the first class's 0."""
    return np.concatenate([np.zeros_like(scores), scores]) if len(scores) == 1 else scores


def log_total(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The largest score of each row, and the sum of ``exp(score - largest)``; both of shape (n,)."""
    largest = scores.max(axis=0)
    total = np.zeros_like(largest)
    for one in scores:
        total += np.exp(np.ascontiguousarray(one - largest))
    return largest, total


def probabilities(scores: FloatArray) -> FloatArray:
    """Softmax over the classes: scores (K, n) to probabilities (K, n)."""
    largest, total = log_total(scores)
    return np.stack([np.exp(np.ascontiguousarray(one - largest)) / total for one in scores])


def plain_probabilities(scores: list[float]) -> list[float]:
    """The same of one row, scores (K,), to the bit: numpy's function one by one, all else in plain floats."""
    largest = max(scores)
    powers = [float(np.exp(score - largest)) for score in scores]
    total = 0.0
    for power in powers:
        total += power
    return [power / total for power in powers]


def spread(scores: FloatArray, present: tuple[int, ...], n_classes: int) -> FloatArray:
    """Class probabilities of n rows, shape (n, K), from the values of the functions (F, n); 0 of absent classes."""
    found = np.zeros((scores.shape[1], n_classes))
    if len(present) == 1:
        found[:, present[0]] = 1.0
    else:
        for place, shares in zip(present, probabilities(with_reference(scores)), strict=True):
            found[:, place] = shares
    return found


def cross_entropy(scores: FloatArray, codes: FloatArray) -> FloatArray:
    """Minus the log of the probability of each row's class, in nats; scores (K, n), codes (n,), shape (n,)."""
    largest, total = log_total(scores)
    own = np.take_along_axis(scores, codes.astype(np.int64)[None], axis=0)[0]
    found: FloatArray = np.log(total) + (largest - own)
    return found
