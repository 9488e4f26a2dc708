"""Linear models as SQL: their linear functions as expressions that SQLite and PostgreSQL evaluate as the model does.

Each column adds what it adds in the model, by the same operations in the same order, so the sum of up to 49 columns has
the same bits. Missing values and levels that training never saw are answered as the model answers them. Where a
straight line passes 1e300, the column adds that, as in the model. Of powers, a number so far from those of training
that a database could refuse the arithmetic makes the row's answer ``NULL``.
"""

from __future__ import annotations

import math
from math import isfinite, nan
from sys import float_info

from learners.linear.additive import LevelPart, NumberPart
from learners.linear.fitted import FittedLinear
from learners.linear_function import LARGEST
from learners.rules.sql.columns import is_among
from learners.rules.sql.literals import identifier, number_literal
from learners.rules.sql.products import last_double, small_as_zero
from learners.rules.sql.statements import SOURCE, chain, cut, free_name, read_from
from learners.table import UNSEEN, Column, canonical_text

#: The smallest magnitude to which a product may come: databases refuse one that is too small for a double.
_SMALLEST = 1e-290


def linear_statement(model: FittedLinear, source: str) -> str:
    """A ``SELECT`` of a table's columns and of the model's linear functions for every row.

    Of a regression the answer is the column ``prediction``. Of a classifier there is a column ``score_<class>`` for
    each function: of two classes one, by whose sign they are told apart if no utilities decide; of more the greatest
    score has the likeliest class. Names taken or too long are replaced as in :mod:`learners.rules.sql.statements`.

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
        f"WHEN {is_among(column, [code], SOURCE)} THEN {number_literal(part.amount(function, float(code)))}"
        for code in range(len(column.levels))
    ]
    missing, unseen = (number_literal(part.amount(function, cell)) for cell in (nan, UNSEEN))
    return f"CASE WHEN {name} IS NULL THEN {missing} {' '.join(cases)} ELSE {unseen} END"


def _number(part: NumberPart, column: Column, function: int) -> str:
    """What a number adds: Horner's rule in the scaled number, as far as no database refuses it."""
    name = identifier(column.name, SOURCE)
    powers = part.powers[function]
    missing = number_literal(part.missing[function])
    near = small_as_zero(name, _smallest(part, powers))
    scaled = f"(({near} * {number_literal(part.factor)} - {number_literal(part.offset)}) / {number_literal(part.unit)})"
    total = number_literal(powers[-1])
    for coefficient in powers[-2::-1]:
        total = f"({total} * {scaled} + {number_literal(coefficient)})"
    if len(powers) > 1 or not _is_plain(part, powers[0], 0.0):
        beyond = f"WHEN ABS({name}) > {number_literal(_bound(part, powers))} THEN NULL"
    else:
        low, high = (sign * _last_plain(part, powers[0], sign) for sign in (-1.0, 1.0))
        least, most = (number_literal(part.amount(function, sign * float_info.max)) for sign in (-1.0, 1.0))
        beyond = f"WHEN {name} < {number_literal(low)} THEN {least} WHEN {name} > {number_literal(high)} THEN {most}"
    return f"CASE WHEN {name} IS NULL THEN {missing} {beyond} ELSE {total} * {scaled} END"


def _is_plain(part: NumberPart, slope: float, cell: float) -> bool:
    """Whether a straight line is kept within no bound at a cell."""
    moved = cell * part.factor - part.offset
    scaled = moved / part.unit
    return isfinite(moved) and abs(scaled) <= LARGEST and abs(slope * scaled) <= LARGEST


def _last_plain(part: NumberPart, slope: float, sign: float) -> float:
    """The largest magnitude at which a line is kept within no bound; what it adds beyond is the same for all cells."""
    return last_double(lambda cell: _is_plain(part, slope, sign * cell))  # the parts of a line grow with the cell


def _smallest(part: NumberPart, powers: tuple[float, ...]) -> float:
    """A magnitude from which on a number leads to nothing too small for a double.

    Horner's rule multiplies each coefficient by the scaled number as often as it is higher than the next one below it
    that is not 0.
    """
    degrees = [degree for degree, power in enumerate(powers, start=1) if power != 0.0]
    runs = zip(degrees, [0, *degrees], strict=False)
    least = [math.pow(_SMALLEST / abs(powers[degree - 1]), 1.0 / (degree - below)) for degree, below in runs]
    return min(max([_SMALLEST, *least]), 1.0) * part.unit / part.factor


def _bound(part: NumberPart, powers: tuple[float, ...]) -> float:
    """A magnitude up to which a number leads to nothing too large."""
    largest = max(abs(power) for power in powers)
    room = LARGEST / 2 / max(largest, 1.0)
    scaled: float = (room / len(powers)) ** (1.0 / len(powers))
    return min(max((scaled * part.unit - abs(part.offset)) / part.factor, 0.0), LARGEST / max(part.factor, 1.0))
