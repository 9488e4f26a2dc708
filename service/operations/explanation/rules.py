"""A model's rules, in the form asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from learners.errors import LearnerError
from learners.rules.access import count_rules, rules_of
from learners.rules.render import to_markdown, to_text
from learners.rules.rule import RuleSet
from learners.rules.sql.statements import case_expression, select_statement
from service.errors import Conflict, Fault
from service.operations.explanation.positions import decode_position, encode_position
from service.operations.long_work import Amount, pause
from service.operations.served import ServedModel

#: Between rules that are merged.
pause_among_rules = partial(pause, amount=Amount("rules", "simplify"))
RuleFormat = Literal["text", "markdown", "sql"]
SqlForm = Literal["select", "case"]


@dataclass(frozen=True)
class Paging:
    """Which page of a version's rules is wanted: the cursor of the page before, and how many at most."""

    cursor: str | None = None
    limit: int = 1000


def rules_json(model: ServedModel, paging: Paging, *, simplify: bool = False) -> dict[str, Any]:
    """The version and a page of its rules, of all of them or simplified.

    Raises:
        Conflict: the model is not of a kind that has rules, or the cursor is of another version.
        BadRequest: no page gave the cursor.
    """
    first = decode_position(model.identity, paging.cursor)
    if simplify:
        rules = rules_of_model(model, simplify=True)
        n_rules = len(rules.rules)
        page = replace(rules, rules=rules.rules[first : first + paging.limit])
    else:
        page = rules_of_model(model, part=range(first, first + paging.limit))
        n_rules = count_rules(model.learner)
    return model.identity.to_json() | page.to_json() | page_json(model, first + paging.limit, n_rules)


def page_json(model: ServedModel, end: int, n_rules: int) -> dict[str, Any]:
    """What a page that ends before a place says of the others."""
    return {"n_rules": n_rules, "next_cursor": encode_position(model.identity, end) if end < n_rules else None}


@dataclass(frozen=True)
class Sql:
    """How rules are written as SQL.

    Attributes:
        source: the table that is read.
        form: a ``SELECT`` that answers every row as the model does, or one ``CASE`` expression.
    """

    source: str = "rows"
    form: SqlForm = "select"


def rules_text(
    model: ServedModel,
    rule_format: RuleFormat,
    sql: Sql,
    *,
    simplify: bool = False,
) -> str:
    """The rules as text for people or databases.

    Args:
        model: whose rules.
        rule_format: plain text, a Markdown table or SQL.
        sql: what kind of SQL, if it is SQL.
        simplify: merge and leave out what no row can tell; see :mod:`learners.rules.simplify`.

    Raises:
        Conflict: see :func:`rules_json`.
    """
    rules = rules_of_model(model, simplify=simplify)
    if rule_format == "text":
        return to_text(rules)
    if rule_format == "markdown":
        return to_markdown(rules)
    written = case_expression(rules) if sql.form == "case" else select_statement(rules, sql.source)
    return written + "\n"


def rules_of_model(model: ServedModel, *, simplify: bool = False, part: range | None = None) -> RuleSet:
    """The model's rules: all of them, those at some places, or simplified.

    Raises:
        Conflict: it has none.
    """
    try:
        return rules_of(model.learner, simplify=simplify, part=part, pause=pause_among_rules)
    except LearnerError as error:
        said = f"{error}; surrogate=16 asks for at most 16 rules of a tree in its place"
        raise Conflict(f"The model has no rules: {said}", [Fault(said, parameter="ref")]) from None
