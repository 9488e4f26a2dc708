"""Time-delay networks: units that see a window of the last steps (Waibel et al. 1989)."""

from __future__ import annotations

from typing import ClassVar

from learners.base import Capabilities
from learners.errors import ParameterError
from learners.neural.classifier import NetworkClassifier
from learners.neural.recurrent.estimator import StepwiseEstimator
from learners.neural.recurrent.recurrent import STEPWISE_CLASSIFIER, STEPWISE_REGRESSOR
from learners.neural.recurrent.sharing import Sharing, share_steps
from learners.neural.recurrent.structure import Structure
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

    shared_steps: int | None = integer(
        None,
        "Steps that a unit of the first hidden layer sees. There is a copy of each unit, with the same weights, for "
        "each place in the window, so that what is found does not depend on when it happened.",
        minimum=1,
        maximum=10_000,
        none_means="each sees the whole window, with weights of its own",
        is_size=True,
    )

    def check_together(self) -> None:
        super().check_together()
        if self.shared_steps is not None and self.shared_steps >= self.window:
            places = "one place" if self.shared_steps == self.window else "no place"
            raise ParameterError(
                f"parameter shared_steps = {self.shared_steps} leaves {places} in window = {self.window}; give less",
                field="shared_steps",
            )

    def _untaught(self) -> tuple[str, ...]:
        if self.shared_steps is None or self._places(self._delays) > 1:
            return ()
        return (
            f"shared_steps = {self.shared_steps} has no effect: no training row has more than {self._delays} steps, of "
            "which each unit sees all at once",
        )

    def _most_delays(self) -> int:
        return int(self.window)

    def _hidden(self, delays: int) -> tuple[int, ...]:
        first, *others = super()._hidden(delays)
        return (first * self._places(delays), *others)

    def _sharing(self, structure: Structure) -> Sharing | None:
        places = self._places(self._delays)
        return None if places == 1 else share_steps(structure, self._delays, self._delays - places + 1)

    def _places(self, delays: int) -> int:
        """At how many places of the window the first hidden layer's units are."""
        return 1 if self.shared_steps is None else max(1, delays - int(self.shared_steps) + 1)


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
