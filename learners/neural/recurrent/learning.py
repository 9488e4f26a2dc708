"""Learning by gradients of whole sequences, a batch of them at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from learners._accel import kernel
from learners.base import Progress
from learners.neural.epochs import FAR, fresh_marks
from learners.neural.optimizers import STEPS, How, Run, step
from learners.neural.recurrent.sharing import Sharing
from learners.neural.recurrent.structure import Structure
from learners.neural.recurrent.teaching import Lesson
from learners.neural.recurrent.unfolding import Taught, unfold
from learners.neural.start import Given, Start, constant_error
from learners.neural.targets import LAST
from learners.neural.training import History, Options, Trained
from learners.types import FloatArray, IntArray


@dataclass(frozen=True)
class Errors:
    """How errors become gradients.

    Attributes:
        piece: steps through which errors are carried back; 0 for all.
        clip: the gradient's largest norm; ``None`` for any.
        decay: of each weight but the biases: decay w^2 / 2 is minimised beside the mean error.
        sharing: weights that are one, or ``None``.
    """

    piece: int = 0
    clip: float | None = None
    decay: float = 0.0
    sharing: Sharing | None = None


def learn(
    structure: Structure,
    delays: int,
    training: Lesson,
    validation: Lesson | None,
    errors: Errors,
    options: Options,
    rng: np.random.Generator,
    progress: Progress,
) -> Trained:
    """Learn weights.

    Args:
        delays: how many steps the inputs of one step are.
        validation: what is judged by after each epoch; the best weights are kept.
        options: optimiser, rate, momentum, batch of sequences, epochs and patience count.
        rng: draws initial weights and the order of sequences.
        progress: told after each epoch; may raise ``Cancelled``.

    Raises:
        ParameterError: errors or weights grew without bounds; says at which epoch, and what to change.
    """
    teacher = _Teacher(structure, delays, training, errors)
    judge = None if validation is None else _Teacher(structure, delays, validation, errors)
    theta = structure.initial(rng)
    if errors.sharing is not None:
        theta = errors.sharing.alike(theta)
    start = teacher.start(structure, theta, options.given)
    how, run = options.how(teacher.n_sequences), _run(theta, options)
    met: list[float] = []
    judged: list[float] = []
    stopped = "epochs"
    for epoch in range(1, options.epochs + 1):
        error = 0.0
        for chosen in _batches(teacher.n_sequences, how.batch, rng):
            error += teacher.error(run.theta, chosen, run.gradient)
            follow(how, run)
        met.append(error / teacher.total)
        if not (met[-1] < FAR and (np.abs(run.theta) < FAR).all()):
            raise start.diverged(epoch, *options.remedy)
        if judge is not None:
            judged.append(judge.mean_error(run.theta))
            if judged[-1] == min(judged):
                run.best[:] = run.theta
        progress(epoch / options.epochs, f"epoch {epoch} of {options.epochs}, error {met[-1]:.4g}")
        if judge is not None and epoch - 1 - int(np.argmin(judged)) >= how.patience:
            stopped = "patience"
            break
    if judge is None:
        found, history = run.theta, History(np.array(met), best_epoch=len(met))
    else:
        found, history = run.best, History(np.array(met), np.array(judged), int(np.argmin(judged)) + 1)
    return Trained(found, history, stopped, start, teacher.mean_error(found))


@kernel
def follow(how: How, run: Run) -> None:
    """Make one step by ``run.gradient``."""
    run.marks[STEPS] += 1.0
    step(how, run)


def _run(theta: FloatArray, options: Options) -> Run:
    size = len(theta)
    second = np.full(size, options.how(1).rate if options.optimizer == "rprop" else 0.0)
    nothing = np.zeros(0)
    return Run(theta, theta.copy(), np.zeros(size), np.zeros(size), second, nothing, nothing, fresh_marks())


class _Teacher:
    """Sequences in the form of the kernel."""

    def __init__(self, structure: Structure, delays: int, lesson: Lesson, errors: Errors) -> None:
        self._errors = errors
        self._shape = structure.shape()
        windows, starts, targets, weights = (
            lesson.rows.windows(delays),
            lesson.rows.starts,
            lesson.targets,
            lesson.weights,
        )
        if (
            not structure.is_recurrent
        ):  # steps do not know of each other: only those count after which something is wanted
            kept = np.flatnonzero(weights > 0)
            windows, targets, weights = windows[kept], targets[kept], weights[kept]
            starts = np.arange(len(kept) + 1)
        starts = starts.astype(np.int64)
        self._taught = Taught(np.ascontiguousarray(windows), starts, np.ascontiguousarray(targets), weights)
        self._decayed = np.full(structure.n_weights, errors.decay)
        for layer in structure.layers(self._decayed):
            layer[-1] = 0.0
        self._by_sequence = np.add.reduceat(weights, starts[:-1])
        self.total = float(weights.sum())
        self.n_sequences = len(starts) - 1

    def start(self, structure: Structure, theta: FloatArray, given: Given) -> Start:
        """Where training begins, with these weights."""
        taught = self._taught
        loss = "squared" if structure.link == "identity" else "cross-entropy"
        constant = constant_error(taught.targets, taught.weights, loss, LAST[structure.link])
        largest, penalty = float(np.abs(taught.inputs).max(initial=0.0)), 0.5 * float(self._decayed @ theta**2)
        return Start(self.mean_error(theta), constant, largest, penalty=penalty, given=given)

    def mean_error(self, theta: FloatArray) -> float:
        """Of all sequences, without decay."""
        return self.error(theta, np.arange(self.n_sequences), np.zeros_like(theta)) / self.total

    def error(self, theta: FloatArray, chosen: IntArray, gradient: FloatArray) -> float:
        """The summed error of some sequences; ``gradient`` becomes that of their mean error, with decay, clipped."""
        gradient[:] = 0.0
        with np.errstate(all="ignore"):
            error = unfold(theta, self._shape, self._taught, chosen, self._errors.piece, gradient)
            gradient /= max(float(self._by_sequence[chosen].sum()), np.finfo(np.float64).tiny)
            gradient += self._decayed * theta
            if self._errors.sharing is not None:
                self._errors.sharing.average(gradient)
            norm = float(np.sqrt((gradient * gradient).sum()))
        if self._errors.clip is not None and norm > self._errors.clip:
            gradient *= self._errors.clip / norm
        return float(error)


def _batches(n_rows: int, size: int, rng: np.random.Generator) -> Iterator[IntArray]:
    if size >= n_rows:
        yield np.arange(n_rows)
        return
    order = rng.permutation(n_rows)
    for first in range(0, n_rows, size):
        yield order[first : first + size]
