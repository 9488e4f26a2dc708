"""Cascade correlation as a learner: its parameters, and the growth of a network from examples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from learners.base import Progress
from learners.neural.cascade.activation import ACTIVATIONS
from learners.neural.cascade.growth import grow
from learners.neural.cascade.network import Cascade
from learners.neural.cascade.outputs import LINEAR_SQUARED
from learners.neural.cascade.phase import SOLVED, STATUSES, Phase
from learners.neural.cascade.settings import MIXED, PLACEMENTS, Settings
from learners.neural.cascade.stages import Rows, Stage
from learners.neural.estimator import NONE_HELD_OUT, NetworkEstimator
from learners.neural.examples import Examples, Learned, Network, Part
from learners.neural.outcome import verdict
from learners.neural.start import Start, constant_error
from learners.neural.targets import LAST
from learners.params import choice, integer, learner, like, real
from learners.types import FloatArray

GROWTH_PATIENCE = 3
#: Parameters of hidden units alone.
_OF_GROWTH = (
    "candidates",
    "activation",
    "placement",
    "descendant_factor",
    "growth_patience",
    "candidate_rate",
    "candidate_decay",
    "candidate_patience",
    "candidate_change",
    "candidate_epochs",
)


@learner
class CascadeEstimator(NetworkEstimator):
    """Base of both: a network that starts without hidden units and adds one after the other.

    Fahlman and Lebiere, The cascade-correlation learning architecture (CMU-CS-90-100, 1990); all defaults are those of
    its two spirals but for the rates, which here do not depend on the number of rows. ``history_`` has a row for each
    number of hidden units: the score of the newest unit, the epochs of both phases, the mean loss of the training rows
    and of those held out, and how many answers are not yet within the tolerance.
    """

    network_type: ClassVar[type[Network]] = Cascade

    max_hidden: int = integer(
        25, "Most hidden units; 0 leaves the outputs alone.", minimum=0, maximum=1_000, is_size=True
    )
    candidates: int = integer(
        8, "Size of the pool: candidate units that are trained for each new hidden unit.", minimum=1, maximum=1_000
    )
    activation: str = choice(
        "sigmoid",
        (*ACTIVATIONS, MIXED),
        "Activation of the hidden units: sigmoid from -1/2 to 1/2, hyperbolic tangent, Gaussian, or all in a pool.",
    )
    placement: str = choice(
        "descendant",
        PLACEMENTS,
        "Where candidates would go: below all units, a layer each (descendant); into one hidden layer (sibling); or "
        "half of them into the newest layer and half below it, whichever scores best (both).",
    )
    descendant_factor: float = real(
        0.8,
        "By which the scores of descendants count where siblings compete: the smaller, the flatter the network.",
        minimum=0,
        maximum=10,
        exclusive_minimum=True,
        only_with={"placement": ("both",)},
    )
    tolerance: float = real(
        0.4,
        "Growth ends when each output is nearer than this to what the row wants; of classes these are 0 and 1, so 0.4 "
        "is the 40-20-40 rule. 0 never ends it.",
        minimum=0,
    )
    validation_fraction: float = like(
        NetworkEstimator,
        "validation_fraction",
        meaning="Share of the training rows that are held out: growth stops when hidden units no longer lessen the "
        "loss on them, and the network of least loss on them remains. 0 holds none out.",
    )
    growth_patience: int = integer(
        GROWTH_PATIENCE,
        "Hidden units without a better loss on the rows held out after which growth stops; as many as `max_hidden` or "
        "more never stop it.",
        minimum=1,
    )
    output_rate: float = real(
        1.0,
        "Rate of descent in the output phase; of a linear output over the inputs of a unit.",
        minimum=0,
        maximum=1e6,
        exclusive_minimum=True,
    )
    candidate_rate: float = real(
        1.0,
        "Rate of ascent in the candidate phase, over the inputs of a unit.",
        minimum=0,
        maximum=1e6,
        exclusive_minimum=True,
    )
    step_growth: float = real(
        2.0,
        "Quickprop's mu: by how much a step may be larger than the one before.",
        minimum=0,
        maximum=10,
        exclusive_minimum=True,
    )
    output_decay: float = real(
        1e-6, "Share of each weight to an output that is added to its slope.", minimum=0, maximum=1
    )
    candidate_decay: float = real(0.0, "The same of the weights into candidates.", minimum=0, maximum=1)
    output_patience: int = integer(
        12,
        "Epochs without a change of the loss by output_change after which the output phase ends; as many as "
        "`output_epochs` or more never end it.",
        minimum=1,
    )
    candidate_patience: int = integer(
        8,
        "Epochs without a change of the best score by candidate_change after which the candidate phase ends; as many "
        "as `candidate_epochs` or more never end it.",
        minimum=1,
    )
    output_change: float = real(0.01, "The share by which the loss must change to count as a change.", minimum=0)
    candidate_change: float = real(0.03, "The share by which the best score must change.", minimum=0)
    output_epochs: int = integer(100, "Most epochs of an output phase.", minimum=1, maximum=1_000_000, is_size=True)
    candidate_epochs: int = integer(
        200, "Most epochs of a candidate phase.", minimum=1, maximum=1_000_000, is_size=True
    )
    weight_range: float = real(
        1.0, "First weights are drawn between minus and plus this.", minimum=0, maximum=100, exclusive_minimum=True
    )

    def check_together(self) -> None:
        super().check_together()
        if self.validation_fraction == 0:
            self._refuse_changed(("growth_patience",), NONE_HELD_OUT)
        if self.max_hidden == 0:
            self._refuse_changed(_OF_GROWTH, "max_hidden = 0 leaves the outputs alone; give more")

    def _learn(self, examples: Examples, progress: Progress) -> Learned:
        held = None if examples.validation is None else _rows(examples.validation)
        rng = np.random.default_rng(examples.seed)
        grown = grow(_rows(examples.training), held, self._kind(examples), self._settings(), rng, progress)
        reached = grown.stages[grown.network.n_hidden].loss
        notes = _notes(grown.network, grown.epochs, grown.stopped, reached)
        first, remedy = grown.stages[0], (f"lower output_rate ({float(self.output_rate):g})", "output_rate")
        early = ("give more output_epochs, or another output_rate", "output_epochs")
        if grown.stopped == STATUSES[SOLVED]:
            early = (f"lower tolerance ({float(self.tolerance):g})", "tolerance")
        warnings = verdict(self._start(examples, first.first), reached, first.loss, remedy, early)
        return Learned(grown.network, _history(grown.stages), notes, warnings)

    def _constant(self, scores: FloatArray, error: float, why: str) -> Learned:
        found = super()._constant(scores, error, why)
        empty = Cascade(np.zeros((0, 1)), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((len(scores), 1)))
        return replace(found, history=_history(()), notes=_notes(empty, 0, "constant", error))

    def _start(self, examples: Examples, error: float) -> Start:
        part = examples.training
        constant = constant_error(part.targets, part.weights, self._loss_of(examples.link), LAST[examples.link])
        return Start(error, constant, float(np.abs(part.rows).max()), given=self._given("weight_range"))

    def _kind(self, examples: Examples) -> int:
        """What the outputs make of their sums, and the loss."""
        return LINEAR_SQUARED

    def _settings(self) -> Settings:
        outputs = Phase(
            float(self.output_rate),
            float(self.step_growth),
            float(self.output_decay),
            float(self.output_change),
            int(self.output_patience),
            int(self.output_epochs),
        )
        candidates = Phase(
            float(self.candidate_rate),
            float(self.step_growth),
            float(self.candidate_decay),
            float(self.candidate_change),
            int(self.candidate_patience),
            int(self.candidate_epochs),
        )
        return Settings(
            outputs,
            candidates,
            max_hidden=int(self.max_hidden),
            pool=int(self.candidates),
            activation=self.activation,
            placement=self.placement,
            descendant_factor=float(self.descendant_factor),
            weight_range=float(self.weight_range),
            tolerance=float(self.tolerance),
            growth_patience=int(self.growth_patience),
            given=self._given("weight_range"),
        )


def _rows(part: Part) -> Rows:
    weights = part.weights / part.weights.max()
    return Rows(np.ascontiguousarray(part.rows), np.ascontiguousarray(part.targets), weights / weights.sum())


def _notes(network: Cascade, epochs: int, stopped: str, error: float) -> dict[str, Any]:
    return {
        "hidden_units": network.n_hidden,
        "layers": network.depth,
        "epochs": epochs,
        "stopped": stopped,
        "training_error": error,
        "unit_layers": network.layers.tolist(),
        "unit_activations": [ACTIVATIONS[kind] for kind in network.kinds.tolist()],
    }


def _history(stages: tuple[Stage, ...]) -> dict[str, FloatArray]:
    columns: dict[str, list[float]] = {
        "hidden_units": [stage.hidden for stage in stages],
        "layers": [stage.layers for stage in stages],
        "score": [stage.newest.score if stage.newest else 0.0 for stage in stages],
        "candidate_epochs": [stage.newest.epochs if stage.newest else 0.0 for stage in stages],
        "output_epochs": [stage.epochs for stage in stages],
        "training_error": [stage.loss for stage in stages],
        "wrong": [stage.wrong for stage in stages],
    }
    if stages and stages[0].held_loss is not None:
        columns["validation_error"] = [stage.held_loss or 0.0 for stage in stages]
    return {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
