"""Feed-forward networks that learn a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from learners.base import Progress
from learners.errors import ParameterError, quoted
from learners.neural.examples import Examples, Learned
from learners.neural.feedforward.pruning import Prunable
from learners.neural.feedforward.shifting import check_image, evenly_scaled, shifting
from learners.neural.inputs import AnyInputs, Inputs
from learners.neural.layout import Layout
from learners.neural.targets import LAST
from learners.neural.training import Augment
from learners.params import integer, learner
from learners.table import Column, Table
from learners.types import FloatArray


@learner
class FeedForward(Prunable):
    """Base of the feed-forward classifier and regressor."""

    image_width: int | None = integer(
        None,
        "The columns are the numbers of an image (or of a series), row by row; so many of them make a row. With "
        "scaling standard all are divided by one number, the root of their mean variance.",
        minimum=1,
        none_means="they are no image",
    )
    image_shift: int = integer(
        0,
        "By how many places training images are moved at most, up or down and left or right, anew in each epoch; their "
        "edges are repeated.",
        minimum=0,
        maximum=1_000,
        only_with={"optimizer": ("adam", "sgd", "quickprop", "rprop")},
    )

    def check_together(self) -> None:
        super().check_together()
        if not self.hidden_units:
            for name, idle in (("activation", self.activation != "tanh"), ("prune_by", self.prune_by == "units")):
                if idle:
                    raise ParameterError(
                        f"parameter {name} = {quoted(getattr(self, name))} has no effect without hidden units; "
                        "give hidden_units",
                        field=name,
                    )
        if self.image_shift and self.image_width is None:
            raise ParameterError("image_shift has no effect without image_width", field="image_shift")
        if self.image_width is not None and not self.image_shift:
            raise ParameterError(
                "image_width has no effect with image_shift = 0; give image_shift", field="image_shift"
            )

    def check_columns(self, columns: Sequence[Column], target: Column | None) -> None:
        super().check_columns(columns, target)
        if self.image_width is not None:
            check_image(columns, int(self.image_width), int(self.image_shift))

    def _fit_inputs(self, table: Table, weights: FloatArray) -> AnyInputs:
        inputs = super()._fit_inputs(table, weights)
        if self.image_width is None or self.scaling != "standard":
            return inputs
        return evenly_scaled(cast("Inputs", inputs), table, weights)

    def _augment(self, inputs: AnyInputs) -> Augment | None:
        if self.image_width is None:
            return super()._augment(inputs)
        own = cast("Inputs", inputs)
        check_image(own.columns, int(self.image_width), int(self.image_shift))
        if self.augment_ is not None:
            raise ParameterError(
                "image_shift goes not with a function of one's own that makes inputs", field="image_shift"
            )
        return shifting(own, int(self.image_width), int(self.image_shift))

    def _learn(self, examples: Examples, progress: Progress) -> Learned:
        layout = Layout(
            self._sizes(examples.n_inputs, examples.n_outputs),
            (*[self.activation] * len(self.hidden_units), LAST[examples.link]),
        )
        if self.pruning == "none":
            return self._trained(layout, self._loss_of(examples.link), examples, progress)
        return self._pruned(layout, self._loss_of(examples.link), examples, progress)
