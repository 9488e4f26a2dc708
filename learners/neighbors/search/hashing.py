"""Locality-sensitive hashing for Euclidean distance: near rows are likely to share a bucket.

Source: Datar, Immorlica, Indyk and Mirrokni, Locality-sensitive hashing scheme based on p-stable distributions
(2004): each table's key is made of ``floor((a . x + b) / width)`` for several Gaussian directions a. Besides its own
bucket a query looks into those beyond the walls that it is nearest to (Lv et al., Multi-probe LSH, 2007). What is
found is measured exactly, so an answer differs from the exact one only by rows that no table brought up.

How tables are chosen is told in :mod:`learners.neighbors.search.hash_fitting`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners._accel import kernel, lean_inner_kernel, runs_compiled
from learners.neighbors.distances import Metric
from learners.neighbors.search.brute import BruteSearch
from learners.neighbors.search.found import Found, fixed, pick
from learners.neighbors.search.nearer import keep_nearer
from learners.types import Array, FloatArray, IntArray

#: Buckets that are looked into beside the own one.
MORE_PROBES = 4
_NO_ROW = 2**62
#: What is larger than this times another's distance is not nearer, whatever rounding did.
_BELOW = 1.0 - 1e-12
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class HashTables:
    """L tables over n rows of d numbers.

    Attributes:
        directions: float64 (d, L * M), divided by the width.
        offsets: float64 (L * M,).
        keys: int64 (L, n), ascending in each table.
        rows: int64 (L, n), the rows in that order.
        points: float64 (n, d), C-ordered.
        recall: share of their true nearest rows that a sample of rows found.
        compared: with how many rows, in the mean, each of these was compared.
    """

    directions: FloatArray
    offsets: FloatArray
    keys: IntArray
    rows: IntArray
    points: FloatArray
    recall: float
    compared: float

    def nearest(self, queries: FloatArray, k: int) -> Found:
        """The nearest k of the rows in each query's buckets; of all rows where these hold fewer than k."""
        first, last = self._buckets(queries)
        found = Found(np.empty((len(queries), k), np.int64), np.empty((len(queries), k)))
        if runs_compiled(search_tables):
            buckets = fixed(first), fixed(last)
            search_tables(fixed(queries), buckets, fixed(self.rows), fixed(self.points), (found.rows, found.powers))
        else:
            self._collect(queries, first, last, found)
        short = np.flatnonzero(~np.isfinite(found.powers[:, -1])) if len(queries) else np.empty(0, np.int64)
        if len(short):
            exact = BruteSearch(euclidean(self.points.shape[1]), self.points).nearest(queries[short], k)
            found.rows[short], found.powers[short] = exact.rows, exact.powers
        return found

    @property
    def n_tables(self) -> int:
        return len(self.keys)

    @property
    def n_buckets(self) -> int:
        """How many buckets a query looks into."""
        return self.n_tables * (1 + MORE_PROBES)

    def candidates(self, queries: FloatArray, k: int) -> IntArray:
        """With how many rows each query is compared: those of its buckets, or all where these hold fewer than k."""
        first, last = self._buckets(queries)
        held = [len(self._held(first[query], last[query])) for query in range(len(queries))]
        counts = np.array(held, np.int64)
        return np.where(counts < k, len(self.points), counts)

    def _buckets(self, queries: FloatArray) -> tuple[IntArray, IntArray]:
        """Where the buckets of each query begin and end in each table, both (m, L, probes)."""
        probes = probed_keys(queries @ self.directions + self.offsets, self.n_tables)
        first, last = np.empty(probes.shape, np.int64), np.empty(probes.shape, np.int64)
        for table in range(self.n_tables):
            first[:, table] = np.searchsorted(self.keys[table], probes[:, table], side="left")
            last[:, table] = np.searchsorted(self.keys[table], probes[:, table], side="right")
        return first, last

    def _collect(self, queries: FloatArray, first: IntArray, last: IntArray, found: Found) -> None:
        metric, k = euclidean(self.points.shape[1]), found.k
        for query in range(len(queries)):
            rows = self._held(first[query], last[query])
            if len(rows) < k:
                found.powers[query] = np.inf
                continue
            powers = metric.powers(queries[query], self.points[rows])
            best = pick(np.zeros(len(rows), np.int64), rows, powers, 1, k)
            found.rows[query], found.powers[query] = best.rows[0], best.powers[0]

    def _held(self, first: IntArray, last: IntArray) -> IntArray:
        """The rows of some buckets (L, probes), each once, ascending."""
        pieces = [
            self.rows[table, begin:end]
            for table in range(self.n_tables)
            for begin, end in zip(first[table].tolist(), last[table].tolist(), strict=True)
        ]
        return np.unique(np.concatenate(pieces))

    def to_arrays(self) -> dict[str, Array]:
        """Arrays from which :meth:`from_arrays` makes the same, given the points."""
        arrays = {name: getattr(self, name) for name in ("directions", "offsets", "keys", "rows")}
        return arrays | {"shown": np.array([self.recall, self.compared])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], points: FloatArray) -> HashTables:
        """The tables of :meth:`to_arrays` over the same points, shape (n, d)."""
        own = {name: array for name, array in arrays.items() if name != "shown"}
        recall, compared = arrays["shown"].tolist()
        return cls(points=np.ascontiguousarray(points), recall=recall, compared=compared, **own)


def keys_of(projected: FloatArray, n_tables: int) -> IntArray:
    """The key of each point in each table, shape (L, n), from its projections (n, L * M)."""
    cells = np.floor(_by_table(projected, n_tables)).astype(np.int64)
    return np.ascontiguousarray(_mixed(cells).T)


def probed_keys(projected: FloatArray, n_tables: int) -> IntArray:
    """Keys of the buckets to look into, shape (m, L, 1 + probes): the own one, then those beyond the nearest walls."""
    shaped = _by_table(projected, n_tables)
    cells = np.floor(shaped)
    inside = shaped - cells
    walls = np.concatenate([inside, 1.0 - inside], axis=2)
    n_directions = shaped.shape[2]
    nearest = np.argsort(walls, axis=2, kind="stable")[:, :, :MORE_PROBES]
    probed = np.repeat(cells.astype(np.int64)[:, :, None, :], MORE_PROBES + 1, axis=2)
    rows, tables, places = np.ogrid[: len(shaped), :n_tables, :MORE_PROBES]
    probed[rows, tables, places + 1, nearest % n_directions] += np.where(nearest < n_directions, -1, 1)
    return _mixed(probed)


def _by_table(projected: FloatArray, n_tables: int) -> FloatArray:
    """Projections (m, L * M) as (m, L, M); there may be none."""
    return projected.reshape(len(projected), n_tables, projected.shape[1] // n_tables)


def _mixed(cells: IntArray) -> IntArray:
    """One number for the last axis; different cells have different ones but for chance."""
    mixed = np.zeros(cells.shape[:-1], np.uint64)
    for place in range(cells.shape[-1]):
        mixed = (mixed ^ cells[..., place].astype(np.uint64)) * _MULTIPLIER
        mixed ^= mixed >> np.uint64(29)
    return mixed.view(np.int64)


def euclidean(n_columns: int) -> Metric:
    """The distance of rows of so many numbers."""
    return Metric(2.0, np.zeros(n_columns, np.bool_), np.ones(n_columns), np.ones(n_columns))


@kernel
def search_tables(
    queries: FloatArray,
    buckets: tuple[IntArray, IntArray],
    rows: IntArray,
    points: FloatArray,
    answer: tuple[IntArray, FloatArray],
) -> None:
    """The nearest of the rows in each query's buckets.

    Args:
        queries: shape (m, d).
        buckets: where each begins and ends, both (m, L, probes).
        rows: shape (L, n), points: shape (n, d).
        answer: is filled: rows and powers, both (m, k); infinite where the buckets hold fewer rows.
    """
    (first, last), (found, powers) = buckets, answer
    met = np.full(len(points), -1, np.int64)
    for query in range(len(queries)):
        near, near_rows = powers[query], found[query]
        near[:], near_rows[:] = np.inf, _NO_ROW
        for table in range(first.shape[1]):
            for probe in range(first.shape[2]):
                for place in range(first[query, table, probe], last[query, table, probe]):
                    row = rows[table, place]
                    if met[row] == query:
                        continue
                    met[row] = query
                    if _about(queries[query], points[row]) * _BELOW > near[-1]:
                        continue
                    power = _exactly(queries[query], points[row])
                    if power < near[-1] or (power == near[-1] and row < near_rows[-1]):
                        keep_nearer(near, near_rows, power, row)


@lean_inner_kernel
def _about(query: FloatArray, point: FloatArray) -> float:
    """The squared distance by four sums at a time, which is soon told and right but for rounding."""
    a = b = c = d = 0.0
    whole = len(query) - len(query) % 4
    for column in range(0, whole, 4):
        one, two = query[column] - point[column], query[column + 1] - point[column + 1]
        three, four = query[column + 2] - point[column + 2], query[column + 3] - point[column + 3]
        a += one * one
        b += two * two
        c += three * three
        d += four * four
    return a + b + c + d


@lean_inner_kernel
def _exactly(query: FloatArray, point: FloatArray) -> float:
    """The squared distance added up column by column, as everywhere."""
    total = 0.0
    for column in range(len(query)):
        off = query[column] - point[column]
        total += off * off
    return total
