"""How long sequences may be: some seconds of work for one request, whatever the network.

Steps follow one another, so each costs the time of some array operations, and more the more weights there are.
"""

from __future__ import annotations

from learners.base import Learner
from learners.neural.recurrent.estimator import StepwiseEstimator

#: Most steps of a sequence for a small network, and the weights that take as long again as the operations of a step.
_MOST_STEPS, _WEIGHTS = 20_000, 35_000
#: A step of a reason is followed along the whole way from the baseline: as long as so many tests of a tree.
_TESTS, _WEIGHTS_A_TEST = 100, 100


def most_steps(learner: Learner) -> int | None:
    """The longest sequence that is answered; ``None`` for a learner that does not go by steps."""
    if not isinstance(learner, StepwiseEstimator):
        return None
    return max(1, int(_MOST_STEPS / (1 + learner.n_weights / _WEIGHTS)))


def tests_of_a_step(learner: StepwiseEstimator) -> int:
    """What a step adds to the size of a reason, in tests (see :mod:`service.operations.reason_sizes`)."""
    return _TESTS + learner.n_weights // _WEIGHTS_A_TEST
