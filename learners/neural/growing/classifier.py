"""Growing networks that learn classes."""

from __future__ import annotations

from typing import ClassVar

from learners.base import Capabilities
from learners.neural.classifier import NETWORK_CLASSIFIER, NetworkClassifier
from learners.neural.growing.estimator import GrowingNetwork
from learners.params import learner


@learner
class GrowingNetworkClassifier(GrowingNetwork, NetworkClassifier):
    """Class probabilities by a hidden layer that begins with one unit and gets more where one is missing.

    Minimised is the cross-entropy. Columns enter as :mod:`learners.neural.inputs` says.
    """

    name: ClassVar[str] = "growing-network-classifier"
    summary: ClassVar[str] = (
        "Decides by class probabilities from a hidden layer that begins with one unit and grows while it learns."
    )
    capabilities: ClassVar[Capabilities] = NETWORK_CLASSIFIER
