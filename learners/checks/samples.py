"""Small tables for the checks, the same on every machine.

Numbers are multiples of 1/64, so that 2x + 1 is exact. No two columns order the rows alike, so
that no learner has to choose between equals unless a check wants it to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from learners.base import Capabilities
from learners.table import MISSING, Column, Kind, Series, Table
from learners.types import Array, FloatArray

ROWS = 90
LABELS = ("low", "middle", "high")


@dataclass(frozen=True, eq=False)
class Sample:
    """A table and its target."""

    table: Table
    target: Series

    def take(self, rows: Array) -> Sample:
        return Sample(self.table.take(rows), self.target.take(rows))


def numeric(task: str, rows: int = ROWS, seed: int = 0) -> Sample:
    """Three numeric columns; the target follows two of them, with some noise."""
    generator = np.random.default_rng(seed)
    values = _grid(generator, rows, 3)
    table = Table.from_array(values, ["height", "width", "depth"])
    return Sample(table, _target(task, values[:, 0] + np.abs(values[:, 1]), generator))


def mixed(capabilities: Capabilities, rows: int = ROWS, seed: int = 1) -> Sample:
    """Columns of every kind that the learner takes, with missing cells if it takes them."""
    sample = numeric(capabilities.task, rows, seed)
    if capabilities.categories:
        sample = _with_categories(sample, seed)
    if capabilities.missing:
        sample = _with_missing(sample, seed)
    return sample


def stepwise(capabilities: Capabilities, rows: int = ROWS, seed: int = 3) -> Sample:
    """A target of three steps along the first column, which alone tells all: never two equal choices."""
    sample = mixed(replace(capabilities, missing=False), rows, seed)
    height = sample.table.values[:, 0]
    step = np.searchsorted(np.quantile(height, [0.2, 0.55]), height).astype(np.float64)
    cells = step if capabilities.task == "classification" else 4 * step**2
    return Sample(sample.table, Series(sample.target.column, cells))


def sequences(task: str, rows: int = 30, seed: int = 4) -> Sample:
    """Sequences of 1 to 5 steps of two numbers, and a number that holds in every step; the target follows the last."""
    generator = np.random.default_rng(seed)
    steps = [_grid(generator, length, 2) for length in generator.integers(1, 6, rows).tolist()]
    height = _grid(generator, rows, 1)[:, 0]
    table = Table.from_columns({"path": [one.tolist() for one in steps], "height": height.tolist()})
    return Sample(table, _target(task, np.array([one[-1, 0] for one in steps]) + height, generator))


def recoded(target: Series, levels: tuple[str, ...]) -> Series:
    """The same classes with their levels in another order."""
    column = replace(target.column, levels=levels)
    mapping = np.array([column.encode(label) for label in target.column.labels])
    return Series(column, mapping[target.codes])


def renamed(target: Series, column: Column) -> Series:
    """The same codes under another column's levels."""
    return Series(column, target.cells)


def with_column(table: Table, column: Column, cells: FloatArray) -> Table:
    """The table with one more column at its end."""
    return Table((*table.columns, column), np.column_stack([table.values, cells]))


def _grid(generator: np.random.Generator, rows: int, columns: int) -> FloatArray:
    return generator.integers(-512, 512, size=(rows, columns)) / 64


def _target(task: str, signal: FloatArray, generator: np.random.Generator) -> Series:
    noisy = signal + _grid(generator, len(signal), 1)[:, 0] / 4
    if task == "regression":
        return Series(Column("size"), noisy)
    codes = np.searchsorted(np.quantile(noisy, [0.3, 0.7]), noisy)
    return Series(Column("size", Kind.NOMINAL, LABELS), codes.astype(np.float64))


def _with_categories(sample: Sample, seed: int) -> Sample:
    generator = np.random.default_rng(seed + 1000)
    rows = sample.table.n_rows
    table = sample.table
    height = table.values[:, 0]
    colour = np.where(height > 2, 0.0, generator.integers(0, 4, rows))
    grade = np.clip(np.round(height / 4 + 1 + generator.integers(0, 2, rows)), 0, 3)
    round_ = (table.values[:, 1] > generator.integers(-3, 4, rows)).astype(np.float64)
    table = with_column(table, Column("colour", Kind.NOMINAL, ("red", "green", "blue", "a, b")), colour)
    table = with_column(table, Column("grade", Kind.ORDINAL, ("1", "2", "3", "4"), "number"), grade)
    return Sample(
        with_column(table, Column("round", Kind.BOOLEAN, ("false", "true"), "boolean"), round_), sample.target
    )


def _with_missing(sample: Sample, seed: int) -> Sample:
    generator = np.random.default_rng(seed + 2000)
    values = sample.table.values.copy()
    values[generator.random(values.shape) < 0.08] = MISSING
    return Sample(Table(sample.table.columns, values), sample.target)
