"""Tables as CSV text: canonical, and by default safe to open in a spreadsheet.

A text that a spreadsheet would run as a formula (it begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage
return and is no number) gets an apostrophe before it. That changes the text: whoever wants the values to the
letter asks for ``neutralise=False``, for JSON, or for the file as it was uploaded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from learners.table import Column, Table, number_text, parse_number

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_BLOCK_ROWS = 10_000


def csv_rows(table: Table, *, neutralise: bool = True) -> Iterator[str]:
    """A table as CSV, piece by piece: a header, then some thousands of rows at a time.

    Missing cells are empty, an empty text is ``""``; numbers read back as the same doubles.
    """
    yield csv_line(table.names, neutralise=neutralise)
    for first in range(0, table.n_rows, _BLOCK_ROWS):
        piece = table.values[first : first + _BLOCK_ROWS]
        columns = [
            _texts(column, piece[:, index].tolist(), neutralise=neutralise)
            for index, column in enumerate(table.columns)
        ]
        yield "".join(",".join(cells) + "\n" for cells in zip(*columns, strict=True))


def csv_line(values: Sequence[str | None], *, neutralise: bool = True) -> str:
    """One line of CSV from texts; None is an empty cell."""
    return ",".join("" if value is None else csv_cell(value, neutralise=neutralise) for value in values) + "\n"


def csv_cell(text: str, *, neutralise: bool = True) -> str:
    """A text as a CSV cell, in quotes where it needs them."""
    if neutralise:
        text = neutral(text)
    if not text or any(mark in text for mark in ',"\n\r') or text[0] == " " or text[-1] == " ":
        return '"' + text.replace('"', '""') + '"'
    return text


def neutral(text: str) -> str:
    """A text that no spreadsheet takes for a formula; numbers stay as they are."""
    if text.startswith(_FORMULA_STARTS) and parse_number(text) is None:
        return "'" + text
    return text


def _texts(column: Column, cells: Sequence[float], *, neutralise: bool) -> list[str]:
    if column.is_numeric:
        return ["" if math.isnan(cell) else number_text(cell) for cell in cells]
    written = [csv_cell(level, neutralise=neutralise) for level in column.levels]
    return ["" if math.isnan(cell) or cell < 0 else written[int(cell)] for cell in cells]
