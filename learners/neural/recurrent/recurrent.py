"""Recurrent networks: units that see their whole layer at the step before (Elman 1990)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from learners.base import Capabilities
from learners.neural.classifier import NETWORK_CLASSIFIER, NetworkClassifier
from learners.neural.recurrent.estimator import StepwiseEstimator
from learners.neural.regressor import NETWORK_REGRESSOR, NetworkRegressor
from learners.params import integer, learner

STEPWISE_CLASSIFIER = replace(NETWORK_CLASSIFIER, texts=True, sequences=True, steps=True)
STEPWISE_REGRESSOR = replace(NETWORK_REGRESSOR, texts=True, sequences=True, steps=True)


@learner
class RecurrentEstimator(StepwiseEstimator):
    """Base of the recurrent networks; see :mod:`learners.neural.recurrent.unfolding` for the network."""

    is_recurrent: ClassVar[bool] = True

    truncation: int | None = integer(
        None,
        "Sequences are unfolded in pieces of so many steps, and no error is carried back from one to the piece before; "
        "with 1 the states of the step before are mere inputs (Elman 1990).",
        minimum=1,
        none_means="they are unfolded from end to end",
        is_size=True,
    )

    def _untaught(self) -> tuple[str, ...]:
        if self.truncation is None or self.truncation < self._longest:
            return ()
        return (f"truncation = {self.truncation} has no effect: no training row has more than {self._longest} steps",)

    def _piece(self) -> int:
        return 0 if self.truncation is None else int(self.truncation)


@learner
class RecurrentNetworkClassifier(RecurrentEstimator, NetworkClassifier):
    """Class probabilities after the last step of a row's sequences, by a network that remembers the steps before."""

    name: ClassVar[str] = "recurrent-network-classifier"
    summary: ClassVar[str] = (
        "Goes through sequences and texts step by step and remembers what came before: the label of a sequence, a "
        "label for each step, or the next step."
    )
    capabilities: ClassVar[Capabilities] = STEPWISE_CLASSIFIER


@learner
class RecurrentNetworkRegressor(RecurrentEstimator, NetworkRegressor):
    """A number after the last step of a row's sequences, by a network that remembers the steps before."""

    name: ClassVar[str] = "recurrent-network-regressor"
    summary: ClassVar[str] = (
        "Goes through sequences and texts step by step and remembers what came before: a number for a sequence, for "
        "each step, or the next step."
    )
    capabilities: ClassVar[Capabilities] = STEPWISE_REGRESSOR
