"""A model's rules, in the form asked for."""

from __future__ import annotations

from typing import Any, Literal

from learners.errors import LearnerError
from learners.rules.access import rules_of
from learners.rules.render import to_markdown, to_text
from learners.rules.rule import RuleSet
from learners.rules.sql import case_expression, select_statement
from service.errors import Conflict, Fault
from service.operations.served import ServedModel

RuleFormat = Literal["text", "markdown", "sql"]
SqlForm = Literal["select", "case"]


def rules_json(model: ServedModel, *, simplify: bool = False) -> dict[str, Any]:
    """The version and its rules, all of them or simplified.

    Raises:
        Conflict: the model is not of a kind that has rules.
    """
    return model.identity.to_json() | rules_of_model(model, simplify=simplify).to_json()


def rules_text(
    model: ServedModel,
    rule_format: RuleFormat,
    source: str = "rows",
    form: SqlForm = "select",
    *,
    simplify: bool = False,
) -> str:
    """The rules as text for people or databases.

    Args:
        model: whose rules.
        rule_format: plain text, a Markdown table or SQL.
        source: the table that the SQL reads.
        form: a ``SELECT`` that answers every row as the model does, or one ``CASE`` expression.
        simplify: merge and leave out what no row can tell; see :mod:`learners.rules.simplify`.

    Raises:
        Conflict: see :func:`rules_json`.
    """
    rules = rules_of_model(model, simplify=simplify)
    if rule_format == "text":
        return to_text(rules)
    if rule_format == "markdown":
        return to_markdown(rules)
    sql = case_expression(rules) if form == "case" else select_statement(rules, source)
    return sql.rstrip("\n") + "\n"


def rules_of_model(model: ServedModel, *, simplify: bool = False) -> RuleSet:
    """The model's rules, all of them or simplified.

    Raises:
        Conflict: it has none.
    """
    try:
        return rules_of(model.learner, simplify=simplify)
    except LearnerError as error:
        raise Conflict(f"The model has no rules: {error}", [Fault(str(error), parameter="ref")]) from None
