"""Feed-forward networks that learn classes."""

from __future__ import annotations

from typing import ClassVar

from learners.base import Capabilities
from learners.neural.classifier import NETWORK_CLASSIFIER, NetworkClassifier
from learners.neural.feedforward.estimator import FeedForward
from learners.neural.targets import Link
from learners.params import choice, learner, like


@learner
class NeuralNetworkClassifier(FeedForward, NetworkClassifier):
    """Class probabilities by layers of units, trained by back-propagation.

    Of two classes there is one output unit, a logistic function; of more one each, by softmax or by a logistic
    function for each, divided by their sum. Columns enter as :mod:`learners.neural.inputs` says.
    """

    name: ClassVar[str] = "neural-network-classifier"
    summary: ClassVar[str] = (
        "Decides by class probabilities from layers of units, trained by back-propagation; columns of any levels enter "
        "as they are."
    )
    capabilities: ClassVar[Capabilities] = NETWORK_CLASSIFIER

    ignored_error: float = like(
        FeedForward,
        "ignored_error",
        meaning="Outputs nearer to their targets, 0 and 1, than this teach nothing (Gorman and Sejnowski 1988: 0.2), "
        "so that effort goes to the rows that are not learned yet.",
        maximum=0.5,
    )
    loss: str = choice(
        "cross-entropy",
        ("cross-entropy", "squared"),
        "What is minimised: minus the log of the true class's probability, or half the squared differences of the "
        "outputs from 1 and 0.",
    )
    outputs: str = choice(
        "softmax",
        ("softmax", "sigmoid"),
        "What the units of more than two classes answer by: shares of all, or each a logistic function, the answers "
        "divided by their sum.",
        only_with={"loss": ("cross-entropy",)},
    )

    def _link(self) -> Link:
        return "sigmoids" if self.loss == "squared" or self.outputs == "sigmoid" else "softmax"

    def _loss_of(self, link: Link) -> str:
        return self.loss
