"""A fitted network's answers: against matrix products, and a row alone to the bit as among others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.errors import ModelFormatError
from learners.neural.forward import Network
from learners.neural.layout import ACTIVATIONS, Layout
from tests.learners.neural.numeric import differences

_names = st.sampled_from(ACTIVATIONS[:-1])


@st.composite
def _networks(draw: st.DrawFn) -> Network:
    sizes = tuple(draw(st.lists(st.integers(1, 20), min_size=2, max_size=4)))
    hidden = tuple(draw(_names) for _ in sizes[2:])
    layout = Layout(sizes, (*hidden, draw(st.sampled_from(ACTIVATIONS))))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    return Network(layout, layout.initial(rng, "uniform", draw(st.sampled_from([0.1, 1.0, 100.0]))))


@settings(max_examples=40, deadline=None)
@given(_networks(), st.integers(2, 300))
def test_a_row_alone_has_the_bits_that_it_has_among_others(network: Network, n_rows: int) -> None:
    rows = np.random.default_rng(n_rows).normal(size=(n_rows, network.layout.n_inputs))
    outputs, scores = network.outputs(rows), network.scores(np.asfortranarray(rows))
    gradients = network.input_gradients(rows, network.layout.n_outputs - 1)
    assert np.isfinite(outputs).all()
    for r in (0, n_rows // 2, n_rows - 1):
        one = rows[r : r + 1]
        np.testing.assert_array_equal(network.outputs(one)[0], outputs[r])
        np.testing.assert_array_equal(network.scores(one)[0], scores[r])
        np.testing.assert_array_equal(network.input_gradients(one, network.layout.n_outputs - 1)[0], gradients[r])


def test_outputs_are_those_of_matrix_products() -> None:
    layout = Layout((6, 5, 4, 3), ("relu", "tanh", "softmax"))
    network = Network(layout, layout.initial(np.random.default_rng(0), "uniform", 1.0))
    rows = np.random.default_rng(1).normal(size=(200, 6))
    a, b, c = layout.layers(network.theta)
    hidden = np.tanh(np.maximum(rows @ a[:-1] + a[-1], 0) @ b[:-1] + b[-1])
    scores = hidden @ c[:-1] + c[-1]
    np.testing.assert_allclose(network.hidden(rows, 2), hidden, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(network.scores(rows), scores, rtol=1e-12, atol=1e-14)
    powers = np.exp(scores)
    np.testing.assert_allclose(network.outputs(rows), powers / powers.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_array_equal(network.hidden(rows, 0), rows)


@pytest.mark.parametrize("activation", ACTIVATIONS[:-1])
def test_input_gradients_are_central_differences(activation: str) -> None:
    layout = Layout((3, 5, 4, 2), (activation, activation, "sigmoid"))
    network = Network(layout, layout.initial(np.random.default_rng(3), "uniform", 1.0))
    rows = np.random.default_rng(4).normal(size=(3, 3))
    for unit in range(2):
        found = network.input_gradients(rows, unit)
        for row, gradient in zip(rows, found, strict=True):
            expected = differences(lambda x, u=unit: network.scores(x[None])[0, u], row)
            np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-6)


def test_stored_weights_that_are_no_network_are_refused() -> None:
    layout = Layout((2, 1), ("linear",))
    network = Network(layout, np.array([1.0, 2.0, 3.0]))
    again = Network.from_arrays(layout, network.to_arrays())
    np.testing.assert_array_equal(again.outputs(np.ones((2, 2))), network.outputs(np.ones((2, 2))))
    for theta in (np.ones(4), np.array([1.0, np.nan, 0.0])):
        with pytest.raises(ModelFormatError, match="3 finite weights"):
            Network.from_arrays(layout, {"theta": theta})
