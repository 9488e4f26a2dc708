"""Meiosis networks (Hanson 1990): weights that are means with deviations, and units that divide where these are large.

In each epoch every weight is drawn from a normal distribution. The gradient there moves its mean downhill, and its size
widens the deviation, which fades all the while (the stochastic delta rule). A hidden unit whose deviations exceed its
means, among its incoming and among its outgoing weights, is divided: each of the two has incoming weights drawn anew,
and half the outgoing ones and half the deviations. In the last epochs the means settle: they go on by Rprop, without
deviations and divisions.

A linear output answers for every deviation, however large the weights are by then: its gradient is in proportion to
its distance from the means, where that of a logistic unit comes to an end. Deviations that are widened by more than
some hundredth of it grow for good; units then divide until there may be no more, and only the settling makes an answer
of what they have become. Steps of linear outputs are divided by the number of their weights, as the error's curvature
grows with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from learners.base import Progress, no_progress
from learners.errors import ParameterError
from learners.neural.epochs import FAR
from learners.neural.growing.nodes import Grown
from learners.neural.judging import Judge
from learners.neural.layout import Layout
from learners.neural.problem import Problem, Sample
from learners.neural.start import Given
from learners.neural.training import WORK, History, Options, begun, train
from learners.types import FloatArray, IntArray

#: No derivative counts for more: far from its means a network may answer anything.
_STEEPEST = 1.0


@dataclass(frozen=True)
class Meiosis:
    """How to learn.

    Attributes:
        rate: of the means. spread_rate: of the deviations.
        spread: the deviations at first. fade: what is left of them after each epoch, in (0, 1).
        every: epochs between two looks for a unit to divide.
        most_units: of the hidden layer. epochs: the most. settling: share of these, the last, in which means settle.
        goal, margin, patience, given: see ``training.Options``.
    """

    rate: float = 0.5
    spread_rate: float = 0.5
    spread: float = 0.5
    fade: float = 0.99
    every: int = 50
    most_units: int = 20
    epochs: int = 5_000
    settling: float = 0.5
    goal: float | None = None
    margin: float | None = None
    patience: int | None = None
    given: Given = field(default_factory=Given)

    def __post_init__(self) -> None:
        for name in ("rate", "spread_rate", "every", "most_units", "epochs"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise ParameterError(f"{name} is above 0", field=name)
        if not (np.isfinite(self.spread) and self.spread >= 0):
            raise ParameterError("spread is not below 0", field="spread")
        if not 0 <= self.settling < 1:
            raise ParameterError("settling is a share below 1")
        if not 0 < self.fade < 1:
            raise ParameterError("fade is between 0 and 1", field="fade")

    @property
    def moving(self) -> int:
        """Epochs before means settle."""
        return self.epochs - int(self.settling * self.epochs)

    @property
    def remedy(self) -> tuple[str, str]:
        """What to do where training goes astray, and the parameter to change."""
        if max(self.spread, self.spread_rate) > 1.0:
            return f"lower spread ({self.spread:g}) and spread_rate ({self.spread_rate:g})", "spread_rate"
        return f"lower the rate ({self.rate:g})", "rate"


def divide(
    problem: Problem,
    sample: Sample,
    meiosis: Meiosis,
    rng: np.random.Generator,
    *,
    scale: float = 1.0,
    validation: Sample | None = None,
    progress: Progress = no_progress,
) -> Grown:
    """Learn, beginning with the network's few hidden units, and divide those that remain undecided.

    Args:
        problem: of the network to begin with, with one hidden layer; its decay a number, without masks and ties.
        sample: the rows; all of them make one step.
        meiosis: how.
        rng: of all that is drawn.
        scale: means are drawn within +-scale at first.
        validation: rows to judge by after each epoch; the best network is kept.
        progress: told the epoch; may raise ``Cancelled``.

    Returns:
        The network of the means.

    Raises:
        ParameterError: the network has not one hidden layer; or errors or weights grew without bounds: says at which
            epoch, and what to change.
    """
    if problem.layout.n_layers != 2:
        raise ParameterError("units divide in a single hidden layer")
    course = _Course(problem, sample, meiosis, rng, scale, validation)
    while not course.stopped:
        course.epoch()
        if course.done % meiosis.every == 0:
            course.look()
        course.tell(progress)
    if course.stopped in ("epochs", "patience"):
        course.settle(progress)
    return course.grown()


class _Course:
    def __init__(
        self,
        problem: Problem,
        sample: Sample,
        meiosis: Meiosis,
        rng: np.random.Generator,
        scale: float,
        validation: Sample | None,
    ) -> None:
        self._problem, self._sample, self._meiosis, self._rng = problem, sample, meiosis, rng
        self._validation = validation
        self._means = problem.layout.initial(rng, "uniform", scale)
        self._spreads = np.full(len(self._means), meiosis.spread)
        self._errors: list[float] = []
        self._judged: list[float] = []
        self._units: list[int] = []
        self._best = (0, problem.layout, self._means)
        self._epochs = meiosis.moving
        self.stopped = ""
        self._prepare()
        self._start = begun(problem, sample, self._means, self._judge, meiosis.given)

    def _prepare(self) -> None:
        self._judge = Judge(self._problem, self._sample)
        self._aside = None if self._validation is None else Judge(self._problem, self._validation)
        layout = self._problem.layout
        self._rate = self._meiosis.rate
        if layout.activations[-1] == "linear":
            self._rate /= layout.sizes[1] + 1

    @property
    def done(self) -> int:
        return len(self._errors)

    def tell(self, progress: Progress) -> None:
        """Where it is, after so many epochs as are worth it."""
        size, how = self._problem.layout.n_weights * len(self._sample.inputs), self._meiosis
        if self.done % max(1, min(WORK // (3 * size), how.every)) == 0:
            told = f"epoch {self.done} of {how.epochs}, error {self._errors[-1]:.4g}"
            progress(self.done / how.epochs, f"{self._units[-1]} hidden units, {told}")

    def epoch(self) -> None:
        """A step of means and deviations."""
        how = self._meiosis
        drawn = self._means + self._spreads * self._rng.standard_normal(len(self._means))
        slope = np.clip(self._judge.value_and_gradient(drawn)[1], -_STEEPEST, _STEEPEST)
        with np.errstate(all="ignore"):
            self._means = self._means - self._rate * slope
            self._spreads = how.fade * (self._spreads + how.spread_rate * np.abs(slope))
            error, apart = self._judge.error(self._means)
            if not (error < FAR and np.abs(self._means).max() < FAR and self._spreads.max() < FAR):
                raise self._start.diverged(self.done + 1, *how.remedy)
        self._errors.append(error)
        self._units.append(self._problem.layout.sizes[1])
        if self._aside is None or self._is_best(self._aside):
            self._best = (self.done, self._problem.layout, self._means)
        self.stopped = self._ended(error, apart)

    def _is_best(self, aside: Judge) -> bool:
        before = min(self._judged, default=np.inf)
        self._judged.append(aside.error(self._means)[0])
        return self._judged[-1] < before

    def _ended(self, error: float, apart: float) -> str:
        how = self._meiosis
        if how.goal is not None and error <= how.goal:
            return "goal"
        if how.margin is not None and apart <= how.margin:
            return "margin"
        if how.patience is not None and self.done - self._best[0] >= how.patience:
            return "patience"
        return "epochs" if self.done >= self._epochs else ""

    def look(self) -> None:
        """Divide the least decided unit, if there is any whose deviations exceed its means."""
        layout = self._problem.layout
        if self.stopped or layout.sizes[1] >= self._meiosis.most_units:
            return
        undecided = indecision(layout, self._means, self._spreads)
        if undecided.max() > 1.0:
            unit = int(undecided.argmax())
            layout, self._means, self._spreads = divided(layout, self._means, self._spreads, unit, self._rng)
            self._problem = replace(self._problem, layout=layout)
            self._prepare()

    def settle(self, progress: Progress) -> None:
        """Let the best means so far go on alone."""
        how, begun = self._meiosis, self.done
        if begun == how.epochs or not how.settling:
            return
        _, layout, means = self._best
        self._problem = replace(self._problem, layout=layout)
        options = Options("rprop", batch=None, epochs=how.epochs - begun, before=begun)
        options = replace(options, goal=how.goal, margin=how.margin, patience=how.patience)

        def tell(share: float, message: str) -> None:
            progress((begun + share * options.epochs) / how.epochs, f"{layout.sizes[1]} hidden units settle, {message}")

        found = train(
            self._problem,
            means,
            self._sample,
            options,
            self._rng,
            validation=self._validation,
            start=self._start,
            progress=tell,
        )
        history = found.history
        if self._validation is None or history.validation.min() < min(self._judged):
            self._best = (begun + history.best_epoch, layout, found.theta)
        self._errors += history.errors.tolist()
        self._judged += history.validation.tolist()
        self._units += [layout.sizes[1]] * len(history.errors)
        self.stopped = found.stopped

    def grown(self) -> Grown:
        """The best network, or the last."""
        best_epoch, layout, means = self._best
        units: IntArray = np.array(self._units)
        history = History(np.array(self._errors), np.array(self._judged), best_epoch)
        return Grown(layout, means, history, units, self.stopped, self._start)


def indecision(layout: Layout, means: FloatArray, spreads: FloatArray) -> FloatArray:
    """By hidden unit the sum of its deviations over that of its means' sizes, the lesser of both sides; shape (H,)."""
    (into, out), (into_spread, out_spread) = layout.layers(np.abs(means)), layout.layers(spreads)
    with np.errstate(divide="ignore", invalid="ignore"):
        before = into_spread.sum(axis=0) / into.sum(axis=0)
        after = out_spread[:-1].sum(axis=1) / out[:-1].sum(axis=1)
    found: FloatArray = np.nan_to_num(np.minimum(before, after), nan=0.0)
    return found


def divided(
    layout: Layout, means: FloatArray, spreads: FloatArray, unit: int, rng: np.random.Generator
) -> tuple[Layout, FloatArray, FloatArray]:
    """The network with two units in place of one: layout, means and deviations."""
    (into, out), (into_spread, out_spread) = layout.layers(means), layout.layers(spreads)
    drawn = into[:, [unit]] + into_spread[:, [unit]] * rng.standard_normal((len(into), 2))
    halves = out[[unit, unit]] / 2
    wider = np.column_stack([np.delete(into, unit, axis=1), drawn])
    longer = np.vstack([np.delete(out[:-1], unit, axis=0), halves, out[-1]])
    narrow, short = into_spread[:, [unit, unit]] / 2, out_spread[[unit, unit]] / 2
    wider_spread = np.column_stack([np.delete(into_spread, unit, axis=1), narrow])
    longer_spread = np.vstack([np.delete(out_spread[:-1], unit, axis=0), short, out_spread[-1]])
    sizes = (layout.sizes[0], layout.sizes[1] + 1, layout.sizes[2])
    pairs = ((wider, longer), (wider_spread, longer_spread))
    found = [np.concatenate([first.ravel(), second.ravel()]) for first, second in pairs]
    return Layout(sizes, layout.activations), found[0], found[1]
