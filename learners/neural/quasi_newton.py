"""Training by L-BFGS (Liu and Nocedal 1989): all rows in every step, along curvature learned from the last ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.base import Progress
from learners.neural.epochs import FAR
from learners.neural.judging import Judge
from learners.neural.problem import Problem, Sample
from learners.neural.start import Start
from learners.types import FloatArray

_PAIRS = 20
_FLAT = 1e-8
_LEVEL = 1e-15


@dataclass(frozen=True)
class Ends:
    """What ends it, as of ``Options``: the most steps, patience, goal and margin (below 0: none); and the remedy."""

    epochs: int
    patience: int
    goal: float
    margin: float
    remedy: tuple[str, str]


class _Steps:
    """What is kept of each step, and whether it is the last."""

    def __init__(self, judge: Judge, validation: Judge | None, ends: Ends, start: Start, progress: Progress) -> None:
        self._judge, self._validation, self._ends, self._start = judge, validation, ends, start
        self._progress = progress
        self.errors: list[float] = []
        self.judged: list[float] = []
        self.best_epoch, self.best = 0, np.zeros(0)
        self.stopped = ""
        self._looks = 0

    def look(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """What is minimised and its gradient, told as a part of the step that is looked for."""
        self._looks += 1
        done = len(self.errors) + 1.0 - 0.5**self._looks
        self._progress(min(done / self._ends.epochs, 1.0), f"epoch {len(self.errors) + 1} of {self._ends.epochs}")
        return self._judge.value_and_gradient(theta)

    def __call__(self, theta: FloatArray) -> None:
        """After each step.

        Raises:
            StopIteration: it is the last.
        """
        error, apart = self._judge.error(theta)
        if not (error < FAR and np.abs(theta).max() < FAR):
            raise self._start.diverged(len(self.errors) + 1, *self._ends.remedy)
        self.errors.append(error)
        self._looks = 0
        done = len(self.errors)
        if self._validation is None:
            self.best_epoch, self.best = done, theta.copy()
        else:
            self._look_aside(theta, self._validation)
        self._progress(min(done / self._ends.epochs, 1.0), f"epoch {done} of {self._ends.epochs}, error {error:.4g}")
        if error <= self._ends.goal:
            self.stopped = "goal"
        elif apart <= self._ends.margin:
            self.stopped = "margin"
        elif done - self.best_epoch >= self._ends.patience:
            self.stopped = "patience"
        elif done >= self._ends.epochs:
            self.stopped = "epochs"
        if self.stopped:
            raise StopIteration

    def _look_aside(self, theta: FloatArray, validation: Judge) -> None:
        self.judged.append(validation.error(theta)[0])
        if self.judged[-1] == min(self.judged) and self.judged.count(self.judged[-1]) == 1:
            self.best_epoch, self.best = len(self.judged), theta.copy()


def minimise(
    problem: Problem,
    theta: FloatArray,
    sample: Sample,
    validation: Sample | None,
    ends: Ends,
    start: Start,
    progress: Progress,
) -> _Steps:
    """The steps to a minimum of the loss with decay, with the weights of the best; see ``training.train``."""
    from scipy.optimize import minimize  # large, and seldom needed

    judge = Judge(problem, sample)
    steps = _Steps(judge, None if validation is None else Judge(problem, validation), ends, start, progress)
    with np.errstate(all="ignore"):
        minimize(
            steps.look,
            theta,
            jac=True,
            method="L-BFGS-B",
            callback=lambda intermediate_result: steps(problem.held(intermediate_result.x)),
            options={
                "maxiter": ends.epochs,
                "maxfun": 20 * ends.epochs,
                "maxcor": _PAIRS,
                "gtol": _FLAT,
                "ftol": _LEVEL,
            },
        )
    if not steps.errors:  # where it began was a minimum
        steps.errors, steps.best, steps.best_epoch = [judge.error(theta)[0]], theta, 1
        steps.judged = [] if validation is None else [Judge(problem, validation).error(theta)[0]]
    steps.stopped = steps.stopped or "converged"
    return steps
