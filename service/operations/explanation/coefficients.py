"""A linear model's coefficients, as JSON, as a formula and as SQL."""

from __future__ import annotations

from typing import Any

from learners.linear.fitted import FittedLinear
from learners.rules.sql.linear import linear_statement
from service.errors import Conflict, Fault
from service.operations.served import ServedModel


def coefficients_json(model: ServedModel, level: float) -> dict[str, Any]:
    """The version, its coefficients with intervals, its fit, and what was tried to choose it.

    Args:
        level: of the confidence intervals, between 0 and 1.

    Raises:
        Conflict: the model is not linear.
    """
    learner = _linear(model)
    record = model.identity.to_json() | {
        "link": learner.link,
        "alpha": learner.alpha_,
        "degree": learner.degree_,
        "level": level,
        "without_intervals": learner.without_intervals_,
        "formula": learner.formula(),
        "coefficients": [one.to_json() for one in learner.coefficients(level)],
        "statistics": learner.statistics_,
        "warnings": list(learner.warnings_),
    }
    return record | ({} if learner.tried_ is None else {"tried": learner.tried_.to_json()})


def formula_text(model: ServedModel) -> str:
    """The linear functions, one a line.

    Raises:
        Conflict: the model is not linear.
    """
    return _linear(model).formula() + "\n"


def sql_text(model: ServedModel, source: str) -> str:
    """A ``SELECT`` of the linear functions for every row of a table; see :mod:`learners.rules.sql.linear`.

    Raises:
        Conflict: the model is not linear.
    """
    return linear_statement(_linear(model), source) + "\n"


def _linear(model: ServedModel) -> FittedLinear:
    learner = model.learner
    if not isinstance(learner, FittedLinear):
        message = f"{learner.name} has no coefficients of its columns"
        raise Conflict(f"The model is not linear: {message}", [Fault(message, parameter="ref")])
    return learner
