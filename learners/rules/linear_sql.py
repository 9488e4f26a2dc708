"""Linear models as SQL: their linear functions as expressions that SQLite and PostgreSQL evaluate as the model does.

Each column adds what it adds in the model, by the same operations in the same order, so the sum of up to 49 columns has
the same bits. Missing values and levels that training never saw are answered as the model answers them. A number so
far from those of training that a database would refuse the arithmetic makes the row's answer ``NULL``.
"""

from __future__ import annotations

from math import nan

from learners.linear.additive import LevelPart, NumberPart
from learners.linear.fitted import FittedLinear
from learners.rules.sql import SOURCE, chain, cut, free_name, read_from
from learners.rules.sql_literals import identifier, number_literal, scalar_literal
from learners.table import UNSEEN, Column, canonical_text

#: Nothing in between may become larger in a database than this, and what is smaller than that counts as 0.
_LARGEST, _SMALLEST = 1e290, 1e-140


def linear_statement(model: FittedLinear, source: str) -> str:
    """A ``SELECT`` of a table's columns and of the model's linear functions for every row.

    Of a regression the answer is the column ``prediction``. Of a classifier there is a column ``score_<class>`` for
    each function: of two classes one, by whose sign they are told apart if no utilities decide; of more the greatest
    score has the likeliest class. Names that are taken or too long are replaced as in :mod:`learners.rules.sql`.

    Args:
        model: fitted.
        source: name of the table; numbers are read as doubles.
    """
    taken = {column.name for column in (*model.columns_, model.target_)}
    written = []
    for place, label in enumerate(model.function_labels_):
        wanted = "prediction" if label is None else f"score_{canonical_text(label)}"
        usable = wanted if cut(wanted) == wanted else f"score_{place + 1}"
        written.append(f"{function_expression(model, place)} AS {identifier(free_name(usable, taken))}")
    return read_from(source, written)


def function_expression(model: FittedLinear, function: int) -> str:
    """One linear function as an expression over the columns."""
    functions = model.functions_
    terms = [number_literal(functions.intercepts[function])]
    for part in functions.parts:
        column = model.columns_[part.feature]
        if isinstance(part, NumberPart) and not part.is_ranked:
            terms.append(_number(part, column, function))
        else:
            terms.append(_levels(part, column, function))
    return chain(terms, "+")


def _levels(part: NumberPart | LevelPart, column: Column, function: int) -> str:
    """What each level adds, an unseen one, and a missing one."""
    name = identifier(column.name, SOURCE)
    cases = [
        f"WHEN {name} = {scalar_literal(label)} THEN {number_literal(part.amount(function, float(code)))}"
        for code, label in enumerate(column.labels)
    ]
    missing, unseen = (number_literal(part.amount(function, cell)) for cell in (nan, UNSEEN))
    return f"CASE WHEN {name} IS NULL THEN {missing} {' '.join(cases)} ELSE {unseen} END"


def _number(part: NumberPart, column: Column, function: int) -> str:
    """What a number adds: Horner's rule in the scaled number, as far as no database refuses it."""
    name = identifier(column.name, SOURCE)
    powers = part.powers[function]
    missing = number_literal(part.missing[function])
    bound = _bound(part, powers)
    near = f"CASE WHEN ABS({name}) < {number_literal(_SMALLEST)} THEN {number_literal(0.0)} ELSE {name} END"
    scaled = f"(({near} * {number_literal(part.factor)} - {number_literal(part.offset)}) / {number_literal(part.unit)})"
    total = number_literal(powers[-1])
    for coefficient in powers[-2::-1]:
        total = f"({total} * {scaled} + {number_literal(coefficient)})"
    within = f"WHEN ABS({name}) <= {number_literal(bound)} THEN {total} * {scaled}"
    return f"CASE WHEN {name} IS NULL THEN {missing} {within} END"


def _bound(part: NumberPart, powers: tuple[float, ...]) -> float:
    """A magnitude up to which a number leads to nothing too large."""
    largest = max(abs(power) for power in powers)
    room = _LARGEST / max(largest, 1.0)
    scaled: float = (room / len(powers)) ** (1.0 / len(powers))
    return min(max((scaled * part.unit - abs(part.offset)) / part.factor, 0.0), _LARGEST / max(part.factor, 1.0))
