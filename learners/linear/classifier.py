"""Logistic and softmax regression."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from learners.base import Capabilities, Classifier, ModelState, Progress, no_progress
from learners.class_weights import class_weight_parameter
from learners.decisions import utility_matrix, utility_parameter
from learners.linear.estimator import (
    KEEPING_SMALL,
    LARGEST_ALPHA,
    PENALISED,
    PENALTIES,
    STRENGTH,
    Fitted,
    LinearEstimator,
)
from learners.linear.explanation import ContributionExplanation, LinearPredictor
from learners.linear.inference import Units, of_likelihood
from learners.linear.multinomial import SEPARABLE_ALPHA, Multinomial, problem_of
from learners.linear.newton import MOST_COEFFICIENTS
from learners.link import plain_probabilities, spread
from learners.params import choice, learner, real
from learners.table import Column
from learners.types import FloatArray, Scalar


@learner
class LogisticClassifier(LinearEstimator, Classifier):
    """Class probabilities by linear functions: of two classes the logistic function of one, of more softmax.

    Fitted to the cross-entropy by Newton's method (:mod:`learners.linear.newton`), with absolute values in the penalty
    by coordinate descent. Of two classes the function is the log odds of the second; of more each class has one, and
    these sum to 0. Separable classes have no fit without penalty: they get a small ridge, which ``warnings_`` tells.

    Fitted attributes beside those of every linear model: ``present_``, the codes of the classes that occur; and
    ``statistics_`` has ``deviance``, ``null_deviance`` and ``mcfadden_r_squared``.
    """

    name: ClassVar[str] = "logistic-classifier"
    summary: ClassVar[str] = (
        "Decides by class probabilities from weighted sums of the attributes: logistic regression, of more than two "
        "classes softmax regression, with ridge, lasso or elastic net."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(
        task="classification",
        explanations=("contributions",),
        exports=("coefficients",),
        missing=True,
        categories=True,
        scale_matters=True,  # to the last bits of the coefficients
    )

    penalty: str = choice("ridge", PENALTIES, KEEPING_SMALL)
    alpha: float | None = real(
        0.001,
        STRENGTH,
        minimum=0,
        maximum=LARGEST_ALPHA,
        none_means="chosen along the whole path by cross-validation",
        only_with={"penalty": PENALISED},
    )
    class_weight: dict[str, float] | None = class_weight_parameter()
    utility: dict[str, dict[str, float]] | None = utility_parameter()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Progress = no_progress) -> Self:
        """Choose strength and degree where asked to, and fit; see :meth:`learners.base.Learner.fit`."""
        table, target, weights = self._training_rows(X, y, sample_weight)
        utility = utility_matrix(self.utility, target.column)
        rows = np.flatnonzero(weights > 0)
        present, codes = np.unique(target.cells[rows], return_inverse=True)
        response = Multinomial(codes.astype(np.float64), max(len(present), 2))
        fitted = self._learned(table.take(rows), response, weights[rows], int(self.folds), progress)
        if fitted.solutions.warnings and fitted.alpha == 0:
            fitted = replace(fitted, alpha=SEPARABLE_ALPHA)
        coefficients, intercepts = fitted.solutions.coefficients[0], fitted.solutions.intercepts[0]
        if len(present) == 1:
            coefficients, intercepts = coefficients[:0], intercepts[:0]
        self.statistics_, self.standard_errors_ = _judged(fitted, response, coefficients)
        if self.class_weight is not None:
            self.standard_errors_[:] = np.nan  # a row counts for more than it is
        self.present_ = present.astype(np.int64)
        self._know_target(target.column)
        self.utility_ = utility
        self._remember(X, table, fitted, coefficients, intercepts)
        progress(1.0, f"{fitted.design.encoding.n_variables} variables")
        return self

    def _know_target(self, column: Column) -> None:
        self.target_ = column
        kind = object if column.level_type == "text" else None
        self.classes_ = np.array(column.labels, dtype=kind)

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities, shape (n, K); 0 of a class that did not occur in training."""
        return spread(self.linear_predictors(X), tuple(self.present_.tolist()), len(self.classes_))

    def _of_scores(self, scores: list[float]) -> list[float]:
        present = self.present_.tolist()
        shares = [1.0] if len(present) == 1 else plain_probabilities([0.0, *scores] if len(scores) == 1 else scores)
        found = [0.0] * len(self.classes_)
        for place, share in zip(present, shares, strict=True):
            found[place] = share
        return found

    @property
    def function_labels_(self) -> tuple[Scalar | None, ...]:
        labels = [self.target_.labels[code] for code in self.present_.tolist()]
        return tuple(labels if len(labels) > 2 else labels[1:])

    @property
    def _freedom(self) -> float | None:
        return None

    def _explained(self, predictors: tuple[LinearPredictor, ...]) -> ContributionExplanation:
        return ContributionExplanation(predictors, self.link, self.target_.labels, tuple(self.present_.tolist()))

    def _arrays(self) -> dict[str, Any]:
        return super()._arrays() | {"present": self.present_}

    @classmethod
    def from_state(cls, state: ModelState) -> Self:
        made: Self = super().from_state(state)
        made.present_ = state.arrays["present"]
        made._know_target(made.target_)
        made.utility_ = utility_matrix(made.utility, made.target_)
        return made


def _judged(
    fitted: Fitted, response: Multinomial, coefficients: FloatArray
) -> tuple[dict[str, float | None], FloatArray]:
    """How well the fit describes its rows, and the standard errors, shape (F, V + 1)."""
    design = fitted.design
    errors = np.full((len(coefficients), design.encoding.n_variables + 1), np.nan)
    if not len(coefficients):
        return {"rows": design.total, "deviance": 0.0, "null_deviance": 0.0, "mcfadden_r_squared": None}, errors
    variables = design.encoding.values(design.cells, design.columns)
    losses = response.losses(fitted.solutions.scores(variables))[0]
    deviance = 2.0 * float(design.weights @ losses)
    by_class = np.bincount(response.codes.astype(np.int64), design.weights) / design.total
    null = -2.0 * design.total * float(by_class @ np.log(by_class))
    if (fitted.penalty.is_quadratic or fitted.alpha == 0) and errors.size <= MOST_COEFFICIENTS:
        problem = problem_of(design, response.codes, response.n_classes, fitted.alpha)
        standard = coefficients * design.deviation
        intercepts = fitted.solutions.intercepts[0] + coefficients @ design.mean
        theta = np.column_stack([standard, intercepts])
        errors = of_likelihood(design, problem, Units.of(design.encoding), theta)
    told: dict[str, float | None] = {
        "rows": design.total,
        "deviance": deviance,
        "null_deviance": null,
        "mcfadden_r_squared": 1 - deviance / null,
    }
    return told, errors
