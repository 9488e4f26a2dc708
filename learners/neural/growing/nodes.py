"""Dynamic node creation (Ash 1989): a hidden layer that begins with a unit and gets another when learning stalls."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from learners.base import Progress, no_progress
from learners.errors import ParameterError
from learners.neural.layout import Layout
from learners.neural.problem import Problem, Sample
from learners.neural.start import Start
from learners.neural.training import History, Options, Trained, train
from learners.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Grown:
    """What growing comes to.

    Attributes:
        layout: the network's. theta: its weights, shape (P,).
        history: errors by epoch, over all sizes.
        units: hidden units in each epoch, shape (E,).
        stopped: ``goal``, ``margin``, ``epochs``, ``units`` (there may be no more) or ``patience`` (the
            validation error became no less).
        start: where it began.
    """

    layout: Layout
    theta: FloatArray
    history: History
    units: IntArray
    stopped: str
    start: Start


def create_nodes(
    problem: Problem,
    sample: Sample,
    options: Options,
    rng: np.random.Generator,
    *,
    most_units: int,
    scale: float = 1.0,
    validation: Sample | None = None,
    progress: Progress = no_progress,
) -> Grown:
    """Train, and add a hidden unit whenever the error curve is flat, until a goal is met.

    Args:
        problem: of the network to begin with, with one hidden layer; its decay a number, without masks and ties.
        sample: the rows.
        options: of the training with each number of units; ``flat`` and ``slope`` say what is flat, ``epochs`` holds
            for all sizes together.
        rng: new weights and the order of rows.
        most_units: of the hidden layer.
        scale: new weights are drawn within +-scale.
        validation: rows to judge by; the network of their least error is kept.
        progress: told the epoch; may raise ``Cancelled``.

    Raises:
        ParameterError: the network has not one hidden layer, ``flat`` is not given, or training diverged.
    """
    if problem.layout.n_layers != 2:
        raise ParameterError("dynamic node creation grows a single hidden layer")
    if options.flat is None:
        raise ParameterError("what is flat is to be said: flat and slope", field="flat")
    growth = _Growth(options.epochs)
    theta = problem.layout.initial(rng, "uniform", scale)
    while True:
        left = replace(options, epochs=options.epochs - growth.done, before=growth.done)
        tell = growth.portion(progress, problem.layout.sizes[1])
        trained = train(
            problem,
            theta,
            sample,
            left,
            rng,
            validation=validation,
            start=growth.start,
            progress=tell,
        )
        growth.add(problem.layout, trained)
        stopped = growth.ended(trained, most_units)
        if stopped:
            return growth.grown(stopped)
        layout, theta = widened(problem.layout, trained.theta, rng, scale)
        problem = replace(problem, layout=layout)


def widened(layout: Layout, theta: FloatArray, rng: np.random.Generator, scale: float) -> tuple[Layout, FloatArray]:
    """The network with another unit in its hidden layer, the last, whose weights are drawn within +-scale."""
    into, out = layout.layers(theta)
    wider = np.column_stack([into, rng.uniform(-scale, scale, len(into))])
    longer = np.vstack([out[:-1], rng.uniform(-scale, scale, out.shape[1]), out[-1]])
    sizes = (layout.sizes[0], layout.sizes[1] + 1, layout.sizes[2])
    return Layout(sizes, layout.activations), np.concatenate([wider.ravel(), longer.ravel()])


class _Growth:
    """The networks of all sizes so far."""

    def __init__(self, epochs: int) -> None:
        self._epochs = epochs
        self._stretches: list[tuple[Layout, Trained]] = []
        self._best = 0

    @property
    def start(self) -> Start | None:
        """Where the first training began."""
        return self._stretches[0][1].start if self._stretches else None

    @property
    def done(self) -> int:
        return sum(len(trained.history.errors) for _, trained in self._stretches)

    def portion(self, progress: Progress, units: int) -> Progress:
        """Progress of one size."""
        done = self.done

        def tell(share: float, message: str) -> None:
            so_far = done + share * (self._epochs - done)
            progress(so_far / self._epochs, f"{units} hidden units, {message}")

        return tell

    def add(self, layout: Layout, trained: Trained) -> None:
        """After the training with one size."""
        self._stretches.append((layout, trained))

    def ended(self, trained: Trained, most_units: int) -> str:
        """Why growing ends here, or an empty text."""
        last = len(self._stretches) - 1
        self._best = self._least() if len(trained.history.validation) else last
        if trained.stopped in ("goal", "margin"):
            return trained.stopped
        if self.done >= self._epochs:
            return "epochs"
        if self._best < last:
            return "patience"
        return "units" if self._stretches[-1][0].sizes[1] >= most_units else ""

    def _least(self) -> int:
        return int(np.argmin([trained.history.validation.min() for _, trained in self._stretches]))

    def grown(self, stopped: str) -> Grown:
        """All of it, with the network of the least validation error, or the last."""
        layout, kept = self._stretches[self._best]
        histories = [trained.history for _, trained in self._stretches]
        lengths = [len(history.errors) for history in histories]
        best = sum(lengths[: self._best]) + kept.history.best_epoch
        errors, judged = (
            np.concatenate(parts) for parts in zip(*((h.errors, h.validation) for h in histories), strict=True)
        )
        units = np.repeat([one.sizes[1] for one, _ in self._stretches], lengths)
        start = self._stretches[0][1].start
        return Grown(layout, kept.theta, History(errors, judged, best), units, stopped, start)
