"""Small problems for cascades, as arrays."""

from __future__ import annotations

import csv

import numpy as np

from learners.base import no_progress
from learners.neural.cascade.growth import grow
from learners.neural.cascade.outputs import SIGMOID_SQUARED
from learners.neural.cascade.settings import Settings
from learners.neural.cascade.stages import Grown, Rows
from learners.types import FloatArray
from tests.shared import generated_path


def rows_of(inputs: FloatArray, targets: FloatArray, weights: FloatArray | None = None) -> Rows:
    counted = np.ones(len(inputs)) if weights is None else weights
    return Rows(np.ascontiguousarray(inputs), np.ascontiguousarray(targets), counted / counted.sum())


def read_generated(name: str) -> Rows:
    """A generated set whose last column is the target, 0 or 1."""
    with generated_path(f"{name}.csv").open(newline="") as file:
        cells = np.array([[float(cell) for cell in row] for row in list(csv.reader(file))[1:]])
    return rows_of(cells[:, :-1], cells[:, -1:])


def parity(bits: int) -> Rows:
    """Inputs of -1 and 1."""
    read = read_generated(f"parity-{bits}")
    return rows_of(2 * read.inputs - 1, read.targets)


def noisy(n_rows: int = 60, n_inputs: int = 3, n_outputs: int = 2, seed: int = 0) -> Rows:
    """Inputs, smooth targets between 0 and 1 whose rows sum to 1, and weights, all at random."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(n_rows, n_inputs))
    scores = np.sin(inputs @ rng.normal(size=(n_inputs, n_outputs)) * 2)
    powers = np.exp(scores)
    return rows_of(inputs, powers / powers.sum(axis=1, keepdims=True), rng.uniform(0.5, 2, n_rows))


def grown(
    rows: Rows, kind: int = SIGMOID_SQUARED, seed: int = 0, held: Rows | None = None, **settings: object
) -> Grown:
    return grow(rows, held, kind, Settings(**settings), np.random.default_rng(seed), no_progress)
