"""Linear models as SQL: their linear functions as expressions that SQLite and PostgreSQL evaluate as the model does.

Each column adds what it adds in the model, by the same operations in the same order, so the sum of up to 49 columns has
the same bits. Missing values and levels that training never saw are answered as the model answers them. Where a
straight line passes 1e300, the column adds that, as in the model. Of powers, a number so far from those of training
that a database could refuse the arithmetic makes the row's answer ``NULL``.
"""

from __future__ import annotations

import struct
from math import inf, isfinite, nan
from sys import float_info

from learners.linear.additive import LevelPart, NumberPart
from learners.linear.fitted import FittedLinear
from learners.linear_function import LARGEST
from learners.rules.sql import SOURCE, chain, cut, free_name, read_from
from learners.rules.sql_literals import identifier, number_literal, scalar_literal
from learners.table import UNSEEN, Column, canonical_text

#: What is smaller than this in magnitude, once it is brought near 1, counts as 0: databases refuse an underflow.
_SMALLEST = 1e-140


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
    smallest = max(_SMALLEST / part.factor, float_info.min)
    near = f"CASE WHEN ABS({name}) < {number_literal(smallest)} THEN {number_literal(0.0)} ELSE {name} END"
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
    """The largest magnitude at which a line is kept within no bound; what it adds beyond is the same for all cells.

    By halving among all doubles from 0 on, whose bits are ordered as they are: the parts of a line grow with the cell.
    """
    low, high = 0, _bits(inf)
    while high - low > 1:
        middle = (low + high) // 2
        if _is_plain(part, slope, sign * _double(middle)):
            low = middle
        else:
            high = middle
    return _double(low)


def _bits(number: float) -> int:
    (bits,) = struct.unpack("<q", struct.pack("<d", number))
    return int(bits)


def _double(bits: int) -> float:
    (number,) = struct.unpack("<d", struct.pack("<q", bits))
    return float(number)


def _bound(part: NumberPart, powers: tuple[float, ...]) -> float:
    """A magnitude up to which a number leads to nothing too large."""
    largest = max(abs(power) for power in powers)
    room = LARGEST / 2 / max(largest, 1.0)
    scaled: float = (room / len(powers)) ** (1.0 / len(powers))
    return min(max((scaled * part.unit - abs(part.offset)) / part.factor, 0.0), LARGEST / max(part.factor, 1.0))
