"""Errors and gradients of given rows at given weights."""

from __future__ import annotations

import numpy as np

from learners.errors import DataError
from learners.neural.epochs import fresh_marks, run_epochs
from learners.neural.optimizers import APART, STILL, How, Run
from learners.neural.problem import Problem, Sample, space
from learners.types import FloatArray


class Judge:
    """Errors and gradients of the same rows at one vector of weights after another.

    Args:
        problem: what is minimised.
        sample: the rows; their weights are taken as shares of their sum.
        room: of how many rows there is space for passes at least.

    Attributes:
        net, hold, space: the problem as the kernels know it, for other runs too.
        sample: the rows, weighed.
    """

    def __init__(self, problem: Problem, sample: Sample, room: int = 0) -> None:
        self.net, self.hold = problem.net(), problem.hold()
        self.sample = weighed(sample)
        self._none = self.sample._replace(inputs=self.sample.inputs[:0])
        n_rows = len(self.sample.inputs)
        self.space, self._rows = space(problem, max(n_rows, room)), np.arange(n_rows)[None]
        self._last: Run | None = None
        self._how = How(STILL, n_rows, 0.0, 0.0, -1.0, -1.0, 1, 1, 0.0)

    def error(self, theta: FloatArray) -> tuple[float, float]:
        """The mean loss without decay, and the largest distance of an output from its target in any row."""
        run = self._pass(theta, 0)
        return float(run.errors[0]), float(run.marks[APART])

    def value_and_gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Loss and decay, and the gradient of both, shape (P,)."""
        run = self._pass(theta, len(theta))
        return float(run.errors[0]) + 0.5 * float(self.hold.decay @ theta**2), run.gradient.copy()

    def _pass(self, theta: FloatArray, n_slopes: int) -> Run:
        """The last pass again, if it was at the same weights: what steps ask of a gradient and of an error is one.

        Args:
            n_slopes: entries of the gradient; 0: no way back.
        """
        last = self._last
        if last is not None and len(last.gradient) >= n_slopes and np.array_equal(last.theta, theta):
            return last
        theta, none = np.array(theta, dtype=np.float64), np.zeros(0)
        run = Run(theta, none, np.zeros(n_slopes), none, none, np.zeros(1), none, fresh_marks())
        with np.errstate(all="ignore"):
            run_epochs(self.net, self.sample, self._none, self._rows, self.space, self.hold, self._how, run)
        self._last = run
        return run


def loss_and_gradient(problem: Problem, sample: Sample, theta: FloatArray) -> tuple[float, FloatArray]:
    """What is minimised and its gradient, shape (P,): 0 of masked weights, the average of a group for tied ones."""
    return Judge(problem, sample).value_and_gradient(theta)


def error(problem: Problem, sample: Sample, theta: FloatArray) -> float:
    """The mean loss alone, without decay."""
    return Judge(problem, sample).error(theta)[0]


def weighed(sample: Sample) -> Sample:
    """Contiguous and writeable, as the kernels want it, without the rows of weight 0, the weights with a mean of 1.

    What is so already is not copied; nothing writes to it.

    Raises:
        DataError: no row has a weight.
    """
    kept = sample.weights > 0
    if not kept.any():
        raise DataError("every row has weight 0")
    rows = sample if kept.all() else Sample(*(part[kept] for part in sample))
    inputs, targets, weights = (np.require(part, np.float64, ["C", "W"]) for part in rows)
    return Sample(inputs, targets, weights / weights.mean())
