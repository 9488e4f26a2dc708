"""Sequences and texts told in plain columns, for learners and readers that take no steps.

Of each number of a sequence's steps there are the values of the last few steps and of the first, the mean, the least
and the greatest; of a text its last few symbols and the first, and how often each symbol occurs; of both the number of
steps. What a value is too short for is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from learners.table import MISSING, UNSEEN, Column, Kind, Table
from learners.types import Array, FloatArray

#: Steps from the end that are told one by one; most symbols of a text that are counted one by one.
_LAST, _COUNTED = 4, 20


def step_facts(table: Table) -> Table:
    """The same rows with facts in place of sequences and texts; a table without these as it is.

    Args:
        table: n rows. Names of facts are the column's with what they tell, ``pulse, last``.
    """
    if not any(column.is_open for column in table.columns):
        return table
    taken = set(table.names)
    columns: list[Column] = []
    cells: list[FloatArray] = []
    for index, column in enumerate(table.columns):
        own = table.values[:, index]
        if not column.is_open:
            columns.append(column)
            cells.append(own)
            continue
        for fact, by_level in _facts(column):
            columns.append(Column(_free(fact.name, taken), fact.kind, fact.levels, fact.level_type))
            cells.append(_of_rows(by_level, own))
    return Table(tuple(columns), np.asfortranarray(np.column_stack(cells)))


def _facts(column: Column) -> Iterator[tuple[Column, FloatArray]]:
    """Each fact as a column, with its cells by the column's levels."""
    if column.kind is Kind.TEXT:
        yield from _text_facts(column)
        return
    values = column.sequences
    yield Column(f"{column.name}, steps"), np.array([float(len(value)) for value in values])
    width = values[0].shape[1] if values else 0
    for number in range(width):
        name = column.name if width == 1 else f"{column.name}[{number}]"
        for place in range(_LAST):
            yield Column(f"{name}, {_from_the_end(place)}"), _by_level(values, _at(-1 - place, number))
        yield Column(f"{name}, first"), _by_level(values, _at(0, number))
        for what, reduced in (("mean", np.mean), ("least", np.min), ("greatest", np.max)):
            yield Column(f"{name}, {what}"), np.array([float(reduced(value[:, number])) for value in values])


def _text_facts(column: Column) -> Iterator[tuple[Column, FloatArray]]:
    texts = column.levels
    yield Column(f"{column.name}, steps"), np.array([float(len(text)) for text in texts])
    symbols = tuple(sorted(set("".join(texts))))
    codes = {symbol: float(code) for code, symbol in enumerate(symbols)}
    for name, place in (*((_from_the_end(back), -1 - back) for back in range(_LAST)), ("first", 0)):
        known = [codes[text[place]] if -len(text) <= place < len(text) else MISSING for text in texts]
        yield Column(f"{column.name}, {name}", Kind.NOMINAL, symbols), np.array(known, dtype=np.float64)
    for symbol in symbols[:_COUNTED]:
        counts = np.array([float(text.count(symbol)) for text in texts])
        yield Column(f"{column.name}, number of {symbol!r}"), counts


def _from_the_end(place: int) -> str:
    return "last" if place == 0 else f"{place} before the last"


def _at(place: int, number: int) -> Callable[[FloatArray], float]:
    def found(value: FloatArray) -> float:
        return float(value[place, number]) if -len(value) <= place < len(value) else MISSING

    return found


def _by_level(values: tuple[FloatArray, ...], fact: Callable[[FloatArray], float]) -> FloatArray:
    return np.array([fact(value) for value in values], dtype=np.float64)


def _of_rows(by_level: FloatArray, cells: Array) -> FloatArray:
    found = np.full(len(cells), MISSING)
    known = np.flatnonzero(~np.isnan(cells) & (cells != UNSEEN))
    found[known] = by_level[cells[known].astype(np.int64)]
    return found


def _free(name: str, taken: set[str]) -> str:
    """A name that no column has."""
    while name in taken:
        name += "'"
    taken.add(name)
    return name
