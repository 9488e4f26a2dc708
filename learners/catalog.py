"""The one list of learners that are offered, and what can be said of each."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from learners.base import Learner, ModelState
from learners.ensembles import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from learners.errors import ModelFormatError, ParameterError, quoted
from learners.linear import LinearRegressor, LogisticClassifier
from learners.neighbors.classifier import NearestNeighborsClassifier
from learners.neighbors.local_linear import LocalLinearRegressor
from learners.neighbors.regressor import NearestNeighborsRegressor
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
    TimeDelayNetworkClassifier,
    TimeDelayNetworkRegressor,
)
from learners.persist import dump
from learners.rules.classifier import RuleSetClassifier
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.model_tree import ModelTreeRegressor
from learners.trees.regressor import DecisionTreeRegressor

LEARNERS: tuple[type[Learner], ...] = (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ModelTreeRegressor,
    RuleSetClassifier,
    NearestNeighborsClassifier,
    NearestNeighborsRegressor,
    LocalLinearRegressor,
    LinearRegressor,
    LogisticClassifier,
    NeuralNetworkClassifier,
    NeuralNetworkRegressor,
    CascadeCorrelationClassifier,
    CascadeCorrelationRegressor,
    GrowingNetworkClassifier,
    GrowingNetworkRegressor,
    Autoencoder,
    RecurrentNetworkClassifier,
    RecurrentNetworkRegressor,
    TimeDelayNetworkClassifier,
    TimeDelayNetworkRegressor,
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

_BY_NAME = {learner.name: learner for learner in LEARNERS}


def get(name: str) -> type[Learner]:
    """The learner of that name.

    Raises:
        ParameterError: there is none; the message lists those that there are.
    """
    found = _BY_NAME.get(name) if isinstance(name, str) else None
    if found is None:
        raise ParameterError(f"there is no learner {quoted(name)}; there are {', '.join(_BY_NAME)}", field="learner")
    return found


def describe(name: str) -> dict[str, Any]:
    """What a learner is, can do and takes; plain JSON.

    Returns:
        ``name``, ``summary``, ``task``, ``capabilities``, ``explanations``, ``exports`` and
        ``parameters``, a JSON Schema of an object: each property with type, default, range and meaning;
        ``presets``, sets of parameters by name, of which ``parameters`` may name one under ``preset``.
    """
    learner = get(name)
    abilities = asdict(learner.capabilities)
    return {
        "name": learner.name,
        "summary": learner.summary,
        "task": abilities.pop("task"),
        "explanations": list(abilities.pop("explanations")),
        "exports": list(abilities.pop("exports")),
        "capabilities": abilities,
        "parameters": learner.parameter_schema(),
        "presets": {name: preset.to_json() for name, preset in learner.presets.items()},
    }


def describe_all() -> list[dict[str, Any]]:
    """The descriptions of all learners, in the order of the list."""
    return [describe(learner.name) for learner in LEARNERS]


def make(name: str, parameters: dict[str, Any] | None = None) -> Learner:
    """An unfitted learner of that name with these parameters, all checked.

    Raises:
        ParameterError: the learner or a parameter is unknown, a value is not allowed, or two have no sense together.
    """
    made: Learner = get(name).from_params(parameters or {})
    made.check_together()
    return made


def dump_model(learner: Learner) -> bytes:
    """A fitted model as bytes; equal models give equal bytes."""
    return dump(learner.get_state())


def load_model(state: ModelState) -> Learner:
    """A fitted model from what :func:`learners.persist.load` or ``load_file`` read.

    Raises:
        ModelFormatError: the header names no learner of the catalogue, or lacks what its learner needs.
    """
    name = state.header.get("learner")
    learner = _BY_NAME.get(name) if isinstance(name, str) else None
    if learner is None:
        raise ModelFormatError(f"the model was made by {quoted(name)}; this version has {', '.join(_BY_NAME)}")
    try:
        return learner.from_state(state)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError(f"the model of {name} cannot be read: {type(error).__name__}: {error}") from error
