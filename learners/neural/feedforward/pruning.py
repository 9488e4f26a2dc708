"""Networks that lose what they miss least, as the declared parameters say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from learners.base import Progress
from learners.neural.examples import Examples, Learned
from learners.neural.feedforward.layers import Layers
from learners.neural.feedforward.training import TrainedByGradients, sample_of
from learners.neural.inputs import Inputs
from learners.neural.layout import Layout
from learners.neural.pruning import Pruned, Pruning, prune
from learners.params import choice, integer, learner, real
from learners.types import FloatArray

#: By the parameter's value, the method of :class:`learners.neural.pruning.Pruning`.
_METHODS = {"optimal-brain-damage": "damage", "each-weight": "each-weight", "magnitude": "magnitude"}
_WHERE_PRUNED = {"pruning": tuple(_METHODS)}
#: Share of the learning that the first training is, where pruning follows.
_TRAINED = 0.4


@learner
class Prunable(TrainedByGradients):
    """Base of the networks of layers that may be pruned."""

    pruning: str = choice(
        "none",
        ("none", *_METHODS),
        "What is taken out of the trained network, step by step: what optimal brain damage expects to be missed least "
        "(Le Cun, Denker and Solla 1990); what is missed least when it is left out in turn; or the smallest weights.",
    )
    prune_by: str = choice(
        "links",
        ("links", "units"),
        "Whether single links go, or hidden units with all of theirs.",
        only_with=_WHERE_PRUNED,
    )
    prune_share: float = real(
        0.1,
        "Share of the links or units left that go in one step, at least one.",
        minimum=0,
        maximum=0.9,
        only_with=_WHERE_PRUNED,
    )
    prune_tolerance: float = real(
        0.05,
        "Rise of the error, as a share of that before pruning, at which it ends: of the rows held out to stop by, or "
        "of the training rows where there are none. The last network within it is kept.",
        minimum=0,
        maximum=1_000,
        only_with=_WHERE_PRUNED,
    )
    prune_epochs: int | None = integer(
        50,
        "Epochs of training after each step at most.",
        minimum=1,
        maximum=100_000,
        none_means="what is left is not trained again",
        only_with=_WHERE_PRUNED,
    )

    def _constant(self, scores: FloatArray, error: float, why: str) -> Learned:
        found = super()._constant(scores, error, why)
        if self.pruning == "none":
            return found
        return replace(found, notes=found.notes | {"pruning": {"kept": 0, "curve": []}, "unused_columns": []})

    def _pruned(self, layout: Layout, loss: str, examples: Examples, progress: Progress) -> Learned:
        """A network that was trained and then pruned; its notes have the curve of errors."""
        learned = self._trained(layout, loss, examples, lambda share, message: progress(_TRAINED * share, message))
        retrain = (
            None
            if self.prune_epochs is None
            else replace(self._options(examples.inputs), epochs=int(self.prune_epochs))
        )
        method, by = _METHODS[self.pruning], self.prune_by
        found = prune(
            self._problem(layout, loss),
            cast("Layers", learned.network).theta,
            sample_of(examples.training),
            Pruning(method, by, float(self.prune_share), float(self.prune_tolerance), retrain),
            np.random.default_rng(examples.seed),
            validation=None if examples.validation is None else sample_of(examples.validation),
            progress=lambda share, message: progress(_TRAINED + (1 - _TRAINED) * share, message),
        )
        notes = learned.notes | _errors(found) | {"weights": int(found.mask.sum()), "pruning": _told(found)}
        if isinstance(examples.inputs, Inputs):
            notes["unused_columns"] = _unused(found, examples.inputs)
        return replace(learned, network=Layers(found.layout, found.theta), notes=notes)


def _errors(found: Pruned) -> dict[str, float]:
    """Those of the network that was kept."""
    errors = {"training_error": float(found.curve.errors[found.kept])}
    if len(found.curve.validation):
        errors["validation_error"] = float(found.curve.validation[found.kept])
    return errors


def _told(found: Pruned) -> dict[str, Any]:
    """The curve of errors, which goes on beyond the network that was kept."""
    curve = found.curve
    columns = {"links": curve.links, "units": curve.units, "training_error": curve.errors}
    if len(curve.validation):
        columns["validation_error"] = curve.validation
    steps = zip(*(column.tolist() for column in columns.values()), strict=True)
    return {"kept": found.kept, "curve": [dict(zip(columns, step, strict=True)) for step in steps]}


def _unused(found: Pruned, inputs: Inputs) -> list[str]:
    """Columns that have no link left."""
    linked = np.asarray(found.layout.layers(found.mask)[0][:-1].any(axis=1))
    used = set(inputs.owners(inputs.n_inputs)[linked].tolist())
    return [column.name for index, column in enumerate(inputs.columns) if index not in used]
