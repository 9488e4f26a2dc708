"""From the numbers of input units back to a table's cells: what a reconstruction stands for."""

from __future__ import annotations

import numpy as np

from learners.linear_function import LARGEST
from learners.neural.inputs import Inputs
from learners.preprocessing.encode import LEVEL, POWER
from learners.table import MISSING, Column, Kind
from learners.types import FloatArray, IntArray


def decoded(inputs: Inputs, values: FloatArray) -> FloatArray:
    """Cells that rows of input numbers stand for.

    A quantity is brought back to its unit, a rank to the nearest one; of a column with levels it is the level whose
    indicator is largest, of two levels that of which the one indicator is nearer. A column that did not vary in
    training is as it was there. Indicators of gaps are left aside.

    Args:
        inputs: of the training table.
        values: shape (n, V).

    Returns:
        Shape (n, d), coded as in :mod:`learners.table`.
    """
    cells = np.empty((len(values), len(inputs.columns)), order="F")
    start = 0
    for index, column in enumerate(inputs.columns):
        seen = np.flatnonzero(inputs.encoding.seen[start : start + len(column.levels)])
        start += len(column.levels)
        if column.is_numeric or column.kind is Kind.ORDINAL:
            cells[:, index] = _quantity(inputs, index, column, values)
        else:
            cells[:, index] = _level(inputs, index, seen, values)
    return cells


def _quantity(inputs: Inputs, index: int, column: Column, values: FloatArray) -> FloatArray:
    encoding = inputs.encoding
    own = np.flatnonzero((encoding.column == index) & (encoding.kind == POWER))
    scaled = values[:, own[0]] if len(own) else np.zeros(len(values))
    with np.errstate(over="ignore"):
        found = (scaled * encoding.unit[index] + encoding.offset[index]) / encoding.factor[index]
    if column.is_numeric:
        return np.asarray(np.clip(found, -LARGEST, LARGEST))
    return np.asarray(np.clip(np.round(found), 0, len(column.levels) - 1))


def _level(inputs: Inputs, index: int, seen: IntArray, values: FloatArray) -> FloatArray:
    encoding = inputs.encoding
    own = np.flatnonzero((encoding.column == index) & (encoding.kind == LEVEL))
    if len(own) > 1:
        chosen: FloatArray = encoding.detail[own][np.argmax(values[:, own], axis=1)].astype(np.float64)
        return chosen
    if len(own) == 1:
        return np.where(values[:, own[0]] > 0.5, float(encoding.detail[own[0]]), float(seen[0]))
    return np.full(len(values), float(seen[0]) if len(seen) else MISSING)
