"""What to ask next about partly filled rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from learners.decisions import utility_matrix
from learners.errors import ParameterError
from learners.reasons.question import Question, next_question
from learners.table import Table
from learners.types import Scalar
from service.errors import Fault, Invalid
from service.operations.explanation.reasoning import Describe, Rows, reason_about, tree_of
from service.operations.long_work import pause
from service.operations.served import ServedModel


def ask_next(
    model: ServedModel,
    sent: Rows,
    costs: Mapping[str, float],
    utility: Mapping[str, Mapping[str, float]] | None,
    describe: Describe,
) -> dict[str, Any]:
    """For each row what is known, what is still possible, and which value is worth asking for.

    A model that decides as the request wants ranks by the utilities of that.

    Raises:
        Invalid: utilities are given beside such a decision, a cost or utility does not fit the model, or every row is
            bad. Conflict: the model is no tree of tests on single columns. TooLarge: too many rows.
    """

    if utility is not None and model.decision is not None:
        message = "utility has no effect beside decision, whose own utilities rank; give one of them"
        raise Invalid(f"The request is not valid: {message}", [Fault(message, parameter="utility")])
    target = tree_of(
        model,
        "what an unknown value may still decide is weighed by the shares of a tree's branches, and rules that overlap "
        "have none",
    ).target_

    def reason(table: Table) -> list[dict[str, Any]]:
        if utility is not None and target.is_numeric:
            raise ParameterError("utilities are of decisions on classes; the model is a regression", field="utility")
        utilities = utility_matrix(utility, target) if model.decision is None else model.decision.utility
        found = next_question(model.learner, table, costs, utilities, pause)
        return [_record(question, model.identity.classes) for question in found]

    return reason_about(model, sent, describe, reason)


def _record(question: Question, classes: tuple[Scalar, ...]) -> dict[str, Any]:
    record: dict[str, Any] = {"uncertainty": question.uncertainty, "leaves": question.leaves}
    if question.possible is not None:
        record["possible"] = [classes[code] for code in question.possible]
    if question.spread is not None:
        record["minimum"], record["maximum"] = question.spread
    return record | {"ask": question.ask, "candidates": [one.to_json() for one in question.candidates]}
