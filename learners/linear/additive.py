"""Fitted linear functions as sums over attributes: an intercept, and what each column adds for a cell.

A numeric or ordinal column adds a polynomial of its scaled value, a nominal one a number for each level; a missing or
unseen value has its own number (see :mod:`learners.preprocessing.encode`). What one column adds is kept within 1e300
on either side, so that no sum is infinite. Arrays and single rows are answered by the same operations in the same
order, to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan

import numpy as np

from learners.linear_function import LARGEST
from learners.preprocessing.encode import GAP, LEVEL, Encoding
from learners.table import Column, Kind
from learners.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class NumberPart:
    """What a numeric or ordinal column adds.

    Attributes:
        feature: its index.
        is_ranked: whether its cells are ranks, of which one below 0 is unseen.
        factor, offset, unit: of a cell x, u = (x factor - offset) / unit.
        powers: for each function the coefficients of u, u^2, ..., shape (F, M).
        missing: for each function what a missing value adds; an unseen one adds 0.
    """

    feature: int
    is_ranked: bool
    factor: float
    offset: float
    unit: float
    powers: tuple[tuple[float, ...], ...]
    missing: tuple[float, ...]

    def amounts(self, cells: FloatArray) -> FloatArray:
        """What cells (n,) add to each function, shape (F, n)."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scaled = np.clip((cells * self.factor - self.offset) / self.unit, -LARGEST, LARGEST)
            found = np.empty((len(self.powers), len(cells)))
            for place, powers in enumerate(self.powers):
                total = np.full(len(cells), powers[-1])
                for coefficient in powers[-2::-1]:
                    total = total * scaled + coefficient
                found[place] = np.clip(total * scaled, -LARGEST, LARGEST)
        if self.is_ranked:
            found[:, cells < 0] = 0.0
        found[:, np.isnan(cells)] = np.array(self.missing)[:, None]
        return found

    def amount(self, function: int, cell: float) -> float:
        """The same of one cell."""
        if isnan(cell):
            return self.missing[function]
        if self.is_ranked and cell < 0:
            return 0.0
        scaled = (cell * self.factor - self.offset) / self.unit
        if not -LARGEST <= scaled <= LARGEST:
            scaled = min(max(scaled, -LARGEST), LARGEST)
        powers = self.powers[function]
        total = powers[-1]
        for coefficient in powers[-2::-1]:
            total = total * scaled + coefficient
        amount = total * scaled
        return amount if -LARGEST <= amount <= LARGEST else min(max(amount, -LARGEST), LARGEST)


@dataclass(frozen=True, eq=False)
class LevelPart:
    """What a nominal or boolean column adds.

    Attributes:
        feature: its index.
        table: for each function what each level adds, then an unseen one, then a missing one; shape (F, L + 2).
        seen: whether each level occurred in training, shape (L,).
    """

    feature: int
    table: tuple[tuple[float, ...], ...]
    seen: tuple[bool, ...]

    def amounts(self, cells: FloatArray) -> FloatArray:
        """What cells (n,) add to each function, shape (F, n)."""
        unseen = len(self.seen)
        places = np.where(np.isnan(cells), unseen + 1, np.where(cells < 0, unseen, cells)).astype(np.int64)
        found: FloatArray = np.array(self.table)[:, places]
        return found

    def amount(self, function: int, cell: float) -> float:
        """The same of one cell."""
        return self.table[function][len(self.seen) + 1 if isnan(cell) else int(cell) if cell >= 0 else len(self.seen)]


@dataclass(frozen=True, eq=False)
class AdditiveFunctions:
    """F functions: intercepts, and the parts of those columns that add anything, in the columns' order."""

    intercepts: tuple[float, ...]
    parts: tuple[NumberPart | LevelPart, ...]

    def values(self, cells: FloatArray) -> FloatArray:
        """The functions of rows (n, d), shape (F, n)."""
        totals = np.repeat(np.array(self.intercepts)[:, None], len(cells), axis=1)
        for part in self.parts:
            totals += part.amounts(np.ascontiguousarray(cells[:, part.feature]))
        return totals

    def value(self, function: int, cells: Sequence[float]) -> float:
        """One function of one row, in plain floats."""
        total = self.intercepts[function]
        for part, slope, place, factor, offset, unit in self._lines[function]:
            if slope is not None:  # straight lines are most of all parts, so their usual case stands here
                scaled = (cells[place] * factor - offset) / unit
                amount = slope * scaled
                if -LARGEST <= scaled <= LARGEST and -LARGEST <= amount <= LARGEST:
                    total += amount
                    continue
            total += part.amount(function, cells[place])
        return total

    @cached_property
    def _lines(self) -> list[list[tuple[NumberPart | LevelPart, float | None, int, float, float, float]]]:
        """For each function its parts with slope, place, factor, offset and unit; no slope where one is no line."""
        return [[self._line(part, function) for part in self.parts] for function in range(len(self.intercepts))]

    @staticmethod
    def _line(
        part: NumberPart | LevelPart, function: int
    ) -> tuple[NumberPart | LevelPart, float | None, int, float, float, float]:
        if isinstance(part, LevelPart) or part.is_ranked or len(part.powers[function]) > 1:
            return part, None, part.feature, 1.0, 0.0, 1.0
        return part, part.powers[function][0], part.feature, part.factor, part.offset, part.unit


def additive(
    encoding: Encoding, columns: Sequence[Column], coefficients: FloatArray, intercepts: FloatArray
) -> AdditiveFunctions:
    """The functions of an encoding's variables, coefficients (F, V) and intercepts (F,), as sums over columns."""
    used = (coefficients != 0).any(axis=0)
    parts: list[NumberPart | LevelPart] = []
    start = 0
    for index, column in enumerate(columns):
        own = np.flatnonzero((encoding.column == index) & used)
        seen = encoding.seen[start : start + len(column.levels)]
        start += len(column.levels)
        if len(own):
            if column.is_numeric or column.kind is Kind.ORDINAL:
                parts.append(_number_part(encoding, index, column, own, coefficients))
            else:
                parts.append(_level_part(encoding, index, own, coefficients, seen > 0))
    return AdditiveFunctions(tuple(intercepts.tolist()), tuple(parts))


def _level_part(encoding: Encoding, index: int, own: IntArray, coefficients: FloatArray, seen: BoolArray) -> LevelPart:
    rows = []
    for function in coefficients:
        levels = np.zeros(len(seen))
        average, gap = 0.0, 0.0
        for variable in own.tolist():
            if encoding.kind[variable] == LEVEL:
                levels[encoding.detail[variable]] = function[variable]
                average += float(encoding.share[variable] * function[variable])
            else:
                gap = float(function[variable])
        levels[~seen] = average
        rows.append((*levels.tolist(), average, average + gap))
    return LevelPart(index, tuple(rows), tuple(seen.tolist()))


def _number_part(encoding: Encoding, index: int, column: Column, own: IntArray, coefficients: FloatArray) -> NumberPart:
    is_power = encoding.kind[own] != GAP
    highest = int(encoding.detail[own][is_power].max(initial=1))
    rows, gaps = [], []
    for function in coefficients:
        powers = np.zeros(highest)
        powers[encoding.detail[own[is_power]] - 1] = function[own[is_power]]
        rows.append(tuple(powers.tolist()))
        gaps.append(float(function[own[~is_power]].sum()))
    scale = (float(encoding.factor[index]), float(encoding.offset[index]), float(encoding.unit[index]))
    return NumberPart(index, not column.is_numeric, *scale, tuple(rows), tuple(gaps))
