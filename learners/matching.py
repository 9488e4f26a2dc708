"""Tables of other origin brought to a model's columns: by name, and level by level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from learners.errors import SchemaError, quoted
from learners.table import UNSEEN, Column, Kind, Table
from learners.types import FloatArray, Value


def conform(table: Table, columns: Sequence[Column]) -> Table:
    """The table with exactly these columns: found by name, levels recoded by their text.

    A level that the wanted column does not have becomes ``UNSEEN``; a column of texts or sequences has it
    after its own. Further columns are left out.

    Raises:
        SchemaError: a column is absent, or of numbers or sequences in one of the two only.
    """
    if table.columns == tuple(columns):
        return table
    by_name = {name: index for index, name in enumerate(table.names)}
    absent = [column.name for column in columns if column.name not in by_name]
    if absent:
        raise SchemaError(
            f"column {quoted(absent[0])} is absent" + (f" (and {len(absent) - 1} more)" if absent[1:] else ""),
            field=absent[0],
        )
    values = np.empty((table.n_rows, len(columns)), order="F")
    found = []
    for index, column in enumerate(columns):
        source = by_name[column.name]
        cells = table.values[:, source]
        wanted = _knowing(column, table.columns[source], cells) if column.is_open else column
        values[:, index] = _recode(table.columns[source], wanted, cells)
        found.append(wanted)
    return Table(tuple(found), values)


def _knowing(column: Column, source: Column, cells: FloatArray) -> Column:
    """An open column that has all the values of the cells."""
    if not _is_alike(source, column):
        return column  # refused where cells are recoded
    used = np.unique(cells[~np.isnan(cells) & (cells != UNSEEN)]).astype(np.int64)
    return column.extended(source.levels[code] for code in used.tolist())


def conform_frame(X: Any, columns: Sequence[Column]) -> Table:
    """A data frame as a table of these columns; every cell is encoded by its column's description."""
    names = {str(name): name for name in X.columns}
    absent = [column.name for column in columns if column.name not in names]
    if absent:
        raise SchemaError(f"column {quoted(absent[0])} is absent", field=absent[0])
    return Table.from_columns({column.name: frame_cells(X[names[column.name]]) for column in columns}, columns)


def _recode(source: Column, wanted: Column, cells: FloatArray) -> FloatArray:
    if not _is_alike(source, wanted):
        if np.isnan(cells).all():  # nothing known, so nothing to misread
            return cells
        told = f"column {quoted(wanted.name)} is {wanted.kind}, not {source.kind} as in these rows"
        raise SchemaError(told + _example(source, cells), field=wanted.name)
    if source.is_numeric or source.levels == wanted.levels:
        return cells
    names = source.levels if wanted.is_open else source.labels
    mapping = np.array([wanted.encode(name) for name in names] + [UNSEEN])
    known = ~np.isnan(cells)
    recoded = cells.copy()
    recoded[known] = mapping[cells[known].astype(np.int64)]  # UNSEEN is -1: the last entry
    return recoded


def _example(source: Column, cells: FloatArray) -> str:
    """The first text that is no number, by which a column of numbers came to have levels."""
    for row in np.flatnonzero(~np.isnan(cells) & (cells >= 0)).tolist() if source.levels else ():
        text = source.levels[int(cells[row])]
        try:
            float(text)
        except ValueError:
            return f": row {row} holds {quoted(text)}"
    return ""


def _is_alike(source: Column, wanted: Column) -> bool:
    """Whether cells of the one can be cells of the other: both numbers, both sequences, or both named by texts."""
    return all((source.kind is kind) == (wanted.kind is kind) for kind in (Kind.NUMERIC, Kind.SEQUENCE))


def is_frame(X: Any) -> bool:
    """Whether X is a data frame, by what it offers."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__")


def frame_cells(values: Any) -> list[Value | None]:
    """A data frame's column as plain values; ``None`` is missing, an array a sequence."""
    return [
        None if is_missing(value) else value.tolist() if isinstance(value, np.ndarray) else value
        for value in values.to_list()
    ]


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: ``None``, NaN or pandas' own marks."""
    # pandas' own mark is known by its name, so that pandas need not be there.
    is_nan = isinstance(value, float | np.floating) and math.isnan(value)
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")
