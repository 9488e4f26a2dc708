"""Tests of several values at once as SQL: what they ask, and where a missing value leaves it open.

The databases' own three-valued logic decides conjunctions and disjunctions as trees do. Of other counts the
terms that hold and those that are not known are counted. A weighted sum is written flat, in the order of its
terms, so that both databases add up the same doubles as the model. ``of`` is the alias of the table, if it has one.
"""

from __future__ import annotations

import math

from learners.rules.sql.columns import is_among
from learners.rules.sql.literals import identifier, number_literal
from learners.rules.sql.products import product
from learners.table import Column
from learners.trees.combined.column import CombinedColumn
from learners.trees.combined.tests import CODE, LEVELS, Term


def satisfies(column: CombinedColumn, low: float, high: float, of: str) -> str:
    """Whether the test's value is known and lies in ``low < value <= high``, one of which is infinite."""
    if column.test.is_sum:
        if math.isinf(low) and math.isinf(high):
            return f"{_sum(column, of)} IS NOT NULL"
        operator, threshold = ("<=", high) if math.isinf(low) else (">", low)
        return f"{_sum(column, of)} {operator} {number_literal(threshold)}"
    if math.isinf(low) and math.isinf(high):
        return f"NOT ({is_unknown(column, of)})"
    return _holds(column, of) if math.isinf(low) else _fails(column, of)


def is_unknown(column: CombinedColumn, of: str) -> str:
    """Whether missing values leave the test open."""
    if column.test.is_sum:
        return f"{_sum(column, of)} IS NULL"
    joined = _joined(column, of)
    return f"({joined}) IS NULL" if joined else f"(NOT {_holds(column, of)} AND NOT {_fails(column, of)})"


def _sum(column: CombinedColumn, of: str) -> str:
    terms = [product(weight, identifier(name, of)) for name, weight in column.weights]
    return f"({' + '.join(terms)})"


def _holds(column: CombinedColumn, of: str) -> str:
    joined = _joined(column, of)
    return f"({joined})" if joined else f"({_count(column, '{}', of)} >= {column.test.need})"


def _fails(column: CombinedColumn, of: str) -> str:
    joined = _joined(column, of)
    return f"(NOT ({joined}))" if joined else f"({_count(column, 'COALESCE({}, 1 = 1)', of)} < {column.test.need})"


def _joined(column: CombinedColumn, of: str) -> str | None:
    """The terms of a conjunction or a disjunction; ``None`` for another count."""
    need, texts = column.test.need, _texts(column, of)
    if need not in (1, len(texts)):
        return None
    return (" OR " if need == 1 else " AND ").join(texts)


def _count(column: CombinedColumn, form: str, of: str) -> str:
    """How many of the terms hold, each in this form."""
    return f"({' + '.join(f'CASE WHEN {form.format(text)} THEN 1 ELSE 0 END' for text in _texts(column, of))})"


def _texts(column: CombinedColumn, of: str) -> list[str]:
    return [_term(term, own, of) for term, own in zip(column.test.terms, column.columns, strict=True)]


def _term(term: Term, column: Column, of: str) -> str:
    """A term, null where it is not known."""
    name = identifier(column.name, of)
    if term.kind == LEVELS:
        return is_among(column, term.codes, of, negated=term.negated)
    if term.kind != CODE:
        return f"{name} {'>' if term.negated else '<='} {number_literal(term.number)}"
    below = math.floor(term.number) + 1
    parts = ((range(below), not term.negated), (range(below, len(column.levels)), term.negated))
    cases = [f"WHEN {is_among(column, codes, of)} THEN {int(said)}" for codes, said in parts if codes]
    return f"CASE {' '.join(cases)} END = 1"
