"""Derivatives by central differences, and samples to take them on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from learners.neural.layout import Layout
from learners.neural.problem import Sample
from learners.types import FloatArray


def differences(value: Callable[[FloatArray], FloatArray | float], at: FloatArray, step: float = 1e-5) -> FloatArray:
    """Derivatives of each value by each entry of ``at``: shape of the value + (len(at),)."""
    moves = step * np.eye(len(at))
    found = [(np.asarray(value(at + move)) - np.asarray(value(at - move))) / (2 * step) for move in moves]
    return np.stack(found, axis=-1)


def sample(layout: Layout, n_rows: int, seed: int = 0) -> Sample:
    """Random rows, soft targets that sum to 1, and weights of which some are 0."""
    rng = np.random.default_rng(seed)
    targets = rng.random((n_rows, layout.n_outputs))
    if layout.n_outputs > 1:
        targets /= targets.sum(axis=1, keepdims=True)
    weights = rng.random(n_rows) * (rng.random(n_rows) < 0.8)
    return Sample(rng.normal(size=(n_rows, layout.n_inputs)), targets, weights)
