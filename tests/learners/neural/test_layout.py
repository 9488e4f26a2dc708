"""Where the weights of a network lie, and how they are drawn."""

from __future__ import annotations

import json

import numpy as np
import pytest

from learners.errors import ParameterError
from learners.neural.layout import Layout

LAYOUT = Layout((3, 4, 2), ("relu", "softmax"))


def test_layers_are_views_of_one_vector_with_the_biases_last() -> None:
    theta = np.arange(float(LAYOUT.n_weights))
    first, second = LAYOUT.layers(theta)
    assert (first.shape, second.shape, LAYOUT.n_weights) == ((4, 4), (5, 2), 26)
    first[-1, 0] = -1.0
    assert theta[12] == -1.0
    assert np.flatnonzero(LAYOUT.is_bias()).tolist() == [12, 13, 14, 15, 24, 25]


def test_a_layout_survives_json() -> None:
    assert Layout.from_json(json.loads(json.dumps(LAYOUT.to_json()))) == LAYOUT


def test_initial_weights_keep_their_bounds_and_repeat_by_seed() -> None:
    theta = LAYOUT.initial(np.random.default_rng(1))
    first, second = LAYOUT.layers(theta)
    assert np.abs(first).max() <= np.sqrt(6 / 3)
    assert np.abs(second).max() <= np.sqrt(6 / (4 + 2))
    assert (theta[LAYOUT.is_bias()] == 0).all()
    np.testing.assert_array_equal(theta, LAYOUT.initial(np.random.default_rng(1)))
    assert np.abs(LAYOUT.initial(np.random.default_rng(1), "uniform", 0.1)).max() <= 0.1


@pytest.mark.parametrize(
    ("sizes", "activations", "message"),
    [
        ((3,), (), "inputs and outputs"),
        ((3, 0, 1), ("tanh", "tanh"), "at least one unit"),
        ((3, 1), ("tanh", "tanh"), "1 layers have as many activations"),
        ((3, 1), ("step",), "none of linear, sigmoid"),
        ((3, 2, 1), ("softmax", "linear"), "for the last layer only"),
    ],
)
def test_what_is_no_network_is_refused(sizes: tuple[int, ...], activations: tuple[str, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Layout(sizes, activations)
