"""Every row is looked at: exact for every distance, in blocks of queries.

Euclidean distances are first told approximately by a product of matrices,
``|x - y|^2 = |x|^2 + |y|^2 - 2 x.y``; missing cells and levels fit in too, see :class:`_Products`. What may be among
the nearest by the error of that product, and by that of the sums that decide, is measured again, column by column, so
the answer is exact: from a query far off many rows are equally far in double precision, and the first of them counts.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from learners.neighbors.distances import Metric
from learners.neighbors.search.found import Found, pick
from learners.types import BoolArray, FloatArray

#: Distances that are held at once.
_BLOCK = 2_000_000
#: Columns of zeros and ones for levels, beyond which levels are compared one by one.
_MAX_INDICATORS = 256
#: Rows below which a product of matrices does not pay.
_FEW_ROWS = 64
#: Queries that are not worth one either.
_FEW_QUERIES = 2
#: Where more than one pair of so many may be near, all are measured at once.
_MANY = 8
_EPSILON = float(np.finfo(np.float64).eps)


class BruteSearch:
    """Searches rows of coordinates by looking at each.

    Args:
        metric: how rows are compared.
        points: shape (n, d), C-ordered.
    """

    def __init__(self, metric: Metric, points: FloatArray) -> None:
        self.metric = metric
        self.points = points

    @property
    def n_rows(self) -> int:
        return len(self.points)

    def nearest(self, queries: FloatArray, k: int) -> Found:
        """The nearest k <= n rows of each query, shape (m, d)."""
        if not len(queries):
            return Found(np.empty((0, k), np.int64), np.empty((0, k)))
        at_once = max(1, _BLOCK // max(self.n_rows, 1))
        parts = [self._block(queries[first : first + at_once], k) for first in range(0, len(queries), at_once)]
        return Found(np.concatenate([part.rows for part in parts]), np.concatenate([part.powers for part in parts]))

    def powers(self, queries: FloatArray) -> FloatArray:
        """Powers of the distances of all rows from each query, shape (m, n)."""
        return self.metric.powers(queries[:, None, :], self.points[None, :, :])

    def _block(self, queries: FloatArray, k: int) -> Found:
        candidates = self._products.candidates(queries, k) if self._products is not None else None
        if candidates is None or np.count_nonzero(candidates) * _MANY > candidates.size:
            powers = self.powers(queries)
            near = powers <= _kth_bound(powers, k)[:, None]
            asked, rows = np.nonzero(near)
            return pick(asked, rows, powers[near], len(queries), k)
        asked, rows = np.nonzero(candidates)
        return pick(asked, rows, self.metric.powers(queries[asked], self.points[rows]), len(queries), k)

    @cached_property
    def _products(self) -> _Products | None:
        metric = self.metric
        if metric.p != 2 or metric.leaves_out or not metric.is_simple or self.n_rows < _FEW_ROWS:
            return None
        with np.errstate(invalid="ignore"):
            widths = [np.nanmax(self.points[:, column], initial=0) + 1 for column in np.flatnonzero(metric.is_level)]
        return _Products(metric, self.points) if sum(widths) <= _MAX_INDICATORS else None


class _Products:
    """Squared Euclidean distances as a product: ``constant + left(query) . right(row)``.

    Of a number known in both rows the part is ``x^2 - 2xy + y^2``, of others the square of the span s:
    ``s^2 + k (x^2 j - 2xy j + (y^2 - s^2) j)``, with k and j whether query and row know it. Of a level it is
    ``s^2 - s^2 [same level]``.
    """

    def __init__(self, metric: Metric, points: FloatArray) -> None:
        self._metric = metric
        numbers, levels = np.flatnonzero(~metric.is_level), np.flatnonzero(metric.is_level)
        self._numbers, self._levels = numbers, levels
        known = ~np.isnan(points)
        self._counts = [int(np.nanmax(points[:, column], initial=0.0)) + 1 for column in levels]
        filled = np.where(known, points, 0.0)
        total = np.maximum(known.sum(axis=0), 1)
        self._middle = filled[:, numbers].sum(axis=0) / total[numbers]
        self._complete = bool(known[:, numbers].all())
        rights = self._rows(points)
        self._right = np.ascontiguousarray(rights.T)
        self._largest = float(np.sqrt((rights * rights).sum(axis=1).max()))
        squares = np.where(known[:, numbers], (points[:, numbers] - self._middle) ** 2, 0.0).sum(axis=1)
        #: No row's squared distance is more than this and twice the square of the query's own place.
        self._most = 2.0 * float(squares.max()) + float(
            (metric.span[numbers] ** 2).sum() + (metric.step[levels] ** 2).sum()
        )

    def candidates(self, queries: FloatArray, k: int) -> BoolArray | None:
        """Which rows may be among the nearest k of each query, shape (m, n); ``None`` where sums are not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            left = self._queries(queries)
            about = left @ self._right if len(left) > _FEW_QUERIES else self._products_of_few(left)
            reach = np.sqrt((left * left).sum(axis=1)) * self._largest + self._most + 2.0 * self._squares(queries)
        if not np.isfinite(reach).all() or not np.isfinite(about).all():
            return None
        error = (left.shape[1] + 8) * 4 * _EPSILON * reach
        return np.asarray(about <= (_kth_bound(about, k) + error)[:, None])

    def _squares(self, points: FloatArray) -> FloatArray:
        """How far points are from the rows' middle, squared, by the numbers that are known, shape (m,)."""
        off = points[:, self._numbers] - self._middle
        return np.asarray(np.where(np.isnan(off), 0.0, off * off).sum(axis=1))

    def _products_of_few(self, left: FloatArray) -> FloatArray:
        """The same without the threads of a product of matrices, which cost more than one row's work."""
        total = np.zeros((len(left), self._right.shape[1]))
        for place in range(len(self._right)):
            total += left[:, place, None] * self._right[place]
        return total

    def _rows(self, points: FloatArray) -> FloatArray:
        known = ~np.isnan(points[:, self._numbers])
        values = np.where(known, points[:, self._numbers] - self._middle, 0.0)
        if self._complete:
            pieces = [-2.0 * values, (values * values).sum(axis=1, keepdims=True)]
        else:
            squares = np.where(known, values * values - self._metric.span[self._numbers] ** 2, 0.0)
            pieces = [-2.0 * values, squares, known.astype(np.float64)]
        return np.hstack([*pieces, *self._indicators(points, sign=-1.0)])

    def _queries(self, points: FloatArray) -> FloatArray:
        known = ~np.isnan(points[:, self._numbers])
        values = np.where(known, points[:, self._numbers] - self._middle, 0.0)
        if self._complete and known.all():
            pieces = [values, np.ones((len(values), 1))]
        elif self._complete:  # a missing cell adds the same to all rows, but the rows' squares are one sum
            pieces = [np.full((len(values), len(self._numbers)), np.nan), np.ones((len(values), 1))]
        else:
            pieces = [values, known.astype(np.float64), values * values]
        return np.hstack([*pieces, *self._indicators(points, sign=1.0)])

    def _indicators(self, points: FloatArray, sign: float) -> list[FloatArray]:
        """Per level column the step where the row has a level, in that level's place."""
        found = []
        for column, count in zip(self._levels, self._counts, strict=True):
            same = points[:, column, None] == np.arange(count)
            found.append(same * (self._metric.step[column] if sign > 0 else -self._metric.step[column]))
        return found


def _kth_bound(values: FloatArray, k: int) -> FloatArray:
    """A number for each row of (m, n) that at least k of its values do not exceed, and few more do not."""
    n_values = values.shape[1]
    width = n_values // (8 * k)
    if width < 8:
        bound: FloatArray = np.partition(values, k - 1, axis=1)[:, k - 1]
        return bound
    whole = n_values // width
    least = values[:, : whole * width].reshape(len(values), whole, width).min(axis=2)
    nearest: FloatArray = np.partition(least, k - 1, axis=1)[:, k - 1]
    return nearest
