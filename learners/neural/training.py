"""Training a network: epochs with any optimiser, until something ends it, with what happened kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from learners.base import Progress, no_progress
from learners.errors import DataError, ParameterError, quoted
from learners.neural import epochs, optimizers
from learners.neural.judging import Judge, weighed
from learners.neural.optimizers import RULES, How, Run
from learners.neural.problem import Problem, Sample
from learners.neural.quasi_newton import Ends, minimise
from learners.neural.start import Given, Start, constant_error
from learners.types import FloatArray, IntArray

OPTIMIZERS = (*RULES, "lbfgs")
#: Rates and momenta where none are given.
_RATES = {"sgd": 0.1, "quickprop": 0.5, "rprop": 0.05, "adam": 0.01, "lbfgs": 1.0}
_MOMENTA = {"sgd": 0.9, "quickprop": 1.75}
_ENDS = {
    epochs.GOAL: "goal",
    epochs.MARGIN: "margin",
    epochs.PATIENCE: "patience",
    epochs.RUNNING: "epochs",
}
#: Multiplications between two reports of progress, some tens of milliseconds; and the most epochs.
WORK, _MOST_EPOCHS = 100_000_000, 1_000
#: Inputs and a source of chance to inputs whose targets are the same, shape (n, V).
Augment = Callable[[FloatArray, np.random.Generator], FloatArray]


@dataclass(frozen=True)
class Options:
    """How to train.

    Attributes:
        optimizer: one of :data:`OPTIMIZERS`.
        rate: of the steps, > 0; ``None``: the optimiser's own (rprop: size of the first steps; lbfgs has none).
        momentum: of sgd, in [0, 1); of quickprop the most that a step grows, > 1; ``None``: 0.9 and 1.75.
        batch: rows between two steps of sgd and adam; ``None``: all, as the others always have.
        epochs: the most.
        patience: epochs without a better validation error after which it ends.
        goal: training error at which it ends.
        margin: distance of all outputs from their targets at which it ends; 0.4 is the 40-20-40 rule for targets 0, 1.
        flat: epochs after each of which it ends if the error has fallen, since their first, by less than ``slope``.
        slope: for ``flat``, as a share of the error at the start.
        jitter: standard deviation of noise added to each input, drawn anew for each epoch.
        augment: other inputs of the same targets, made anew for each epoch.
        before: epochs of the whole training that this is a part of, told of with its own.
        given: what advice goes by.
        settling: share of the epochs, the last, in which the rate of adam by batches falls evenly to 0; in [0, 1].

    Raises:
        ParameterError: a value is out of its range, or goes not with another.
    """

    optimizer: str = "adam"
    rate: float | None = None
    momentum: float | None = None
    batch: int | None = 32
    epochs: int = 200
    patience: int | None = None
    goal: float | None = None
    margin: float | None = None
    flat: int | None = None
    slope: float = 0.05
    jitter: float = 0.0
    augment: Augment | None = None
    before: int = 0
    settling: float = 0.0
    given: Given = field(default_factory=Given)

    def __post_init__(self) -> None:
        if self.optimizer not in OPTIMIZERS:
            raise ParameterError(
                f"optimizer {quoted(self.optimizer)} is none of {', '.join(OPTIMIZERS)}", field="optimizer"
            )
        for name in ("rate", "momentum", "batch", "epochs", "patience", "flat"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and (value > 0 or (name == "momentum" and value == 0))):
                raise ParameterError(f"{name} is above 0, not {quoted(value)}", field=name)
        if not (np.isfinite(self.jitter) and self.jitter >= 0):
            raise ParameterError(f"jitter is not below 0, not {quoted(self.jitter)}", field="jitter")
        if not 0 <= self.settling <= 1:
            raise ParameterError(f"settling is from 0 to 1, not {quoted(self.settling)}", field="settling")
        if self.optimizer == "lbfgs" and self.is_varied:
            raise ParameterError("lbfgs needs the same rows in every step: no jitter, no other inputs", field="jitter")
        if self.optimizer == "lbfgs" and self.flat is not None:
            raise ParameterError("lbfgs ends by itself where the error is flat", field="flat")

    @property
    def is_varied(self) -> bool:
        """Whether inputs are others in each epoch."""
        return self.jitter > 0 or self.augment is not None

    @property
    def step(self) -> float:
        """The rate, given or the optimiser's own."""
        return float(_RATES[self.optimizer] if self.rate is None else self.rate)

    @property
    def remedy(self) -> tuple[str, str]:
        """What to do where training goes astray, and the parameter to change."""
        if self.optimizer == "lbfgs":
            return "raise the decay", "decay"
        if self.optimizer == "quickprop" and (self.momentum or 0.0) > _MOMENTA["quickprop"]:
            return f"lower growth ({self.momentum:g}) or the rate ({self.step:g})", "growth"
        return f"lower the rate ({self.step:g})", "rate"

    def how(self, n_rows: int) -> How:
        """For the kernel."""
        batch = n_rows if self.batch is None or self.optimizer in ("quickprop", "rprop") else self.batch
        return How(
            RULES.index(self.optimizer),
            min(batch, n_rows),
            self.step,
            float(_MOMENTA.get(self.optimizer, 0.0) if self.momentum is None else self.momentum),
            -1.0 if self.goal is None else float(self.goal),
            -1.0 if self.margin is None else float(self.margin),
            self.epochs if self.patience is None else self.patience,
            self.epochs,
            float(self.settling * self.epochs) if self.optimizer == "adam" and batch < n_rows else 0.0,
        )


@dataclass(frozen=True, eq=False)
class History:
    """What happened, epoch by epoch.

    Attributes:
        errors: mean loss over the training rows as they were met in each epoch, noise and all, while weights moved
            (where all rows are one batch: before its step; of lbfgs: after it), shape (E,).
        validation: mean loss over the validation rows after each epoch, shape (E,), or empty.
        best_epoch: the one whose weights were kept, counted from 1: of the least validation error, or the last.
    """

    errors: FloatArray
    validation: FloatArray = field(default_factory=lambda: np.zeros(0))
    best_epoch: int = 0


@dataclass(frozen=True, eq=False)
class Trained:
    """What training comes to.

    Attributes:
        theta: weights, shape (P,), finite.
        history: errors by epoch.
        stopped: ``epochs``, ``goal``, ``margin``, ``patience``, ``flat`` or ``converged`` (lbfgs).
        start: where it began.
        error: mean loss of the training rows at these weights, as they are: without noise.
    """

    theta: FloatArray
    history: History
    stopped: str
    start: Start
    error: float


def train(
    problem: Problem,
    theta: FloatArray,
    sample: Sample,
    options: Options,
    rng: np.random.Generator,
    *,
    validation: Sample | None = None,
    start: Start | None = None,
    progress: Progress = no_progress,
) -> Trained:
    """Move weights to where the loss with decay is less.

    Args:
        problem: what is minimised.
        theta: weights to begin with, shape (P,).
        sample: rows to learn from; those of weight 0 are as if absent.
        options: how.
        rng: the order of rows, and noise.
        validation: rows to judge by after each epoch; the best weights are kept, and ``patience`` may end it.
        start: where the training began that this is a part of; ``None``: here.
        progress: told the epoch and error; may raise ``Cancelled``.

    Raises:
        ParameterError: errors or weights grew without bounds; says at which epoch, and names the rate, or what made
            them large before the first step.
    """
    judged = None if validation is None else weighed(validation)
    own = Judge(problem, sample, 0 if judged is None else len(judged.inputs))
    sample = own.sample
    size = f"{len(sample.inputs)} rows, {problem.layout.n_weights} weights"
    progress(0.0, f"epoch {options.before + 1} of {options.before + options.epochs} begins: {size}")
    if options.optimizer == "lbfgs" and problem.ignored:
        raise ParameterError("lbfgs follows the whole loss: no errors are ignored", field="ignored")
    if start is None:
        start = begun(problem, sample, problem.held(theta), own, options.given)
    if options.optimizer == "lbfgs":
        found, history, stopped = _quasi_newton(problem, theta, sample, options, judged, start, progress)
    else:
        run = _Run(problem, theta, own, judged, options, start)
        while run.is_on:
            n_epochs = run.epochs_at_once()
            run.go(run.varied(rng), run.orders(n_epochs, rng), n_epochs)
            progress(run.done / options.epochs, run.told())
        found, history, stopped = run.found()
    return Trained(found, history, stopped, start, own.error(found)[0])


def begun(problem: Problem, sample: Sample, theta: FloatArray, own: Judge, given: Given) -> Start:
    """Where training begins with these weights, by a judge of the rows.

    Raises:
        ParameterError: that is not finite; names what made it large.
    """
    constant = constant_error(sample.targets, sample.weights, problem.loss, problem.layout.activations[-1])
    error, apart = own.error(theta)
    with np.errstate(over="ignore", invalid="ignore"):
        penalty = 0.5 * float(problem.hold().decay @ theta**2)
    return Start(error, constant, float(np.abs(sample.inputs).max(initial=0.0)), apart, penalty, not theta.any(), given)


class _Run:
    def __init__(
        self,
        problem: Problem,
        theta: FloatArray,
        own: Judge,
        judged: Sample | None,
        options: Options,
        begun: Start,
    ) -> None:
        sample = own.sample
        judge = sample._replace(inputs=sample.inputs[:0]) if judged is None else judged
        self._problem, self._sample, self._judge, self._options, self._begun = problem, sample, judge, options, begun
        self._how = options.how(len(sample.inputs))
        self._net, self._hold, self._space = own.net, own.hold, own.space
        size = problem.layout.n_weights
        start = problem.held(theta)
        second = np.full(size, self._how.rate if options.optimizer == "rprop" else 0.0)
        marks = epochs.fresh_marks()
        self._run = Run(start, start.copy(), np.zeros(size), np.zeros(size), second, np.zeros(0), np.zeros(0), marks)
        self._is_flat = False
        self.errors: list[FloatArray] = []
        self._judged: list[FloatArray] = []

    @property
    def done(self) -> int:
        return int(self._run.marks[optimizers.EPOCHS])

    @property
    def is_on(self) -> bool:
        return (
            not self._is_flat
            and self._run.marks[optimizers.ENDED] == epochs.RUNNING
            and self.done < self._options.epochs
        )

    def told(self) -> str:
        """Where it is."""
        before = self._options.before
        return f"epoch {before + self.done} of {before + self._options.epochs}, error {self.errors[-1][-1]:.4g}"

    def epochs_at_once(self) -> int:
        if self._options.is_varied:
            return 1
        most = _MOST_EPOCHS if self._options.flat is None else self._options.flat - self.done % self._options.flat
        work = 3 * (len(self._sample.inputs) + len(self._judge.inputs)) * self._problem.layout.n_weights
        return max(1, min(WORK // work, most, _MOST_EPOCHS, self._options.epochs - self.done))

    def orders(self, n_epochs: int, rng: np.random.Generator) -> IntArray:
        rows = np.arange(len(self._sample.inputs))[None]
        if self._how.batch >= rows.size:
            return rows
        return rng.permuted(np.repeat(rows, n_epochs, axis=0), axis=1)

    def varied(self, rng: np.random.Generator) -> Sample:
        options, inputs = self._options, self._sample.inputs
        if not options.is_varied:
            return self._sample
        if options.augment is not None:
            inputs = np.array(options.augment(inputs.copy(), rng), dtype=np.float64, order="C")
            if inputs.shape != self._sample.inputs.shape or not np.isfinite(inputs).all():
                raise DataError("augmented inputs are finite and as many as the inputs")
        if options.jitter:
            inputs = inputs + options.jitter * rng.standard_normal(inputs.shape)
        return self._sample._replace(inputs=inputs)

    def go(self, sample: Sample, order: IntArray, n_epochs: int) -> None:
        run = self._run._replace(errors=np.zeros(n_epochs), judged=np.zeros(n_epochs))
        with np.errstate(all="ignore"):
            done = epochs.run_epochs(self._net, sample, self._judge, order, self._space, self._hold, self._how, run)
        if run.marks[optimizers.ENDED] == epochs.DIVERGED:
            raise self._begun.diverged(self.done, *self._options.remedy)
        self.errors.append(run.errors[:done])
        self._judged.append(run.judged[:done])
        flat = self._options.flat
        if flat is not None and self.done % flat == 0 and run.marks[optimizers.ENDED] == epochs.RUNNING:
            errors = np.concatenate(self.errors)
            self._is_flat = errors[-flat] - errors[-1] < self._options.slope * errors[0]

    def found(self) -> tuple[FloatArray, History, str]:
        """The weights that are kept, what happened, and why it ended."""
        errors, judged = np.concatenate(self.errors), np.concatenate(self._judged)
        stopped = "flat" if self._is_flat else _ENDS[int(self._run.marks[optimizers.ENDED])]
        if not len(self._judge.inputs):
            return self._run.theta, History(errors, best_epoch=len(errors)), stopped
        best = int(self._run.marks[optimizers.BEST_EPOCH])
        return self._run.best, History(errors, judged, best), stopped


def _quasi_newton(
    problem: Problem,
    theta: FloatArray,
    sample: Sample,
    options: Options,
    validation: Sample | None,
    start: Start,
    progress: Progress,
) -> tuple[FloatArray, History, str]:
    patience = options.epochs if options.patience is None else options.patience
    goal, margin = (-1.0 if value is None else value for value in (options.goal, options.margin))
    ends = Ends(options.epochs, patience, goal, margin, options.remedy)
    found = minimise(problem, problem.held(theta), sample, validation, ends, start, progress)
    history = History(np.array(found.errors), np.array(found.judged), found.best_epoch)
    return found.best, history, found.stopped
