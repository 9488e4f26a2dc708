"""How long sequences may be: some seconds of work for one request, whatever the network.

Steps follow one another, so each costs the time of some array operations, and more the more weights there are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from math import ceil

import numpy as np

from learners.base import Learner
from learners.neural.recurrent.estimator import StepwiseEstimator
from learners.types import IntArray

#: Most steps of a sequence for a small network, and the weights that take as long again as the operations of a step.
_MOST_STEPS, _WEIGHTS = 20_000, 35_000
#: Steps of a small network, there and back, that take as long as a test: some microseconds.
_STEPS_A_TEST = 2


def most_steps(learner: Learner) -> int | None:
    """The longest sequence that is answered; ``None`` for a learner that does not go by steps."""
    if not isinstance(learner, StepwiseEstimator):
        return None
    return max(1, int(_MOST_STEPS / (1 + learner.n_weights / _WEIGHTS)))


def step_tests(learner: StepwiseEstimator, steps: Iterable[int]) -> IntArray:
    """How long the reasons of rows of so many steps are, in tests: their contributions and the work at its most.

    A way may be followed at many points, so the work is what may be needed, not what most rows need.
    """
    sizes = [learner.reason_size + ceil(learner.reason_work(count) / _STEPS_A_TEST) for count in steps]
    return np.array(sizes, np.int64)


def most_explained_steps(learner: StepwiseEstimator, most: int) -> int:
    """Steps of the longest sequence whose reason goes through at most so many tests; 0 if there is none."""
    lengths = range(1, (most_steps(learner) or 0) + 1)
    return bisect_right(lengths, most, key=lambda count: int(step_tests(learner, (count,))[0]))
