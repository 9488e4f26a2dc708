"""Growing networks that learn classes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from learners.base import Capabilities, Progress
from learners.neural.classifier import NETWORK_CLASSIFIER, NetworkClassifier
from learners.neural.growing.estimator import GrowingNetwork
from learners.neural.growing.meiosis import Meiosis, divide
from learners.neural.growing.nodes import Grown
from learners.neural.problem import Problem, Sample
from learners.params import choice, integer, learner, like, real

_NODES = {"growth": ("nodes",)}
_MEIOSIS = {"growth": ("meiosis",)}


@learner
class GrowingNetworkClassifier(GrowingNetwork, NetworkClassifier):
    """Class probabilities by a hidden layer that begins with one unit and gets more where one is missing.

    Minimised is the cross-entropy. Columns enter as :mod:`learners.neural.inputs` says.
    """

    name: ClassVar[str] = "growing-network-classifier"
    summary: ClassVar[str] = (
        "Decides by class probabilities from a hidden layer that begins with one unit and grows while it learns."
    )
    capabilities: ClassVar[Capabilities] = NETWORK_CLASSIFIER

    growth: str = choice(
        "nodes",
        ("nodes", "meiosis"),
        "When a hidden unit is added: where the error has stopped falling (dynamic node creation, Ash 1989); or where "
        "the weights of a unit, which are means with deviations, stay undecided, so that it divides (meiosis networks, "
        "Hanson 1990).",
    )
    optimizer: str = like(GrowingNetwork, "optimizer", only_with=tuple(_NODES.items()))
    rate: float | None = like(GrowingNetwork, "rate", none_means="the optimiser's own, 0.5 of meiosis")
    flat_epochs: int = like(GrowingNetwork, "flat_epochs", only_with=tuple(_NODES.items()))
    flat_slope: float = like(GrowingNetwork, "flat_slope", only_with=tuple(_NODES.items()))
    spread: float = real(0.5, "The weights' deviations at first.", minimum=0, maximum=100, only_with=_MEIOSIS)
    spread_rate: float = real(
        0.5,
        "How much of the gradient's size is added to the deviations in each epoch.",
        minimum=0,
        maximum=100,
        exclusive_minimum=True,
        only_with=_MEIOSIS,
    )
    spread_fade: float = real(
        0.99,
        "What is left of the deviations after each epoch.",
        minimum=0,
        maximum=0.9999,
        exclusive_minimum=True,
        only_with=_MEIOSIS,
    )
    divide_every: int = integer(
        50, "Epochs between two looks for a unit to divide.", minimum=1, maximum=100_000, only_with=_MEIOSIS
    )

    def _grown(
        self,
        problem: Problem,
        sample: Sample,
        validation: Sample | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Grown:
        if self.growth == "nodes":
            return super()._grown(problem, sample, validation, rng, progress)
        scale = float(self.initial_scale)
        return divide(problem, sample, self._meiosis(), rng, scale=scale, validation=validation, progress=progress)

    def _meiosis(self) -> Meiosis:
        return Meiosis(
            rate=0.5 if self.rate is None else float(self.rate),
            spread_rate=float(self.spread_rate),
            spread=float(self.spread),
            fade=float(self.spread_fade),
            every=int(self.divide_every),
            most_units=int(self.most_units),
            epochs=int(self.epochs),
            margin=self._margin(),
            patience=self._patience(),
        )
