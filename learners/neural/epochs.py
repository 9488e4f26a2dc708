"""Whole epochs of training as one kernel, and what ends them."""

from __future__ import annotations

import numpy as np

from learners._accel import inner_kernel, kernel
from learners.neural.optimizers import APART, BEST_EPOCH, BEST_ERROR, ENDED, EPOCHS, FALLEN, STEPS, How, Run, step
from learners.neural.passes import has_room, hold_gradient, rows_pass
from learners.neural.problem import Hold, Net, Sample, Space
from learners.types import FloatArray, IntArray

#: Why a run ended, by code.
RUNNING, DIVERGED, GOAL, MARGIN, PATIENCE = range(5)
#: No weight and no error of a training that goes well comes near this.
FAR = 1e50


def fresh_marks() -> FloatArray:
    """``Run.marks`` at the start."""
    return np.array([RUNNING, 0.0, 0.0, np.inf, 0.0, np.inf, 1.0])


@kernel
def run_epochs(
    net: Net, sample: Sample, validation: Sample, order: IntArray, space: Space, hold: Hold, how: How, run: Run
) -> int:
    """Go through the rows once for each entry of ``run.errors``, or until something ends it; returns how often.

    Where all rows are one batch, ``errors`` are those before the step, and a goal that is met ends the run without one.
    A run without a gradient goes no way back, and makes no step.

    Args:
        sample: weights of mean 1. validation: the same; no rows: none is judged.
        order: the rows' order in each epoch, repeated from its start if there are more; shape (any, n).
    """
    n_rows = sample.inputs.shape[0]
    found = np.zeros(2)
    # inputs stay where the epoch before has put them, unless others come between
    stays = how.batch >= n_rows and has_room(net, space, n_rows) and not validation.inputs.shape[0]
    for epoch in range(run.errors.shape[0]):
        found[:] = 0.0
        run.marks[FALLEN] = _fallen(how, run.marks[EPOCHS])
        rows = order[epoch % order.shape[0]]
        for first in range(0, n_rows, how.batch):
            batch = rows[first : first + how.batch]
            run.gradient[:] = 0.0
            rows_pass(net, run.theta, sample, batch, space, stays and epoch > 0, run.gradient, found)
            hold_gradient(run.theta, run.gradient, 1.0 / batch.shape[0], hold)
            if how.batch >= n_rows:
                _look(found, n_rows, how, run)
            if run.marks[ENDED] == RUNNING:
                run.marks[STEPS] += 1.0
                step(how, run)
        run.errors[epoch] = found[0] / n_rows
        run.marks[APART] = found[1]
        run.marks[EPOCHS] += 1.0
        if how.batch < n_rows:
            _look(found, n_rows, how, run)
        n_far = 0
        for k in range(run.theta.shape[0]):
            n_far += 0 if abs(run.theta[k]) < FAR else 1
        if n_far:
            run.marks[ENDED] = DIVERGED
        if run.marks[ENDED] != DIVERGED and validation.inputs.shape[0]:
            _judge(net, validation, space, how, run, epoch)
        if run.marks[ENDED] != RUNNING:
            return epoch + 1
    return int(run.errors.shape[0])


@inner_kernel
def _fallen(how: How, done: float) -> float:
    """The share of the rate that is left after so many epochs."""
    return min(1.0, (how.epochs - done) / how.falling) if how.falling > 0.0 else 1.0


@inner_kernel
def _look(found: FloatArray, n_rows: int, how: How, run: Run) -> None:
    """Whether the rows' errors end the run."""
    error = found[0] / n_rows
    if not error < FAR:
        run.marks[ENDED] = DIVERGED
    elif error <= how.goal:
        run.marks[ENDED] = GOAL
    elif found[1] <= how.margin:
        run.marks[ENDED] = MARGIN


@inner_kernel
def _judge(net: Net, validation: Sample, space: Space, how: How, run: Run, epoch: int) -> None:
    """Errors of the validation rows; the best weights are kept."""
    found = np.zeros(2)
    rows = np.arange(validation.inputs.shape[0])
    rows_pass(net, run.theta, validation, rows, space, False, np.zeros(0), found)
    error = found[0] / validation.inputs.shape[0]
    run.judged[epoch] = error
    if error < run.marks[BEST_ERROR]:
        run.marks[BEST_ERROR], run.marks[BEST_EPOCH] = error, run.marks[EPOCHS]
        run.best[:] = run.theta
    elif run.marks[EPOCHS] - run.marks[BEST_EPOCH] >= how.patience and run.marks[ENDED] == RUNNING:
        run.marks[ENDED] = PATIENCE
