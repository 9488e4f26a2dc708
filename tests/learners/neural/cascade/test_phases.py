"""Both phases' kernels: slopes are the derivatives of what is minimised or climbed, and phases end as they say."""

from __future__ import annotations

import numpy as np
import pytest

from learners.base import no_progress
from learners.neural.cascade.activation import ACTIVATIONS, unit_slopes, unit_values
from learners.neural.cascade.candidates import train_candidates
from learners.neural.cascade.growing import Growing
from learners.neural.cascade.outputs import (
    LINEAR_SQUARED,
    SIGMOID_ENTROPY,
    SIGMOID_SQUARED,
    SOFTMAX_ENTROPY,
    answers,
    loss_of,
    train_outputs,
)
from learners.neural.cascade.phase import EPOCH, FIGURE, KIND, LIMIT, STAGNANT, STATUS, TIMEOUT, Phase
from learners.neural.cascade.settings import Settings
from tests.learners.neural.cascade.problems import grown, noisy, rows_of

STEP = 1e-5
KINDS = (LINEAR_SQUARED, SIGMOID_SQUARED, SIGMOID_ENTROPY, SOFTMAX_ENTROPY)


def output_phase(kind, weights, chosen, limits=(1,)):
    """Memory, the phase and the loss after each call, on rows with a bias; the weights are changed."""
    rows = noisy()
    values = np.column_stack([np.ones(len(rows.inputs)), rows.inputs, np.zeros(len(rows.inputs))])
    memory, errors = np.zeros((4, *weights.shape)), np.zeros_like(rows.targets)
    losses = []
    phase = chosen.started(quits=chosen.patience, limit=1)
    phase[KIND] = kind
    for limit in limits:
        phase[LIMIT] = limit
        train_outputs(values, rows.targets, rows.shares, weights, memory, errors, phase)
        losses.append(phase[FIGURE])
    return memory, phase, np.array(losses)


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_of_output_weights_are_derivatives_of_loss_and_decay(kind):
    rows = noisy()
    values = np.column_stack([np.ones(len(rows.inputs)), rows.inputs])
    weights = np.random.default_rng(1).normal(size=(2, 4))
    memory, _, losses = output_phase(kind, weights.copy(), Phase(rate=0.1, decay=0.03))
    assert losses[0] == pytest.approx(loss_of(values @ weights.T, rows.targets, rows.shares, kind), rel=1e-12)
    for place in np.ndindex(weights.shape):
        ends = []
        for moved in (STEP, -STEP):
            other = weights.copy()
            other[place] += moved
            loss = loss_of(values @ other.T, rows.targets, rows.shares, kind)
            ends.append(loss + 0.03 * (other**2).sum() / 2)
        assert memory[1][place] == pytest.approx((ends[0] - ends[1]) / (2 * STEP), abs=1e-8)


def test_a_phase_in_parts_is_the_same_to_the_bit():
    phase = Phase(rate=0.5, max_epochs=40, patience=100)
    whole, parts = np.full((2, 4), 0.3), np.full((2, 4), 0.3)
    _, state, _ = output_phase(SIGMOID_SQUARED, whole, phase, limits=(100,))
    output_phase(SIGMOID_SQUARED, parts, phase, limits=(5,) * 9)
    assert state[STATUS] == TIMEOUT
    assert state[EPOCH] == 40
    np.testing.assert_array_equal(whole, parts)


def test_a_phase_ends_when_the_loss_no_longer_changes():
    chosen = Phase(rate=0.2, patience=8, max_epochs=500)
    _, phase, losses = output_phase(LINEAR_SQUARED, np.zeros((2, 4)), chosen, limits=(1,) * 501)
    assert phase[STATUS] == STAGNANT
    told = losses[: int(phase[EPOCH]) + 1]
    assert (losses[len(told) :] == told[-1]).all()
    assert np.ptp(told[-8:]) <= 0.02 * told[-1]


def score_of(values, errors, weights, kind):
    """The sum over outputs of |covariance with the error|, as the report writes it."""
    answered = unit_values(kind, values @ weights)
    return sum(abs(((answered - answered.mean()) * one).sum()) for one in errors.T)


@pytest.mark.parametrize("kind", range(len(ACTIVATIONS)), ids=ACTIVATIONS)
def test_slopes_of_candidates_are_derivatives_of_the_score(kind):
    rng = np.random.default_rng(kind)
    values = np.column_stack([np.ones(30), rng.normal(size=(30, 3))])
    errors = rng.normal(size=(30, 2))
    errors -= errors.mean(axis=0)
    weights = rng.normal(size=(4, 5))
    memory, scores = np.zeros((4, 4, 5)), np.zeros((4, 5))
    memory[3], scores[1] = 1.0, 1.0
    moved, room, kinds = weights.copy(), np.zeros((2, 30, 5)), np.full(5, kind)
    train_candidates(values, errors, kinds, moved, memory, room, scores, Phase(rate=0.1).started(quits=99, limit=1))
    for one in range(5):
        assert scores[0, one] == pytest.approx(score_of(values, errors, weights[:, one], kind), rel=1e-12)
        for unit in range(4):
            ends = []
            for change in (STEP, -STEP):
                other = weights[:, one].copy()
                other[unit] += change
                ends.append(score_of(values, errors, other, kind))
            assert -memory[1, unit, one] == pytest.approx((ends[0] - ends[1]) / (2 * STEP), abs=1e-7)
    np.testing.assert_array_equal(moved - weights != 0, True)


@pytest.mark.parametrize("kind", range(len(ACTIVATIONS)), ids=ACTIVATIONS)
def test_slopes_of_activations_are_derivatives(kind):
    sums = np.linspace(-4, 4, 41)
    ends = unit_values(kind, sums + STEP), unit_values(kind, sums - STEP)
    wanted = (ends[0] - ends[1]) / (2 * STEP)
    np.testing.assert_allclose(unit_slopes(kind, sums, unit_values(kind, sums)), wanted, atol=1e-9)


@pytest.mark.parametrize("kind", [LINEAR_SQUARED, SIGMOID_ENTROPY])
def test_the_score_is_numpys_covariance_with_errors_whose_mean_is_not_0(kind):
    """After two epochs the bias has not yet taken the errors' mean away."""
    made = noisy()
    rows = rows_of(made.inputs, 0.6 + 0.4 * made.targets, made.shares)
    brief = {"outputs": Phase(rate=0.1, max_epochs=2), "tolerance": 0.0, "activation": "tanh"}
    before = grown(rows, kind, max_hidden=0, **brief).network
    errors = answers(before.scores(rows.inputs), kind) - rows.targets
    assert (np.abs(rows.shares @ errors) > 0.1 * errors.std(axis=0)).all()
    found = grown(rows, kind, max_hidden=1, **brief)
    values = np.tanh(np.column_stack([np.ones(60), rows.inputs]) @ found.network.hidden[0, :4])
    covariances = np.cov(np.column_stack([values, errors]).T, aweights=rows.shares, ddof=0)[0, 1:]
    wanted = np.abs(covariances).sum() / (rows.shares @ errors**2).sum()
    assert found.stages[1].newest.score == pytest.approx(wanted, rel=1e-9)


def test_an_output_phase_that_overshoots_returns_to_its_weights_of_least_loss():
    rows, chosen = noisy(), Phase(rate=30.0, max_epochs=30, patience=99)
    growing = Growing(
        rows, SIGMOID_ENTROPY, Settings(outputs=chosen, tolerance=0.0), np.random.default_rng(0), no_progress
    )
    values, weights = np.column_stack([np.ones(60), rows.inputs]), growing.weights.copy()
    memory, errors = np.zeros((4, *weights.shape)), np.zeros_like(rows.targets)
    phase = chosen.started(quits=99, limit=1)
    phase[KIND] = SIGMOID_ENTROPY
    passed, losses = [], []
    for _ in range(31):
        passed.append(weights.copy())
        losses.append(loss_of(values @ weights.T, rows.targets, rows.shares, SIGMOID_ENTROPY))
        train_outputs(values, rows.targets, rows.shares, weights, memory, errors, phase)
    best = int(np.argmin(losses))
    assert losses[-1] > 1.01 * losses[best]
    stage = growing.train_outputs(None)
    assert stage.loss == pytest.approx(losses[best], rel=1e-12)
    np.testing.assert_array_equal(growing.weights, passed[best])
