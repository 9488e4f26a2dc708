"""Feed-forward networks that learn a target."""

from __future__ import annotations

from learners.base import Progress
from learners.neural.examples import Examples, Learned
from learners.neural.feedforward.pruning import Prunable
from learners.neural.layout import Layout
from learners.neural.targets import Link
from learners.params import learner

#: The activation of the output units that goes with a link.
LAST: dict[Link, str] = {"identity": "linear", "logistic": "sigmoid", "softmax": "softmax", "sigmoids": "sigmoid"}


@learner
class FeedForward(Prunable):
    """Base of the feed-forward classifier and regressor."""

    def _learn(self, examples: Examples, progress: Progress) -> Learned:
        layout = Layout(
            self._sizes(examples.n_inputs, examples.n_outputs),
            (*[self.activation] * len(self.hidden_units), LAST[examples.link]),
        )
        if self.pruning == "none":
            return self._trained(layout, self._loss(), examples, progress)
        return self._pruned(layout, self._loss(), examples, progress)

    def _loss(self) -> str:
        """One of :data:`learners.neural.layout.LOSSES`."""
        return "squared"
