"""What a fitted linear model holds, answers, tells and stores, however it was learned."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import isnan
from typing import Any, Self

import numpy as np

from learners import class_weights
from learners.attribute_contribution import AttributeContribution, State
from learners.base import Learner, ModelState
from learners.explanation import Explanation
from learners.linear.additive import AdditiveFunctions, LevelPart, additive
from learners.linear.choosing import Tried
from learners.linear.coefficients import Coefficient, Variable, coefficient, formula_text, variables_of
from learners.linear.explanation import ContributionExplanation, LinearPredictor
from learners.linear.inference import Units, why_no_intervals
from learners.linear_function import LARGEST
from learners.link import Link
from learners.preprocessing.encode import Encoding
from learners.table import UNSEEN
from learners.types import FloatArray, IntArray, Scalar


class FittedLinear(Learner):
    """A model that answers by linear functions of its attributes.

    Fitted attributes:
        encoding_: the variables that the columns make.
        coefficients_, intercepts_: of the encoding's variables, shapes (F, V) and (F,), for each linear function.
        standard_errors_: of :meth:`coefficients`, intercept last, shape (F, V + 1); NaN where there is none.
        functions_: the same as sums over columns, which answer.
        alpha_: strength of the penalty, 0 without; degree_: the largest power.
        tried_: what was tried to choose them, or ``None`` if nothing had to be chosen.
        statistics_: how well the model fits its training rows, by name.
        warnings_: sentences on what was done otherwise than asked.
        present_: of a classifier the codes of the classes that occurred in training.
    """

    penalty: str
    encoding_: Encoding
    coefficients_: FloatArray
    intercepts_: FloatArray
    standard_errors_: FloatArray
    functions_: AdditiveFunctions
    alpha_: float
    degree_: int
    tried_: Tried | None
    statistics_: dict[str, float | None]
    warnings_: tuple[str, ...]
    present_: IntArray

    def _make_functions(self) -> None:
        self.functions_ = additive(self.encoding_, self.columns_, self.coefficients_, self.intercepts_)

    @property
    @abstractmethod
    def function_labels_(self) -> tuple[Scalar | None, ...]:
        """The class that each linear function is the score of; ``None`` of a regression."""

    @property
    def link(self) -> Link:
        """How answers follow from the functions' values."""
        if self.target_.is_numeric:
            return "identity"
        return "softmax" if len(self.intercepts_) > 1 else "logistic"

    @property
    @abstractmethod
    def _freedom(self) -> float | None:
        """Degrees of freedom of the coefficients' t; ``None`` for the normal distribution."""

    @property
    def without_intervals_(self) -> str | None:
        """Why no coefficient has a t, p-value and interval; ``None`` where they may have."""
        weighs = getattr(self, class_weights.PARAMETER, None) is not None
        return why_no_intervals(self.penalty, self.alpha_, weighs_classes=weighs)

    def coefficients(self, level: float = 0.95) -> list[Coefficient]:
        """Every coefficient in the units of the data, function by function, each beginning with its intercept.

        Args:
            level: of the intervals, between 0 and 1; see :attr:`without_intervals_`.
        """
        self.check_fitted()
        told_level = level if self.without_intervals_ is None else None
        units = Units.of(self.encoding_).of_data(self.coefficients_, self.intercepts_)
        variables = [*variables_of(self.encoding_, self.columns_), Variable("intercept")]
        order = [len(variables) - 1, *range(len(variables) - 1)]
        return [
            coefficient(
                label,
                variables[place],
                float(units[function, place]),
                float(self.standard_errors_[function, place]),
                self._freedom,
                told_level,
            )
            for function, label in enumerate(self.function_labels_)
            for place in order
        ]

    def formula(self) -> str:
        """The linear functions for people, one a line; coefficients of 0 are left out."""
        rows = [row for row in self.coefficients() if row.estimate != 0 or row.variable.kind == "intercept"]
        return "\n".join(formula_text(rows))

    def linear_predictors(self, X: Any) -> FloatArray:
        """The values of the linear functions, shape (F, n)."""
        table = self.check_table(X)  # first, so that an unfitted learner says so
        return self.functions_.values(table.values)

    def answer_plainly(self, rows: Sequence[Sequence[float]]) -> FloatArray:
        """The answers of a few rows of cells, to the bit as those of a table: class probabilities (n, K), or (n, 1)."""
        functions = self.functions_
        places = range(len(functions.intercepts))
        return np.array([self._of_scores([functions.value(place, cells) for place in places]) for cells in rows])

    @abstractmethod
    def _of_scores(self, scores: list[float]) -> list[float]:
        """The answer to one row, class probabilities (K,) or (1,), by the functions' values (F,)."""

    def explain(self, X: Any) -> list[Explanation]:
        """What each column adds; see :class:`~learners.linear.explanation.ContributionExplanation`."""
        table = self.check_table(X)
        return [self.explain_plainly(row.tolist()) for row in table.values]

    def explain_plainly(self, cells: Sequence[float]) -> ContributionExplanation:
        """The same of one row of cells."""
        predictors = []
        for function, label in enumerate(self.function_labels_):
            parts = []
            for part in self.functions_.parts:
                column, cell = self.columns_[part.feature], cells[part.feature]
                unseen = not column.is_numeric and cell == UNSEEN
                untold = unseen or (isinstance(part, LevelPart) and not isnan(cell) and not part.seen[int(cell)])
                amount = part.amount(function, cell)
                known: State = "bounded" if abs(amount) >= LARGEST else "known"
                state: State = "missing" if isnan(cell) else "unseen" if untold else known
                parts.append(AttributeContribution(column.name, column.decode(cell), state, amount))
            predictors.append(LinearPredictor(label, self.functions_.intercepts[function], tuple(parts)))
        return self._explained(tuple(predictors))

    @abstractmethod
    def _explained(self, predictors: tuple[LinearPredictor, ...]) -> ContributionExplanation:
        """The record of a row's predictors."""

    def training_notes(self) -> dict[str, Any]:
        """The ``alpha`` and ``degree`` that were chosen, if any were, and ``warnings``, if there are some."""
        chosen = {} if self.tried_ is None else {"alpha": self.alpha_, "degree": self.degree_}
        return chosen | ({"warnings": list(self.warnings_)} if self.warnings_ else {})

    def get_state(self) -> ModelState:
        header = self._header()  # first, so that an unfitted learner says so
        header |= {"alpha": self.alpha_, "degree": self.degree_}
        header |= {"statistics": self.statistics_, "warnings": list(self.warnings_)}
        return ModelState(header, self._arrays())

    def _arrays(self) -> dict[str, Any]:
        own = {
            "coefficients": self.coefficients_,
            "intercepts": self.intercepts_,
            "standard_errors": self.standard_errors_,
        }
        return own | self.encoding_.to_arrays() | ({} if self.tried_ is None else self.tried_.to_arrays())

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made = cls._of_header(state.header)
        header, arrays = state.header, state.arrays
        made.alpha_, made.degree_ = header["alpha"], header["degree"]
        made.statistics_, made.warnings_ = dict(header["statistics"]), tuple(header["warnings"])
        made.coefficients_, made.intercepts_ = arrays["coefficients"], arrays["intercepts"]
        made.standard_errors_ = arrays["standard_errors"]
        made.encoding_, made.tried_ = Encoding.from_arrays(arrays), Tried.from_arrays(arrays)
        made._make_functions()
        return made
