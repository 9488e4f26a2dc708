"""A table's rows as moments of series: beside each the steps before it, as a sequence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from learners.errors import DataError
from learners.number_texts import number_text
from learners.preprocessing.windows import windows
from learners.table import Column, Kind
from learners.types import FloatArray, IntArray
from service.errors import Fault, Invalid, TooLarge
from service.formats.columns.filling import Filled
from service.formats.columns.inference import Conclusion
from service.formats.faults import shown
from service.formats.window_options import WindowOptions
from service.settings import Limits

#: Most numbers of all windows together: some hundred megabytes as texts.
_MOST_NUMBERS = 20_000_000


@dataclass(frozen=True, eq=False)
class Windowed:
    """What windows make of a table of n rows.

    Attributes:
        rows: those that stay, m of them, in the order of time, shape (m,).
        conclusion: the new column.
        cells: its cells, shape (m,).
        warnings: what was left out.
    """

    rows: IntArray
    conclusion: Conclusion
    cells: FloatArray
    warnings: tuple[str, ...]


def add_windows(options: WindowOptions, filled: list[Filled], concluded: list[Conclusion], limits: Limits) -> Windowed:
    """Cut the columns of some series into the steps before each row.

    Raises:
        Invalid: a column is not of the kind that is needed, times are missing or equal, or no row has enough steps.
        TooLarge: the windows hold too many numbers together.
    """
    if len(options.name) > limits.name_length:
        raise _invalid(f"the name is longer than {limits.name_length} characters", "name")
    columns = {one.column.name: (part, one) for part, one in zip(filled, concluded, strict=True)}
    n_rows = filled[0].scratch.n_rows
    values = np.column_stack([_numbers(columns, name, "columns") for name in options.columns])
    times = None if options.time is None else _numbers(columns, options.time, "time")
    groups = None if options.groups is None else _groups(columns, options.groups)
    if n_rows * options.length * values.shape[1] > _MOST_NUMBERS:
        raise TooLarge(
            f"{n_rows} windows of {options.length} steps hold more than {_MOST_NUMBERS} numbers; take a shorter length",
            [Fault("too many numbers", parameter="options.windows.length", allowed=_MOST_NUMBERS)],
        )
    try:
        found = windows(np.arange(float(n_rows)), options.length, times=times, groups=groups, gap=options.gap)
    except DataError as error:  # of times; a step is a row of the file
        told = (
            f"{error}; steps are the file's rows, counted from 0, and their time is column {shown(str(options.time))}"
        )
        raise _invalid(told, "time", options.time) from None
    past = found.past[:, :, 0].astype(np.intp)
    is_complete = np.asarray(np.isfinite(values).all(axis=1))
    known = is_complete[past].all(axis=1)
    rows, past = found.rows[known], past[known]
    if not len(rows):
        raise _invalid(f"no row has {options.length} steps before it", "length")
    texts = list(_texts(values, past))
    levels = tuple(sorted(set(texts)))
    codes = {level: float(code) for code, level in enumerate(levels)}
    evidence = f"as asked: the {options.length} steps before each row"
    column = Conclusion(Column(options.name, Kind.SEQUENCE, levels), None, evidence)
    short, unknown = n_rows - len(found.rows), int((~known).sum())
    warnings = [f"rows with fewer than {options.length} steps before them are left out: {short}"]
    if unknown:
        warnings.append(f"rows with a missing value among the steps before them are left out: {unknown}")
    if (np.diff(rows) < 0).any():
        warnings.append(f"rows are in the order of column {shown(str(options.time))}, no longer in that of the file")
    return Windowed(rows, column, np.array([codes[text] for text in texts]), tuple(warnings))


def _texts(values: FloatArray, past: IntArray) -> Iterator[str]:
    """Each window as the canonical text of a sequence; a number is written once, not in each window."""
    steps = [",".join(number_text(value) if np.isfinite(value) else "" for value in row) for row in values.tolist()]
    if values.shape[1] > 1:
        steps = [f"[{step}]" for step in steps]
    for places in past.tolist():
        yield f"[{','.join([steps[place] for place in places])}]"


def _numbers(columns: Mapping[str, tuple[Filled, Conclusion]], name: str, place: str) -> FloatArray:
    part, conclusion = columns[name]
    if not conclusion.column.is_numeric:
        raise _invalid(f"column {shown(name)} is {conclusion.column.kind.value}, not numeric", place, name)
    return part.cells()


def _groups(columns: Mapping[str, tuple[Filled, Conclusion]], name: str) -> FloatArray:
    part, conclusion = columns[name]
    cells = conclusion.final(part.cells())
    if np.isnan(cells).any():
        row = int(np.argmax(np.isnan(cells)))
        raise _invalid(
            f"row {row}, counted from 0, has no value in column {shown(name)}, so its series is not known",
            "groups",
            name,
        )
    return cells


def _invalid(message: str, place: str, column: str | None = None) -> Invalid:
    fault = Fault(message, column=column, parameter=f"options.windows.{place}")
    return Invalid(f"The windows cannot be made: {message}", [fault])
