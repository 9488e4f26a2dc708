"""What a column is, concluded from all its values; and the words that show why.

Numbers are numeric unless they are written as names are (leading zeros, more digits than a double
holds). The two spellings of a boolean are boolean. Everything else is nominal: no guess is made for
single rows, and a date is a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from learners.boolean_texts import boolean_pair, unasked_pair
from learners.errors import DataError, quoted
from learners.table import Column, Kind
from learners.types import FloatArray
from service.errors import Fault, Invalid
from service.formats.columns.builder import Clash, ColumnBuilder, are_number_levels, number_probe
from service.formats.columns.other_numbers import how_numbers
from service.formats.faults import Faults, cut, shown
from service.formats.readers.reading import BOOLEAN, CELL, NUMBER
from service.formats.written_numbers import PLAIN, is_not_finite

_EXAMPLE = 40


@dataclass(frozen=True)
class Conclusion:
    """What a column is.

    Attributes:
        column: its description.
        recode: final code by provisional code, shape (number of provisional codes,), or None if cells stay.
        evidence: one line for people: why it is so.
        as_numbers: of a column of texts how nearly all of them would be numbers, or None.
    """

    column: Column
    recode: FloatArray | None
    evidence: str
    as_numbers: str | None = None

    def final(self, cells: FloatArray) -> FloatArray:
        """Cells with final codes in place of provisional ones."""
        if self.recode is None:
            return cells
        lookup = np.append(self.recode, np.nan)
        return lookup[np.where(np.isnan(cells), len(self.recode), cells).astype(np.intp)]


#: Gives the provisional cells of the column in question; read only when an error must name rows.
ReadCells = Callable[[], FloatArray]
LinesOf = Callable[[Iterable[int]], dict[int, int]]


def conclude(builder: ColumnBuilder, read_cells: ReadCells, lines_of: LinesOf) -> Conclusion:
    """Conclude what a column is once all its cells have been seen.

    Raises:
        Invalid: values of different types cannot be told apart, infinite or not-a-number words stand
            among numbers, or the declared kind does not fit.
    """
    plan = builder.plan
    if builder.clash is not None and not builder.is_sequence:
        _refuse_clash(builder, builder.clash, read_cells)
    if builder.as_numbers:
        return Conclusion(Column(plan.name), None, _number_evidence(builder))
    if plan.order is not None:
        return _ordered(builder)
    if builder.is_sequence or plan.kind is Kind.TEXT:
        return _open(builder)
    if builder.first_list is not None:
        _refuse_lists(builder, builder.first_list)
    if plan.kind is not None:
        return _declared(builder)
    if builder.type == CELL:
        return _inferred(builder, read_cells, lines_of)
    return _typed(builder)


def _number_evidence(builder: ColumnBuilder) -> str:
    if builder.plan.kind is not None:
        return _by(builder, f"{builder.n_known} numbers")
    if not builder.n_known:
        return "no value at all; taken as numeric"
    return f"all {builder.n_known} values are numbers"


def _by(builder: ColumnBuilder, facts: str) -> str:
    return f"{'as asked' if builder.plan.is_request else 'as the file declares'}: {facts}"


def _ordered(builder: ColumnBuilder) -> Conclusion:
    plan = builder.plan
    order = plan.order or ()
    is_number = are_number_levels(order) and builder.type in (None, CELL, NUMBER)
    probe = number_probe(plan.name)
    levels = tuple(probe.level_text(level) for level in order) if is_number else order
    kind = plan.kind or Kind.ORDINAL
    level_type: Any = "number" if is_number else "boolean" if _is_boolean(builder, levels) else "text"
    evidence = _by(builder, f"{len(levels)} levels in the given order, {builder.n_known} values")
    return Conclusion(_column(plan.name, kind, levels, level_type), None, evidence)


def _is_boolean(builder: ColumnBuilder, levels: tuple[str, ...]) -> bool:
    return builder.type == BOOLEAN and levels == ("false", "true")


def _column(name: str, kind: Kind, levels: tuple[str, ...], level_type: Any) -> Column:
    try:
        return Column(name, kind, levels, level_type)
    except DataError as error:
        raise Invalid(
            f"The declared levels do not fit: {error}",
            [Fault(str(error), column=cut(name), parameter=f"options.orders.{cut(name)}")],
        ) from None


def _open(builder: ColumnBuilder) -> Conclusion:
    kind, what = (Kind.SEQUENCE, "sequences") if builder.is_sequence else (Kind.TEXT, "texts")
    facts = f"{len(builder.levels)} distinct {what}"
    evidence = _by(builder, facts) if builder.plan.kind is not None else f"all {builder.n_known} values are lists"
    return _recoded(builder, tuple(sorted(builder.levels)), kind, "text", evidence)


def _refuse_lists(builder: ColumnBuilder, row: int) -> NoReturn:
    name, kind = builder.plan.name, builder.plan.kind
    why = "other cells of the column are none" if kind is None else f"the column is declared {kind}"
    message = f"row {row}, column {shown(name)}: the cell is a list, but {why}"
    raise Invalid(
        f"The table cannot be read: {message}; only a column of kind sequence holds lists",
        [Fault(message, row=row, column=cut(name), parameter=f"options.kinds.{cut(name)}", allowed=["sequence"])],
    )


def _declared(builder: ColumnBuilder) -> Conclusion:
    """A kind was asked for, its levels were not."""
    kind = builder.plan.kind
    if kind is Kind.BOOLEAN:
        return _declared_boolean(builder)
    is_number = builder.type in (CELL, NUMBER) and are_number_levels(builder.levels)
    if kind is Kind.ORDINAL and not is_number:
        _refuse_without_order(builder, "an ordinal column of texts needs its order")
    if is_number:
        return _number_levels(builder, kind or Kind.NOMINAL)
    return _sorted_levels(builder, _by(builder, f"{len(builder.levels)} distinct texts"))


def _declared_boolean(builder: ColumnBuilder) -> Conclusion:
    levels = boolean_pair(builder.levels)
    if levels is None:
        _refuse_without_order(builder, "which two values are (false, true) cannot be told")
    level_type = "boolean" if _is_boolean(builder, levels) else "number" if levels == ("0", "1") else "text"
    evidence = _by(builder, f"{quoted(levels[0])} is false, {quoted(levels[1])} is true")
    return _recoded(builder, levels, Kind.BOOLEAN, level_type, evidence)


def _refuse_without_order(builder: ColumnBuilder, why: str) -> NoReturn:
    name = builder.plan.name
    raise Invalid(
        f"Column {shown(name)}: {why}; give it in orders",
        [
            Fault(
                f"{why}; give its levels in orders",
                column=cut(name),
                parameter=f"options.orders.{cut(name)}",
                value=[cut(text) for text in sorted(builder.levels)[:20]],
            )
        ],
    )


def _inferred(builder: ColumnBuilder, read_cells: ReadCells, lines_of: LinesOf) -> Conclusion:
    """Cells of a file without types that are not all plain numbers."""
    levels = builder.levels
    names = [text for text in levels if builder.plan.syntax.number(text) is None]
    if not names:
        return _sorted_levels(builder, _name_evidence(builder))
    if len(names) < len(levels) and all(is_not_finite(text) for text in names):
        _refuse_not_finite(builder, names, read_cells, lines_of)
    pair = unasked_pair(levels)
    if pair is not None:
        evidence = f"only the two spellings {pair[0]} and {pair[1]}"
        return _recoded(builder, pair, Kind.BOOLEAN, "text", evidence)
    evidence = _distinct(len(levels))
    if len(names) < len(levels):
        evidence += f"; {quoted(names[0], _EXAMPLE)} is not a number"
    return replace(_sorted_levels(builder, evidence), as_numbers=how_numbers(levels, builder.plan.syntax))


def _distinct(count: int) -> str:
    return f"{count} distinct text{'s' if count != 1 else ''}"


def _name_evidence(builder: ColumnBuilder) -> str:
    for text in builder.levels:
        if PLAIN.is_inexact(text):
            return f"integers beyond 2^53 such as {quoted(text, _EXAMPLE)} cannot be held exactly, so names"
    example = next((text for text in builder.levels if PLAIN.looks_like_name(text)), "")
    return f"leading zeros such as {quoted(example, _EXAMPLE)}, so names"


def _typed(builder: ColumnBuilder) -> Conclusion:
    """Values whose types the file knows, and which are not all numbers that a double can hold."""
    if builder.type == BOOLEAN:
        evidence = f"all {builder.n_known} values are true or false"
        return _recoded(builder, ("false", "true"), Kind.BOOLEAN, "boolean", evidence)
    if builder.type == NUMBER:
        return _sorted_levels(builder, _name_evidence(builder))
    evidence = _distinct(len(builder.levels))
    return _sorted_levels(
        builder, evidence + ("; the values are of different types" if builder.type == "mixed" else "")
    )


def _sorted_levels(builder: ColumnBuilder, evidence: str) -> Conclusion:
    return _recoded(builder, tuple(sorted(builder.levels)), Kind.NOMINAL, "text", evidence)


def _number_levels(builder: ColumnBuilder, kind: Kind) -> Conclusion:
    """Texts of equal numbers become one level; levels in the order of their numbers."""
    probe = number_probe(builder.plan.name)
    canonical = [probe.level_text(text) for text in builder.levels]
    levels = tuple(sorted(set(canonical), key=float))
    codes = {level: code for code, level in enumerate(levels)}
    recode = np.array([codes[text] for text in canonical], dtype=np.float64)
    evidence = _by(builder, f"{len(levels)} distinct numbers")
    return Conclusion(Column(builder.plan.name, kind, levels, "number"), recode, evidence)


def _recoded(builder: ColumnBuilder, levels: tuple[str, ...], kind: Kind, level_type: Any, evidence: str) -> Conclusion:
    codes = {level: code for code, level in enumerate(levels)}
    recode = np.array([codes[text] for text in builder.levels], dtype=np.float64)
    return Conclusion(Column(builder.plan.name, kind, levels, level_type), recode, evidence)


def _refuse_clash(builder: ColumnBuilder, clash: Clash, read_cells: ReadCells) -> NoReturn:
    name = builder.plan.name
    first = int(np.flatnonzero(read_cells() == builder.levels[clash.text])[0])
    message = (
        f"the {clash.first_type} in row {first} and the {clash.type} in row {clash.row} are both written "
        f"{quoted(clash.text)}, so they cannot be told apart as levels"
    )
    raise Invalid(
        f"Column {shown(name)}: {message}", [Fault(message, row=row, column=cut(name)) for row in (first, clash.row)]
    )


def _refuse_not_finite(builder: ColumnBuilder, words: list[str], read_cells: ReadCells, lines_of: LinesOf) -> None:
    name = builder.plan.name
    codes = {builder.levels[word]: word for word in words}
    cells = read_cells()
    at = np.flatnonzero(np.isin(cells, list(codes)))
    lines = lines_of(at[:20].tolist())
    faults = Faults()
    for row in at[:20].tolist():
        line = lines.get(row)
        where = f"row {row}" if line is None else f"line {line}"
        word = codes[int(cells[row])]
        message = f"{where}, column {shown(name)}: {shown(word)} is not a finite number"
        faults.add(Fault(message, row=row, line=line, column=cut(name), allowed="finite numbers", value=cut(word)))
    faults.total = int(at.size)
    faults.raise_if_any("Declare such words as missing_tokens, or the column as nominal")
