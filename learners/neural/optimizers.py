"""How weights move by their gradient: one step of each rule, as kernels.

Plain descent with momentum, batch by batch; quickprop (Fahlman 1988); Rprop, in the form without weight backtracking
(Igel and Huesken 2000, iRprop-); Adam (Kingma and Ba 2015).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners._accel import inner_kernel
from learners.types import FloatArray

#: By name, the place is the rule's code; beside it L-BFGS, which is none of these.
RULES = ("sgd", "quickprop", "rprop", "adam")
SGD, QUICKPROP, RPROP, ADAM = range(4)
#: Makes no step: errors and gradient are only looked at.
STILL = -1
_GROW, _SHRINK, _LEAST_STEP, _LARGEST_STEP = 1.2, 0.5, 1e-9, 50.0
_FIRST_FADES, _SECOND_FADES, _TINY = 0.9, 0.999, 1e-8
#: Entries of ``Run.marks``.
ENDED, EPOCHS, STEPS, BEST_ERROR, BEST_EPOCH, APART, FALLEN = range(7)


class How(NamedTuple):
    """What a run goes by.

    Attributes:
        rule: place in :data:`RULES`.
        batch: rows between two steps.
        rate: length of steps: of the gradient (sgd, quickprop, adam), or of the first steps themselves (rprop).
        momentum: share of the last step added (sgd), or the most that a step grows (quickprop).
        goal: the training error that ends it; below 0: none does.
        margin: the distance of all outputs from their targets that ends it; below 0: none does.
        patience: epochs without a better validation error that end it.
        epochs: of the whole run. falling: of these, at the end, in which the rate of adam falls to 0; 0: in none.
    """

    rule: int
    batch: int
    rate: float
    momentum: float
    goal: float
    margin: float
    patience: int
    epochs: int
    falling: float


class Run(NamedTuple):
    """What a run changes.

    Attributes:
        theta: weights, shape (P,). best: those of the least validation error.
        gradient: scratch. first, second: the rule's memory, zeros at first (rprop: ``second`` the rate); shape (P,).
        errors: of the training rows, as they were met in each of the epochs to come, shape (E,).
        judged: of the validation rows after each, shape (E,).
        marks: why it ended, the epochs gone through, steps, the least validation error and its epoch, the largest
            distance from a target, and the share of the rate that is left.
    """

    theta: FloatArray
    best: FloatArray
    gradient: FloatArray
    first: FloatArray
    second: FloatArray
    errors: FloatArray
    judged: FloatArray
    marks: FloatArray


@inner_kernel
def step(how: How, run: Run) -> None:
    """Move the weights by the gradient."""
    if how.rule == SGD:
        for k in range(run.theta.shape[0]):
            run.first[k] = how.momentum * run.first[k] - how.rate * run.gradient[k]
            run.theta[k] += run.first[k]
    elif how.rule == QUICKPROP:
        for k in range(run.theta.shape[0]):
            step = quickprop_step(run.gradient[k], run.second[k], run.first[k], how.rate, how.momentum)
            run.second[k], run.first[k] = run.gradient[k], step
            run.theta[k] += step
    elif how.rule == RPROP:
        _resilient(run)
    elif how.rule == ADAM:
        _adam(how, run)


@inner_kernel
def quickprop_step(slope: float, before: float, last: float, rate: float, growth: float) -> float:
    """Where the parabola through this slope and the one before has its bottom, but not too far (Fahlman 1988).

    Args:
        slope: derivative of what is minimised. before: the same before the last step.
        last: the last step. rate: of descent, where the slope still points the way of the last step, or there was none.
        growth: the most that a step may be larger than the last.
    """
    if slope == 0.0:
        return 0.0
    step = 0.0
    if last * slope <= 0.0:  # still downhill, or the first step
        step -= rate * slope
    if last > 0.0:
        step += growth * last if slope <= before * growth / (1.0 + growth) else last * slope / (before - slope)
    elif last < 0.0:
        step += growth * last if slope >= before * growth / (1.0 + growth) else last * slope / (before - slope)
    return step


@inner_kernel
def _resilient(run: Run) -> None:
    for k in range(run.theta.shape[0]):
        slope = run.gradient[k]
        agrees = slope * run.first[k]
        if agrees > 0.0:
            run.second[k] = min(run.second[k] * _GROW, _LARGEST_STEP)
        elif agrees < 0.0:
            run.second[k] = max(run.second[k] * _SHRINK, _LEAST_STEP)
            slope = 0.0
        run.first[k] = slope
        if slope > 0.0:
            run.theta[k] -= run.second[k]
        elif slope < 0.0:
            run.theta[k] += run.second[k]


@inner_kernel
def _adam(how: How, run: Run) -> None:
    first_full = 1.0 - _FIRST_FADES ** run.marks[STEPS]
    second_full = 1.0 - _SECOND_FADES ** run.marks[STEPS]
    rate = how.rate * run.marks[FALLEN] / first_full
    for k in range(run.theta.shape[0]):
        slope = run.gradient[k]
        run.first[k] = _FIRST_FADES * run.first[k] + (1.0 - _FIRST_FADES) * slope
        run.second[k] = _SECOND_FADES * run.second[k] + (1.0 - _SECOND_FADES) * slope * slope
        run.theta[k] -= rate * run.first[k] / (np.sqrt(run.second[k] / second_full) + _TINY)
