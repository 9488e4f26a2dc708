"""Time-delay networks: units that see a window of the last steps (Waibel et al. 1989)."""

from __future__ import annotations

from typing import ClassVar

from learners.base import Capabilities
from learners.neural.classifier import NetworkClassifier
from learners.neural.recurrent.estimator import StepwiseEstimator
from learners.neural.recurrent.recurrent import STEPWISE_CLASSIFIER, STEPWISE_REGRESSOR
from learners.neural.regressor import NetworkRegressor
from learners.params import integer, learner


@learner
class TimeDelayEstimator(StepwiseEstimator):
    """Base of the time-delay networks: layers that see the last steps together, the window shifted step by step."""

    is_recurrent: ClassVar[bool] = False

    window: int = integer(
        10,
        "Steps that are seen together: the last one and those before it, as far as training rows have so many. What "
        "would lie before a row's first step counts as 0.",
        minimum=1,
        maximum=10_000,
        is_size=True,
    )

    def _most_delays(self) -> int:
        return int(self.window)


@learner
class TimeDelayNetworkClassifier(TimeDelayEstimator, NetworkClassifier):
    """Class probabilities by the last steps of a row's sequences."""

    name: ClassVar[str] = "time-delay-network-classifier"
    summary: ClassVar[str] = (
        "Decides by a window of the last steps of sequences and texts, through layers of units: the label of a "
        "sequence, a label for each step, or the next step."
    )
    capabilities: ClassVar[Capabilities] = STEPWISE_CLASSIFIER


@learner
class TimeDelayNetworkRegressor(TimeDelayEstimator, NetworkRegressor):
    """A number by the last steps of a row's sequences."""

    name: ClassVar[str] = "time-delay-network-regressor"
    summary: ClassVar[str] = (
        "Answers by a window of the last steps of sequences, through layers of units: the next value of a series, or a "
        "number for a sequence."
    )
    capabilities: ClassVar[Capabilities] = STEPWISE_REGRESSOR
