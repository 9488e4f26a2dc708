"""Rows of any columns divided into pools of rows that are near each other.

A part of the rows is divided along the column in which two of them differ most, by the mean square: twice the variance
of numbers, and of levels what Gini's index tells. It is cut between two different values, near its middle, so that
pools are full.
"""

from __future__ import annotations

import numpy as np

from learners.neighbors.search.pools import MOST_SLOTS, Comparison, Pools
from learners.neighbors.search.walk import LEVELS
from learners.types import FloatArray, IntArray

#: Rows in a pool at most, unless they are all alike.
POOL_ROWS = 32


def divided(points: FloatArray, comparison: Comparison) -> Pools:
    """The rows in pools.

    Args:
        points: float64 (n, d), n >= 1; NaN where missing, levels as codes >= 0.
        comparison: of the columns.
    """
    rows, start = np.arange(len(points)), np.array([0, len(points)])
    cuts: list[IntArray] = []
    levels: list[IntArray] = []
    begin, end = start[:-1], start[1:]  # of the parts that may be divided
    while len(large := np.flatnonzero(end - begin > POOL_ROWS)):
        begin, end = begin[large], end[large]
        sizes = end - begin
        part = np.repeat(np.arange(len(begin)), sizes)
        first = np.cumsum(sizes) - sizes
        places = np.arange(len(part)) + np.repeat(begin - first, sizes)
        placed = points[rows[places]]
        keys = placed[np.arange(len(placed)), _widest(placed, part, first, comparison)[part]]
        order = np.lexsort((keys, part))
        rows[places] = rows[places[order]]
        cut = begin + _cuts(keys[order], part, first, sizes)
        whole = cut == begin  # all rows are alike
        begin, cut, end = begin[~whole], cut[~whole], end[~whole]
        levels.append(np.full(len(cut), len(cuts)))
        cuts.append(cut)
        begin, end = np.concatenate([begin, cut]), np.concatenate([cut, end])
    where = np.concatenate([*cuts, start[:0]])
    order = np.argsort(where)
    level = np.concatenate([*levels, start[:0]])[order]
    return Pools(rows, np.concatenate([start[:1], where[order], start[1:]]), level)


def _widest(placed: FloatArray, part: IntArray, first: IntArray, comparison: Comparison) -> IntArray:
    """The column in which the rows of each part differ most."""
    counts = np.bincount(part)
    found = np.empty((len(counts), placed.shape[1]))
    for column in range(placed.shape[1]):
        cells = placed[:, column]
        if comparison.ways[column] == LEVELS:
            found[:, column] = _mixed(cells, part, counts) * comparison.steps[column]
        else:
            found[:, column] = _spread(cells, first, counts, comparison.steps[column])
    widest: IntArray = np.argmax(np.where(np.isnan(found), np.inf, found), axis=1)
    return widest


def _mixed(codes: FloatArray, part: IntArray, counts: IntArray) -> FloatArray:
    """How often two rows of a part differ in their level, of which a missing one is another."""
    slots = np.where(np.isnan(codes), 0, codes + 1).astype(np.int64) % MOST_SLOTS
    width = int(slots.max()) + 1
    shares = np.bincount(part * width + slots, minlength=len(counts) * width).reshape(len(counts), width)
    return np.asarray(1.0 - ((shares / counts[:, None]) ** 2).sum(axis=1))


def _spread(cells: FloatArray, first: IntArray, counts: IntArray, step: float) -> FloatArray:
    """Twice the variance of each part's numbers, and what those missing add."""
    missing = np.isnan(cells)
    filled = np.where(missing, 0.0, cells)
    gone = np.add.reduceat(missing, first, dtype=np.float64) / counts
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.add.reduceat(filled, first) / np.maximum(counts * (1.0 - gone), 1.0)
        off = np.where(missing, 0.0, cells - np.repeat(mean, counts))
        variance = np.add.reduceat(off * off, first) / counts
        return np.asarray(2.0 * (variance + gone * (1.0 - gone) * step))


def _cuts(keys: FloatArray, part: IntArray, first: IntArray, sizes: IntArray) -> IntArray:
    """How many rows of each part come before its cut, of sorted values; 0 where all are alike."""
    same = (keys[1:] == keys[:-1]) | (np.isnan(keys[1:]) & np.isnan(keys[:-1]))
    borders = np.flatnonzero(~same & (part[1:] == part[:-1])) + 1
    wanted = first + POOL_ROWS * np.maximum(sizes // (2 * POOL_ROWS), 1)
    after = np.searchsorted(borders, wanted)
    bounded = np.concatenate([[-1], borders, [len(keys) + 1]])
    before, behind = bounded[after], bounded[after + 1]
    before = np.where(before > first, before, -len(keys) - 1)
    behind = np.where(behind < first + sizes, behind, 3 * len(keys) + 3)
    nearest = np.where(wanted - before < behind - wanted, before, behind)
    return np.asarray(np.where((nearest > first) & (nearest < first + sizes), nearest - first, 0))
