"""What is wanted after which step of a sequence.

* ``last-step``: a row's target after its last step: the label of a sequence. Rows of which one is another's beginning
  are taught in one pass, so a table with a row for every beginning teaches a label per step at the price of one row.
* ``every-step``: a row's target after each of its steps.
* ``next-step``: after each step the next one's own value, after the last the target.

Where a network sees some steps together, those before its first full window teach nothing, unless they are a row's
last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.errors import ROW, DataError, quoted
from learners.neural.recurrent.sequences import Sequences
from learners.number_texts import number_text
from learners.sequences import parse_sequence, step_width
from learners.table import UNSEEN, Column, Kind, Series, Table
from learners.types import BoolArray, FloatArray, IntArray

LAST, EVERY, NEXT = "last-step", "every-step", "next-step"


@dataclass(frozen=True, eq=False)
class Lesson:
    """Sequences with what is wanted after their steps.

    Attributes:
        rows: sequences of S steps together.
        targets: shape (S, O).
        weights: what a step's error counts, shape (S,); 0 where nothing is wanted.
    """

    rows: Sequences
    targets: FloatArray
    weights: FloatArray


def lesson(rows: Sequences, targets: FloatArray, weights: FloatArray, taught: str, delays: int) -> Lesson:
    """What n rows teach; those of which one is another's beginning become one.

    Args:
        rows: n sequences, of S steps together; with answers where these are taught.
        targets: of the rows, shape (n, O).
        weights: of the rows, > 0, shape (n,).
        taught: ``last-step``, ``every-step`` or ``next-step``.
        delays: how many steps the network sees together.
    """
    wanted = _wanted(rows, taught, delays)
    by_step = np.repeat(np.arange(len(rows)), rows.lengths)[wanted]
    answers = targets[by_step] if rows.answers is None else rows.answers[wanted]
    host = hosts(rows)
    kept = np.unique(host)
    joined = rows.take(kept)
    place = joined.starts[:-1][np.searchsorted(kept, host[by_step])] + rows.ages[wanted]
    total = np.bincount(place, weights[by_step], minlength=len(joined.values)).astype(np.float64)
    summed = np.zeros((len(total), targets.shape[1]))
    np.add.at(summed, place, weights[by_step, None] * answers)
    return Lesson(joined, summed / np.where(total > 0, total, 1.0)[:, None], total)


def hosts(rows: Sequences) -> IntArray:
    """For each sequence the longest one, found by going on in sorted order, whose beginning it is; itself if none."""
    texts = [rows.values[begin:end].tobytes() for begin, end in zip(rows.starts[:-1], rows.starts[1:], strict=True)]
    order = sorted(range(len(texts)), key=lambda row: (texts[row], -row))
    found = np.arange(len(texts))
    for row, after in zip(order[-2::-1], order[:0:-1], strict=True):  # the last of a chain first
        if texts[after].startswith(texts[row]):
            found[row] = found[after]
    return found


def _wanted(rows: Sequences, taught: str, delays: int) -> BoolArray:
    """After which steps something is wanted, shape (S,)."""
    last = np.zeros(len(rows.values), dtype=np.bool_)
    last[rows.starts[1:] - 1] = True
    if taught == LAST:
        return last
    return last | (rows.ages >= delays - 1)


@dataclass(frozen=True, eq=False)
class Following:
    """What follows each step of n rows.

    Attributes:
        cells: of the target's column, shape (S,); NaN where nothing is taught.
        lengths: steps of each row, shape (n,).
    """

    cells: FloatArray
    lengths: IntArray


def following(table: Table, target: Series, delays: int) -> Following:
    """The value that follows each step: the next step's own; after the last the row's target.

    Args:
        table: n rows, of which one column alone is open, of texts or of one number a step.
        target: n cells.
        delays: how many steps the network sees together; after fewer nothing is taught, unless they are all.

    Raises:
        DataError: there is not one such column, or a step is no class of the target.
    """
    index = check_following(table.columns, target.column)
    column = table.columns[index]
    known: dict[float | str, float] = {}
    found: list[FloatArray] = []
    for row, cell in enumerate(table.values[:, index].tolist()):
        steps = _steps_of(column, cell)
        own = np.full(max(len(steps), 1), np.nan)
        for place in range(delays, len(steps)):
            value = steps[place]
            if value not in known:
                known[value] = _cell_of(value, column, target.column, row)
            own[place - 1] = known[value]
        own[-1] = target.cells[row]
        found.append(own)
    return Following(np.concatenate(found), np.array([len(own) for own in found], dtype=np.int64))


def check_following(columns: Sequence[Column], target: Column) -> int:
    """The index of the column whose steps tell what follows.

    Raises:
        DataError: there is not one column of sequences or texts, or the target is of another kind than its steps.
    """
    opened = [index for index, column in enumerate(columns) if column.is_open]
    if len(opened) != 1:
        names = ", ".join(quoted(columns[index].name) for index in opened)
        found = f"there are {len(opened)}: {names}" if opened else "there is none"
        raise DataError(f"taught = {NEXT} needs one column of sequences or texts; {found}")
    column = columns[opened[0]]
    if column.kind is Kind.TEXT and target.is_numeric:
        raise DataError(
            f"taught = {NEXT} learns classes from texts; column {quoted(column.name)} is text", field=column.name
        )
    if column.kind is Kind.SEQUENCE and column.levels and step_width(column.levels[0]) > 1:
        raise DataError(
            f"taught = {NEXT} needs sequences of one number a step; column {quoted(column.name)} has "
            f"{step_width(column.levels[0])}",
            field=column.name,
        )
    return opened[0]


def _steps_of(column: Column, cell: float) -> list[float] | str:
    if np.isnan(cell) or cell == UNSEEN:
        return ""
    level = column.levels[int(cell)]
    numbers: list[float] = [] if column.kind is Kind.TEXT else parse_sequence(level)[:, 0].tolist()
    return level if column.kind is Kind.TEXT else numbers


def _cell_of(value: float | str, column: Column, target: Column, row: int) -> float:
    if target.is_numeric and not isinstance(value, str):
        return value
    text = value if isinstance(value, str) else number_text(value)
    cell = target.encode(text)
    if cell == UNSEEN:
        raise DataError(
            f"row {ROW}: the sequence in column {quoted(column.name)} goes on with {quoted(text)}, which is no class "
            f"of the target {quoted(target.name)}",
            field=column.name,
            row=row,
        )
    return cell
