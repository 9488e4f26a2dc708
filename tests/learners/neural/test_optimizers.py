"""Each rule's steps against its formula in numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from learners.neural.judging import loss_and_gradient
from learners.neural.layout import Layout
from learners.neural.problem import Problem, Sample
from learners.neural.training import Options, train
from learners.types import FloatArray
from tests.learners.neural.numeric import sample

LAYOUT = Layout((3, 4, 2), ("tanh", "softmax"))
PROBLEM = Problem(LAYOUT, "cross-entropy", decay=0.01)
EPOCHS = 30

Slope = Callable[[FloatArray], FloatArray]


def _descent(theta: FloatArray, slope: Slope) -> Iterator[FloatArray]:
    moving = np.zeros_like(theta)
    while True:
        moving = 0.9 * moving - 0.3 * slope(theta)
        theta = theta + moving
        yield theta


def _adam(theta: FloatArray, slope: Slope) -> Iterator[FloatArray]:
    mean, square, step = np.zeros_like(theta), np.zeros_like(theta), 0
    while True:
        step, gradient = step + 1, slope(theta)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        theta = theta - 0.3 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        yield theta


def _resilient(theta: FloatArray, slope: Slope) -> Iterator[FloatArray]:
    steps, before = np.full_like(theta, 0.3), np.zeros_like(theta)
    while True:
        gradient = slope(theta)
        steps = np.where(gradient * before > 0, np.minimum(1.2 * steps, 50), steps)
        steps = np.where(gradient * before < 0, np.maximum(0.5 * steps, 1e-9), steps)
        before = np.where(gradient * before < 0, 0.0, gradient)
        theta = theta - np.sign(before) * steps
        yield theta


def _quickprop(theta: FloatArray, slope: Slope) -> Iterator[FloatArray]:
    last, before = np.zeros_like(theta), np.zeros_like(theta)
    while True:
        gradient = slope(theta)
        with np.errstate(all="ignore"):
            parabola = last * gradient / (before - gradient)
        bound = before * 1.75 / 2.75
        far = np.where(last > 0, gradient <= bound, gradient >= bound)
        step = np.where(last == 0, 0.0, np.where(far, 1.75 * last, parabola))
        step -= np.where(last * gradient <= 0, 0.3 * gradient, 0.0)
        theta, last, before = theta + step, step, gradient
        yield theta


@pytest.mark.parametrize(
    ("name", "rule"), [("sgd", _descent), ("adam", _adam), ("rprop", _resilient), ("quickprop", _quickprop)]
)
def test_steps_follow_the_formula(name: str, rule: Callable[[FloatArray, Slope], Iterator[FloatArray]]) -> None:
    rows = sample(LAYOUT, 20)
    start = LAYOUT.initial(np.random.default_rng(0))
    options = Options(name, rate=0.3, batch=None, epochs=EPOCHS)
    found = train(PROBLEM, start, rows, options, np.random.default_rng(0))
    steps = rule(start, lambda theta: loss_and_gradient(PROBLEM, rows, theta)[1])
    for _ in range(EPOCHS):
        expected = next(steps)
    np.testing.assert_allclose(found.theta, expected, rtol=1e-6, atol=1e-8)


def test_the_rate_of_adam_by_batches_falls_evenly_over_the_last_epochs() -> None:
    row, start = sample(LAYOUT, 1), LAYOUT.initial(np.random.default_rng(0))
    rows = Sample(*(np.repeat(part, 2, axis=0) for part in row))  # twice the same row, so that any order is one
    options = Options("adam", rate=0.3, batch=1, epochs=EPOCHS, settling=0.5)
    found = train(PROBLEM, start, rows, options, np.random.default_rng(0))
    theta, mean, square = start, np.zeros_like(start), np.zeros_like(start)
    for step in range(1, 2 * EPOCHS + 1):
        epoch, gradient = (step - 1) // 2, loss_and_gradient(PROBLEM, row, theta)[1]
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        rate = 0.3 * min(1.0, (EPOCHS - epoch) / (EPOCHS / 2))
        theta = theta - rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    np.testing.assert_allclose(found.theta, theta, rtol=1e-6, atol=1e-8)


def test_quickprop_finds_the_bottom_of_a_parabola_that_it_passed() -> None:
    layout = Layout((1, 1), ("linear",))
    rows = sample(layout, 1)
    rows.inputs[:], rows.targets[:], rows.weights[:] = 0.0, 3.0, 1.0
    found = train(
        Problem(layout, "squared"), np.zeros(2), rows, Options("quickprop", 1.5, epochs=2), np.random.default_rng()
    )
    assert found.theta[1] == pytest.approx(3.0, rel=1e-12)  # 0, beyond it at 4.5, and there


def test_descent_with_decay_draws_each_weight_towards_0_by_its_own_share() -> None:
    decay = np.linspace(0.0, 1.0, LAYOUT.n_weights)
    rows = sample(LAYOUT, 10)
    start = LAYOUT.initial(np.random.default_rng(2))
    options = Options("sgd", rate=0.1, momentum=0.0, batch=None, epochs=1)
    found = train(Problem(LAYOUT, "cross-entropy", decay), start, rows, options, np.random.default_rng())
    slope = loss_and_gradient(Problem(LAYOUT, "cross-entropy"), rows, start)[1]
    np.testing.assert_allclose(found.theta, start - 0.1 * slope - 0.1 * decay * start, rtol=1e-12, atol=1e-15)


def test_l_bfgs_ends_where_no_direction_is_downhill() -> None:
    rows = sample(LAYOUT, 40)
    found = train(
        PROBLEM, LAYOUT.initial(np.random.default_rng(1)), rows, Options("lbfgs", epochs=500), np.random.default_rng()
    )
    assert found.stopped == "converged"
    assert np.abs(loss_and_gradient(PROBLEM, rows, found.theta)[1]).max() < 1e-5
