"""Linear regression: least squares, ridge, lasso and elastic net, of degree 1 or more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from learners.base import Capabilities, Progress, Regressor, check_training, check_weights, no_progress, target_numbers
from learners.linear.design import make_design
from learners.linear.estimator import Fitted, LinearEstimator
from learners.linear.explanation import ContributionExplanation, LinearPredictor
from learners.linear.gaussian import Gaussian
from learners.linear.inference import Units, of_least_squares
from learners.linear.least_squares import factor
from learners.linear.penalty import Penalty
from learners.linear_function import LARGEST
from learners.params import choice, learner
from learners.types import FloatArray, Scalar


@learner
class LinearRegressor(LinearEstimator, Regressor):
    """A number as the sum of what each attribute adds.

    Without penalty by least squares (the solution of least norm where columns are collinear or more than rows), else
    by ridge, lasso or elastic net regression; see :mod:`learners.linear.penalty`. Numbers may enter with their
    powers up to a degree, each centred and scaled; levels by indicators; see :mod:`learners.preprocessing.encode`.

    Fitted attributes beside those of every linear model: ``statistics_`` has ``r_squared``, ``adjusted_r_squared``,
    ``residual_standard_error``, ``degrees_of_freedom``, ``effective_parameters`` and ``rank``.
    """

    name: ClassVar[str] = "linear-regressor"
    summary: ClassVar[str] = (
        "Estimates a number by a sum over the attributes: least squares, ridge, lasso or elastic net, with polynomials "
        "by option."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(
        task="regression",
        explanations=("contributions",),
        exports=("coefficients",),
        missing=True,
        categories=True,
        scale_matters=True,  # to the last bits of the coefficients
    )

    validation: str = choice(
        "cross-validation",
        ("cross-validation", "leave-one-out"),
        "How strength and degree are judged: by folds, or by leaving out each row alone, which has a formula.",
        only_with={"penalty": ("none", "ridge")},
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Choose strength and degree where asked to, and fit; see :meth:`learners.base.Learner.fit`."""
        self.check_params()
        self.check_together()
        table, target = check_training(X, y, classification=False)
        weights = check_weights(sample_weight, table.n_rows)
        rows = np.flatnonzero(weights > 0)
        response = Gaussian.of(target_numbers(target)[rows])
        folds = None if self.validation == "leave-one-out" else int(self.folds)
        fitted = self._learned(table.take(rows), response, weights[rows], folds, progress)
        with np.errstate(over="ignore", under="ignore"):
            coefficients = np.ldexp(fitted.solutions.coefficients[0], response.exponent)
            intercepts = np.ldexp(fitted.solutions.intercepts[0], response.exponent)
        if fitted.tried is not None:
            fitted = replace(fitted, tried=fitted.tried.in_units(response.exponent))
        self.statistics_, self.standard_errors_ = _judged(fitted, response)
        self.target_ = target.column
        bounded = np.clip(coefficients, -LARGEST, LARGEST)
        self._remember(X, table, fitted, bounded, np.clip(intercepts, -LARGEST, LARGEST))
        progress(1.0, f"{fitted.design.encoding.n_variables} variables")
        return self

    def predict(self, X: Any) -> FloatArray:
        """Intercept and what each column adds, shape (n,)."""
        found: FloatArray = self.linear_predictors(X)[0]
        return found

    @property
    def leaves_one_out(self) -> bool:
        """Whether, by its parameters, :meth:`leave_one_out` knows a way that is exact."""
        return self.penalty == "none" and self.degree == 1

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> FloatArray | None:
        """See :class:`learners.evaluation.leaving_out.LeavesOneOut`.

        Least squares of numbers without gaps, which no unit changes, where no row alone tells a coefficient. A penalty
        is of variables in units of their deviation, which is another one without a row.
        """
        weights = check_weights(sample_weight, X.n_rows)
        plain = all(column.is_numeric for column in X.columns) and not np.isnan(X.values).any()
        if not self.leaves_one_out or not plain or not weights.all():
            return None
        design = make_design(X, weights, degree=1, gaps=False)
        if factor(design).rank < X.n_columns:
            return None
        numbers = target_numbers(y)
        errors = Gaussian.of(numbers).left_out(design, Penalty(None), np.zeros(1))[0]
        return numbers - errors if np.isfinite(errors).all() else None

    def _of_scores(self, scores: list[float]) -> list[float]:
        return scores

    @property
    def function_labels_(self) -> tuple[Scalar | None, ...]:
        return (None,)

    @property
    def _freedom(self) -> float | None:
        return self.statistics_["degrees_of_freedom"]

    def _explained(self, predictors: tuple[LinearPredictor, ...]) -> ContributionExplanation:
        return ContributionExplanation(predictors, self.link)


def _judged(fitted: Fitted, response: Gaussian) -> tuple[dict[str, float | None], FloatArray]:
    """How well the fit describes its rows, and the standard errors."""
    design = fitted.design
    factored = factor(design)
    shares = design.weights / design.total
    rest = response.target - fitted.solutions.scores(design.encoding.values(design.cells, design.columns))[0, 0]
    centred, _ = response.centred(design)
    left, total = float(shares @ rest**2), float(shares @ centred**2)
    explained = 1.0 - left / total if total > 0 else None
    is_quadratic = fitted.penalty.is_quadratic or fitted.alpha == 0
    if is_quadratic:
        used = float((factored.singular**2 / (factored.singular**2 + fitted.alpha)).sum())
    else:
        used = float(np.count_nonzero(fitted.solutions.coefficients[0]))
    freedom = design.total - 1.0 - used
    variance = left * design.total / freedom if freedom > 0 else float("nan")
    n_variables = design.encoding.n_variables
    errors = np.full((1, n_variables + 1), np.nan)
    if is_quadratic and freedom > 0:
        with np.errstate(over="ignore", under="ignore"):
            found = of_least_squares(design, factored, Units.of(design.encoding), fitted.alpha, variance)
            errors = np.minimum(np.ldexp(found, response.exponent), LARGEST).astype(np.float64)
    adjusted = None
    if explained is not None and freedom > 0 and design.total > 1:
        adjusted = 1.0 - (1.0 - explained) * (design.total - 1.0) / freedom
    deviation = None
    if freedom > 0:
        with np.errstate(over="ignore"):
            deviation = float(min(np.ldexp(np.sqrt(variance), response.exponent), LARGEST))
    return {
        "rows": design.total,
        "r_squared": explained,
        "adjusted_r_squared": adjusted,
        "residual_standard_error": deviation,
        "degrees_of_freedom": freedom,
        "effective_parameters": used + 1.0,
        "rank": float(factored.rank + 1),
    }, errors
