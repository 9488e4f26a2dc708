"""How sure coefficients are: standard errors in the units of the data, and when they tell intervals.

Weights count rows: a row of weight 2 is two rows. A standard error is the deviation of a coefficient in repeated
samples, of a ridge by Hoerl and Kennard (Ridge regression, 1970) and le Cessie and van Houwelingen (Ridge estimators in
logistic regression, 1992). A coefficient that collinear variables leave open has none, and so have all of a lasso or
elastic net, whose choice of variables no such formula covers, and all where classes count more than their rows do.

t, p-values and intervals take an estimate for unbiased, as least squares and maximum likelihood are, the latter with
many rows. A penalty draws estimates to 0, by how much depends on what is not known, so none of these hold (Goeman,
Meijer and Chaturvedi, L1 and L2 penalized regression models, 2018): they are told without penalty only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.linear.design import Design
from learners.linear.least_squares import Factored
from learners.linear.newton import Problem, inverse
from learners.linear_function import LARGEST
from learners.preprocessing.encode import POWER, Encoding
from learners.types import Array, FloatArray

#: A coefficient of which a larger share than this lies where the rows do not vary is open.
_OPEN = 1e-8


def why_no_intervals(penalty: str, alpha: float, *, weighs_classes: bool) -> str | None:
    """Why coefficients have no t, p-value and interval; ``None`` where they may have them.

    Args:
        penalty: the parameter. alpha: with which the model was learned in the end.
        weighs_classes: whether classes count otherwise than by their rows.
    """
    if alpha > 0 and penalty == "none":
        return (
            f"the classes are separable, so there is no estimate without penalty; that of a ridge (alpha = {alpha:g}) "
            "is drawn to 0, and has no t, p-value or interval"
        )
    if alpha > 0:
        return (
            f"the penalty ({penalty}, alpha = {alpha:g}) draws the coefficients to 0, so t, p-values and intervals, "
            "which are of unbiased estimates, would mislead; train with penalty = none to have them"
        )
    if weighs_classes:
        return (
            "class_weight counts classes otherwise than by their rows, so there are no standard errors, p-values and "
            "intervals; train without it to have them"
        )
    return None


@dataclass(frozen=True, eq=False)
class Units:
    """From coefficients of the encoding's variables to those in the units of the data.

    The number of a column without higher powers is told by its own unit, counted from 0; powers by the scaled number.

    Attributes:
        scale: what each coefficient is multiplied by, shape (V,); of the machine's widest floating type, for it may
            lie beyond what a double holds.
        shift: what the intercept loses for each, per unit of the encoding's coefficient, shape (V,).
    """

    scale: Array
    shift: FloatArray

    @classmethod
    def of(cls, encoding: Encoding) -> Units:
        column = encoding.column
        powers = encoding.kind == POWER
        alone = powers & (np.bincount(column[powers], minlength=len(encoding.unit))[column] == 1)
        with np.errstate(over="ignore", under="ignore"):
            scale = np.where(alone, encoding.factor[column].astype(np.longdouble) / encoding.unit[column], 1.0)
            shift = np.where(alone, encoding.offset[column] / encoding.unit[column], 0.0)
        return cls(np.minimum(scale, np.finfo(np.longdouble).max), np.minimum(np.maximum(shift, -LARGEST), LARGEST))

    def of_data(self, coefficients: FloatArray, intercepts: FloatArray) -> FloatArray:
        """Coefficients and, last, the intercept of each function, shape (F, V + 1)."""
        with np.errstate(over="ignore", under="ignore"):
            moved = intercepts - (coefficients.astype(np.longdouble) * self.shift).sum(axis=1)
            told = np.column_stack([coefficients * self.scale, moved])
        bounded: FloatArray = np.clip(told, -LARGEST, LARGEST).astype(np.float64)
        return bounded


def of_least_squares(design: Design, factored: Factored, units: Units, alpha: float, variance: float) -> FloatArray:
    """Standard errors of the coefficients and, last, of the intercept, shape (1, V + 1); NaN where there is none.

    Args:
        variance: of the residuals.
    """
    spread = factored.right * (factored.singular / (factored.singular**2 + alpha))
    with np.errstate(over="ignore", under="ignore"):
        errors = np.sqrt((spread**2).sum(axis=1)) / design.deviation * units.scale
    to_zero = (design.mean + units.shift) / design.deviation
    intercept = np.sqrt(1.0 + float(((to_zero @ spread) ** 2).sum()))
    if alpha == 0:
        is_open = (factored.right**2).sum(axis=1) < 1.0 - _OPEN
        errors = np.where(is_open, np.nan, errors)
        # the intercept is open where what leads to it is
        outside = to_zero - factored.right @ (factored.right.T @ to_zero)
        if np.abs(outside).max(initial=0.0) > _OPEN * (1.0 + np.abs(to_zero).max(initial=0.0)):
            intercept = np.nan
    found: FloatArray = np.append(errors, intercept)[None] * np.sqrt(variance / design.total)
    return found


def of_likelihood(design: Design, problem: Problem, units: Units, theta: FloatArray) -> FloatArray:
    """The same of logistic and softmax regression, from the expected second derivatives; shape (F, V + 1).

    Args:
        theta: coefficients and, last, the intercept of the standardised variables, shape (F, V + 1).
    """
    likely = problem.likely(theta)
    curvature = problem.curvature(likely)
    bread = inverse(curvature)
    covariance = bread @ problem.information(likely) @ bread / design.total
    size = theta.shape[1]
    to_zero = np.append(-(design.mean + units.shift) / design.deviation, 1.0)
    found = np.empty_like(theta)
    for function in range(len(theta)):
        block = slice(function * size, (function + 1) * size)
        own = covariance[block, block]
        errors = np.sqrt(np.maximum(np.diag(own), 0.0))
        with np.errstate(over="ignore", under="ignore"):
            found[function, :-1] = np.minimum(errors[:-1] / design.deviation * units.scale, LARGEST)
        found[function, -1] = np.sqrt(max(float(to_zero @ own @ to_zero), 0.0))
    if not problem.ridge.any():
        values, vectors = np.linalg.eigh(curvature)
        empty = vectors[:, values <= 1e-12 * values[-1]]
        found[(np.abs(empty).max(axis=1, initial=0.0) > _OPEN).reshape(found.shape)] = np.nan
    return found
