"""Growing networks as learners of tables: declared parameters, and learning from examples."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from learners.base import Progress
from learners.neural.estimator import NetworkEstimator
from learners.neural.examples import Examples, Learned, Network, Part
from learners.neural.feedforward.layers import Layers
from learners.neural.growing.meiosis import Meiosis, divide
from learners.neural.growing.nodes import Grown, create_nodes
from learners.neural.judging import error
from learners.neural.layout import Layout
from learners.neural.outcome import columns, notes, verdict
from learners.neural.problem import Problem, Sample
from learners.neural.targets import LAST
from learners.neural.training import Options
from learners.params import choice, integer, learner, real
from learners.types import FloatArray

_NODES = {"growth": ("nodes",)}
_MEIOSIS = {"growth": ("meiosis",)}


@learner
class GrowingNetwork(NetworkEstimator):
    """Base of the networks whose single hidden layer begins with one unit."""

    network_type: ClassVar[type[Network]] = Layers

    growth: str = choice(
        "nodes",
        ("nodes", "meiosis"),
        "When a hidden unit is added: where the error has stopped falling (dynamic node creation, Ash 1989); or where "
        "the weights of a unit, which are means with deviations, stay undecided, so that it divides (meiosis networks, "
        "Hanson 1990).",
    )
    most_units: int = integer(20, "Hidden units at most.", minimum=1, maximum=1_000, is_size=True)
    activation: str = choice(
        "tanh",
        ("sigmoid", "tanh", "relu"),
        "What hidden units make of their weighted sum: 1 / (1 + exp(-s)), tanh(s), or s where it is positive.",
    )
    optimizer: str = choice(
        "rprop",
        ("rprop", "quickprop", "adam", "sgd"),
        "How weights are found from the gradient of the loss, all rows making one step; see neural-network-classifier.",
        only_with=_NODES,
    )
    rate: float | None = real(
        None,
        "Length of a step; of Rprop the first step of each weight.",
        minimum=1e-9,
        maximum=100,
        none_means="the optimiser's own, 0.5 of meiosis",
    )
    epochs: int = integer(
        5_000,
        "How often training goes through all rows at most, all sizes taken together.",
        minimum=1,
        maximum=100_000,
        is_size=True,
    )
    flat_epochs: int = integer(
        100,
        "Over how many epochs the error must fall, or a unit is added.",
        minimum=2,
        maximum=100_000,
        only_with=_NODES,
    )
    flat_slope: float = real(
        0.05,
        "How far it must fall over these, as a share of the error at the last addition.",
        minimum=0,
        maximum=1,
        only_with=_NODES,
    )
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
    settling: float = real(
        0.5,
        "Share of the epochs, the last ones, in which the means go on by Rprop, without deviations and divisions.",
        minimum=0,
        maximum=0.99,
        only_with=_MEIOSIS,
    )
    margin: float | None = real(
        0.4,
        "Growth ends where every output is within this of its target: 1 and 0 of classes, standard deviations of "
        "numbers.",
        minimum=0,
        maximum=100,
        none_means="it does not end so",
    )
    decay: float = real(
        1e-4,
        "Weight decay: what is minimised is the mean loss and half of this times the sum of the squared weights, "
        "biases left out.",
        minimum=0,
        maximum=1_000,
    )
    patience: int | None = integer(
        500,
        "Where rows are held out: epochs without a lower error on them after which training stops, of each size with "
        "nodes; as many as `epochs` or more never stop it. In any case the network with the least one is kept.",
        minimum=1,
        none_means="training does not stop early",
    )
    initial_scale: float = real(
        1.0, "New weights are drawn evenly from within this of 0.", minimum=0, maximum=100, exclusive_minimum=True
    )

    def check_together(self) -> None:
        super().check_together()
        self._check_patience()
        if self.most_units == 1:
            self._refuse_changed(("divide_every",), "most_units = 1 leaves no unit to divide; give more")

    def _learn(self, examples: Examples, progress: Progress) -> Learned:
        layout = Layout((examples.n_inputs, 1, examples.n_outputs), (self.activation, LAST[examples.link]))
        problem = Problem(layout, self._loss_of(examples.link), float(self.decay))
        validation = None if examples.validation is None else _sample(examples.validation)
        rng, sample = np.random.default_rng(examples.seed), _sample(examples.training)
        found = self._grown(problem, sample, validation, rng, progress)
        history, reached = found.history, error(replace(problem, layout=found.layout), sample, found.theta)
        remedy = self._meiosis().remedy if self.growth == "meiosis" else self._options().remedy
        early = (f"lower margin ({self.margin:g})", "margin") if found.stopped == "margin" else None
        warnings = (
            *verdict(found.start, reached, float(history.errors[0]), remedy, early),
            *self._ungrown(found.stopped),
        )
        told = {"hidden_units": found.layout.sizes[1]} | notes(found.layout.n_weights, history, found.stopped, reached)
        by_epoch = columns(history) | {"hidden_units": found.units.astype(np.float64)}
        return Learned(Layers(found.layout, found.theta), by_epoch, told, warnings)

    def _constant(self, scores: FloatArray, error: float, why: str) -> Learned:
        found = super()._constant(scores, error, why)
        by_epoch = found.history | {"hidden_units": np.zeros(0)}
        return replace(found, history=by_epoch, notes={"hidden_units": 0} | found.notes)

    def _ungrown(self, stopped: str) -> tuple[str, ...]:
        """A warning where the epochs were too few for a unit to be added."""
        meiosis = self.growth == "meiosis"
        name, every = ("divide_every", self.divide_every) if meiosis else ("flat_epochs", self.flat_epochs)
        epochs = self._meiosis().moving if meiosis else int(self.epochs)
        if every < epochs or self.most_units == 1 or stopped in ("goal", "margin"):
            return ()
        moving = f" (of which {epochs} before means settle)" if meiosis and epochs < self.epochs else ""
        return (
            f"no hidden unit was added: {name} = {int(every)} comes not before the end at epochs = "
            f"{int(self.epochs)}{moving}",
        )

    def _grown(
        self,
        problem: Problem,
        sample: Sample,
        validation: Sample | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Grown:
        """The network that comes of growing."""
        scale = float(self.initial_scale)
        if self.growth == "meiosis":
            return divide(problem, sample, self._meiosis(), rng, scale=scale, validation=validation, progress=progress)
        return create_nodes(
            problem,
            sample,
            self._options(),
            rng,
            most_units=int(self.most_units),
            scale=scale,
            validation=validation,
            progress=progress,
        )

    def _options(self) -> Options:
        return Options(
            optimizer=self.optimizer,
            rate=None if self.rate is None else float(self.rate),
            batch=None,
            epochs=int(self.epochs),
            margin=self._margin(),
            patience=self._patience(),
            flat=int(self.flat_epochs),
            slope=float(self.flat_slope),
            given=self._given("initial_scale"),
        )

    def _meiosis(self) -> Meiosis:
        return Meiosis(
            rate=0.5 if self.rate is None else float(self.rate),
            spread_rate=float(self.spread_rate),
            spread=float(self.spread),
            fade=float(self.spread_fade),
            every=int(self.divide_every),
            most_units=int(self.most_units),
            epochs=int(self.epochs),
            settling=float(self.settling),
            given=self._given("initial_scale"),
            margin=self._margin(),
            patience=self._patience(),
        )

    def _margin(self) -> float | None:
        return None if self.margin is None else float(self.margin)

    def _patience(self) -> int | None:
        return None if self.patience is None else int(self.patience)


def _sample(part: Part) -> Sample:
    return Sample(part.rows, part.targets, part.weights)
