"""One query at a time without compiled code, where cells are of no use: a product in single precision, then sums.

``|x - q|^2 - |q|^2 = |x|^2 - 2 q.x`` of all rows is one product of a vector with a matrix, in a quarter of the time of
exact distances. Its error is bounded row by row: with u = 2^-24 and d + 4 roundings on any way it is at most
``(d + 5) u (2 |q| |x| + |x|^2) <= (d + 5) u (|q|^2 + 2 |x|^2)`` (Higham, Accuracy and Stability of Numerical
Algorithms, 2002, section 3.1). Only rows that may be among the nearest by it are measured, column by column, as
everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp, ldexp

import numpy as np

from learners.types import FloatArray, IntArray

#: Candidates beyond which another search is due.
_MOST_ROWS = 4_000
#: Rows about a query's place among which its k nearest so far are looked for.
_ABOUT = 64
#: Rows of which the least is taken, where no place is known.
_BLOCK = 64
#: How many times farther from the rows' middle than the farthest coordinate, and from 0, other searches are due.
_FAR, _LARGEST = 1e6, 1e120
#: Rows that spread less have squares so small that double precision has no digits for them, and equals where none are.
_SMALLEST = 1e-140
#: What is nothing to squared distances of rows that spread by 1, and more than rounding to single precision takes.
_TINY, _ROUNDING = 1e-30, 1e-6


class ScanSearch:
    """Finds the k nearest rows of single queries by Euclidean distance, to the bit as every search does.

    Args:
        points: float64 (n, d), without missing cells.
        k: how many are asked for, at most n.
        rows: int64 (n,), an order in which near rows lie together; their own if ``None``.
    """

    def __init__(self, points: FloatArray, k: int, rows: IntArray | None = None) -> None:
        self._points, self._k = points, k
        self._rows = np.arange(len(points)) if rows is None else rows
        middle = points.mean(axis=0)
        centred = points[self._rows] - middle
        widest = float(np.abs(centred).max())
        scale = ldexp(1.0, -frexp(max(widest, _SMALLEST))[1])
        centred *= scale
        squares = (centred * centred).sum(axis=1)
        #: The error's factor, of |q|^2 once and of |x|^2 twice.
        self._error = (points.shape[1] + 16) * 2.0**-24
        right = np.vstack([-2.0 * centred.T, (1.0 - 2.0 * self._error) * squares])
        self._right = np.ascontiguousarray(right, dtype=np.float32)
        #: From a row's least to its greatest, of which |q|^2 has been taken, at most.
        self._spread = 4.0 * self._error * float(squares.max())
        reach = _FAR * widest if widest >= _SMALLEST else -1.0
        self._low = np.maximum(middle - reach, -_LARGEST).tolist()
        self._high = np.minimum(middle + reach, _LARGEST).tolist()
        # with the 1 by which squares are multiplied
        self._middle, self._scale = np.append(middle, 0.0), np.append(np.full(len(middle), scale), 1.0)

    def nearest(self, query: Sequence[float], place: int | None = None) -> tuple[IntArray, FloatArray] | None:
        """Rows and squares of their distances, both (k,), the nearest first; ``None`` where another search is due.

        Args:
            query: d numbers.
            place: where in the order of rows those near the query lie, if that is known.
        """
        for value, low, high in zip(query, self._low, self._high, strict=True):
            if not low <= value <= high:
                return None
        point = np.array([*query, 1.0])
        left = (point - self._middle) * self._scale
        size = float(np.dot(left, left))
        least = np.dot(left.astype(np.float32), self._right)
        bound = self._kth(least, place) + self._spread + 2.0 * self._error * size + _TINY
        near = (least <= bound + abs(bound) * _ROUNDING).nonzero()[0]
        if len(near) > _MOST_ROWS:
            return None
        rows = self._rows[near]
        rows.sort()
        off = self._points.take(rows, axis=0) - point[:-1]
        powers = np.cumsum(off * off, axis=1)[:, -1]  # column by column, in no other order
        order = powers.argsort(kind="stable")[: self._k]  # of equally distant rows the first
        return rows[order], powers[order]

    def _kth(self, least: FloatArray, place: int | None) -> float:
        """What at least k of the rows do not exceed, and few more."""
        k, n_rows = self._k, len(least)
        reach = max(_ABOUT, 2 * k)
        if place is not None and n_rows > 2 * reach:
            first = min(max(0, place - reach), n_rows - 2 * reach)
            least = least[first : first + 2 * reach]
        elif n_rows >= 4 * k * _BLOCK:
            least = least[: n_rows // _BLOCK * _BLOCK].reshape(_BLOCK, -1).min(axis=0)
        return float(np.partition(least, k - 1)[k - 1])
