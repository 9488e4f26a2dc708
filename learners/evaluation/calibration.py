"""Whether probabilities mean what they say: reliability by bins and the expected calibration error.

A row's confidence is the probability of the class that is decided for. Bins are of equal width over
[0, 1]; a confidence on a border belongs to the bin below it (Guo et al. 2017, where the error is
``sum over bins of weight share * |share right - mean confidence|``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from learners.evaluation.metrics import ratio
from learners.types import Array, FloatArray

BINS = 10


def reliability(
    actual: Array, probabilities: FloatArray, predicted: Array, weights: FloatArray | None = None, bins: int = BINS
) -> FloatArray:
    """By bin the weight of its rows, the sum of their confidences and the weight of those that are right.

    Args:
        actual, predicted: class codes, shape (n,).
        probabilities: shape (n, K).
        weights: shape (n,).

    Returns:
        Shape (bins, 3); sums, so that those of several folds may be added.
    """
    codes = np.asarray(predicted, dtype=np.int64)
    confidence = probabilities[np.arange(len(codes)), codes]
    weight = np.ones(len(codes)) if weights is None else weights
    place = np.clip(np.ceil(confidence * bins) - 1, 0, bins - 1).astype(np.int64)
    amounts = (weight, weight * confidence, weight * (codes == np.asarray(actual)))
    return np.stack([np.bincount(place, weights=one, minlength=bins) for one in amounts], axis=1)


def expected_calibration_error(sums: Sequence[Sequence[float]] | FloatArray) -> float | None:
    """The mean distance between confidence and share right, by weight; ``None`` without weight.

    Args:
        sums: of :func:`reliability`.
    """
    table = np.asarray(sums, dtype=np.float64)
    return ratio(float(np.abs(table[:, 2] - table[:, 1]).sum()), float(table[:, 0].sum()))


def calibration_json(sums: Sequence[Sequence[float]] | FloatArray) -> dict[str, Any]:
    """The reliability diagram: of each bin its borders, weight, mean confidence and share right; and the errors."""
    table = np.asarray(sums, dtype=np.float64)
    bins = []
    for number, (weight, confidence, right) in enumerate(table.tolist()):
        mean, share = ratio(confidence, weight), ratio(right, weight)
        borders = {"from": number / len(table), "to": (number + 1) / len(table)}
        bins.append({**borders, "weight": weight, "confidence": mean, "accuracy": share})
    gaps = [abs(one["accuracy"] - one["confidence"]) for one in bins if one["confidence"] is not None]
    return {
        "bins": bins,
        "expected_calibration_error": expected_calibration_error(table),
        "maximum_calibration_error": max(gaps, default=None),
    }
