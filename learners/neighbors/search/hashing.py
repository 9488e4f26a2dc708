"""Locality-sensitive hashing for Euclidean distance: near rows are likely to share a bucket.

Source: Datar, Immorlica, Indyk and Mirrokni, Locality-sensitive hashing scheme based on p-stable distributions
(2004): each table's key is made of ``floor((a . x + b) / width)`` for several Gaussian directions a. Besides its own
bucket a query looks into those beyond the walls that it is nearest to (Lv et al., Multi-probe LSH, 2007). What is
found is measured exactly, so an answer differs from the exact one only by rows that no table brought up.

Width, directions and number of tables are chosen on a sample of the rows for the least work that finds the share of
true neighbours that is asked for; what other rows' searches find is reported.
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

#: Rows by which tables are chosen, and judged; neighbours that they should find.
_SAMPLE, _NEIGHBOURS = 200, 10
_MOST_TABLES = 24
_DIRECTIONS = (8, 12, 16)
#: Widths in distances of the 10th neighbour.
_WIDTHS = (2.0, 4.0, 6.0)
#: Rows by which the sizes of buckets are told.
_SIZED_BY = 10_000
#: Buckets that are looked into beside the own one.
_PROBES = 4
#: A bucket costs about as much as so many rows.
_BUCKET_COST = 8.0
#: More of the rows than this share are not worth a table.
_MOST_SHARE = 0.1
#: Aim beyond the asked recall by this part of what is left to 1, as the sample is small.
_MARGIN = 0.4
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
        recall: share of the true 10 nearest rows that a sample of rows found.
    """

    directions: FloatArray
    offsets: FloatArray
    keys: IntArray
    rows: IntArray
    points: FloatArray
    recall: float

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
            exact = BruteSearch(_euclidean(self.points.shape[1]), self.points).nearest(queries[short], k)
            found.rows[short], found.powers[short] = exact.rows, exact.powers
        return found

    def candidates(self, queries: FloatArray) -> FloatArray:
        """How many rows the buckets of each query hold, those of several tables counted again; shape (m,)."""
        first, last = self._buckets(queries)
        return np.asarray((last - first).sum(axis=(1, 2)), dtype=np.float64)

    def _buckets(self, queries: FloatArray) -> tuple[IntArray, IntArray]:
        """Where the buckets of each query begin and end in each table, both (m, L, probes)."""
        n_tables = len(self.keys)
        probes = _probes(queries @ self.directions + self.offsets, n_tables)
        first, last = np.empty(probes.shape, np.int64), np.empty(probes.shape, np.int64)
        for table in range(n_tables):
            first[:, table] = np.searchsorted(self.keys[table], probes[:, table], side="left")
            last[:, table] = np.searchsorted(self.keys[table], probes[:, table], side="right")
        return first, last

    def _collect(self, queries: FloatArray, first: IntArray, last: IntArray, found: Found) -> None:
        metric, k = _euclidean(self.points.shape[1]), found.k
        for query in range(len(queries)):
            pieces = [
                self.rows[table, begin:end]
                for table in range(len(self.rows))
                for begin, end in zip(first[query, table].tolist(), last[query, table].tolist(), strict=True)
            ]
            rows = np.unique(np.concatenate(pieces))
            if len(rows) < k:
                found.powers[query] = np.inf
                continue
            powers = metric.powers(queries[query], self.points[rows])
            best = pick(np.zeros(len(rows), np.int64), rows, powers, 1, k)
            found.rows[query], found.powers[query] = best.rows[0], best.powers[0]

    def to_arrays(self) -> dict[str, Array]:
        """Arrays from which :meth:`from_arrays` makes the same, given the points."""
        arrays = {name: getattr(self, name) for name in ("directions", "offsets", "keys", "rows")}
        return arrays | {"recall": np.array([self.recall])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], points: FloatArray) -> HashTables:
        """The tables of :meth:`to_arrays` over the same points, shape (n, d)."""
        own = {name: array for name, array in arrays.items() if name != "recall"}
        return cls(points=np.ascontiguousarray(points), recall=float(arrays["recall"][0]), **own)


def fit_tables(points: FloatArray, recall: float, seed: int) -> HashTables | None:
    """Tables that find at least a share of the true neighbours; ``None`` where these would bring up too many rows.

    Args:
        points: shape (n, d), C-ordered, without missing cells.
        recall: the share, in (0, 1).
        seed: of the directions and the sample.
    """
    generator = np.random.default_rng(seed)
    k = min(_NEIGHBOURS, len(points) - 1)
    if k < 1:
        return None
    sample = generator.choice(len(points), min(2 * _SAMPLE, len(points)), replace=False)
    truth, radius = _true_neighbours(points, sample, k)
    half = (len(sample) + 1) // 2
    wanted = recall + (1 - recall) * _MARGIN
    best: _Plan | None = None
    for width in _WIDTHS if radius > 0 else ():
        for n_directions in _DIRECTIONS:
            shape = (n_directions, radius * width)
            most = best.cost if best is not None else _MOST_SHARE * len(points)
            best = _plan(points, (sample[:half], truth[:half]), shape, (wanted, most), seed) or best
    if best is None:
        return None
    directions, offsets, n_tables = best.directions, best.offsets, best.n_tables
    keys = _keys(points @ directions + offsets, n_tables)
    order = np.argsort(keys, axis=1, kind="stable")
    tables = HashTables(directions, offsets, np.take_along_axis(keys, order, 1), order, points, 0.0)
    judged, own = sample[half:], truth[half:]
    if not len(judged):
        judged, own = sample, truth
    found = tables.nearest(points[judged], k + 1).rows
    share = float(np.mean([np.isin(true, rows).mean() for true, rows in zip(own, found, strict=True)]))
    return HashTables(directions, offsets, tables.keys, order, points, share)


def _true_neighbours(points: FloatArray, sample: IntArray, k: int) -> tuple[IntArray, float]:
    """The k nearest other rows of each row of a sample, and the median distance of the last."""
    found = BruteSearch(_euclidean(points.shape[1]), points).nearest(points[sample], k + 1)
    others = np.array([[row for row in rows if row != own][:k] for own, rows in zip(sample, found.rows, strict=True)])
    return others, float(np.sqrt(np.median(found.powers[:, -1])))


@dataclass(frozen=True)
class _Plan:
    """Directions (d, L * M) and offsets (L * M,) of L tables, and about how many rows a query costs."""

    cost: float
    directions: FloatArray
    offsets: FloatArray
    n_tables: int


def _plan(
    points: FloatArray,
    known: tuple[IntArray, IntArray],
    shape: tuple[int, float],
    bounds: tuple[float, float],
    seed: int,
) -> _Plan | None:
    """As many tables as find the wanted share of neighbours; ``None`` where these cost too much.

    Args:
        points: all rows.
        known: rows of a sample, and their true neighbours.
        shape: number of directions of a table, and the width of its cells.
        bounds: the share that is wanted, and the most that a query may cost.
        seed: of the directions.
    """
    (sample, truth), (n_directions, width), (wanted, most) = known, shape, bounds
    generator = np.random.default_rng(seed + 1)
    sized = points[:: max(1, len(points) // _SIZED_BY)]
    met = np.zeros(truth.shape, np.bool_)
    cost = 0.0
    directions: list[FloatArray] = []
    offsets: list[FloatArray] = []
    while len(directions) < _MOST_TABLES:
        direction = generator.standard_normal((points.shape[1], n_directions)) / width
        offset = generator.random(n_directions)
        probes = _probes(points[sample] @ direction + offset, 1)[:, 0]
        ordered = np.sort(_keys(sized @ direction + offset, 1)[0])
        sizes = np.searchsorted(ordered, probes, side="right") - np.searchsorted(ordered, probes, side="left")
        cost += float(sizes.sum(axis=1).mean()) * len(points) / len(sized) + _BUCKET_COST * probes.shape[1]
        if cost > most:
            return None
        directions.append(direction)
        offsets.append(offset)
        keys = _keys(points[truth.ravel()] @ direction + offset, 1)[0].reshape(truth.shape)
        met |= (keys[:, :, None] == probes[:, None, :]).any(axis=2)
        if met.mean() >= wanted:
            return _Plan(cost, np.hstack(directions), np.concatenate(offsets), len(directions))
    return None


def _keys(projected: FloatArray, n_tables: int) -> IntArray:
    """The key of each point in each table, shape (L, n), from its projections (n, L * M)."""
    cells = np.floor(projected).astype(np.int64).reshape(len(projected), n_tables, -1)
    return np.ascontiguousarray(_mixed(cells).T)


def _probes(projected: FloatArray, n_tables: int) -> IntArray:
    """Keys of the buckets to look into, shape (m, L, 1 + probes): the own one, then those beyond the nearest walls."""
    shaped = projected.reshape(len(projected), n_tables, -1)
    cells = np.floor(shaped)
    inside = shaped - cells
    walls = np.concatenate([inside, 1.0 - inside], axis=2)
    n_probes, n_directions = min(_PROBES, walls.shape[2]), shaped.shape[2]
    nearest = np.argsort(walls, axis=2, kind="stable")[:, :, :n_probes]
    probed = np.repeat(cells.astype(np.int64)[:, :, None, :], n_probes + 1, axis=2)
    rows, tables, places = np.ogrid[: len(shaped), :n_tables, :n_probes]
    probed[rows, tables, places + 1, nearest % n_directions] += np.where(nearest < n_directions, -1, 1)
    return _mixed(probed)


def _mixed(cells: IntArray) -> IntArray:
    """One number for the last axis; different cells have different ones but for chance."""
    mixed = np.zeros(cells.shape[:-1], np.uint64)
    for place in range(cells.shape[-1]):
        mixed = (mixed ^ cells[..., place].astype(np.uint64)) * _MULTIPLIER
        mixed ^= mixed >> np.uint64(29)
    return mixed.view(np.int64)


def _euclidean(n_columns: int) -> Metric:
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
