"""Feed-forward networks as learners of tables: what they learn; without hidden units they are linear models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits

from learners.errors import ParameterError
from learners.linear import LinearRegressor, LogisticClassifier
from learners.neural import NeuralNetworkClassifier, NeuralNetworkRegressor
from learners.neural.decoding import decoded
from learners.neural.feedforward.shifting import evenly_scaled, shifting
from learners.neural.inputs import Inputs
from learners.preprocessing.encode import POWER
from learners.table import MISSING, Column, Table
from tests.learners.tables import read

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
OPTIMIZERS = {
    "sgd": {"rate": 0.5, "batch": None},
    "quickprop": {"rate": 1.0},
    "rprop": {},
    "adam": {"rate": 0.05},
    "lbfgs": {},
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
def test_exclusive_or_is_learned_by_every_optimizer(optimizer: str, loss: str) -> None:
    settings = {"optimizer": optimizer, "loss": loss, "hidden_units": (4,), "decay": 0.0, "epochs": 1500}
    model = NeuralNetworkClassifier.from_params(settings | OPTIMIZERS[optimizer])
    model.fit(XOR, ["same", "other", "other", "same"])
    assert model.predict(XOR).tolist() == ["same", "other", "other", "same"]
    assert (model.predict_proba(XOR).max(axis=1) > 0.9).all()


def test_without_hidden_units_classes_are_those_of_a_logistic_regression() -> None:
    table, target = read("iris", "class")
    settings = {"hidden_units": [], "optimizer": "lbfgs", "epochs": 2000}
    ours = NeuralNetworkClassifier.from_params(settings | {"decay": 0.01}).fit(table, target)
    peer = LogisticClassifier(alpha=0.01).fit(table, target)
    np.testing.assert_allclose(ours.predict_proba(table), peer.predict_proba(table), atol=1e-5)
    weights = np.linspace(0.2, 3.0, table.n_rows)
    ours = NeuralNetworkClassifier.from_params(settings | {"decay": 0.1}).fit(table, target, weights)
    peer = LogisticClassifier(alpha=0.1).fit(table, target, weights)
    np.testing.assert_allclose(ours.predict_proba(table), peer.predict_proba(table), atol=1e-5)


def test_without_hidden_units_numbers_are_those_of_a_ridge_regression() -> None:
    values, target = load_diabetes(return_X_y=True)
    settings = {"hidden_units": [], "optimizer": "lbfgs", "decay": 0.02, "epochs": 2000}
    ours = NeuralNetworkRegressor.from_params(settings).fit(values, target)
    peer = LinearRegressor(penalty="ridge", alpha=0.02).fit(values, target)
    np.testing.assert_allclose(ours.predict(values), peer.predict(values), atol=1e-3)


def test_digits_are_read() -> None:
    digits = load_digits()
    held = np.arange(len(digits.target)) % 4 == 3
    model = NeuralNetworkClassifier(
        hidden_units=(64,), activation="relu", epochs=30, scaling="range", rate=0.003, decay=1e-4
    )
    model.fit(digits.data[~held], digits.target[~held])
    assert model.score(digits.data[held], digits.target[held]) >= 0.97


def test_digits_are_read_by_many_units_whatever_the_seed() -> None:
    """By the defaults, whose last epochs no longer throw off what was learned."""
    digits = load_digits()
    held = np.arange(len(digits.target)) % 4 == 3
    for seed in range(3):
        model = NeuralNetworkClassifier(hidden_units=(100,), seed=seed)
        model.fit(digits.data[~held], digits.target[~held])
        assert model.score(digits.data[held], digits.target[held]) >= 0.975


def test_rows_held_out_stop_the_training_and_the_best_weights_are_kept() -> None:
    table, target = read("iris", "class")
    noisy = np.where(np.arange(150) % 5 == 0, np.roll(target.cells, 60), target.cells)
    settings: dict[str, Any] = {
        "hidden_units": (30,),
        "decay": 0.0,
        "validation_fraction": 0.3,
        "patience": 15,
        "seed": 2,
        "batch": None,
    }
    model = NeuralNetworkClassifier.from_params(settings).fit(table, noisy.astype(int))
    notes = model.training_notes()
    judged = model.history_["validation_error"]
    assert notes["stopped"] == "patience"
    assert notes["best_epoch"] == int(np.argmin(judged)) + 1
    assert notes["epochs"] == notes["best_epoch"] + 15 == len(judged)
    shorter = NeuralNetworkClassifier.from_params(settings | {"epochs": notes["best_epoch"]})
    shorter.fit(table, noisy.astype(int))
    assert np.array_equal(shorter.predict_proba(table), model.predict_proba(table))


def test_noise_on_the_inputs_smooths_what_is_learned() -> None:
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, size=(25, 1))
    y = np.sign(x[:, 0]) + 0.5 * rng.normal(size=25)
    settings: dict[str, Any] = {"hidden_units": (30,), "decay": 0.0, "epochs": 1500, "rate": 0.02, "batch": None}
    rough, smooth = (
        NeuralNetworkRegressor.from_params(settings | {"jitter": jitter}).fit(x, y) for jitter in (0.0, 0.4)
    )
    line = np.linspace(-1, 1, 400)[:, None]
    assert np.abs(np.diff(smooth.predict(line))).sum() < 0.7 * np.abs(np.diff(rough.predict(line))).sum()


def test_other_inputs_of_the_same_targets_teach_what_they_have_in_common() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(60, 2))
    target = (values[:, 0] > 0).astype(int)
    learner = NeuralNetworkClassifier(scaling="none", epochs=200, decay=0.0)

    def turned(inputs: Any, chance: Any) -> Any:
        return np.column_stack([inputs[:, 0], inputs[:, 1] * chance.choice([-1.0, 1.0], len(inputs))])

    plain, even = (one.fit(values, target) for one in (learner, learner.augmenting_by(turned).copied()))
    line = np.column_stack([np.zeros(50), np.linspace(0, 2, 50)])

    def difference(model: Any) -> float:
        return float(np.abs(model.predict_proba(line) - model.predict_proba(line * [1, -1])).mean())

    assert difference(even) < 0.5 * difference(plain)  # whether the second input is above 0 does not matter
    with pytest.raises(ParameterError, match="same rows in every step"):
        NeuralNetworkClassifier(optimizer="lbfgs").augmenting_by(turned).fit(values, target)


def test_images_are_moved_with_their_edges_repeated() -> None:
    images = np.random.default_rng(0).normal(size=(30, 6))
    images[:, 4] = 0.5  # a constant column has no input
    images[3, 1] = MISSING
    table = Table(tuple(Column(f"p{place}") for place in range(6)), np.asfortranarray(images))
    inputs = Inputs.fit(table, np.ones(30))
    batch = inputs.batch(table)
    moved = shifting(inputs, 3, 1)(batch.copy(), np.random.default_rng(1))
    cells, before = (decoded(inputs, rows).reshape(-1, 2, 3) for rows in (moved, batch))
    seen = set()
    for one, old in zip(cells, before, strict=True):
        wide = np.pad(old, 1, mode="edge")
        ways = [(y, x) for y in range(3) for x in range(3)]
        fits = [way for way in ways if _alike(one, wide[way[0] : way[0] + 2, way[1] : way[1] + 3])]
        assert fits
        seen.add(fits[0])
    assert len(seen) > 6
    gap = inputs.encoding.kind != POWER
    np.testing.assert_array_equal(moved[:, gap], batch[:, gap])


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    told = np.ones((2, 3), dtype=bool)
    told[1, 1] = False
    return bool(np.allclose(one[told], other[told], atol=1e-9))


def test_what_is_learned_of_moved_rows_holds_for_moved_rows() -> None:
    first, second = [0, 0, 1, 2, 0, 0, 0], [0, 0, 2, 1, 0, 0, 0]
    rows, labels = np.array([first, second] * 10, dtype=np.float64), ["up", "down"] * 10
    rows += np.random.default_rng(0).normal(size=rows.shape) / 100  # a column that does not vary has no input
    settings = {"scaling": "none", "epochs": 150, "image_width": 7, "image_shift": 2}
    model = NeuralNetworkClassifier.from_params(settings).fit(rows, labels)
    for places in (-2, -1, 1, 2):
        assert model.predict(np.roll([first, second], places, axis=1).astype(np.float64)).tolist() == ["up", "down"]


def test_numbers_of_images_are_divided_by_one_unit() -> None:
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(50, 4)) * [1e-3, 1.0, 2.0, 0.0] + [5.0, 1.0, -3.0, 7.0]
    table, weights = Table.from_array(cells), rng.uniform(0.5, 2.0, 50)
    shares = weights / weights.sum()
    mean = shares @ cells
    variances = shares @ (cells - mean) ** 2
    inputs = evenly_scaled(Inputs.fit(table, weights), table, weights)
    expected = ((cells - mean) / np.sqrt(variances[:3].mean()))[:, :3]  # a column that does not vary has no input
    np.testing.assert_allclose(inputs.batch(table), expected, atol=1e-9)
    np.testing.assert_allclose(inputs.mean, 0.0, atol=1e-9)
    np.testing.assert_allclose(decoded(inputs, inputs.batch(table)), cells, atol=1e-9)


def test_digits_are_read_wherever_they_are_moved_to() -> None:
    digits, rng = load_digits(), np.random.default_rng(0)
    held = np.arange(len(digits.target)) % 4 == 3
    images = digits.images[held]
    downs, rights = (np.clip(np.arange(8) - rng.integers(-1, 2, (len(images), 1)), 0, 7) for _ in range(2))
    moved = images[np.arange(len(images))[:, None, None], downs[:, :, None], rights[:, None, :]].reshape(-1, 64)
    model = NeuralNetworkClassifier(hidden_units=(100,), epochs=60, image_width=8, image_shift=1)
    model.fit(digits.data[~held], digits.target[~held])
    assert model.score(moved, digits.target[held]) >= 0.95


@pytest.mark.parametrize(
    ("settings", "field", "words"),
    [
        ({"ignored_error": 0.51}, "ignored_error", "<= 0.5"),
        ({"patience": 5}, "patience", "no rows are held out"),
        ({"image_shift": 1}, "image_shift", "no effect without image_width"),
        ({"image_width": 2}, "image_shift", "image_width has no effect with image_shift = 0"),
        ({"image_width": 3, "image_shift": 1}, "image_width", "makes no whole rows of 2 columns"),
        ({"image_width": 2, "image_shift": 2}, "image_shift", "2 x 1 numbers out of sight; at most 1"),
        ({"hidden_units": [], "activation": "relu"}, "activation", "no effect without hidden units"),
        ({"hidden_units": [], "pruning": "magnitude", "prune_by": "units"}, "prune_by", "without hidden units"),
        ({"image_width": 2, "image_shift": 1, "optimizer": "lbfgs"}, "image_shift", "has no effect with optimizer"),
        ({"optimizer": "rprop", "batch": 8}, "batch", "has no effect with optimizer"),
        ({"optimizer": "lbfgs", "jitter": 0.1}, "jitter", "has no effect with optimizer"),
        ({"optimizer": "lbfgs", "ignored_error": 0.2}, "ignored_error", "has no effect with optimizer"),
        ({"loss": "squared", "outputs": "sigmoid"}, "outputs", "has no effect with loss"),
        ({"hidden_units": [0]}, "hidden_units", "0 to 10 whole numbers >= 1"),
        ({"hidden_units": [5000, 5000]}, "hidden_units", "at most 20000000 are learned"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(settings: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words) as caught:
        NeuralNetworkClassifier.from_params(settings).fit(XOR, [0, 1, 1, 0])
    assert caught.value.field == field


def test_a_training_that_diverges_says_when_and_what_to_lower() -> None:
    rng = np.random.default_rng(0)
    settings = {"optimizer": "sgd", "rate": 100.0, "activation": "linear"}
    model = NeuralNetworkRegressor.from_params(settings)
    with pytest.raises(ParameterError, match=r"diverged at epoch \d+: lower the rate") as caught:
        model.fit(rng.normal(size=(50, 3)), rng.normal(size=50))
    assert caught.value.field == "rate"
    assert not model.is_fitted


def test_columns_of_text_enter_as_they_are() -> None:
    table = Table.from_columns(
        {
            "outlook": ["sunny", "sunny", "overcast", "rain", None, "rain", "overcast", "sunny"],
            "windy": [False, True, False, False, False, True, True, None],
            "humidity": [85.0, 90.0, 86.0, 96.0, 80.0, 70.0, 65.0, None],
        }
    )
    target = ["no", "no", "yes", "yes", "yes", "no", "yes", "no"]
    model = NeuralNetworkClassifier(epochs=500, rate=0.05).fit(table, target)
    assert model.predict(table).tolist() == target
    assert model.inputs_.n_inputs == 3 + 1 + 1 + 1 + 1 + 1  # levels, their gap, windy, its gap, humidity, its gap
