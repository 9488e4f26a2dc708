"""What is said of a training that failed: which parameter is at fault, and that what is advised helps."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from learners.errors import ParameterError
from learners.neural import (
    Autoencoder,
    CascadeCorrelationClassifier,
    CascadeCorrelationRegressor,
    GrowingNetworkRegressor,
    NeuralNetworkClassifier,
    NeuralNetworkRegressor,
    RecurrentNetworkRegressor,
    TimeDelayNetworkRegressor,
)
from learners.table import Table
from tests.learners.neural.test_outcome import FLOWERS, KINDS, LONG, SPECIES, STEPS, step_sums


def test_an_error_beyond_any_sense_is_refused() -> None:
    deep = {"hidden_units": (50,) * 5, "activation": "relu", "initial": "uniform", "initial_scale": 100.0}
    for optimizer in ("adam", "lbfgs"):
        model = NeuralNetworkClassifier.from_params(deep | {"optimizer": optimizer, "epochs": 2})
        with pytest.raises(ParameterError, match=r"training diverged: .* lower initial_scale$") as caught:
            model.fit(FLOWERS, LONG)
        assert caught.value.field == "initial_scale"
        assert not model.is_fitted


def test_steps_of_quickprop_that_grow_too_much_are_named() -> None:
    model = NeuralNetworkClassifier(optimizer="quickprop", growth=10.0)
    with pytest.raises(ParameterError, match=r"diverged.* lower growth \(10\) or the rate \(0.5\)$") as caught:
        model.fit(FLOWERS, KINDS)
    assert caught.value.field == "growth"


def test_what_was_large_before_the_first_step_is_to_blame() -> None:
    deep = {"hidden_units": (50,) * 5, "activation": "relu", "optimizer": "sgd", "rate": 1e-9}
    large = deep | {"initial": "uniform", "initial_scale": 100.0}
    with pytest.raises(ParameterError, match=r"diverged at epoch 1: .* lower initial_scale$") as caught:
        NeuralNetworkClassifier.from_params(large).fit(FLOWERS, LONG)
    assert caught.value.field == "initial_scale"
    with pytest.raises(ParameterError, match=r"training cannot begin: .* lower initial_scale$") as caught:
        NeuralNetworkRegressor.from_params(large | {"hidden_units": (500,) * 10}).fit(FLOWERS[:4], [1.0, 2, 3, 4])
    assert caught.value.field == "initial_scale"
    with pytest.raises(ParameterError, match=r"inputs reach 7.9e\+29 in magnitude: give scaling") as caught:
        NeuralNetworkRegressor.from_params(deep | {"scaling": "none"}).fit(FLOWERS * 1e29, SPECIES)
    assert caught.value.field == "scaling"
    for model in (
        CascadeCorrelationRegressor(scaling="none"),
        CascadeCorrelationClassifier(scaling="none", loss="cross-entropy"),
        GrowingNetworkRegressor(scaling="none", activation="relu"),
        GrowingNetworkRegressor(scaling="none", activation="relu", growth="meiosis"),
    ):
        with pytest.raises(ParameterError, match=r"inputs reach 7.9e\+29 in magnitude: give scaling") as caught:
            model.fit(FLOWERS * 1e29, KINDS if "classifier" in model.name else FLOWERS[:, 0])
        assert caught.value.field == "scaling"


RAMP = np.linspace(0.0, 500.0, 60)


LARGE = FLOWERS * 100.0


ADVISED: dict[str, tuple[Any, dict[str, Any], Any, Any, str, dict[str, Any]]] = {
    "decay of lbfgs": (
        NeuralNetworkClassifier,
        {"decay": 1000.0, "optimizer": "lbfgs"},
        FLOWERS,
        KINDS,
        "lower the decay",
        {"decay": 1.0},
    ),
    "decay of Adam": (NeuralNetworkClassifier, {"decay": 1000.0}, FLOWERS, KINDS, "lower the decay", {"decay": 0.002}),
    "decay of Rprop": (
        RecurrentNetworkRegressor,
        {"decay": 1000.0},
        STEPS,
        step_sums(),
        "lower the decay",
        {"decay": 1e-4},
    ),
    "large inputs of an autoencoder": (
        Autoencoder,
        {"scaling": "none", "epochs": 20},
        LARGE,
        None,
        "give scaling = standard",
        {"scaling": "standard"},
    ),
    "large inputs of growing": (
        GrowingNetworkRegressor,
        {"scaling": "none", "activation": "relu", "epochs": 20},
        LARGE,
        FLOWERS[:, 0],
        "give scaling = standard",
        {"scaling": "standard"},
    ),
    "large inputs of steps": (
        TimeDelayNetworkRegressor,
        {"scaling": "none", "activation": "relu", "epochs": 1},
        Table.from_columns({"past": (RAMP[:, None] + np.arange(4)).tolist()}),
        RAMP,
        "give scaling = standard",
        {"scaling": "standard"},
    ),
    "weights of 0": (
        NeuralNetworkClassifier,
        {"initial": "uniform", "initial_scale": 0.0},
        FLOWERS,
        KINDS,
        "raise initial_scale",
        {"initial_scale": 0.5},
    ),
    "a rate beyond sense": (
        NeuralNetworkRegressor,
        {"rate": 100.0, "activation": "relu"},
        FLOWERS[:, :3],
        FLOWERS[:, 3],
        "another rate",
        {"rate": 0.01},
    ),
    "a rate of meiosis beyond sense": (
        GrowingNetworkRegressor,
        {"rate": 100.0, "growth": "meiosis", "activation": "relu", "epochs": 500},
        FLOWERS[:, :3],
        FLOWERS[:, 3],
        "another rate",
        {"rate": 0.5},
    ),
}


@pytest.mark.parametrize("case", ADVISED)
def test_what_is_advised_is_a_parameter_of_the_learner_and_helps(case: str) -> None:
    learner, given, rows, target, advice, better = ADVISED[case]
    told = learner.from_params(given).fit(rows, target).training_notes()
    assert re.search(advice, told["warnings"][0])
    for name in re.findall(r"(?:lower|raise|give) (?:the )?([a-z]+_[a-z_]+|decay|rate|scaling)", told["warnings"][0]):
        assert name in learner().get_params()
    after = learner.from_params(given | better).fit(rows, target).training_notes()
    assert after["training_error"] < told["training_error"] or "warnings" not in after
