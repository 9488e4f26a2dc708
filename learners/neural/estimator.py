"""What all networks share in learning: parameters, and fitting around what a family learns."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from learners.base import Progress
from learners.evaluation.folds import hold_out
from learners.neural.examples import ConstantNetwork, Examples, Learned, Part
from learners.neural.fitted import FittedNetwork
from learners.neural.inputs import AnyInputs, Inputs
from learners.neural.outcome import columns, notes
from learners.neural.start import Given, constant_error
from learners.neural.targets import LAST, AnyTarget, ClassTarget, Link, NumberTarget
from learners.neural.training import History
from learners.params import choice, flag, integer, learner, real
from learners.preprocessing.scale import SCALINGS
from learners.table import Kind, Series, Table
from learners.types import FloatArray

LARGEST_SEED = 2**53 - 1
#: Why nothing that stops by rows held out has an effect.
NONE_HELD_OUT = "no rows are held out to stop by; give validation_fraction"
#: Share of the work that learning is, between encoding and the end.
_LEARNED = 0.98


@learner
class NetworkEstimator(FittedNetwork):
    """Base of the networks: their common parameters, and fitting around a family's learning."""

    #: Kinds of columns, open to any text or sequence, that the family learns from.
    opened: ClassVar[frozenset[Kind]] = frozenset()

    scaling: str = choice(
        "standard",
        SCALINGS,
        "How quantities and ranks enter: by mean 0 and standard deviation 1, by range from 0 to 1, or as they are. "
        "Levels enter as indicators of 0 and 1, a missing value as the mean.",
    )
    missing_indicators: bool = flag(True, "Whether a column with missing values has an input more that tells of these.")
    validation_fraction: float = real(
        0.0, "Share of the training rows that are held out to stop by; 0 holds none out.", minimum=0, maximum=0.9
    )
    seed: int = integer(
        0, "Of the initial weights and of all else that chance decides.", minimum=0, maximum=LARGEST_SEED
    )

    def _check_patience(self) -> None:
        """Refuse a ``patience``, of learners that have one, where no rows are held out."""
        if self.validation_fraction == 0:
            self._refuse_changed(("patience",), NONE_HELD_OUT)

    @abstractmethod
    def _learn(self, examples: Examples, progress: Progress) -> Learned:
        """Learn from rows of at least one input, whose targets differ.

        Args:
            examples: see there.
            progress: told the share of the learning that is done, in [0, 1]; may raise ``Cancelled``.
        """

    def _fit_inputs(self, table: Table, weights: FloatArray) -> AnyInputs:
        """The inputs of rows of weight > 0."""
        return Inputs.fit(table, weights, scaling=self.scaling, gaps=bool(self.missing_indicators))

    def _fit_rows(
        self,
        X: Any,
        table: Table,
        target: Series,
        weights: FloatArray,
        outputs: NumberTarget | ClassTarget,
        progress: Progress,
    ) -> None:
        """Learn from rows of weight > 0, and remember what was learned.

        Args:
            X: what ``fit`` was given.
            table, target, weights: n rows.
            outputs: fitted to the target.
        """
        inputs = self._fit_inputs(table, weights)
        link: Link = "identity" if isinstance(outputs, NumberTarget) else outputs.link
        if outputs.is_constant:
            what = "target" if isinstance(outputs, NumberTarget) else "class"
            learned = self._constant(outputs.mean_scores(), 0.0, f"the training rows have one {what} only")
        elif not inputs.n_inputs:
            error = constant_error(outputs.coded(target.cells), weights, self._loss_of(link), LAST[link])
            learned = self._constant(outputs.mean_scores(), error, "no column varies in the training rows")
        else:
            part = Part(inputs.batch(table), outputs.coded(target.cells), weights)
            codes = None if isinstance(outputs, NumberTarget) else outputs.places(target.cells)
            learned = self._learn(self._parted(part, link, inputs, codes), self._portion(progress))
        self._keep(X, table, target, inputs, outputs, learned)

    def _constant(self, scores: FloatArray, error: float, why: str) -> Learned:
        """One answer to all rows, told of as what is learned is.

        Args:
            scores: the answer's, shape (O,).
            error: mean loss of the training rows.
            why: there is nothing to learn.
        """
        history = History(np.zeros(0))
        told = notes(0, history, "constant", error)
        warning = f"{why}: every row has one answer, and nothing was learned"
        return Learned(ConstantNetwork(scores), columns(history), told, (warning,))

    def _given(self, range_name: str | None) -> Given:
        """What advice goes by; see there."""
        return Given(range_name, self.scaling == "none")

    def _loss_of(self, link: Link) -> str:
        """What is minimised, one of :data:`learners.neural.layout.LOSSES`."""
        return "squared" if link == "identity" else "cross-entropy"

    def _parted(self, part: Part, link: Link, inputs: AnyInputs, codes: FloatArray | None = None) -> Examples:
        """Rows to learn from and rows to stop by, by class where codes are given."""
        fraction, n_rows = float(self.validation_fraction), len(part.weights)
        if not fraction or n_rows < 2:
            return Examples(part, None, link, inputs, int(self.seed))
        split, _ = hold_out(n_rows, fraction, int(self.seed), codes)
        training, validation = (
            Part(inputs.take(part.rows, rows), part.targets[rows], part.weights[rows])
            for rows in (split.train, split.test)
        )
        return Examples(training, validation, link, inputs, int(self.seed))

    def _keep(
        self, X: Any, table: Table, target: Series, inputs: AnyInputs, outputs: AnyTarget, learned: Learned
    ) -> None:
        self.inputs_, self.outputs_, self.network_ = inputs, outputs, learned.network
        self.history_, self.notes_, self.warnings_ = learned.history, learned.notes, learned.warnings
        self.target_ = target.column
        self._remember_columns(X, table)

    @staticmethod
    def _portion(progress: Progress) -> Progress:
        """What a family tells of its learning, as a portion of the whole fit."""
        return lambda share, message: progress(_LEARNED * share, message)
