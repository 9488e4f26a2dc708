"""Autoencoders of any depth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np

from learners.base import Capabilities, ModelState, Progress, Regressor, check_training, check_weights, no_progress
from learners.errors import ParameterError, quoted
from learners.explanation import Explanation
from learners.neural.autoencoder.explanation import ReconstructedColumn, ReconstructionExplanation
from learners.neural.decoding import decoded
from learners.neural.examples import Examples, Learned, Part
from learners.neural.feedforward.layers import Layers
from learners.neural.feedforward.training import TrainedByGradients
from learners.neural.inputs import Inputs
from learners.neural.layout import Layout
from learners.neural.regressor import NETWORK_REGRESSOR
from learners.neural.targets import AnyTarget
from learners.params import choice, flag, learner, like
from learners.table import Column, Series, Table
from learners.types import Array, FloatArray, IntArray
from learners.validation import as_table

#: What is answered, as a column; it should be 0 for every row.
RECONSTRUCTION_ERROR = Column("reconstruction error")
#: Columns that a warning names at most.
_SHOWN = 10


@dataclass(frozen=True)
class OwnInputs:
    """The target of a network that is to give back its inputs: as many output units, and no answers of their own."""

    n_outputs: int

    @property
    def is_constant(self) -> bool:
        return not self.n_outputs

    def answers(self, scores: FloatArray) -> FloatArray:
        return scores

    def to_arrays(self) -> dict[str, Array]:
        return {}


@learner
class Autoencoder(TrainedByGradients, Regressor):
    """Learns to give back its inputs through a code of fewer numbers; answers by how far each row comes back changed.

    Encoder and decoder mirror each other (Rumelhart, Hinton and Williams 1986). No target is learned from:
    ``predict`` gives the mean squared difference of inputs and outputs, ``transform`` the code, ``reconstruct`` the
    rows that come back. With linear units the code spans the principal components (Baldi and Hornik 1989).
    """

    name: ClassVar[str] = "autoencoder"
    summary: ClassVar[str] = (
        "Learns without a target to give back its rows through a code of a few numbers; answers by how far each row "
        "comes back changed, and tells the code."
    )
    capabilities: ClassVar[Capabilities] = replace(
        NETWORK_REGRESSOR, explanations=("reconstruction",), supervised=False
    )

    hidden_units: tuple[int, ...] = like(
        TrainedByGradients,
        "hidden_units",
        default=(3,),
        fewest=1,
        meaning="Units of each layer of the encoder, from the inputs on, the code last; the decoder has the same back "
        "to front.",
    )
    decay: float = like(TrainedByGradients, "decay", default=1e-4)
    output_activation: str = choice(
        "linear",
        ("linear", "sigmoid"),
        "What output units make of their weighted sum; sigmoid is for inputs from 0 to 1, see scaling.",
    )
    loss: str = choice(
        "squared",
        ("squared", "cross-entropy"),
        "What is minimised: half the squared differences from the inputs, or the cross-entropy of inputs from 0 to 1.",
        only_with={"output_activation": ("sigmoid",)},
    )
    tied: bool = flag(
        False,
        "Whether each weight of the decoder is that of the encoder between the same two units (weight sharing).",
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Learn from the rows; ``y`` is left aside. See :meth:`learners.base.Learner.fit`."""
        self.check_params()
        self.check_together()
        n_rows = as_table(X).n_rows
        table, target = check_training(X, Series(RECONSTRUCTION_ERROR, np.zeros(n_rows)), classification=False)
        weights = check_weights(sample_weight, n_rows)
        progress(0.0, "encoding")
        rows = np.flatnonzero(weights > 0)
        known, counted = table.take(rows), weights[rows]
        inputs = Inputs.fit(known, counted, scaling=self.scaling, gaps=bool(self.missing_indicators))
        learned = replace(self._constant(np.zeros(0), 0.0, ""), warnings=())
        if inputs.n_inputs:
            batch = inputs.batch(known)
            self._check_shares(batch)
            learned = self._learn(
                self._parted(Part(batch, batch, counted), "identity", inputs), self._portion(progress)
            )
        learned = replace(learned, warnings=(*learned.warnings, *_untold(inputs)))
        self._keep(X, table, target, inputs, OwnInputs(inputs.n_inputs), learned)
        progress(1.0, f"{inputs.n_inputs} inputs, a code of {int(self.hidden_units[-1])}")
        return self

    def _check_shares(self, batch: FloatArray) -> None:
        """Refuse inputs that sigmoid outputs cannot be, whatever is learned."""
        if self.output_activation == "sigmoid" and (batch.min() < 0 or batch.max() > 1):
            raise ParameterError(
                f"output_activation = 'sigmoid' is for inputs from 0 to 1; with scaling = {quoted(self.scaling)} they "
                f"go from {batch.min():g} to {batch.max():g}",
                field="scaling",
            )

    def _sizes(self, n_inputs: int, n_outputs: int) -> tuple[int, ...]:
        encoder = tuple(map(int, self.hidden_units))
        return (n_inputs, *encoder, *encoder[-2::-1], n_inputs)

    def _learn(self, examples: Examples, progress: Progress) -> Learned:
        units = self._sizes(examples.n_inputs, examples.n_outputs)
        layout = Layout(units, (*[self.activation] * (len(units) - 2), self.output_activation))
        return self._trained(layout, self.loss, examples, progress, ties=_ties(layout) if self.tied else None)

    def predict(self, X: Any) -> FloatArray:
        """The reconstruction error of each row, shape (n,): the mean squared difference of inputs and outputs."""
        table = self.check_table(X)
        found: FloatArray = _added(self._column_errors(table, self._outputs_of(table)))
        return found

    def transform(self, X: Any) -> FloatArray:
        """The code of each row: what the units of the middle layer say, shape (n, C)."""
        return self._code(self.check_table(X))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Learn from the rows, and give their code."""
        return self.fit(X, y, **fit_params).transform(X)

    def reconstruct(self, X: Any) -> Table:
        """The rows that come back, of the model's columns; see :func:`learners.neural.decoding.decoded`."""
        table = self.check_table(X)
        return Table(self.columns_, decoded(cast("Inputs", self.inputs_), self._outputs_of(table)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the mean reconstruction error."""
        return -float(np.average(self.predict(X), weights=sample_weight))

    @property
    def reason_size(self) -> int:
        return len(self.columns_) + int(self.hidden_units[-1])

    def explain(self, X: Any) -> list[Explanation]:
        """The code, and each column's share of the error."""
        table = self.check_table(X)
        outputs = self._outputs_of(table)
        errors, back = self._column_errors(table, outputs), decoded(cast("Inputs", self.inputs_), outputs)
        every = list(range(len(self.columns_)))
        found: list[Explanation] = []
        for row, code in enumerate(self._code(table).tolist()):
            columns = tuple(
                ReconstructedColumn(*told, self.columns_[index].decode(float(back[row, index])), float(error))
                for index, (told, error) in enumerate(zip(self._observed(table, row, every), errors[row], strict=True))
            )
            found.append(ReconstructionExplanation(tuple(code), columns))
        return found

    def _code(self, table: Table) -> FloatArray:
        if not isinstance(self.network_, Layers) or not table.n_rows:
            return np.zeros((table.n_rows, int(self.hidden_units[-1])))
        return self.network_.hidden(self.inputs_.batch(table), len(self.hidden_units))

    def _outputs_of(self, table: Table) -> FloatArray:
        if not isinstance(self.network_, Layers) or not table.n_rows:
            return np.zeros((table.n_rows, self.inputs_.n_inputs))
        return self.network_.outputs(self.inputs_.batch(table))

    def _column_errors(self, table: Table, outputs: FloatArray) -> FloatArray:
        """What each column adds to the error of each row, shape (n, d)."""
        batch = self.inputs_.batch(table)
        squares = (batch - outputs) ** 2 / max(batch.shape[1], 1)
        found = np.zeros((len(batch), len(self.columns_)))
        for place, owner in enumerate(self.inputs_.owners(batch.shape[1]).tolist()):
            found[:, owner] += squares[:, place]
        return found

    @classmethod
    def _outputs(cls, state: ModelState, made: Self) -> AnyTarget:
        return OwnInputs(made.inputs_.n_inputs)


def _untold(inputs: Inputs) -> tuple[str, ...]:
    """A warning of columns that add nothing to any row's error, whatever it holds there."""
    told = set(inputs.owners(inputs.n_inputs).tolist())
    names = [column.name for index, column in enumerate(inputs.columns) if index not in told]
    if not names:
        return ()
    shown = ", ".join(map(quoted, names[:_SHOWN])) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    if not told:
        return (f"no column varies in the training rows ({shown}): every row counts as coming back unchanged",)
    return (f"columns that do not vary in the training rows add nothing to any row's error: {shown}",)


def _added(errors: FloatArray) -> FloatArray:
    """Sums over columns in their order, so that a row alone and among others has the same bits; shape (n,)."""
    total = np.zeros(len(errors))
    for column in errors.T:
        total += column
    return total


def _ties(layout: Layout) -> IntArray:
    """One group for each weight of the encoder and its mirror image; biases are free."""
    ties = np.full(layout.n_weights, -1.0)
    layers = layout.layers(ties)
    number = 0
    for ahead, back in zip(layers[: len(layers) // 2], layers[::-1], strict=False):
        n_to, n_from = ahead.shape[1], ahead.shape[0] - 1
        groups = np.arange(number, number + n_from * n_to).reshape(n_from, n_to)
        ahead[:-1], back[:-1] = groups, groups.T
        number += groups.size
    return ties.astype(np.int64)
