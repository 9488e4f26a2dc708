"""What training promises: how it ends, what it keeps, what chance and options do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2, kstest

from learners._accel import INTERPRETED
from learners.errors import Cancelled, DataError, ParameterError
from learners.neural import problem as problem_module
from learners.neural import training
from learners.neural.forward import Network
from learners.neural.judging import error
from learners.neural.layout import Layout
from learners.neural.problem import Problem, Sample
from learners.neural.training import OPTIMIZERS, Options, Trained, train
from learners.types import FloatArray
from tests.learners.neural.numeric import sample

XOR = Sample(
    np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([[0.0], [1.0], [1.0], [0.0]]), np.ones(4)
)
SMALL = Layout((2, 3, 1), ("tanh", "sigmoid"))
LINE = Layout((1, 1), ("linear",))
ROOT = Path(__file__).resolve().parents[3]


def _trained(options: Options, seed: int = 0, loss: str = "cross-entropy", layout: Layout = SMALL) -> Trained:
    rng = np.random.default_rng(seed)
    return train(Problem(layout, loss), layout.initial(rng, "uniform", 1.0), XOR, options, rng)


@pytest.mark.parametrize("loss", ["squared", "cross-entropy"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_xor_is_learned(optimizer: str, loss: str) -> None:
    found = _trained(Options(optimizer, batch=None, epochs=3_000, margin=0.4), seed=1, loss=loss)
    assert found.stopped == "margin"
    outputs = Network(SMALL, found.theta).outputs(XOR.inputs)
    assert np.abs(outputs - XOR.targets).max() <= 0.4
    assert found.history.best_epoch == len(found.history.errors)


def test_a_goal_that_is_met_ends_it_with_the_weights_that_met_it() -> None:
    for optimizer in ("rprop", "lbfgs"):
        found = _trained(Options(optimizer, goal=0.05, epochs=500), seed=1)
        assert found.stopped == "goal"
        assert error(Problem(SMALL, "cross-entropy"), XOR, found.theta) == found.history.errors[-1] <= 0.05
        assert (found.history.errors[:-1] > 0.05).all()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_weights_of_the_best_validation_error_are_kept(optimizer: str) -> None:
    layout = Layout((4, 8, 1), ("tanh", "linear"))
    problem, rng = Problem(layout, "squared"), np.random.default_rng(5)
    rows, aside = sample(layout, 12, seed=1), sample(layout, 40, seed=2)
    options = Options(optimizer, epochs=300, patience=7, batch=5, rate=0.02)
    found = train(problem, layout.initial(rng), rows, options, rng, validation=aside)
    history = found.history
    best = int(history.validation.argmin())
    assert found.stopped == "patience"
    assert history.best_epoch == best + 1
    assert len(history.errors) == len(history.validation) == best + 1 + 7
    assert error(problem, aside, found.theta) == pytest.approx(history.validation[best], rel=1e-12)


def test_training_that_diverges_says_when_and_what_to_do() -> None:
    rows = Sample(np.array([[100.0], [50.0]]), np.array([[1.0], [-1.0]]), np.ones(2))
    for optimizer, batch in (("sgd", None), ("sgd", 1), ("adam", 1)):
        options = Options(optimizer, rate=1e60 if optimizer == "adam" else 10.0, batch=batch, epochs=500)
        with pytest.raises(ParameterError, match=r"diverged at epoch \d+: lower the rate"):
            train(Problem(LINE, "squared"), np.ones(2), rows, options, np.random.default_rng(0))
    with pytest.raises(ParameterError, match=r"cannot begin: .* error was (inf|nan)"):
        train(Problem(LINE, "squared"), np.full(2, np.inf), rows, Options("rprop"), np.random.default_rng(0))


def test_progress_tells_epochs_and_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_MOST_EPOCHS", 10)
    told: list[tuple[float, str]] = []

    def progress(share: float, message: str) -> None:
        told.append((share, message))
        if len(told) == 3:
            raise Cancelled

    for optimizer in ("adam", "lbfgs"):
        told.clear()
        with pytest.raises(Cancelled):
            rng = np.random.default_rng(0)
            options = Options(optimizer, epochs=100)
            train(Problem(SMALL, "squared"), SMALL.initial(rng), XOR, options, rng, progress=progress)
        if optimizer == "adam":
            assert told[-1][0] == 20 / 100
            assert told[-1][1].startswith("epoch 20 of 100, error 0.")
        else:  # each look for the first step is told
            assert told[1:] == [(0.005, "epoch 1 of 100"), (0.0075, "epoch 1 of 100")]


@pytest.mark.parametrize("batch", [2, None])
def test_the_seed_decides_all_whatever_is_done_at_once(monkeypatch: pytest.MonkeyPatch, batch: int | None) -> None:
    options = Options("sgd", batch=batch, epochs=25)
    first = _trained(options)
    monkeypatch.setattr(training, "_MOST_EPOCHS", 4)
    again = _trained(options)
    np.testing.assert_array_equal(first.theta, again.theta)
    np.testing.assert_array_equal(first.history.errors, again.history.errors)
    assert (_trained(options, seed=1).theta != first.theta).all()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_row_of_weight_2_is_as_two_rows_and_one_of_weight_0_as_none(optimizer: str) -> None:
    twice = Sample(*(np.repeat(part, [1, 2, 1, 0], axis=0) for part in XOR))
    weighted = XOR._replace(weights=np.array([0.5, 1.0, 0.5, 0.0]))
    found = []
    for rows in (twice, weighted):
        rng = np.random.default_rng(3)
        theta = SMALL.initial(rng)
        options = Options(optimizer, batch=None, epochs=20)
        found.append(train(Problem(SMALL, "squared"), theta, rows, options, rng).theta)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_masked_weights_stay_0_and_tied_ones_equal(optimizer: str) -> None:
    mask = np.ones(SMALL.n_weights, dtype=np.bool_)
    mask[[2, 9]] = False
    ties = np.full(SMALL.n_weights, -1)
    ties[[0, 3]], ties[[1, 4]] = 0, 1  # both inputs weigh alike, as is right for XOR
    rng = np.random.default_rng(1)
    problem = Problem(SMALL, "cross-entropy", mask=mask, ties=ties)
    start = SMALL.initial(rng, "uniform", 1.0)
    found = train(problem, start, XOR, Options(optimizer, batch=None, epochs=200), rng)
    assert (found.theta[[2, 9]] == 0).all()
    np.testing.assert_array_equal(found.theta[[0, 1]], found.theta[[3, 4]])
    assert found.theta[0] != start[0]
    assert found.history.errors[-1] < found.history.errors[0]


@pytest.mark.parametrize(("n_inputs", "n_hidden"), [(7, 3), (2, 9), (5, 1)])
def test_weights_do_not_depend_on_how_many_rows_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch, n_inputs: int, n_hidden: int
) -> None:
    layout = Layout((n_inputs, n_hidden, 4), ("tanh", "softmax"))
    rows, aside = sample(layout, 300, seed=1), sample(layout, 70, seed=2)
    found: list[FloatArray] = []
    for kept in (32_768, 3_000, 0):
        monkeypatch.setattr(problem_module, "_KEPT", kept)
        rng = np.random.default_rng(4)
        problem, theta = Problem(layout, "cross-entropy"), layout.initial(rng)
        options = Options("sgd", batch=None, epochs=5)
        alone = train(problem, theta, rows, options, rng)
        judged = train(problem, theta, rows, options, rng, validation=aside)
        assert judged.history.errors.tolist() == alone.history.errors.tolist()
        found.append(alone.theta)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)  # of other blocks: sums in another order
    np.testing.assert_allclose(found[2], found[0], rtol=1e-9)


def test_jitter_does_what_a_ridge_does() -> None:
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(500, 1))
    inputs /= inputs.std()
    rows = Sample(inputs, 3.0 * inputs, np.ones(500))
    options = Options("sgd", rate=0.05, momentum=0.0, batch=None, epochs=600, jitter=1.0)
    found = train(Problem(LINE, "squared"), np.zeros(2), rows, options, rng)
    assert found.theta[0] == pytest.approx(3.0 / (1 + 1.0), abs=0.1)  # Var x / (Var x + noise)


def test_jitter_is_drawn_anew_for_each_epoch_from_a_normal_distribution() -> None:
    """Of the answer 2 x at x = 0 for a target of 0 the loss is 2 z^2, z the noise; a rate of nearly 0 moves nothing."""
    row = Sample(np.zeros((1, 1)), np.zeros((1, 1)), np.ones(1))
    options = Options("sgd", rate=1e-12, momentum=0.0, batch=None, epochs=2_000, jitter=0.3)
    found = train(Problem(LINE, "squared"), np.array([2.0, 0.0]), row, options, np.random.default_rng(0))
    squares = found.history.errors / (2 * 0.3**2)
    assert len(np.unique(squares)) == 2_000
    assert kstest(squares, chi2(1).cdf).pvalue > 0.01


def test_augmentation_makes_other_inputs_of_the_same_targets_in_each_epoch() -> None:
    rows = Sample(np.linspace(0.5, 2.0, 20)[:, None], np.linspace(0.5, 2.0, 20)[:, None], np.ones(20))
    layout = Layout((1, 8, 1), ("tanh", "linear"))
    calls = []

    def mirrored(inputs: FloatArray, rng: np.random.Generator) -> FloatArray:
        calls.append(inputs.copy())
        return inputs * rng.choice([-1.0, 1.0], size=(len(inputs), 1))

    rng = np.random.default_rng(0)
    found = train(
        Problem(layout, "squared"), layout.initial(rng), rows, Options(rate=0.03, epochs=800, augment=mirrored), rng
    )
    assert len(calls) == 800
    np.testing.assert_array_equal(calls[0], calls[-1])
    left, right = (Network(layout, found.theta).outputs(sign * rows.inputs) for sign in (-1, 1))
    np.testing.assert_allclose(left, rows.targets, atol=0.3)  # never seen as such
    np.testing.assert_allclose(right, rows.targets, atol=0.3)
    with pytest.raises(DataError, match="as many as the inputs"):
        train(Problem(LINE, "squared"), np.zeros(2), rows, Options(augment=lambda x, _: x[:3]), rng)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "newton"}, "none of sgd, quickprop, rprop, adam, lbfgs"),
        ({"rate": 0.0}, "rate is above 0"),
        ({"rate": float("nan")}, "rate is above 0"),
        ({"batch": 0}, "batch is above 0"),
        ({"epochs": -1}, "epochs is above 0"),
        ({"jitter": -0.1}, "jitter is not below 0"),
        ({"settling": 1.1}, "settling is from 0 to 1"),
        ({"optimizer": "lbfgs", "jitter": 0.1}, "no jitter"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Options(**options)


def test_l_bfgs_ignores_no_errors() -> None:
    problem = Problem(SMALL, "squared", ignored=0.1)
    with pytest.raises(ParameterError, match="no errors are ignored"):
        train(problem, np.zeros(13), XOR, Options("lbfgs"), np.random.default_rng(0))


def test_rows_without_any_weight_are_refused() -> None:
    with pytest.raises(DataError, match="every row has weight 0"):
        train(
            Problem(SMALL, "squared"),
            np.zeros(13),
            XOR._replace(weights=np.zeros(4)),
            Options(),
            np.random.default_rng(),
        )


def _thetas() -> list[str]:
    """The weights that each optimiser comes to, as bits."""
    found = []
    for optimizer in OPTIMIZERS[:-1]:
        for sizes, last, loss in (((3, 5, 2), "sigmoid", "squared"), ((5, 2, 3), "softmax", "cross-entropy")):
            layout, rng = Layout(sizes, ("tanh", last)), np.random.default_rng(0)
            problem, options = Problem(layout, loss, 0.1), Options(optimizer, batch=5, epochs=2)
            theta = train(problem, layout.initial(rng), sample(layout, 9), options, rng).theta
            found.append(theta.tobytes().hex())
    return found


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_plain_python_trains_to_the_same_bits() -> None:
    program = "from tests.learners.neural import test_training; print(*test_training._thetas())"
    environment = {**os.environ, "RULEWOOD_INTERPRET": "1"}
    plain = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert plain.stdout.split() == _thetas()
