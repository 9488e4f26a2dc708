"""Hash tables that fit the rows: cells, directions and number of tables for the share of neighbours that is asked for.

For cells of several widths and several numbers of directions as many tables are drawn as find that share for a sample
of the rows. Of these plans the one is taken by which a row is compared with the fewest others, a bucket that is looked
into counting as some rows; none, where that were half of all rows. What it finds, and compares, is then told by the
searches of other rows than those that chose it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from learners.neighbors.search.brute import BruteSearch
from learners.neighbors.search.hashing import HashTables, euclidean, keys_of, probed_keys
from learners.types import BoolArray, FloatArray, IntArray

#: Rows by which tables are chosen and judged, and how many of them, at most, are kept for the second.
_SAMPLE, _JUDGED = 600, 200
_MOST_TABLES = 24
#: Directions of a table, and widths of its cells in distances of the last neighbour.
_DIRECTIONS = (6, 8, 12, 16)
_WIDTHS = (2.0, 4.0, 6.0, 10.0)
#: Rows by which it is told how many buckets hold, and rows that ask for these.
_SIZED_BY, _SIZED_FOR = 5_000, 150
#: A bucket costs about as much as so many rows.
_BUCKET_COST = 8.0
#: Tables that compare a row with more than this share of all are none.
_MOST_SHARE = 0.5
#: Aim beyond the asked recall by this part of what is left to 1, as the sample is small.
_MARGIN = 0.5


def fit_tables(points: FloatArray, recall: float, seed: int, k: int) -> HashTables | None:
    """Tables that find at least a share of the true neighbours; ``None`` where these would bring up half of the rows.

    Args:
        points: shape (n, d), C-ordered, without missing cells.
        recall: the share, in (0, 1).
        seed: of the directions and the sample.
        k: how many neighbours are asked for; of fewer rows all others are.
    """
    generator = np.random.default_rng(seed)
    k = min(k, len(points) - 1)
    if k < 1:
        return None
    rows = generator.choice(len(points), min(_SAMPLE, len(points)), replace=False)
    truth, radius = _true_neighbours(points, rows, k)
    n_chosen = len(rows) - min(_JUDGED, len(rows) // 3)
    sample = _Sample(points, rows[:n_chosen], truth[:n_chosen], recall + (1 - recall) * _MARGIN)
    best: _Plan | None = None
    for width in _WIDTHS if radius > 0 else ():
        for n_directions in _DIRECTIONS:
            most = best.cost if best is not None else np.inf
            best = _plan(sample, n_directions, radius * width, most, seed) or best
    if best is None:
        return None
    directions, offsets = best.directions, best.offsets
    keys = keys_of(points @ directions + offsets, best.n_tables)
    order = np.argsort(keys, axis=1, kind="stable")
    tables = HashTables(directions, offsets, np.take_along_axis(keys, order, 1), order, points, 0.0, 0.0)
    judged, own = (rows[n_chosen:], truth[n_chosen:]) if n_chosen < len(rows) else (rows, truth)
    found = tables.nearest(points[judged], k + 1).rows
    share = float(np.mean([np.isin(true, near).mean() for true, near in zip(own, found, strict=True)]))
    return replace(tables, recall=share, compared=float(tables.candidates(points[judged], k + 1).mean()))


def _true_neighbours(points: FloatArray, sample: IntArray, k: int) -> tuple[IntArray, float]:
    """The k nearest other rows of each row of a sample, and the median distance of the last that is not equal to it.

    Where all k are equal rows, how far rows lie from their mean stands for that distance; 0 if all rows are one.
    """
    found = BruteSearch(euclidean(points.shape[1]), points).nearest(points[sample], k + 1)
    others = np.array([[row for row in rows if row != own][:k] for own, rows in zip(sample, found.rows, strict=True)])
    last = found.powers[:, -1]
    if not last.any():
        last = points.var(axis=0).sum(keepdims=True)
    return others, float(np.sqrt(np.median(last[last > 0]))) if last.any() else 0.0


@dataclass(frozen=True)
class _Sample:
    """Rows by which tables are chosen.

    Attributes:
        points: all rows.
        rows: which of them are the sample, shape (m,).
        truth: the true neighbours of each, shape (m, k).
        wanted: the share of these that is to be found.
    """

    points: FloatArray
    rows: IntArray
    truth: IntArray
    wanted: float


@dataclass(frozen=True)
class _Plan:
    """Directions (d, L * M) and offsets (L * M,) of L tables, and about how many rows a query costs."""

    cost: float
    directions: FloatArray
    offsets: FloatArray
    n_tables: int


def _plan(sample: _Sample, n_directions: int, width: float, most: float, seed: int) -> _Plan | None:
    """As many tables as find the wanted share of neighbours.

    Args:
        sample: the rows.
        n_directions: of a table.
        width: of its cells.
        most: the cost of the best plan so far.
        seed: of the directions.

    Returns:
        ``None`` where these cost as much, or bring up too many rows, or too many tables were needed.
    """
    points, generator = sample.points, np.random.default_rng(seed + 1)
    sized = points[:: max(1, len(points) // _SIZED_BY)]
    known, places = np.unique(sample.truth, return_inverse=True)
    places = places.reshape(sample.truth.shape)
    met = np.zeros(places.shape, np.bool_)
    held = np.zeros((min(_SIZED_FOR, len(sample.rows)), len(sized)), np.bool_)
    n_buckets = 0
    directions: list[FloatArray] = []
    offsets: list[FloatArray] = []
    while len(directions) < _MOST_TABLES:
        direction = generator.standard_normal((points.shape[1], n_directions)) / width
        offset = generator.random(n_directions)
        probes = probed_keys(points[sample.rows] @ direction + offset, 1)[:, 0]
        _hold(held, keys_of(sized @ direction + offset, 1)[0], probes)
        n_buckets += probes.shape[1]
        share = np.count_nonzero(held) / held.size
        cost = share * len(points) + _BUCKET_COST * n_buckets
        if share > _MOST_SHARE or cost >= most:
            return None
        directions.append(direction)
        offsets.append(offset)
        keys = keys_of(points[known] @ direction + offset, 1)[0][places]
        for probe in range(probes.shape[1]):
            met |= keys == probes[:, probe, None]
        if met.mean() >= sample.wanted:
            return _Plan(cost, np.hstack(directions), np.concatenate(offsets), len(directions))
    return None


def _hold(held: BoolArray, keys: IntArray, probes: IntArray) -> None:
    """Note, in (m, n), which rows' keys are among the probes of the first m queries, shape (at least m, probes)."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first, last = (np.searchsorted(ordered, probes[: len(held)], side=side).tolist() for side in ("left", "right"))
    for query in range(len(held)):
        for begin, end in zip(first[query], last[query], strict=True):
            held[query, order[begin:end]] = True
