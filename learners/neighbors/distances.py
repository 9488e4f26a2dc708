"""Distances between rows: Minkowski's family over columns of every kind, with missing cells.

Rows are compared column by column, the differences are raised to the power p, added up in the order of the
columns, and the p-th root is taken; for Chebyshev's distance (p infinite) the largest difference counts. Where
rows are only ordered the root is left out: that is called a power here. p < 1 is refused, as the triangle
inequality fails there; but for the limit p to minus infinity, the smallest difference along any column, which is no
metric and is asked for by its own name. It looks at columns of weight only.

A difference of two known numbers is that of their coordinates; of two levels it is 0 or 1; of texts and sequences
their elastic distance (see :mod:`learners.neighbors.elastic`); where either cell is
missing it is the column's span, the most that training rows differ (Wilson and Martinez 1997, HEOM), or the
column is left out and the others are weighed up for it (Gower 1971). An unseen level differs from every level.
The weight of a column multiplies its difference raised to p.

Every search ends in these sums, so all of them order rows alike, to the bit; of equally distant rows the one
with the smaller index comes first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.errors import DataError, ParameterError, quoted
from learners.types import BoolArray, FloatArray

#: A caller's own distance of two rows of cells.
Distance = Callable[[FloatArray, FloatArray], float]
#: p by the name of a metric.
METRICS = {"manhattan": 1.0, "euclidean": 2.0, "chebyshev": math.inf, "minimum": -math.inf}
#: Where powers are the differences themselves.
_UNRAISED = (1, math.inf, -math.inf)
#: The largest finite p: powers of coordinates stay finite, see :func:`largest_coordinate`.
LARGEST_P = 32.0
#: The largest weight of a column.
LARGEST_WEIGHT = 1e30


def check_power(p: float) -> float:
    """p itself.

    Raises:
        ParameterError: it is below 1, so no metric; or finite and above :data:`LARGEST_P`.
    """
    if not (1 <= p <= LARGEST_P or p == math.inf):
        raise ParameterError(
            f"p must be >= 1 (below, the triangle inequality fails) and <= {LARGEST_P:g}, or infinite; it is "
            f"{quoted(p)}",
            field="p",
        )
    return p


def largest_coordinate(p: float) -> float:
    """How large a coordinate may be so that sums of powers of differences stay finite."""
    return 1e300 if math.isinf(p) else 10.0 ** (250.0 / p)


@dataclass(frozen=True)
class Metric:
    """How two rows of d coordinates are compared; see :mod:`learners.neighbors.coordinates` for what these hold.

    Attributes:
        p: Minkowski's exponent, 1 to 32 or infinite; minus infinite for the smallest difference.
        is_level: bool (d,), whether a coordinate is a level's code, not a number.
        step: float64 (d,), the difference of two different levels.
        span: float64 (d,), the difference where a cell is missing.
        leaves_out: whether missing cells are left out instead.
        is_simple: whether columns are compared by their coordinates alone, without texts and sequences.
        lookups: of a column of texts or sequences the differences of each of a question's levels (rows) and each
            training level, both by code; ``None`` of others; empty if there is no such column.
    """

    p: float
    is_level: BoolArray
    step: FloatArray
    span: FloatArray
    leaves_out: bool = False
    is_simple: bool = True
    lookups: tuple[FloatArray | None, ...] = ()

    @property
    def n_columns(self) -> int:
        return len(self.step)

    @property
    def compared(self) -> Sequence[int]:
        """The columns that count: a column without weight adds nothing to a sum, but would be every row's smallest."""
        return np.flatnonzero(self.step > 0).tolist() if self.p == -math.inf else range(self.n_columns)

    @property
    def steps(self) -> FloatArray:
        """The powers of the difference of two levels, and of two numbers of which one is missing, shape (d,)."""
        return self._raised(np.where(self.is_level, self.step, self.span))

    @property
    def _start(self) -> float:
        """The power of a distance of which no column has been looked at."""
        return math.inf if self.p == -math.inf and len(self.compared) else 0.0

    def root(self, powers: FloatArray) -> FloatArray:
        """Distances from powers."""
        if self.p == 2:
            return np.sqrt(powers)
        return powers if self.p in _UNRAISED else np.asarray(powers ** (1.0 / self.p))

    def powers(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Powers of the distances of pairs of rows.

        Args:
            first, second: coordinates of questions and of training rows, shapes (..., d) that broadcast against
                each other.
        """
        shape = np.broadcast_shapes(first.shape[:-1], second.shape[:-1])
        total, known = np.full(shape, self._start), np.zeros(shape)
        for column in self.compared:
            term, is_known = self._term(column, first[..., column], second[..., column])
            if self.p == math.inf:
                np.maximum(total, term, out=total)
            elif self.p == -math.inf:
                np.minimum(total, np.where(is_known, term, np.inf) if self.leaves_out else term, out=total)
            else:
                total += term
            if self.leaves_out:
                known += np.where(is_known, self._most(column), 0.0)
        return self._weighed_up(total, known) if self.leaves_out else total

    def shares(self, query: FloatArray, rows: FloatArray) -> FloatArray:
        """What each column has in the power of each row's distance to a query, shape (m, d).

        Rows of shares sum to 1; of Chebyshev's distance the largest differences share alike, of the smallest
        difference those as small. Where the distance is 0 all are 0.
        """
        terms = self._terms(query, rows)
        if self.p == -math.inf:
            least = terms.min(axis=1, keepdims=True, initial=np.inf)
            terms = ((terms == least) & (least > 0) & np.isfinite(least)).astype(np.float64)
        largest = terms.max(axis=1, keepdims=True, initial=0.0)
        if self.p == math.inf:
            terms = (terms == largest).astype(np.float64)
        else:
            terms = terms / np.where(largest > 0, largest, 1.0)
        total = terms.sum(axis=1, keepdims=True)
        return np.where(largest > 0, terms / np.where(total > 0, total, 1.0), 0.0)

    def _terms(self, query: FloatArray, rows: FloatArray) -> FloatArray:
        """The differences of some rows from a query raised to p, shape (m, d), in columns that are compared."""
        if self.is_simple and self.p != -math.inf:  # all columns at once, which a single reason is quick by
            apart = np.where(self.is_level, np.where(query == rows, 0.0, self.step), np.abs(query - rows))
            unknown = 0.0 if self.leaves_out else self.span
            return self._raised(np.where(np.isnan(apart) | np.isnan(rows) | np.isnan(query), unknown, apart))
        terms = np.full(rows.shape, self._start)
        for column in self.compared:
            terms[:, column] = self._term(column, query[column], rows[:, column])[0]
        return terms

    def _term(self, column: int, first: FloatArray, second: FloatArray) -> tuple[FloatArray, BoolArray]:
        """The difference in one column raised to p, and where both cells are known."""
        is_known = ~(np.isnan(first) | np.isnan(second))
        unknown = 0.0 if self.leaves_out else self.span[column]
        return self._raised(np.where(is_known, self.difference(column, first, second), unknown)), is_known

    def difference(self, column: int, first: Any, second: Any) -> FloatArray:
        """The difference of cells in one column; something or other where either is missing."""
        lookup = self.lookups[column] if self.lookups else None
        if lookup is not None:
            codes = (np.where(np.isnan(cells), 0.0, cells).astype(np.int64) for cells in (first, second))
            return np.asarray(lookup[tuple(codes)])
        if self.is_level[column]:
            return np.where(first == second, 0.0, self.step[column])
        return np.asarray(np.abs(first - second))

    def _raised(self, difference: FloatArray) -> FloatArray:
        if self.p == 2:
            return difference * difference
        if self.p in _UNRAISED:
            return difference
        with np.errstate(under="ignore"):
            return np.asarray(difference**self.p)

    def _most(self, column: int) -> float:
        """The weight of a column that is known: the power of its span."""
        return float(self._raised(np.array(self.span[column])))

    def _weighed_up(self, total: FloatArray, known: FloatArray) -> FloatArray:
        """Sums over known columns weighed up to all; with nothing known in common rows are as far as columns span."""
        spans = [self._most(column) for column in range(self.n_columns)]
        if self.p == math.inf:
            return np.where(known > 0, total, max(spans, default=0.0))
        if self.p == -math.inf:
            return np.where(known > 0, total, min((spans[column] for column in self.compared), default=0.0))
        most = math.fsum(spans)
        return np.where(known > 0, total * (most / np.where(known > 0, known, 1.0)), most)


@dataclass(frozen=True)
class OwnMetric(Metric):
    """Distances by a caller's own function of two rows of cells; what columns have in them is not told.

    Attributes:
        function: two rows of cells, shape (d,), coded as in :mod:`learners.table`, to a finite number >= 0.
    """

    function: Distance | None = None

    def powers(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """The function's numbers; see :meth:`Metric.powers`.

        Raises:
            DataError: one is negative, infinite or NaN.
        """
        if self.function is None:
            raise TypeError("there is no function to measure by")
        pairs = np.broadcast_arrays(first, second)
        shape, n_columns = pairs[0].shape[:-1], pairs[0].shape[-1]
        rows = zip(*(array.reshape(-1, n_columns) for array in pairs), strict=True)
        found = np.array([float(self.function(one, other)) for one, other in rows])
        bad = ~(np.isfinite(found) & (found >= 0))
        if bad.any():
            raise DataError(f"the distance function gave {found[np.argmax(bad)]}; distances are finite and >= 0")
        return found.reshape(shape)

    def shares(self, query: FloatArray, rows: FloatArray) -> FloatArray:
        return np.zeros(rows.shape)


def own_metric(n_columns: int, function: Distance) -> OwnMetric:
    """Distances by a caller's own function over rows of so many cells."""
    ones = np.ones(n_columns)
    return OwnMetric(1.0, np.zeros(n_columns, np.bool_), ones, ones, is_simple=False, function=function)


def minkowski(first: FloatArray, second: FloatArray, p: float) -> FloatArray:
    """Minkowski distances of rows of numbers, shapes (..., d): p = 1 Manhattan, 2 Euclidean, infinite Chebyshev.

    Raises:
        ParameterError: p < 1.
    """
    n_columns = first.shape[-1]
    metric = Metric(check_power(p), np.zeros(n_columns, np.bool_), np.ones(n_columns), np.ones(n_columns))
    return metric.root(metric.powers(first, second))
