"""Pruning: what goes first, when it ends, what is kept and told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import hadamard

from learners.errors import Cancelled, ParameterError
from learners.neural.forward import Network
from learners.neural.judging import error, loss_and_gradient
from learners.neural.layout import Layout
from learners.neural.problem import Problem, Sample
from learners.neural.pruning import Pruned, Pruning, prune, without_idle_units
from learners.neural.training import Options, train
from learners.types import FloatArray

LAYOUT = Layout((6, 8, 1), ("tanh", "sigmoid"))
PROBLEM = Problem(LAYOUT, "cross-entropy", decay=1e-3)
RETRAIN = Options("rprop", epochs=30)


def _rows(n_rows: int, seed: int) -> Sample:
    """Only the first two of six inputs matter, and these together."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(n_rows, 6))
    return Sample(inputs, (inputs[:, :1] * inputs[:, 1:2] > 0).astype(np.float64), np.ones(n_rows))


@pytest.fixture(scope="module")
def trained() -> FloatArray:
    rng = np.random.default_rng(0)
    return train(PROBLEM, LAYOUT.initial(rng), _rows(200, 0), Options("rprop", epochs=150), rng).theta


def _pruned(theta: FloatArray, pruning: Pruning) -> Pruned:
    return prune(PROBLEM, theta, _rows(200, 0), pruning, np.random.default_rng(1), validation=_rows(200, 1))


@pytest.mark.parametrize("by", ["links", "units"])
@pytest.mark.parametrize("method", ["damage", "each-weight", "magnitude"])
def test_what_is_kept_is_the_last_network_within_the_tolerance(trained: FloatArray, method: str, by: str) -> None:
    found = _pruned(trained, Pruning(method, by, share=0.2, tolerance=0.1, retrain=RETRAIN))
    curve, kept = found.curve, found.kept
    start = error(PROBLEM, _rows(200, 1), trained)
    assert curve.validation[0] == start
    assert (curve.links[0], curve.units[0]) == (6 * 8 + 8, 8)
    assert (np.diff(curve.links) < 0).all()
    assert (np.diff(curve.units) <= 0).all()
    assert (curve.validation[: kept + 1] <= 1.1 * start).all()
    assert len(curve.links) == len(curve.validation) == kept + 2
    assert curve.validation[-1] > 1.1 * start
    assert (found.theta[~found.mask] == 0).all()
    assert curve.links[kept] == (found.mask & ~found.layout.is_bias()).sum()
    assert curve.units[kept] == found.layout.sizes[1]
    problem = Problem(found.layout, "cross-entropy")
    assert error(problem, _rows(200, 1), found.theta) == pytest.approx(curve.validation[kept], rel=1e-12)


def test_optimal_brain_damage_takes_the_links_of_inputs_that_do_not_matter(trained: FloatArray) -> None:
    found = _pruned(trained, Pruning(share=0.15, tolerance=0.1, retrain=RETRAIN))
    into = found.layout.layers(found.mask)[0]
    assert found.kept >= 5
    assert into[:2].sum() > 3 * into[2:6].sum()


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_damage_without_bends_is_the_exact_rise_of_the_error(decay: float) -> None:
    """With linear outputs at their minimum both ways agree (the optimal brain damage of least squares)."""
    layout = Layout((5, 1), ("linear",))
    rng = np.random.default_rng(3)
    inputs = rng.normal(size=(100, 5))
    rows = Sample(
        inputs, inputs @ np.array([[5.0], [0.1], [-2.0], [0.5], [1.0]]) + 0.1 * rng.normal(size=(100, 1)), np.ones(100)
    )
    problem = Problem(layout, "squared", decay)
    theta = train(problem, np.zeros(6), rows, Options("lbfgs"), rng).theta
    curves = [
        prune(problem, theta, rows, Pruning(method, share=0.0, tolerance=float("inf")), rng).curve
        for method in ("damage", "each-weight")
    ]
    np.testing.assert_array_equal(curves[0].links, [5, 4, 3, 2, 1, 0])
    np.testing.assert_array_equal(curves[0].errors, curves[1].errors)
    assert (np.diff(curves[0].errors) > 0).all()
    assert curves[0].validation.size == 0


def _apart(by: str) -> tuple[Problem, FloatArray, Sample, FloatArray]:
    """Four columns without covariance, of mean square s each, and two linear outputs that want w of each of them.

    With a decay d the loss and the decay are least where the loss alone is ``s (w - c / s)^2 / 2`` with c = w (s + d),
    link by link; without the link the loss is ``w^2 (d + s / 2)`` more. The order of these rises is neither that of
    ``w^2`` (its size) nor of ``w^2 d`` (the slope), ``w^2 (d + s)`` (the whole curvature) or ``w^2 (d / 2 + s / 8)``
    (half the link gone).

    Returns:
        Problem, weights at the minimum, rows and rises, by links or by units: there the columns reach the outputs by
        a linear hidden unit each.
    """
    squares, decays = np.array([2.0, 0.2, 0.2, 3.0]), np.array([0.1, 1.2, 0.9, 0.0])
    weights = np.array([[1.0], [0.9], [1.1], [1.0]]) * [1.0, 0.1]
    inputs = hadamard(8)[:, 1:5] * np.sqrt(squares)
    rows = Sample(inputs, inputs @ (weights * (1 + decays / squares)[:, None]), np.ones(8))
    layout = Layout((4, 2), ("linear",)) if by == "links" else Layout((4, 4, 2), ("linear", "linear"))
    theta, decay = np.zeros(layout.n_weights), np.zeros(layout.n_weights)
    layout.layers(theta)[0][:4] = weights if by == "links" else np.eye(4)
    layout.layers(theta)[-1][:4], layout.layers(decay)[-1][:4] = weights, decays[:, None]
    rises = weights**2 * (decays + squares / 2)[:, None]
    return Problem(layout, "squared", decay), theta, rows, rises.ravel() if by == "links" else rises.sum(axis=1)


@pytest.mark.parametrize("by", ["links", "units"])
@pytest.mark.parametrize("method", ["damage", "each-weight"])
def test_elements_go_in_the_order_of_the_exact_rises_of_the_error(method: str, by: str) -> None:
    problem, theta, rows, rises = _apart(by)
    gradient = loss_and_gradient(problem, rows, theta)[1]
    np.testing.assert_allclose(problem.layout.layers(gradient)[-1], 0.0, atol=1e-12)  # a minimum
    found = prune(problem, theta, rows, Pruning(method, by, 0.0, float("inf")), np.random.default_rng(0))
    np.testing.assert_allclose(np.diff(found.curve.errors), np.sort(rises), rtol=1e-9)
    left = len(rises) - np.arange(len(rises) + 1)
    np.testing.assert_array_equal(found.curve.units if by == "units" else found.curve.links, left)


@pytest.mark.parametrize("by", ["links", "units"])
def test_the_curve_goes_on_to_the_step_that_was_too_much(by: str) -> None:
    problem, theta, rows, rises = _apart(by)
    start, rises = error(problem, rows, theta), np.sort(rises)
    tolerance = (rises[:2].sum() + rises[2] / 2) / start  # between the second step and the third
    found = prune(problem, theta, rows, Pruning("damage", by, 0.0, tolerance), np.random.default_rng(0))
    assert found.kept == 2
    np.testing.assert_allclose(found.curve.errors, start + np.cumsum([0.0, *rises[:3]]), rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_optimal_brain_damage_takes_more_links_than_magnitude_at_equal_error(seed: int) -> None:
    """Inputs of unequal spread: a link's size tells little of what it does."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(200, 6)) * [1, 1, 0.1, 0.1, 3, 3]
    labels = (inputs[:, :1] + 10 * inputs[:, 2:3] * inputs[:, 1:2] > 0).astype(np.float64)
    rows, layout = Sample(inputs, labels, np.ones(200)), Layout((6, 10, 1), ("tanh", "sigmoid"))
    problem = Problem(layout, "cross-entropy", decay=1e-3)
    theta = train(problem, layout.initial(rng), rows, Options("rprop", epochs=200), rng).theta
    left = [
        int(found.curve.links[found.kept])
        for method in ("damage", "magnitude")
        for found in [prune(problem, theta, rows, Pruning(method, share=0.0, tolerance=0.2), rng)]
    ]
    assert left[0] < left[1]


def test_units_go_with_all_their_links_and_the_answers_stay() -> None:
    layout = Layout((2, 3, 2, 1), ("tanh", "relu", "linear"))
    theta = layout.initial(np.random.default_rng(0), "uniform")
    mask = np.ones(layout.n_weights, np.bool_)
    layout.layers(mask)[1][1] = False  # the second unit of the first layer feeds nothing
    theta = np.where(mask, theta, 0.0)
    smaller, weights, free = without_idle_units(layout, theta, mask)
    assert smaller.sizes == (2, 2, 2, 1)
    assert free.all()
    rows = np.random.default_rng(1).normal(size=(9, 2))
    np.testing.assert_allclose(
        Network(smaller, weights).outputs(rows), Network(layout, theta).outputs(rows), rtol=1e-13
    )


def test_a_network_without_any_link_answers_with_its_biases(trained: FloatArray) -> None:
    found = _pruned(trained, Pruning("magnitude", share=0.5, tolerance=float("inf")))
    assert found.curve.links[-1] == 0
    assert found.layout.sizes == (6, 1, 1)
    outputs = Network(found.layout, found.theta).outputs(_rows(5, 2).inputs)
    assert (outputs == outputs[0]).all()


def test_pruning_can_be_cancelled_and_refuses_what_it_cannot_do(trained: FloatArray) -> None:
    def stop(share: float, message: str) -> None:
        assert "of 56 links" in message
        raise Cancelled

    with pytest.raises(Cancelled):
        prune(PROBLEM, trained, _rows(20, 0), Pruning(tolerance=9.0), np.random.default_rng(0), progress=stop)
    tied = replace(PROBLEM, ties=np.zeros(LAYOUT.n_weights, dtype=np.int64))
    with pytest.raises(ParameterError, match="tied weights"):
        prune(tied, trained, _rows(20, 0), Pruning(), np.random.default_rng(0))
    for wrong in ({"method": "luck"}, {"by": "layers"}, {"share": 1.0}, {"tolerance": -1.0}):
        with pytest.raises(ParameterError):
            Pruning(**wrong)


def test_progress_moves_with_each_weight_that_is_tried() -> None:
    told: list[tuple[float, str]] = []
    theta = PROBLEM.layout.initial(np.random.default_rng(0), "glorot", 1.0)
    prune(
        PROBLEM,
        theta,
        _rows(20, 0),
        Pruning("each-weight", tolerance=9.0, retrain=None),
        np.random.default_rng(0),
        progress=lambda share, message: told.append((share, message)),
    )
    n_links = int((~PROBLEM.layout.is_bias()).sum())
    first = [share for share, message in told[:n_links] if f"{n_links} of {n_links} links" in message]
    assert len(first) == n_links
    assert len(set(first)) == n_links
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
