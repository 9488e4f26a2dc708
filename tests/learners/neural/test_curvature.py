"""Second derivatives against central differences of the gradient."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learners.neural.curvature import curvature, diagonal_hessian
from learners.neural.judging import error, loss_and_gradient
from learners.neural.layout import Layout
from learners.neural.problem import Problem
from learners.types import FloatArray
from tests.learners.neural.numeric import differences, sample

CASES = [
    (Layout((2, 3), ("linear",)), "squared"),
    (Layout((3, 4, 3), ("tanh", "softmax")), "cross-entropy"),
    (Layout((2, 3, 4, 2), ("sigmoid", "tanh", "sigmoid")), "squared"),
    (Layout((2, 4, 3, 3, 2), ("relu", "tanh", "sigmoid", "sigmoid")), "cross-entropy"),
]


def _name(case: tuple[Layout, str]) -> str:
    return "-".join(case[0].activations)


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_second_derivatives_by_weights_are_differences_of_gradients(case: tuple[Layout, str]) -> None:
    layout, loss = case
    rows, theta = sample(layout, 30, seed=2), layout.initial(np.random.default_rng(0), "uniform", 1.0)
    problem = Problem(layout, loss, decay=np.linspace(0, 1, layout.n_weights))
    found = diagonal_hessian(problem, rows, theta)
    expected = np.diag(differences(lambda moved: loss_and_gradient(problem, rows, moved)[1], theta))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("case", CASES[1:], ids=_name)
def test_second_derivatives_by_units_are_differences_along_their_outgoing_links(case: tuple[Layout, str]) -> None:
    layout, loss = case
    rows, theta = sample(layout, 30, seed=3), layout.initial(np.random.default_rng(1), "uniform", 1.0)
    problem = Problem(layout, loss)
    found = curvature(problem, rows, theta)
    for place, gains in enumerate(found.gains, start=1):
        for unit, gain in enumerate(gains):
            direction = np.zeros(layout.n_weights)
            layout.layers(direction)[place][unit] = layout.layers(theta)[place][unit]

            def slope(step: FloatArray, along: FloatArray = direction) -> float:
                return float(loss_and_gradient(problem, rows, theta + step[0] * along)[1] @ along)

            assert gain == pytest.approx(differences(slope, np.zeros(1))[0], abs=1e-6)


def test_the_gauss_newton_form_is_not_negative_and_exact_where_nothing_bends() -> None:
    layout = Layout((3, 4, 2), ("tanh", "sigmoid"))
    rows, theta = sample(layout, 40), layout.initial(np.random.default_rng(4), "uniform", 2.0)
    problem = Problem(layout, "squared")
    assert (diagonal_hessian(problem, rows, theta) < 0).any()
    found = curvature(problem, rows, theta, gauss_newton=True)
    assert (found.weights >= 0).all()
    assert all((gains >= 0).all() for gains in found.gains)
    straight = Layout((3, 4, 2), ("linear", "linear"))
    for loss_of in (
        Problem(straight, "squared"),
        Problem(replace(straight, activations=("linear", "softmax")), "cross-entropy"),
    ):
        both = [diagonal_hessian(loss_of, rows, theta, gauss_newton=form) for form in (False, True)]
        np.testing.assert_array_equal(*both)


def test_a_parabola_is_known_from_its_curvature() -> None:
    layout = Layout((3, 2), ("linear",))
    rows, theta = sample(layout, 20), np.arange(8.0)
    problem = Problem(layout, "squared")
    slope, bend = loss_and_gradient(problem, rows, theta)[1], diagonal_hessian(problem, rows, theta)
    for k in range(8):
        without = np.where(np.arange(8) == k, 0.0, theta)
        rise = error(problem, rows, without) - error(problem, rows, theta)
        assert rise == pytest.approx(-slope[k] * theta[k] + bend[k] * theta[k] ** 2 / 2, rel=1e-9, abs=1e-12)
