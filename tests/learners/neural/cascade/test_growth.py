"""Growth: published problems are solved by about the published number of units, and every option keeps its word."""

from __future__ import annotations

import numpy as np
import pytest

from learners.errors import Cancelled, ModelFormatError, ParameterError
from learners.neural.cascade.activation import ACTIVATIONS
from learners.neural.cascade.growth import grow
from learners.neural.cascade.network import Cascade
from learners.neural.cascade.outputs import LINEAR_SQUARED, SIGMOID_SQUARED, SOFTMAX_ENTROPY, answers, loss_of
from learners.neural.cascade.phase import Phase
from learners.neural.cascade.settings import Settings
from tests.learners.neural.cascade.problems import grown, noisy, parity, read_generated, rows_of


def off(network: Cascade, rows, kind=SIGMOID_SQUARED):
    """How far each answer is from what is wanted."""
    return np.abs(answers(network.scores(rows.inputs), kind) - rows.targets)


@pytest.mark.parametrize("seed", range(3))
def test_two_spirals_are_told_apart_by_12_to_19_units(seed):
    rows = read_generated("two-spirals")
    found = grown(rows, seed=seed)
    assert found.stopped == "solved"
    assert (off(found.network, rows) < 0.4).all()
    assert 12 <= found.network.n_hidden <= 19
    assert found.network.depth == found.network.n_hidden
    assert 1_000 < found.epochs < 2_600


@pytest.mark.parametrize(("bits", "fewest", "most"), [(2, 1, 1), (3, 1, 1), (4, 2, 2), (5, 2, 3), (6, 3, 4)])
def test_parity_needs_few_gaussian_units(bits, fewest, most):
    rows = parity(bits)
    found = grown(rows, activation="gaussian")
    assert (off(found.network, rows) < 0.4).all()
    assert fewest <= found.network.n_hidden <= most


def test_what_a_line_divides_needs_no_hidden_unit():
    inputs = np.random.default_rng(0).normal(size=(50, 2))
    rows = rows_of(inputs, (inputs.sum(axis=1, keepdims=True) > 0).astype(float))
    found = grown(rows, outputs=Phase(1.0, patience=50, max_epochs=2_000))
    assert found.network.n_hidden == 0
    assert [stage.hidden for stage in found.stages] == [0]


def test_units_stay_as_they_were_made():
    rows = read_generated("two-spirals")
    few, more = grown(rows, max_hidden=3), grown(rows, max_hidden=6)
    np.testing.assert_array_equal(few.network.hidden[:, :6], more.network.hidden[:3, :6])
    assert more.stages[:4] == few.stages
    assert few.stopped == "max_hidden"


def test_stages_tell_what_was_done():
    rows = noisy(n_outputs=3)
    found = grown(rows, SOFTMAX_ENTROPY, max_hidden=4, tolerance=0.0, activation="mixed")
    assert [stage.hidden for stage in found.stages] == [0, 1, 2, 3, 4]
    loss = loss_of(found.network.scores(rows.inputs), rows.targets, rows.shares, SOFTMAX_ENTROPY)
    assert found.stages[-1].loss == pytest.approx(loss, rel=1e-12)
    assert found.epochs == sum(stage.epochs + (stage.newest.epochs if stage.newest else 0) for stage in found.stages)
    assert [stage.newest.activation for stage in found.stages[1:]] == [
        ACTIVATIONS[kind] for kind in found.network.kinds
    ]
    losses = [stage.loss for stage in found.stages]
    assert losses == sorted(losses, reverse=True)


def test_siblings_make_one_layer_and_see_the_inputs_alone():
    found = grown(read_generated("two-spirals"), max_hidden=5, placement="sibling")
    assert found.network.depth == 1
    np.testing.assert_array_equal(found.network.hidden[:, 3:], 0.0)
    assert [stage.newest.placement for stage in found.stages[2:]] == ["sibling"] * 4


def test_siblings_beside_descendants_make_fewer_layers_than_units():
    found = grown(read_generated("two-spirals"), placement="both")
    network = found.network
    assert found.stopped == "solved"
    assert 1 < network.depth < network.n_hidden
    for place, layer in enumerate(network.layers):
        alike = np.flatnonzero(network.layers[:place] == layer)
        np.testing.assert_array_equal(network.hidden[place, 3 + alike], 0.0)
        assert layer - 1 in [0, *network.layers[:place]]


def test_a_smaller_factor_for_descendants_makes_flatter_networks():
    rows = read_generated("two-spirals")
    depths = [
        grown(rows, placement="both", descendant_factor=factor, max_hidden=10).network.depth
        for factor in (0.01, 0.8, 100)
    ]
    assert depths[0] == 1 < depths[1] < depths[2] == 10


def test_a_weight_of_two_is_the_row_twice():
    rows = noisy()
    weights = 1 + np.arange(60) % 3
    weighted = grown(rows_of(rows.inputs, rows.targets, weights.astype(float)), max_hidden=4)
    again = np.repeat(np.arange(60), weights)
    repeated = grown(rows_of(rows.inputs[again], rows.targets[again]), max_hidden=4)
    np.testing.assert_array_equal(weighted.network.hidden, repeated.network.hidden)
    np.testing.assert_array_equal(weighted.network.weights, repeated.network.weights)


def test_the_order_of_rows_does_not_matter():
    rows = noisy()
    turned = np.random.default_rng(3).permutation(60)
    other = rows_of(rows.inputs[turned], rows.targets[turned], rows.shares[turned])
    np.testing.assert_array_equal(grown(rows, max_hidden=4).network.hidden, grown(other, max_hidden=4).network.hidden)


def test_the_network_of_least_loss_on_rows_held_out_remains():
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(120, 4))
    targets = (inputs[:, :1] * inputs[:, 1:2] + 0.8 * rng.normal(size=(120, 1)) > 0).astype(float)
    rows, held = rows_of(inputs[:60], targets[:60]), rows_of(inputs[60:], targets[60:])
    found = grown(rows, held=held, growth_patience=2)
    losses = [stage.held_loss for stage in found.stages]
    assert found.stopped == "validation"
    assert found.network.n_hidden == int(np.argmin(losses)) == len(losses) - 3
    loss = loss_of(found.network.scores(held.inputs), held.targets, held.shares, SIGMOID_SQUARED)
    assert loss == pytest.approx(min(losses), rel=1e-12)


def test_a_row_alone_and_among_others_has_the_same_bits():
    rows = read_generated("two-spirals")
    network = grown(rows, max_hidden=6, activation="mixed", pool=6).network
    alone = np.concatenate([network.scores(rows.inputs[row : row + 1]) for row in range(len(rows.inputs))])
    np.testing.assert_array_equal(alone, network.scores(rows.inputs))


@pytest.mark.parametrize("placement", ["descendant", "both"])
def test_gradients_by_the_inputs_are_central_differences(placement):
    network = grown(noisy(), max_hidden=5, activation="mixed", placement=placement, tolerance=0.0).network
    points = np.random.default_rng(1).normal(size=(7, 3))
    for unit in range(2):
        found = network.input_gradients(points, unit)
        for one in range(3):
            step = np.zeros(3)
            step[one] = 1e-6
            ends = network.scores(points + step)[:, unit], network.scores(points - step)[:, unit]
            np.testing.assert_allclose(found[:, one], (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"kinds": np.array([0, 7])},
        {"layers": np.array([1])},
        {"hidden": np.zeros((2, 5))},
        {"weights": np.full((1, 6), np.nan)},
    ],
    ids=lambda one: next(iter(one)),
)
def test_arrays_that_are_no_cascade_are_refused(changes):
    _, arrays = grown(noisy(n_outputs=1), max_hidden=2, tolerance=0.0).network.to_state()
    damaged = arrays | {f"cascade_{name}": array for name, array in changes.items()}
    with pytest.raises(ModelFormatError, match="finite weights"):
        Cascade.from_state({}, damaged)


def test_more_than_a_pool_of_units_can_be_grown():
    found = grown(noisy(), LINEAR_SQUARED, max_hidden=20, tolerance=0.0, candidates=Phase(1.0, max_epochs=5))
    assert found.network.n_hidden == 20
    assert off(found.network, noisy(), LINEAR_SQUARED).max() < 0.2


@pytest.mark.parametrize(("rates", "named"), [((1e9, 1.0), "output_rate"), ((1.0, 1e300), "candidate_rate")])
def test_divergence_is_told_with_its_epoch(rates, named):
    settings = {"outputs": Phase(rates[0]), "candidates": Phase(rates[1]), "tolerance": 0.0}
    with pytest.raises(ParameterError, match=rf"diverged at epoch \d+ .*lower {named}") as refused:
        grown(noisy(), LINEAR_SQUARED, **settings)
    assert refused.value.field == named


def test_units_beyond_need_do_no_harm():
    inputs = np.random.default_rng(2).normal(size=(40, 12))
    rows = rows_of(inputs, (inputs[:, :1] * inputs[:, 1:2] > 0).astype(float))
    losses = [stage.loss for stage in grown(rows, max_hidden=8, tolerance=0.0).stages]
    assert losses[-1] < 1e-3
    assert losses[2:] == sorted(losses[2:], reverse=True)


def test_growth_can_be_cancelled_between_epochs():
    told: list[str] = []

    def progress(share: float, message: str) -> None:
        assert 0 <= share <= 1
        told.append(message)
        if len(told) == 4:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        grow(parity(4), None, SIGMOID_SQUARED, Settings(), np.random.default_rng(0), progress)
    assert len(told) == 4
    assert "hidden units" in told[-1]


def test_no_residual_error_ends_growth():
    rows = rows_of(np.array([[0.0], [1.0]]), np.array([[0.0], [0.0]]))
    patient = Phase(rate=1.0, max_epochs=10_000, patience=9_999, change=0.0)
    found = grown(rows, LINEAR_SQUARED, outputs=patient, tolerance=0.0)
    assert found.stopped == "solved"
    np.testing.assert_allclose(found.network.scores(rows.inputs), 0.0, atol=1e-11)
