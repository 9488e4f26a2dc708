"""Errors and gradients of every layer, loss and option against central differences and numpy."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from learners.errors import ParameterError
from learners.neural.forward import Network
from learners.neural.judging import error, loss_and_gradient
from learners.neural.layout import Layout
from learners.neural.problem import Problem, Sample
from learners.neural.training import Options, train
from tests.learners.neural.numeric import differences, sample

#: Wider at the end, wider at the start, one layer, one unit; more rows than a block and fewer.
LAYOUTS = [
    (Layout((3, 2), ("linear",)), "squared", 5),
    (Layout((3, 1), ("sigmoid",)), "cross-entropy", 1),
    (Layout((2, 9, 3), ("tanh", "softmax")), "cross-entropy", 131),
    (Layout((7, 3, 2, 4), ("relu", "sigmoid", "linear")), "squared", 67),
    (Layout((4, 5, 1), ("linear", "tanh")), "squared", 64),
    (Layout((2, 1, 3), ("sigmoid", "sigmoid")), "cross-entropy", 9),
    (Layout((1, 6, 2), ("sigmoid", "relu")), "squared", 33),
    (Layout((5, 2, 2), ("tanh", "sigmoid")), "squared", 130),
]


def _name(case: tuple[Layout, str, int]) -> str:
    return "-".join(map(str, case[0].sizes)) + "-" + "-".join(case[0].activations)


@pytest.mark.parametrize("case", LAYOUTS, ids=_name)
def test_gradients_are_central_differences(case: tuple[Layout, str, int]) -> None:
    layout, loss, n_rows = case
    rows = sample(layout, n_rows, seed=3)
    rows.weights[0] = 1.0
    theta = layout.initial(np.random.default_rng(1), "uniform", 1.0)
    problem = Problem(layout, loss, decay=np.linspace(0.0, 0.5, layout.n_weights))
    value, gradient = loss_and_gradient(problem, rows, theta)
    expected = differences(lambda moved: loss_and_gradient(problem, rows, moved)[0], theta)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-6)
    decay = 0.5 * float(np.linspace(0.0, 0.5, layout.n_weights) @ theta**2)
    assert value == pytest.approx(error(problem, rows, theta) + decay, rel=1e-12)


@pytest.mark.parametrize("case", LAYOUTS, ids=_name)
def test_a_number_for_decay_counts_for_all_weights_but_biases(case: tuple[Layout, str, int]) -> None:
    layout, loss, n_rows = case
    rows = sample(layout, n_rows, seed=3)
    rows.weights[0] = 1.0
    theta = layout.initial(np.random.default_rng(1), "uniform", 1.0)
    value, gradient = loss_and_gradient(Problem(layout, loss, decay=0.3), rows, theta)
    without, slope = loss_and_gradient(Problem(layout, loss), rows, theta)
    links = np.concatenate([np.vstack([layer[:-1], 0 * layer[-1:]]).ravel() for layer in layout.layers(theta)])
    np.testing.assert_allclose(gradient - slope, 0.3 * links, rtol=0, atol=1e-14)
    assert value - without == pytest.approx(0.3 * (links**2).sum() / 2, rel=1e-9)


def test_a_linear_output_with_decay_is_a_ridge_whose_intercept_is_free() -> None:
    layout, rng = Layout((3, 1), ("linear",)), np.random.default_rng(0)
    inputs = rng.normal(size=(40, 3))
    rows = Sample(inputs, inputs @ np.array([[2.0], [-1.0], [0.5]]) + 7.0 + rng.normal(size=(40, 1)), np.ones(40))
    options = Options("lbfgs", epochs=500)
    found = train(Problem(layout, "squared", decay=0.4), np.zeros(4), rows, options, rng).theta
    peer = Ridge(alpha=40 * 0.4).fit(inputs, rows.targets[:, 0])
    np.testing.assert_allclose(found, [*peer.coef_, peer.intercept_], rtol=1e-5)


@pytest.mark.parametrize("case", LAYOUTS, ids=_name)
def test_the_error_is_that_of_the_outputs_of_numpy(case: tuple[Layout, str, int]) -> None:
    layout, loss, n_rows = case
    rows = sample(layout, n_rows, seed=4)
    rows.weights[0] = 1.0
    theta = layout.initial(np.random.default_rng(2))
    outputs = Network(layout, theta).outputs(rows.inputs)
    if loss == "squared":
        losses = 0.5 * ((outputs - rows.targets) ** 2).sum(axis=1)
    else:
        losses = -(rows.targets * np.log(outputs)).sum(axis=1)
        if layout.activations[-1] == "sigmoid":
            losses -= ((1 - rows.targets) * np.log(1 - outputs)).sum(axis=1)
    expected = np.average(losses, weights=rows.weights)
    assert error(Problem(layout, loss), rows, theta) == pytest.approx(expected, rel=1e-12)


def test_a_masked_weight_is_held_at_zero_and_others_have_the_gradient_beside_it() -> None:
    layout = Layout((3, 4, 2), ("tanh", "linear"))
    rng = np.random.default_rng(0)
    mask = rng.random(layout.n_weights) < 0.6
    problem = Problem(layout, "squared", decay=0.1, mask=mask)
    theta = problem.held(layout.initial(rng))
    assert (theta[~mask] == 0).all()
    rows = sample(layout, 20)
    gradient = loss_and_gradient(problem, rows, theta)[1]
    free = loss_and_gradient(Problem(layout, "squared", decay=0.1), rows, theta)[1]
    np.testing.assert_array_equal(gradient, np.where(mask, free, 0.0))


def test_outputs_near_their_targets_teach_nothing_and_count_in_the_loss() -> None:
    layout = Layout((3, 4, 2), ("tanh", "sigmoid"))
    theta = layout.initial(np.random.default_rng(1), "uniform", 1.0)
    rows = sample(layout, 70, seed=3)
    rows.weights[:] = 1.0
    outputs = Network(layout, theta).outputs(rows.inputs)
    near = np.abs(outputs - rows.targets) < 0.2
    assert near.any()
    assert not near.all()
    loss, gradient = loss_and_gradient(Problem(layout, "squared", ignored=0.2), rows, theta)
    assert loss == loss_and_gradient(Problem(layout, "squared"), rows, theta)[0]
    met = rows._replace(targets=np.where(near, outputs, rows.targets))
    np.testing.assert_allclose(gradient, loss_and_gradient(Problem(layout, "squared"), met, theta)[1], atol=1e-12)
    with pytest.raises(ParameterError, match="not below 0"):
        Problem(layout, "squared", ignored=-0.1)


def test_tied_weights_have_one_value_and_the_average_of_their_gradients() -> None:
    layout = Layout((4, 2, 1), ("sigmoid", "linear"))
    ties = np.full(layout.n_weights, -1)
    ties[[0, 2]], ties[[1, 3, 5]] = 7, 2
    mask = np.ones(layout.n_weights, dtype=np.bool_)
    mask[5] = False
    problem = Problem(layout, "squared", decay=0.2, mask=mask, ties=ties)
    theta = problem.held(layout.initial(np.random.default_rng(5), "uniform"))
    assert theta[0] == theta[2]
    assert theta[1] == theta[3]
    assert theta[5] == 0
    rows = sample(layout, 12)
    gradient = loss_and_gradient(problem, rows, theta)[1]
    for group in ([0, 2], [1, 3]):
        together = np.zeros(layout.n_weights)
        together[group] = 1.0
        slope = differences(lambda t, d=together: loss_and_gradient(problem, rows, theta + t[0] * d)[0], np.zeros(1))
        np.testing.assert_allclose(gradient[group], slope[0] / 2, rtol=0, atol=1e-9)


def test_cross_entropy_of_sure_outputs_is_exact() -> None:
    layout = Layout((1, 1), ("sigmoid",))
    problem = Problem(layout, "cross-entropy")
    rows = sample(layout, 1)
    rows.weights[:], rows.targets[:], rows.inputs[:] = 1.0, 0.0, 1.0
    for score in (-1000.0, -40.0, 40.0, 1000.0):
        theta = np.array([score, 0.0])
        assert error(problem, rows, theta) == pytest.approx(np.logaddexp(0.0, score), rel=1e-15, abs=1e-15)
    softmax = Layout((1, 3), ("softmax",))
    rows = sample(softmax, 1)
    rows.weights[:], rows.inputs[:], rows.targets[:] = 1.0, 1.0, [[1.0, 0.0, 0.0]]
    theta = np.array([0.0, 900.0, 800.0, 0.0, 0.0, 0.0])
    assert error(Problem(softmax, "cross-entropy"), rows, theta) == 900.0


@pytest.mark.parametrize(
    ("layout", "loss", "message"),
    [
        (Layout((2, 1), ("linear",)), "cross-entropy", "sigmoid or softmax outputs, not linear"),
        (Layout((2, 3), ("softmax",)), "squared", "softmax outputs go with cross-entropy"),
        (Layout((2, 3), ("softmax",)), "hinge", "none of squared, cross-entropy"),
    ],
)
def test_a_loss_that_does_not_go_with_the_outputs_is_refused(layout: Layout, loss: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Problem(layout, loss)


def test_decay_and_masks_of_the_wrong_size_are_refused() -> None:
    layout = Layout((2, 1), ("linear",))
    with pytest.raises(ParameterError, match="decay has one entry for each of 3 weights"):
        Problem(layout, "squared", decay=np.zeros(4))
    with pytest.raises(ParameterError, match="not below 0"):
        Problem(layout, "squared", decay=-1.0)
