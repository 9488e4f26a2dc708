"""The linear functions of a tree's leaves as arrays, and the answers of rows by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from learners.linear_function import LARGEST, LinearFunction
from learners.table import Column
from learners.trees.model_tree.variables import Variables
from learners.types import Array, FloatArray, Int8Array, Int32Array, IntArray

_PREFIX = "linear_"


@dataclass(frozen=True, eq=False)
class LinearLeaves:
    """A linear function to each of N nodes; inner nodes have one without terms, which nobody asks for.

    Attributes:
        intercept: float64 (N,).
        first: int64 (N + 1,), where each node's terms begin.
        variable: int32 (T,), ascending within a node.
        coefficient, default: float64 (T,), see :mod:`learners.linear_function`.
        column, start, levels: see :class:`~learners.trees.model_tree.variables.Variables`.
    """

    intercept: FloatArray
    first: IntArray
    variable: Int32Array
    coefficient: FloatArray
    default: FloatArray
    column: Int32Array
    start: IntArray
    levels: Int8Array

    @property
    def variables(self) -> Variables:
        return Variables(self.column, self.start, self.levels)

    def values(self, leaves: IntArray, rows: IntArray, cells: FloatArray) -> FloatArray:
        """The function of a leaf for a row, term by term for all pairs at once.

        Args:
            leaves, rows: m pairs.
            cells: by column, shape (d, n), C-ordered.

        Returns:
            Shape (m,); equal to :meth:`learners.linear_function.LinearFunction.value` to the bit.
        """
        total = self.intercept[leaves]
        flat = cells.reshape(-1)
        variables = self.variables
        place, end = self.first[leaves], self.first[leaves + 1]
        at = np.flatnonzero(place < end)
        while len(at):
            term = place[at]
            variable = self.variable[term]
            counted = flat[self.column[variable].astype(np.int64) * cells.shape[1] + rows[at]]
            coded = np.flatnonzero(self.start[variable] >= 0)
            counted[coded] = variables.looked_up(self.start[variable[coded]], counted[coded])
            counted = np.where(np.isnan(counted), self.default[term], counted)
            with np.errstate(over="ignore"):
                total[at] += np.clip(self.coefficient[term] * counted, -LARGEST, LARGEST)
            place[at] += 1
            at = at[place[at] < end[at]]
        return total

    def function(self, node: int, columns: Sequence[Column]) -> LinearFunction:
        """One leaf's function."""
        span = slice(int(self.first[node]), int(self.first[node + 1]))
        variables = self.variables
        numbers = (self.variable[span].tolist(), self.coefficient[span].tolist(), self.default[span].tolist())
        terms = tuple(variables.term(*one, columns) for one in zip(*numbers, strict=True))
        return LinearFunction(float(self.intercept[node]), terms)

    def to_arrays(self) -> dict[str, Array]:
        return {_PREFIX + field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> LinearLeaves:
        return cls(**{field.name: arrays[_PREFIX + field.name] for field in fields(cls)})
