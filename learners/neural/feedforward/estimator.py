"""Training a feed-forward network on examples."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from learners.base import Progress
from learners.neural.examples import Examples, Learned, Network, Part
from learners.neural.feedforward.layers import Layers
from learners.neural.feedforward.parameters import TrainedByGradients
from learners.neural.layout import Layout
from learners.neural.problem import Problem, Sample
from learners.neural.targets import Link
from learners.neural.training import Options, Trained, train
from learners.params import learner
from learners.types import FloatArray

#: The activation of the output units that goes with a link.
LAST: dict[Link, str] = {"identity": "linear", "logistic": "sigmoid", "softmax": "softmax", "sigmoids": "sigmoid"}


@learner
class FeedForward(TrainedByGradients):
    """Base of the networks of layers."""

    network_type: ClassVar[type[Network]] = Layers

    def _learn(self, examples: Examples, progress: Progress) -> Learned:
        units = (examples.n_inputs, *map(int, self.hidden_units), examples.n_outputs)
        layout = Layout(units, (*[self.activation] * len(self.hidden_units), LAST[examples.link]))
        self._check_size(layout)
        rng = np.random.default_rng(examples.seed)
        theta = layout.initial(rng, self.initial, float(self.initial_scale))
        validation = None if examples.validation is None else _sample(examples.validation)
        trained = train(
            self._problem(layout),
            theta,
            _sample(examples.training),
            self._options(),
            rng,
            validation=validation,
            progress=progress,
        )
        return _learned(layout, trained)

    def _problem(self, layout: Layout) -> Problem:
        """What is minimised: every weight is free, biases do not decay."""
        decay = np.where(layout.is_bias(), 0.0, float(self.decay))
        return Problem(layout, self._loss(), decay)

    def _loss(self) -> str:
        """One of :data:`learners.neural.layout.LOSSES`."""
        return "squared"

    def _options(self) -> Options:
        batches = self.optimizer in ("sgd", "adam")
        momenta = {"sgd": float(self.momentum), "quickprop": float(self.growth)}
        return Options(
            optimizer=self.optimizer,
            rate=None if self.rate is None else float(self.rate),
            momentum=momenta.get(self.optimizer),
            batch=int(self.batch) if batches and self.batch is not None else None,
            epochs=int(self.epochs),
            patience=None if self.patience is None else int(self.patience),
            jitter=float(self.jitter),
        )


def _sample(part: Part) -> Sample:
    return Sample(part.rows, part.targets, part.weights)


def _learned(layout: Layout, trained: Trained) -> Learned:
    return Learned(Layers(layout, trained.theta), history_columns(trained), _notes(layout, trained))


def history_columns(trained: Trained) -> dict[str, FloatArray]:
    """The history of a training as columns."""
    history = trained.history
    columns = {"epoch": np.arange(1.0, len(history.errors) + 1.0), "training_error": history.errors}
    return columns | ({"validation_error": history.validation} if len(history.validation) else {})


def _notes(layout: Layout, trained: Trained) -> dict[str, Any]:
    history = trained.history
    notes: dict[str, Any] = {
        "weights": layout.n_weights,
        "epochs": len(history.errors),
        "stopped": trained.stopped,
        "training_error": float(history.errors[-1]),
    }
    if len(history.validation):
        best = int(history.best_epoch)
        notes |= {"best_epoch": best, "validation_error": float(history.validation.min())}
    return notes
