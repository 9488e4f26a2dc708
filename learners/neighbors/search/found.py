"""What a search finds, and how the nearest are picked from candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.types import Array, FloatArray, IntArray


@dataclass(frozen=True)
class Found:
    """The nearest k rows of each of m queries, the nearest first, of equally near ones the smaller index first.

    Attributes:
        rows: int64 (m, k), indices of training rows.
        powers: float64 (m, k), powers of their distances, ascending.
    """

    rows: IntArray
    powers: FloatArray

    @property
    def k(self) -> int:
        return int(self.rows.shape[1])


def powers_of(off: FloatArray, p: float) -> FloatArray:
    """Powers of distances from differences of one query to m rows, added up column by column, as everywhere; (m,).

    Args:
        off: shape (d, m), overwritten.
        p: 1, 2 or infinite, whose powers are the same however they are computed.
    """
    terms = np.multiply(off, off, out=off) if p == 2 else np.abs(off, out=off)
    combine = np.maximum if p == np.inf else np.add
    total: FloatArray = terms[0]
    for column in range(1, len(terms)):  # of few columns sooner than a reduction
        total = combine(total, terms[column])
    return total


def pick(queries: IntArray, rows: IntArray, powers: FloatArray, n_queries: int, k: int) -> Found:
    """The nearest k of each query's candidates, of which there are at least k.

    Args:
        queries, rows, powers: of each pair of a query and a candidate, shape (pairs,); queries ascending.
        n_queries: their number.
        k: how many are kept.
    """
    order = np.lexsort((rows, powers, queries))
    counts = np.bincount(queries, minlength=n_queries)
    first = np.cumsum(counts) - counts
    kept = order[first[:, None] + np.arange(k)]
    return Found(rows[kept], powers[kept])


def fixed(array: Array) -> Array:
    """A view that cannot be written to, as arrays of a loaded model are: kernels are compiled for these alone."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
