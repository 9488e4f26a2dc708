"""What is told of a training's end: the error of the stored network, beside that of a constant answer."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss

from learners.base import Learner
from learners.errors import ParameterError
from learners.neural import (
    Autoencoder,
    CascadeCorrelationClassifier,
    CascadeCorrelationRegressor,
    GrowingNetworkClassifier,
    GrowingNetworkRegressor,
    NeuralNetworkClassifier,
    NeuralNetworkRegressor,
    RecurrentNetworkClassifier,
    RecurrentNetworkRegressor,
    TimeDelayNetworkRegressor,
)
from learners.neural.start import constant_error
from learners.persist import dump, load
from learners.table import Table

FLOWERS, SPECIES = load_iris(return_X_y=True)
KINDS = np.array(["a", "b", "c"])[SPECIES]
LONG = np.where(FLOWERS[:, 0] > 5.8, "yes", "no")
STEPS = Table.from_columns({"past": np.random.default_rng(0).normal(size=(60, 5)).tolist()})


def step_sums() -> Any:
    return np.array([steps[:, 0].sum() for steps in STEPS.columns[0].sequences])


@pytest.mark.parametrize("loss", ["squared", "cross-entropy", "softmax"])
def test_no_constant_answer_has_a_lesser_error(loss: str) -> None:
    """Beside a search for one by numeric minimisation."""
    rng = np.random.default_rng(0)
    targets, weights = rng.dirichlet(np.ones(3), 20), rng.uniform(0, 2, 20)

    def mean_loss(scores: Any) -> float:
        if loss == "squared":
            losses = 0.5 * ((scores - targets) ** 2).sum(axis=1)
        elif loss == "softmax":
            losses = -(targets * log_softmax(scores)).sum(axis=1)
        else:
            losses = -(targets * np.log(expit(scores)) + (1 - targets) * np.log(expit(-scores))).sum(axis=1)
        return float(weights @ losses / weights.sum())

    given = ("squared", "linear") if loss == "squared" else ("cross-entropy", "softmax")
    given = ("cross-entropy", "sigmoid") if loss == "cross-entropy" else given
    least = minimize(mean_loss, np.zeros(3)).fun
    assert constant_error(targets, weights, *given) == pytest.approx(least, rel=1e-8)


def test_of_one_class_alone_a_constant_answer_has_no_error() -> None:
    assert constant_error(np.ones((3, 1)), np.ones(3), "cross-entropy", "sigmoid") == 0


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"optimizer": "sgd"},
        {"optimizer": "quickprop"},
        {"optimizer": "rprop"},
        {"optimizer": "lbfgs"},
        {"jitter": 0.3},
        {"pruning": "magnitude", "prune_epochs": 5},
    ],
)
def test_the_training_error_is_that_of_the_stored_network(settings: dict[str, Any]) -> None:
    classes = NeuralNetworkClassifier.from_params({"epochs": 30} | settings).fit(FLOWERS, KINDS)
    told = classes.training_notes()["training_error"]
    assert told == pytest.approx(log_loss(KINDS, classes.predict_proba(FLOWERS)), rel=1e-9)
    number = FLOWERS[:, 3]
    numbers = NeuralNetworkRegressor.from_params({"epochs": 30} | settings).fit(FLOWERS[:, :3], number)
    squares = 0.5 * ((numbers.predict(FLOWERS[:, :3]) - number) ** 2).mean() / number.var()
    assert numbers.training_notes()["training_error"] == pytest.approx(squares, rel=1e-9)


def test_the_training_error_of_other_families_is_that_of_the_stored_network() -> None:
    growing = [GrowingNetworkClassifier(epochs=300), GrowingNetworkClassifier(growth="meiosis", epochs=300)]
    for model in (*growing, CascadeCorrelationClassifier(max_hidden=2, loss="cross-entropy")):
        told = model.fit(FLOWERS, LONG).training_notes()["training_error"]
        assert told == pytest.approx(log_loss(LONG, model.predict_proba(FLOWERS)), rel=1e-6)
    sums = step_sums()
    for network in (RecurrentNetworkRegressor(epochs=30), TimeDelayNetworkRegressor(epochs=30)):
        squares = 0.5 * ((network.fit(STEPS, sums).predict(STEPS) - sums) ** 2).mean() / sums.var()
        assert network.training_notes()["training_error"] == pytest.approx(squares, rel=1e-9)
    coder = Autoencoder(epochs=30).fit(FLOWERS)
    told = coder.training_notes()["training_error"]  # half the sum over four inputs; answers are means
    assert told == pytest.approx(2 * coder.predict(FLOWERS).mean(), rel=1e-9)


def test_with_rows_held_out_it_is_that_of_the_weights_that_are_kept() -> None:
    """Of as many epochs as were kept the same network comes, whose training rows are those not held out."""
    held = {"validation_fraction": 0.3, "optimizer": "rprop", "rate": 0.5, "decay": 0.0}
    model = NeuralNetworkClassifier.from_params(held).fit(FLOWERS, KINDS)
    notes = model.training_notes()
    assert notes["best_epoch"] < notes["epochs"]
    again = NeuralNetworkClassifier.from_params(held | {"epochs": notes["best_epoch"]}).fit(FLOWERS, KINDS)
    np.testing.assert_array_equal(again.network_.theta, model.network_.theta)
    assert again.training_notes()["training_error"] == notes["training_error"]
    following = model.history_["training_error"][notes["best_epoch"]]  # all rows are one batch: before the next step
    assert notes["training_error"] == pytest.approx(following, rel=1e-12)


WORSE: dict[str, tuple[Learner, Any, Any, str]] = {
    "descent": (
        NeuralNetworkClassifier(optimizer="sgd", rate=10.0, decay=0.0),
        FLOWERS,
        KINDS,
        r"lower the rate \(10\)",
    ),
    "growing": (GrowingNetworkClassifier(optimizer="sgd", rate=100.0), FLOWERS, LONG, r"lower the rate \(100\)"),
    "meiosis": (
        GrowingNetworkClassifier(
            growth="meiosis", spread=100.0, spread_rate=100.0, epochs=300, divide_every=10, settling=0.0
        ),
        FLOWERS,
        LONG,
        r"lower spread \(100\) and spread_rate \(100\)",
    ),
    "recurrent": (
        RecurrentNetworkRegressor(optimizer="adam", rate=100.0),
        STEPS,
        step_sums(),
        r"lower the rate \(100\)",
    ),
    "recurrent-classes": (
        RecurrentNetworkClassifier(optimizer="adam", rate=100.0),
        STEPS,
        np.where(step_sums() > 0, "yes", "no"),
        r"lower the rate \(100\)",
    ),
    "time-delay": (
        TimeDelayNetworkRegressor(optimizer="sgd", rate=100.0, activation="relu"),
        STEPS,
        step_sums(),
        r"lower the rate \(100\)",
    ),
    "large weights": (
        NeuralNetworkClassifier(initial="uniform", initial_scale=100.0, epochs=5, decay=0.0),
        FLOWERS,
        KINDS,
        "lower initial_scale",
    ),
    "few epochs": (Autoencoder(epochs=2), FLOWERS, None, "give more epochs, or another rate"),
    "wide margin": (GrowingNetworkRegressor(margin=100.0), FLOWERS, FLOWERS[:, 0], r"lower margin \(100\)"),
    "autoencoder": (Autoencoder(optimizer="sgd", rate=1.0), FLOWERS, None, r"lower the rate \(1\)"),
}


@pytest.mark.parametrize("case", WORSE)
def test_a_network_that_answers_worse_than_a_constant_warns(case: str) -> None:
    model, rows, target, advice = WORSE[case]
    (warning,) = model.fit(rows, target).training_notes()["warnings"]
    reached = re.escape(f"{model.training_notes()['training_error']:.3g}")
    assert re.match(rf"the network answers worse than a constant would, .* {reached} beside \S+; .*{advice}$", warning)


def test_networks_that_learn_do_not_warn() -> None:
    for model in (
        NeuralNetworkClassifier(epochs=20),
        NeuralNetworkClassifier(epochs=20, validation_fraction=0.2),
        GrowingNetworkClassifier(epochs=200),
        GrowingNetworkClassifier(growth="meiosis", epochs=400),
        CascadeCorrelationClassifier(max_hidden=1),
    ):
        assert "warnings" not in model.fit(FLOWERS, KINDS).training_notes()
    for numbers in (GrowingNetworkRegressor(epochs=200), CascadeCorrelationRegressor(max_hidden=1)):
        assert "warnings" not in numbers.fit(FLOWERS[:, :3], FLOWERS[:, 3]).training_notes()


def test_what_has_no_effect_on_these_rows_is_warned_of() -> None:
    few = GrowingNetworkClassifier(epochs=80, flat_epochs=80).fit(FLOWERS, KINDS).training_notes()
    assert (few["hidden_units"], few["stopped"]) == (1, "epochs")
    assert few["warnings"] == ["no hidden unit was added: flat_epochs = 80 comes not before the end at epochs = 80"]
    settled = GrowingNetworkClassifier(growth="meiosis", epochs=80, divide_every=40).fit(FLOWERS, KINDS)
    (warning,) = settled.training_notes()["warnings"]
    assert warning == (
        "no hidden unit was added: divide_every = 40 comes not before the end at epochs = 80 (of which 40 before means "
        "settle)"
    )
    assert "warnings" not in GrowingNetworkClassifier(epochs=81, flat_epochs=80).fit(FLOWERS, KINDS).training_notes()
    sums = step_sums()
    for shared, is_idle in ((5, True), (4, False)):  # rows have five steps
        model = TimeDelayNetworkRegressor(window=10, shared_steps=shared, epochs=30).fit(STEPS, sums)
        warnings = [one for one in model.warnings_ if one.startswith(f"shared_steps = {shared} has no effect")]
        assert len(warnings) == is_idle
    idle = NeuralNetworkRegressor(ignored_error=50.0, decay=0.0, epochs=3).fit(FLOWERS, FLOWERS[:, 0])
    assert any(one.startswith("ignored_error = 50: before the first step all outputs") for one in idle.warnings_)
    taught = NeuralNetworkRegressor(ignored_error=0.5, decay=0.0, epochs=60).fit(FLOWERS, FLOWERS[:, 0])
    assert taught.warnings_ == ()


def test_tied_weights_count_once() -> None:
    coder = Autoencoder(hidden_units=(3, 2), tied=True, epochs=5).fit(FLOWERS)
    assert coder.training_notes()["weights"] == 4 * 3 + 3 * 2 + 3 + 2 + 3 + 4


@pytest.mark.parametrize("settings", [{"flat_slope": 1.0}, {"growth": "meiosis"}])
def test_progress_of_growth_tells_epochs_of_the_whole(settings: dict[str, Any]) -> None:
    told: list[tuple[float, str]] = []
    model = GrowingNetworkClassifier.from_params(settings | {"epochs": 400, "margin": None})
    model.fit(FLOWERS, KINDS, progress=lambda share, message: told.append((share, message)))
    epochs = [match.groups() for _, message in told if (match := re.search(r"epoch (\d+) of (\d+)", message))]
    assert {of for _, of in epochs} == {"400"}
    counted = [int(done) for done, _ in epochs]
    assert counted == sorted(counted)
    assert counted[-1] == 400
    assert [share for share, _ in told] == sorted(share for share, _ in told)


CONSTANTS: list[Learner] = [
    NeuralNetworkClassifier(epochs=3),
    NeuralNetworkClassifier(epochs=3, pruning="magnitude", prune_epochs=1),
    NeuralNetworkRegressor(epochs=3),
    GrowingNetworkClassifier(epochs=300),
    GrowingNetworkRegressor(epochs=300),
    CascadeCorrelationClassifier(max_hidden=1),
    CascadeCorrelationRegressor(max_hidden=1),
    RecurrentNetworkClassifier(epochs=3),
    RecurrentNetworkRegressor(epochs=3),
]


@pytest.mark.parametrize("model", CONSTANTS, ids=lambda model: model.name)
def test_of_one_answer_to_all_rows_is_told_as_of_others(model: Learner) -> None:
    stepwise = "recurrent" in model.name
    table = STEPS if stepwise else Table.from_array(FLOWERS)
    numbers = step_sums() if stepwise else FLOWERS[:, 0]
    target: Any = np.where(numbers > numbers.mean(), "yes", "no") if "classifier" in model.name else numbers
    told = model.fit(table, target).training_notes()
    told.pop("warnings", None)
    for rows in ([0], [0] * 10):
        one = model.fit(table.take(np.array(rows)), target[rows]).training_notes()
        assert one.pop("warnings")[0].endswith("every row has one answer, and nothing was learned")
        assert set(one) == set(told)
        assert (one["history"], one["epochs"], one["stopped"], one["training_error"]) == ([], 0, "constant", 0)
        again = type(model).from_state(load(dump(model.get_state())))
        assert again.training_notes()["history"] == []


def test_where_no_column_varies_the_error_is_that_of_the_best_constant_answer() -> None:
    rows, labels = np.ones((150, 2)), np.array(["a"] * 30 + ["b"] * 120)
    for model in (NeuralNetworkClassifier(), GrowingNetworkClassifier()):
        notes = model.fit(rows, labels).training_notes()
        assert notes["training_error"] == pytest.approx(log_loss(labels, model.predict_proba(rows)), rel=1e-12)
        assert notes["warnings"][0].startswith("no column varies in the training rows")
    squared = NeuralNetworkClassifier(loss="squared").fit(rows, labels).training_notes()
    assert squared["training_error"] == pytest.approx(0.5 * 0.2 * 0.8, rel=1e-12)
    assert NeuralNetworkRegressor().fit(rows, np.arange(150.0)).training_notes()["training_error"] == pytest.approx(0.5)


def test_a_network_that_learned_nothing_warns_that_it_is_no_better_than_a_constant() -> None:
    still = NeuralNetworkClassifier(initial="uniform", initial_scale=0.0).fit(FLOWERS, KINDS)
    (warning,) = still.warnings_
    assert warning.startswith("the network answers no better than a constant would, with an error of the training rows")
    assert warning.endswith("initial weights are 0, by which all units stay alike: raise initial_scale")
    with pytest.raises(ParameterError, match=r"diverged.* inputs reach 790 in magnitude: give scaling"):
        CascadeCorrelationRegressor(scaling="none").fit(FLOWERS * 100.0, FLOWERS[:, 0])


def test_what_ends_or_divides_nothing_is_refused_by_name() -> None:
    alone = {"most_units": 1, "growth": "meiosis", "epochs": 50}
    with pytest.raises(ParameterError, match=r"divide_every = 5 has no effect, since most_units = 1 leaves no unit"):
        GrowingNetworkRegressor.from_params(alone | {"divide_every": 5}).check_together()
    for learner in (NeuralNetworkRegressor, GrowingNetworkRegressor, RecurrentNetworkRegressor):
        learner.from_params({"validation_fraction": 0.2, "patience": 29}).check_together()
        with pytest.raises(ParameterError, match=r"patience = 29 has no effect, since no rows are held out"):
            learner.from_params({"patience": 29, "epochs": 30}).check_together()
    for pieces, is_idle in ((5, True), (4, False)):  # rows have five steps
        model = RecurrentNetworkRegressor(truncation=pieces, epochs=30).fit(STEPS, step_sums())
        assert any(one.startswith(f"truncation = {pieces} has no effect") for one in model.warnings_) == is_idle
