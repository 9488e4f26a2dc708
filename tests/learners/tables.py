"""The shared real tables as typed tables: a column of numbers alone is numeric, any other nominal."""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path

from learners.table import Column, Kind, Series, Table, nominal_levels, parse_number
from tests.shared import table_path


def read(name: str, target: str, drop: Collection[str] = ()) -> tuple[Table, Series]:
    """A table and its target from ``tables/<name>.csv``; an empty cell is missing."""
    return read_file(table_path(f"{name}.csv"), target, drop)


def read_file(path: Path, target: str, drop: Collection[str] = ()) -> tuple[Table, Series]:
    """The same of any CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = {column: [row[column] or None for row in rows] for column in rows[0] if column not in drop}
    described = [_described(column, cells, nominal=column == target) for column, cells in texts.items()]
    table = Table.from_columns(texts, described)
    return table.drop([target]), table.column(target)


def _described(name: str, cells: list[str | None], nominal: bool) -> Column:
    known = [cell for cell in cells if cell is not None]
    if not nominal and all(parse_number(cell) is not None for cell in known):
        return Column(name)
    return Column(name, Kind.NOMINAL, nominal_levels(name, known))
