"""Cascade correlation for classes."""

from __future__ import annotations

from typing import ClassVar

from learners.base import Capabilities
from learners.neural.cascade.estimator import CascadeEstimator
from learners.neural.cascade.outputs import SIGMOID_ENTROPY, SIGMOID_SQUARED, SOFTMAX_ENTROPY
from learners.neural.classifier import NETWORK_CLASSIFIER, NetworkClassifier
from learners.neural.examples import Examples
from learners.neural.targets import Link
from learners.params import choice, learner


@learner
class CascadeCorrelationClassifier(CascadeEstimator, NetworkClassifier):
    """Class probabilities by a network that grew hidden unit by hidden unit.

    With squared error the outputs are sigmoids, one of two classes and one each of more (their shares of the sum are
    the probabilities); with cross-entropy of more than two classes softmax.
    """

    name: ClassVar[str] = "cascade-correlation-classifier"
    summary: ClassVar[str] = (
        "Decides by a neural network that starts without hidden units and adds them one by one, each trained to go "
        "with the errors that are left: cascade correlation."
    )
    capabilities: ClassVar[Capabilities] = NETWORK_CLASSIFIER

    loss: str = choice(
        "squared", ("squared", "cross-entropy"), "What the outputs' weights minimise: squared error, or cross-entropy."
    )

    def _link(self) -> Link:
        return "sigmoids" if self.loss == "squared" else "softmax"

    def _loss_of(self, link: Link) -> str:
        return self.loss

    def _kind(self, examples: Examples) -> int:
        if self.loss == "squared":
            return SIGMOID_SQUARED
        return SIGMOID_ENTROPY if examples.n_outputs == 1 else SOFTMAX_ENTROPY
