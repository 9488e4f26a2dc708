"""Finding the weights of layers by gradients, as the declared parameters say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from learners.base import Progress
from learners.errors import ParameterError, quoted
from learners.neural.examples import Examples, Learned, Network, Part
from learners.neural.feedforward.layers import Layers
from learners.neural.feedforward.parameters import GradientParameters
from learners.neural.inputs import AnyInputs, expected_inputs
from learners.neural.layout import Layout
from learners.neural.outcome import columns, notes, verdict
from learners.neural.problem import Problem, Sample
from learners.neural.training import Augment, Options, train
from learners.params import learner
from learners.table import Column
from learners.types import IntArray

#: Most weights: 160 MB, and as much again for each vector of an optimiser.
MOST_WEIGHTS = 20_000_000
#: Share of the epochs in which Adam's rate falls to 0, lest the last batches throw off what was learned before.
_SETTLING = 0.25


@learner
class TrainedByGradients(GradientParameters):
    """Base of the networks of layers."""

    network_type: ClassVar[type[Network]] = Layers

    def augmenting_by(self, augment: Augment) -> Self:
        """A copy that is trained on other inputs in each epoch, made by a function of the caller's own.

        Args:
            augment: the training rows' inputs, float64 (n, V) as :attr:`inputs_` makes them, and a source of chance,
                to inputs of the same shape whose targets are the same: images moved by a pixel, say. Not for
                ``optimizer`` ``lbfgs``, which needs the same rows in every step.
        """
        made = self.copied()
        made.augment_ = augment
        return made

    def check_columns(self, columns: Sequence[Column], target: Column | None) -> None:
        n_outputs = 1 if target is None or target.is_numeric or len(target.levels) < 3 else len(target.levels)
        self._check_size(self._sizes(expected_inputs(columns), n_outputs))

    def _sizes(self, n_inputs: int, n_outputs: int) -> tuple[int, ...]:
        """Units of each layer, inputs and outputs among them."""
        return (n_inputs, *map(int, self.hidden_units), n_outputs)

    def _check_size(self, sizes: tuple[int, ...]) -> None:
        n_weights = sum((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(sizes))
        if n_weights > MOST_WEIGHTS:
            raise ParameterError(
                f"{sizes[0]} inputs and hidden_units = {quoted(list(self.hidden_units))} make {n_weights} weights; at "
                f"most {MOST_WEIGHTS} are learned",
                field="hidden_units",
            )

    def _trained(
        self, layout: Layout, loss: str, examples: Examples, progress: Progress, ties: IntArray | None = None
    ) -> Learned:
        """A network of this layout; every weight is free, biases do not decay.

        Args:
            loss: one of :data:`learners.neural.layout.LOSSES`.
            ties: weights that are one, see :class:`learners.neural.problem.Problem`.

        Raises:
            ParameterError: there are too many weights, or training diverged.
        """
        self._check_size(layout.sizes)
        rng, options = np.random.default_rng(examples.seed), self._options(examples.inputs)
        trained = train(
            self._problem(layout, loss, ties),
            layout.initial(rng, self.initial, float(self.initial_scale)),
            sample_of(examples.training),
            options,
            rng,
            validation=None if examples.validation is None else sample_of(examples.validation),
            progress=progress,
        )
        history, error = trained.history, trained.error
        warnings = (
            *verdict(trained.start, error, float(history.errors[0]), options.remedy),
            *self._untaught(trained.start.apart),
        )
        n_weights = layout.n_weights if ties is None else int((ties < 0).sum()) + len(np.unique(ties[ties >= 0]))
        told = notes(n_weights, history, trained.stopped, error)
        return Learned(Layers(layout, trained.theta), columns(history), told, warnings)

    def _untaught(self, apart: float) -> tuple[str, ...]:
        if not 0 < apart < self.ignored_error:
            return ()
        return (
            f"ignored_error = {float(self.ignored_error):g}: before the first step all outputs were nearer to their "
            f"targets, by {apart:.3g} at most, so that nothing was learned",
        )

    def _problem(self, layout: Layout, loss: str, ties: IntArray | None = None) -> Problem:
        decay = np.where(layout.is_bias(), 0.0, float(self.decay))
        return Problem(layout, loss, decay, ties=ties, ignored=float(self.ignored_error))

    def _augment(self, inputs: AnyInputs) -> Augment | None:
        """What makes other training inputs in each epoch."""
        return self.augment_

    def _options(self, inputs: AnyInputs) -> Options:
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
            augment=self._augment(inputs),
            settling=_SETTLING,
            given=self._given("initial_scale" if self.initial == "uniform" else None),
        )


def sample_of(part: Part) -> Sample:
    """The rows as the kernels take them."""
    return Sample(part.rows, part.targets, part.weights)
