"""Gradients by unfolding against central differences, for each option; a truncated one against its own definition."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from learners.link import probabilities, with_reference
from learners.neural.recurrent.network import RecurrentNetwork
from learners.neural.recurrent.structure import Structure
from learners.neural.recurrent.unfolding import Taught, unfold
from tests.learners.neural.numeric import differences

STARTS = np.array([0, 4, 5, 10])
CASES: list[dict[str, Any]] = [
    {},
    {"hidden": (3, 2), "activation": "sigmoid", "link": "softmax", "outputs": 3},
    {"link": "logistic", "shortcuts": True},
    {"is_recurrent": False, "hidden": (2, 3), "shortcuts": True},
    {"activation": "relu", "outputs": 2},
]


def network(theta: np.ndarray | None = None, **options: Any) -> RecurrentNetwork:
    structure = Structure(**({"inputs": 2, "hidden": (3,), "outputs": 1} | options))
    rng = np.random.default_rng(4)
    drawn = structure.initial(rng) + 0.2 * rng.normal(size=structure.n_weights)
    return RecurrentNetwork(structure, drawn if theta is None else theta)


def taught(structure: Structure) -> Taught:
    rng = np.random.default_rng(5)
    targets = rng.random((10, structure.outputs))
    if structure.link == "softmax":
        targets /= targets.sum(axis=1, keepdims=True)
    weights = rng.random(10) * np.array([0, 1, 1, 1, 1, 1, 0, 0, 1, 1])
    return Taught(rng.normal(size=(10, structure.inputs)), STARTS, targets, weights)


def loss(scores: np.ndarray, targets: np.ndarray, link: str) -> np.ndarray:
    if link == "identity":
        return 0.5 * ((scores - targets) ** 2).sum(axis=1)
    if link == "logistic":
        targets = np.hstack([1 - targets, targets])
    shares = probabilities(with_reference(scores.T.copy())).T
    return -(targets * np.log(shares)).sum(axis=1)


def pieces_error(theta: np.ndarray, given: RecurrentNetwork, lessons: Taught, piece: int) -> float:
    """The error of pieces of sequences, what enters each being what ``given`` makes of the steps before it."""
    moved = RecurrentNetwork(given.structure, theta)
    total = 0.0
    for first, end in pairwise(STARTS.tolist()):
        state = given.start()
        for begin in range(first, end, piece):
            steps = slice(begin, min(begin + piece, end))
            scores, _ = moved.feed(lessons.inputs[steps], state)
            total += lessons.weights[steps] @ loss(scores, lessons.targets[steps], given.structure.link)
            state = given.feed(lessons.inputs[steps], state)[1]
    return float(total)


@pytest.mark.parametrize("options", CASES)
@pytest.mark.parametrize("piece", [0, 1, 2])
def test_gradients_are_central_differences(options: dict[str, Any], piece: int) -> None:
    given = network(**options)
    lessons, gradient = taught(given.structure), np.zeros(given.structure.n_weights)
    error = unfold(given.theta, given.structure.shape(), lessons, np.arange(3), piece, gradient)
    assert error == pytest.approx(pieces_error(given.theta, given, lessons, 99), rel=1e-12)
    wanted = differences(lambda theta: pieces_error(theta, given, lessons, piece or 99), given.theta)
    np.testing.assert_allclose(gradient, wanted, atol=1e-6)


def test_pieces_as_long_as_the_sequences_are_full_unfolding() -> None:
    given = network()
    found = []
    for piece in (0, 5):
        found.append(np.zeros(given.structure.n_weights))
        unfold(given.theta, given.structure.shape(), taught(given.structure), np.arange(3), piece, found[-1])
    np.testing.assert_array_equal(*found)


def test_errors_and_gradients_of_sequences_add_up() -> None:
    given = network(link="softmax", outputs=2)
    lessons, shape = taught(given.structure), given.structure.shape()
    whole, parts = np.zeros(given.structure.n_weights), np.zeros(given.structure.n_weights)
    error = unfold(given.theta, shape, lessons, np.arange(3), 0, whole)
    assert error == pytest.approx(sum(unfold(given.theta, shape, lessons, np.array([k]), 0, parts) for k in range(3)))
    np.testing.assert_allclose(parts, whole, rtol=1e-12)
