"""Networks that get hidden units while they learn: dynamic node creation and meiosis."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from learners.errors import Cancelled, ParameterError
from learners.neural.forward import Network
from learners.neural.growing.meiosis import Meiosis, divide, divided, indecision
from learners.neural.growing.nodes import create_nodes, widened
from learners.neural.judging import error
from learners.neural.layout import Layout
from learners.neural.problem import Problem, Sample
from learners.neural.training import Options, train
from tests.shared import generated_path

FLAT = Options("rprop", epochs=5_000, margin=0.4, flat=100, slope=0.05)


def _parity(n_bits: int) -> Sample:
    values = np.genfromtxt(generated_path(f"parity-{n_bits}.csv"), delimiter=",", skip_header=1)
    return Sample(2 * values[:, :-1] - 1, values[:, -1:], np.ones(len(values)))


def _problem(sample: Sample, loss: str = "cross-entropy") -> Problem:
    return Problem(Layout((sample.inputs.shape[1], 1, sample.targets.shape[1]), ("tanh", "sigmoid")), loss)


@pytest.mark.parametrize("n_bits", [3, 4, 5])
def test_node_creation_solves_parity_with_about_as_many_units_as_bits(n_bits: int) -> None:
    rows = _parity(n_bits)
    for seed in range(3):
        found = create_nodes(_problem(rows), rows, FLAT, np.random.default_rng(seed), most_units=12)
        assert found.stopped == "margin"
        assert abs(found.layout.sizes[1] - n_bits) <= 1
        assert np.abs(Network(found.layout, found.theta).outputs(rows.inputs) - rows.targets).max() <= 0.4
        assert len(found.units) == len(found.history.errors)
        assert (found.units[0], found.units[-1]) == (1, found.layout.sizes[1])
        assert set(np.diff(found.units)) <= {0, 1}


def test_units_are_added_where_the_curve_is_flat() -> None:
    rows = _parity(4)
    found = create_nodes(_problem(rows), rows, FLAT, np.random.default_rng(0), most_units=12)
    starts = np.flatnonzero(np.diff(found.units, prepend=0))
    for start, end in pairwise(starts):
        errors = found.history.errors[start:end]
        assert len(errors) % 100 == 0
        drops = errors[::100] - errors[99::100]
        assert drops[-1] < 0.05 * errors[0]
        assert (drops[:-1] >= 0.05 * errors[0]).all()


def test_growing_ends_by_units_epochs_and_rows_held_out() -> None:
    rows = _parity(5)
    few = create_nodes(_problem(rows), rows, FLAT, np.random.default_rng(0), most_units=2)
    assert (few.stopped, few.layout.sizes[1]) == ("units", 2)
    options = Options("rprop", epochs=250, flat=100)
    short = create_nodes(_problem(rows), rows, options, np.random.default_rng(0), most_units=9)
    assert (short.stopped, len(short.history.errors)) == ("epochs", 250)
    rng = np.random.default_rng(1)
    noise = [Sample(rng.normal(size=(30, 2)), rng.integers(0, 2, (30, 1)).astype(float), np.ones(30)) for _ in range(2)]
    options = Options("rprop", epochs=5_000, flat=50)
    found = create_nodes(_problem(noise[0]), noise[0], options, rng, most_units=30, validation=noise[1])
    assert found.stopped == "patience"
    judged = found.history.validation
    assert judged.min() == judged[found.history.best_epoch - 1]
    kept = Problem(found.layout, "cross-entropy")
    assert error(kept, noise[1], found.theta) == pytest.approx(judged.min(), rel=1e-12)


def test_a_wider_network_has_the_old_weights_and_a_new_unit() -> None:
    layout = Layout((2, 2, 1), ("tanh", "linear"))
    theta = np.arange(1.0, 10.0)
    wider, found = widened(layout, theta, np.random.default_rng(0), 0.5)
    into, out = wider.layers(found)
    np.testing.assert_array_equal(into[:, :2], layout.layers(theta)[0])
    np.testing.assert_array_equal(np.delete(out, 2, axis=0), layout.layers(theta)[1])
    assert np.abs([*into[:, 2], out[2, 0]]).max() <= 0.5


@pytest.mark.parametrize("n_bits", [2, 3, 4])
def test_meiosis_solves_parity(n_bits: int) -> None:
    rows = _parity(n_bits)
    found = divide(_problem(rows), rows, Meiosis(margin=0.4), np.random.default_rng(2))
    assert found.stopped == "margin"
    assert n_bits <= found.layout.sizes[1] + 1
    assert found.layout.sizes[1] <= 20
    assert np.abs(Network(found.layout, found.theta).outputs(rows.inputs) - rows.targets).max() <= 0.4
    assert found.history.errors[-1] == error(Problem(found.layout, "cross-entropy"), rows, found.theta)
    changes = np.flatnonzero(np.diff(found.units))
    assert ((changes + 1) % 50 == 0).all()


@pytest.mark.parametrize("fade", [0.9, 0.5])
def test_meiosis_draws_weights_around_means_and_widens_by_the_gradient_what_fades(fade: float) -> None:
    """Steps by the formula (Hanson 1990); those of a linear output of two weights are half as long."""
    rows = Sample(np.zeros((1, 1)), np.full((1, 1), 0.3), np.ones(1))
    layout = Layout((1, 1, 1), ("linear", "linear"))
    how = Meiosis(rate=0.1, spread_rate=0.3, spread=0.7, fade=fade, epochs=20, settling=0.0)
    found = divide(Problem(layout, "squared"), rows, how, np.random.default_rng(8), scale=1.0)
    rng = np.random.default_rng(8)
    means, spreads = layout.initial(rng, "uniform", 1.0), np.full(4, 0.7)
    for _ in range(20):
        drawn = means + spreads * rng.standard_normal(4)
        apart = drawn[1] * drawn[2] + drawn[3] - 0.3
        slope = np.clip(apart * np.array([0.0, drawn[2], drawn[1], 1.0]), -1.0, 1.0)
        means, spreads = means - 0.05 * slope, fade * (spreads + 0.3 * np.abs(slope))
    np.testing.assert_allclose(found.theta, means, rtol=1e-12)


def test_means_settle_by_rprop_from_where_divisions_ended() -> None:
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(40, 2))
    rows = Sample(inputs, np.sin(2 * inputs[:, :1]) * inputs[:, 1:], np.ones(40))
    problem, how = Problem(Layout((2, 1, 1), ("tanh", "linear")), "squared"), Meiosis(spread_rate=0.05, epochs=400)
    moving = divide(problem, rows, replace(how, epochs=200, settling=0.0), np.random.default_rng(1))
    found = divide(problem, rows, how, np.random.default_rng(1))
    assert moving.layout.sizes[1] > 1
    assert found.layout == moving.layout
    np.testing.assert_array_equal(found.history.errors[:200], moving.history.errors)
    np.testing.assert_array_equal(found.units[200:], moving.layout.sizes[1])
    alone = train(
        replace(problem, layout=moving.layout),
        moving.theta,
        rows,
        Options("rprop", batch=None, epochs=200),
        np.random.default_rng(0),
    )
    np.testing.assert_array_equal(found.theta, alone.theta)
    np.testing.assert_array_equal(found.history.errors[200:], alone.history.errors)
    assert (found.stopped, found.history.best_epoch) == ("epochs", 400)


def test_rows_held_out_choose_among_moving_and_settling_networks() -> None:
    rng = np.random.default_rng(3)
    inputs = rng.normal(size=(60, 1))
    sample = Sample(inputs, np.sin(3 * inputs) + 0.3 * rng.normal(size=(60, 1)), np.ones(60))
    rows, aside = (Sample(*(part[place] for part in sample)) for place in (slice(0, 40), slice(40, 60)))
    problem = Problem(Layout((1, 1, 1), ("tanh", "linear")), "squared")
    how = Meiosis(spread_rate=0.05, epochs=600, patience=100)
    found = divide(problem, rows, how, np.random.default_rng(0), validation=aside)
    judged = found.history.validation
    assert len(judged) == len(found.units) == len(found.history.errors)
    assert found.history.best_epoch == int(judged.argmin()) + 1
    assert error(replace(problem, layout=found.layout), aside, found.theta) == judged.min()


def test_a_unit_divides_into_two_that_together_answer_as_it_did() -> None:
    layout = Layout((2, 2, 2), ("tanh", "linear"))
    means = layout.initial(np.random.default_rng(0), "uniform", 1.0)
    spreads = np.zeros(layout.n_weights)
    wider, found, narrower = divided(layout, means, spreads, 0, np.random.default_rng(1))
    rows = np.random.default_rng(2).normal(size=(7, 2))
    assert wider.sizes == (2, 3, 2)
    np.testing.assert_allclose(
        Network(wider, found).outputs(rows), Network(layout, means).outputs(rows), rtol=1e-13, atol=1e-15
    )
    assert (narrower == 0).all()
    spreads[:] = 0.4
    halves = wider.layers(divided(layout, means, spreads, 0, np.random.default_rng(1))[2])
    np.testing.assert_array_equal(halves[0], np.tile([0.4, 0.2, 0.2], (3, 1)))
    np.testing.assert_array_equal(halves[1][:, 0], [0.4, 0.2, 0.2, 0.4])


def test_a_unit_is_undecided_by_the_lesser_of_its_sides() -> None:
    layout = Layout((1, 2, 1), ("tanh", "linear"))
    means = np.array([1.0, 0.0, -1.0, 0.0, 2.0, 1.0, 9.0])
    spreads = np.array([1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 9.0])
    assert indecision(layout, means, spreads).tolist() == [min(4 / 2, 1 / 2), 1.0]


def test_rows_held_out_keep_the_best_network_of_meiosis() -> None:
    rows, aside = _parity(3), _parity(3)
    found = divide(_problem(rows), rows, Meiosis(epochs=300, patience=40), np.random.default_rng(0), validation=aside)
    judged = found.history.validation
    assert found.stopped in ("patience", "epochs")
    assert found.history.best_epoch == int(judged.argmin()) + 1
    assert error(Problem(found.layout, "cross-entropy"), aside, found.theta) == judged.min()


def test_growing_can_be_cancelled_diverges_with_a_reason_and_refuses_what_it_cannot_grow() -> None:
    rows = _parity(3)

    def stop(share: float, message: str) -> None:
        assert message.startswith("1 hidden units, epoch ")
        raise Cancelled

    growers: list[Any] = [
        lambda problem, **more: create_nodes(problem, rows, FLAT, np.random.default_rng(0), most_units=5, **more),
        lambda problem, **more: divide(problem, rows, Meiosis(), np.random.default_rng(0), **more),
    ]
    for grow in growers:
        with pytest.raises(Cancelled):
            grow(_problem(rows), progress=stop)
        with pytest.raises(ParameterError, match="single hidden layer"):
            grow(Problem(Layout((3, 1), ("sigmoid",)), "squared"))
    with pytest.raises(ParameterError, match="flat and slope"):
        create_nodes(_problem(rows), rows, Options(), np.random.default_rng(0), most_units=5)
    linear = Problem(Layout((3, 1, 1), ("linear", "linear")), "squared")
    with pytest.raises(ParameterError, match=r"diverged at epoch \d+: lower the rate"):
        divide(linear, rows, Meiosis(rate=1e30), np.random.default_rng(0))
    for wrong in ({"rate": 0.0}, {"fade": 1.0}, {"spread": -1.0}, {"every": 0}, {"settling": 1.0}):
        with pytest.raises(ParameterError):
            Meiosis(**wrong)
