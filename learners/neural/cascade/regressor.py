"""Cascade correlation for numbers."""

from __future__ import annotations

from typing import ClassVar

from learners.base import Capabilities
from learners.neural.cascade.estimator import CascadeEstimator
from learners.neural.regressor import NETWORK_REGRESSOR, NetworkRegressor
from learners.params import learner, like


@learner
class CascadeCorrelationRegressor(CascadeEstimator, NetworkRegressor):
    """A number by a network that grew hidden unit by hidden unit: a linear output, squared error."""

    name: ClassVar[str] = "cascade-correlation-regressor"
    summary: ClassVar[str] = (
        "Answers by a neural network that starts as a linear function and adds hidden units one by one, each trained "
        "to go with the errors that are left: cascade correlation."
    )
    capabilities: ClassVar[Capabilities] = NETWORK_REGRESSOR

    tolerance: float = like(
        CascadeEstimator,
        "tolerance",
        default=0.05,
        meaning="Growth ends when each answer is nearer than this to the row's number, in standard deviations of the "
        "target. 0 never ends it.",
    )
