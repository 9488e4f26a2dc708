"""Pruning: what goes first, when it ends, what is kept and told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learners.errors import Cancelled, ParameterError
from learners.neural.forward import Network
from learners.neural.judging import error
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
    assert kept == len(curve.links) - 1 or (kept == len(curve.links) - 2 and curve.validation[-1] > 1.1 * start)
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
