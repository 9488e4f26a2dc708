"""Feed-forward networks that learn numbers."""

from __future__ import annotations

from typing import ClassVar

from learners.base import Capabilities
from learners.neural.feedforward.estimator import FeedForward
from learners.neural.regressor import NETWORK_REGRESSOR, NetworkRegressor
from learners.params import learner


@learner
class NeuralNetworkRegressor(FeedForward, NetworkRegressor):
    """A number by layers of units, trained by back-propagation on half the squared error.

    The target is brought to mean 0 and standard deviation 1 meanwhile. Columns enter as
    :mod:`learners.neural.inputs` says.
    """

    name: ClassVar[str] = "neural-network-regressor"
    summary: ClassVar[str] = (
        "Estimates a number by layers of units, trained by back-propagation; columns of any levels enter as they are."
    )
    capabilities: ClassVar[Capabilities] = NETWORK_REGRESSOR
