"""A small family of networks on the base of all: one hidden layer of tanh, a few steps of plain descent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.base import Progress
from learners.link import probabilities, with_reference
from learners.neural.classifier import NETWORK_CLASSIFIER, NetworkClassifier
from learners.neural.estimator import NetworkEstimator
from learners.neural.examples import Examples, Learned
from learners.neural.regressor import NETWORK_REGRESSOR, NetworkRegressor
from learners.params import integer, learner


@dataclass(frozen=True, eq=False)
class OneLayer:
    """Scores ``tanh(x A) B``, added up input by input."""

    first: np.ndarray
    second: np.ndarray

    def hidden(self, rows: np.ndarray) -> np.ndarray:
        sums = np.zeros((len(rows), self.first.shape[1]))
        for place, weights in enumerate(self.first):
            sums += rows[:, place, None] * weights
        return np.tanh(sums)

    def scores(self, rows: np.ndarray) -> np.ndarray:
        found = np.zeros((len(rows), self.second.shape[1]))
        hidden = self.hidden(rows)
        for place, weights in enumerate(self.second):
            found += hidden[:, place, None] * weights
        return found

    def input_gradients(self, rows: np.ndarray, unit: int) -> np.ndarray:
        return ((1 - self.hidden(rows) ** 2) * self.second[:, unit]) @ self.first.T

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"hidden": self.first.shape[1]}, {"first": self.first, "second": self.second}

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> OneLayer:
        return cls(arrays["first"], arrays["second"])


@learner
class Family(NetworkEstimator):
    network_type = OneLayer
    steps: int = integer(12, "Steps of descent.", minimum=1)

    def _learn(self, examples: Examples, progress: Progress) -> Learned:
        part, rng = examples.training, np.random.default_rng(examples.seed)
        shares = (part.weights / part.weights.sum())[:, None]
        first = rng.normal(size=(examples.n_inputs, 5)) / np.sqrt(examples.n_inputs)
        second = np.zeros((5, examples.n_outputs))
        errors = []
        for step in range(int(self.steps)):
            hidden = OneLayer(first, second).hidden(part.rows)
            answers = hidden @ second
            if examples.link != "identity":
                answers = probabilities(with_reference(answers.T.copy())).T[:, -examples.n_outputs :]
            wrong = shares * (answers - part.targets)
            errors.append(float((wrong * (answers - part.targets)).sum()))
            back = (wrong @ second.T) * (1 - hidden**2)
            first, second = first - 0.5 * part.rows.T @ back, second - 0.5 * hidden.T @ wrong
            progress((step + 1) / int(self.steps), f"step {step + 1}")
        history = {"step": np.arange(1.0, 1.0 + len(errors)), "training_error": np.array(errors)}
        return Learned(OneLayer(first, second), history, {"hidden_units": 5})


@learner
class SmallClassifier(Family, NetworkClassifier):
    name = "small-network-classifier"
    summary = "Five hidden units."
    capabilities = NETWORK_CLASSIFIER


@learner
class SmallRegressor(Family, NetworkRegressor):
    name = "small-network-regressor"
    summary = "Five hidden units."
    capabilities = NETWORK_REGRESSOR
