"""Growing networks that learn numbers."""

from __future__ import annotations

from typing import ClassVar

from learners.base import Capabilities
from learners.neural.growing.estimator import GrowingNetwork
from learners.neural.regressor import NETWORK_REGRESSOR, NetworkRegressor
from learners.params import learner, like


@learner
class GrowingNetworkRegressor(GrowingNetwork, NetworkRegressor):
    """A number by a hidden layer that begins with one unit and gets more where one is missing.

    Minimised is half the squared error; the target is brought to mean 0 and standard deviation 1 meanwhile. Columns
    enter as :mod:`learners.neural.inputs` says.
    """

    name: ClassVar[str] = "growing-network-regressor"
    summary: ClassVar[str] = "Estimates a number by a hidden layer that begins with one unit and grows while it learns."
    capabilities: ClassVar[Capabilities] = NETWORK_REGRESSOR

    spread_rate: float = like(GrowingNetwork, "spread_rate", default=0.07)
    spread_fade: float = like(GrowingNetwork, "spread_fade", default=0.97)
