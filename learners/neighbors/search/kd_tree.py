"""The kd-tree: half of the rows on either side of the median of the axis along which they vary most.

Source: Friedman, Bentley and Finkel, An algorithm for finding best matches in logarithmic expected time (1977);
the box of a node's rows, which no query's ball of the nearest so far needs to reach, is from Arya and Mount (1993).

Node i has the children 2i + 1 and 2i + 2; its leaves, all on one level, hold pools of rows, each pool together in
memory. A search goes down to the query's pool, then back to every node whose hyperplane, and whose box, the ball
around the query with the k nearest so far touches: touches, not cuts, as of equally distant rows the first counts.
Rows with a missing cell, and levels, have no place in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from learners.neighbors.search.found import Found, fixed
from learners.neighbors.search.pools import Pools, of_numbers, pooled
from learners.neighbors.search.walk import MANY_COLUMNS, search_tree
from learners.types import Array, FloatArray, Int32Array, IntArray

#: Rows in a pool at most, when it is made.
LEAF_ROWS = 12
#: Rows that are compared at once, on average at least: sooner than the boxes of fewer are looked at. By bytes more.
COMPARED_ROWS, COMPARED_BY_BYTES = 24, 64
#: A pool of so many times more rows is out of balance.
_IMBALANCE = 4


@dataclass(frozen=True)
class KdTree:
    """A tree over n rows of d numbers.

    Attributes:
        p: Minkowski's exponent, infinite for Chebyshev's distance.
        axis: int32 (inner,), which coordinate an inner node tests.
        split: float64 (inner,), rows with a coordinate <= this went to the first child.
        boxes: float64 (nodes, 2, d), the least and the largest coordinates of each node's rows.
        start: int64 (leaves + 1,), where each leaf's rows begin.
        rows: int64 (n,), indices of the rows, leaf by leaf.
        points: float64 (d, n), their coordinates in that order.
    """

    p: float
    axis: Int32Array
    split: FloatArray
    boxes: FloatArray
    start: IntArray
    rows: IntArray
    points: FloatArray

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @cached_property
    def searched(self) -> tuple[Array, ...]:
        """What :func:`~learners.neighbors.search.walk.search_tree` walks: the tree up to a level of larger pools."""
        n_pools, width = len(self.start) - 1, 1
        least = COMPARED_BY_BYTES if self.p == 2 and len(self.points) >= MANY_COLUMNS else COMPARED_ROWS
        while n_pools > 1 and self.n_rows < least * n_pools:
            n_pools, width = n_pools // 2, 2 * width
        points = np.empty(self.points.T.shape)
        points[self.rows] = self.points.T
        place = np.arange(1, n_pools)  # the higher the power of two in a place, the sooner it was cut there
        pools = Pools(self.rows, self.start[::width], -(place & -place))
        return pooled(points, pools, of_numbers(len(self.points)))

    def nearest(self, queries: FloatArray, k: int) -> Found:
        """The nearest k <= n rows of each query, shape (m, d) without missing cells."""
        return self.visits(queries, k)[0]

    def visits(self, queries: FloatArray, k: int) -> tuple[Found, IntArray]:
        """The same, and how many rows each query was compared with, shape (m,)."""
        found_rows = np.empty((len(queries), k), np.int64)
        powers = np.empty((len(queries), k))
        seen = np.empty(len(queries), np.int64)
        order = np.argsort(self.leaf_of(queries), kind="stable")  # neighbours in turn read the same memory
        search_tree(float(self.p), self.searched, fixed(queries), fixed(order), (found_rows, powers, seen))
        return Found(found_rows, powers), seen

    def leaf_of(self, points: FloatArray) -> IntArray:
        """The leaf, counted from 0, into which each point falls."""
        node = np.zeros(len(points), np.int64)
        every = np.arange(len(points))
        while len(self.axis) and len(points) and node[0] < len(self.axis):
            node = 2 * node + 1 + (points[every, self.axis[node]] > self.split[node])
        return node - len(self.axis)

    def inserted(self, points: FloatArray) -> KdTree:
        """The tree with more rows, which are numbered on; built anew if a pool would be out of balance.

        Args:
            points: shape (m, d).
        """
        leaf = self.leaf_of(points)
        pools = np.diff(self.start) + np.bincount(leaf, minlength=len(self.start) - 1)
        numbers = np.arange(self.n_rows, self.n_rows + len(points))
        rows = np.concatenate([self.rows, numbers])
        together = np.concatenate([self.points.T, points])
        if pools.max() > _IMBALANCE * LEAF_ROWS:
            return build(together[np.argsort(rows)], self.p)
        leaves = np.concatenate([np.repeat(np.arange(len(pools)), np.diff(self.start)), leaf])
        order = np.argsort(leaves, kind="stable")
        start = np.concatenate(([0], np.cumsum(pools)))
        placed = together[order]
        boxes, columns = _boxes(placed, start), np.ascontiguousarray(placed.T)
        return replace(self, boxes=boxes, start=start, rows=rows[order], points=columns)

    def to_arrays(self) -> dict[str, Array]:
        """Arrays from which :meth:`from_arrays` makes the same tree, given the points."""
        return {name: getattr(self, name) for name in ("axis", "split", "boxes", "start", "rows")}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], points: FloatArray, p: float) -> KdTree:
        """The tree of :meth:`to_arrays` over the same points, shape (n, d)."""
        return cls(p, points=np.ascontiguousarray(points[arrays["rows"]].T), **arrays)


def build(points: FloatArray, p: float) -> KdTree:
    """A tree over points, shape (n, d), n >= 1, without missing cells.

    All nodes of a level are split at once: a sort by node and coordinate puts each node's median in its middle.
    """
    n_rows = len(points)
    levels = max(0, int(np.ceil(np.log2(n_rows / LEAF_ROWS)))) if n_rows > LEAF_ROWS else 0
    rows = np.arange(n_rows)
    start = np.array([0, n_rows])
    axes, splits = [], []
    for _ in range(levels):
        placed = points[rows]
        axis = _widest(placed, start)
        node = np.repeat(np.arange(len(axis)), np.diff(start))
        along = placed[np.arange(n_rows), axis[node]]
        order = np.lexsort((along, node))
        rows, along = rows[order], along[order]
        middle = (start[:-1] + start[1:] + 1) // 2
        axes.append(axis)
        splits.append(along[middle - 1])
        start = np.sort(np.concatenate([start, middle]))
    placed = points[rows]
    axis_of = np.concatenate(axes) if axes else np.empty(0, np.int64)
    split_of = np.concatenate(splits) if splits else np.empty(0)
    boxes, columns = _boxes(placed, start), np.ascontiguousarray(placed.T)
    return KdTree(p, axis_of.astype(np.int32), split_of, boxes, start, rows, columns)


def _widest(placed: FloatArray, start: IntArray) -> IntArray:
    """The axis of the largest variance among each node's rows; of equal ones the first."""
    counts = np.diff(start)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.add.reduceat(placed, start[:-1], axis=0) / counts
        off = placed - np.repeat(mean, counts[:, 0], axis=0)
        variance = np.add.reduceat(off * off, start[:-1], axis=0)
    widest: IntArray = np.argmax(np.where(np.isfinite(variance), variance, np.inf), axis=1)
    return widest


def _boxes(placed: FloatArray, start: IntArray) -> FloatArray:
    """Least and largest coordinates of the rows of every node, the root first, shape (nodes, 2, d)."""
    low, high = np.minimum.reduceat(placed, start[:-1], axis=0), np.maximum.reduceat(placed, start[:-1], axis=0)
    levels = [np.stack([low, high], axis=1)]
    while len(low) > 1:
        low, high = np.minimum(low[::2], low[1::2]), np.maximum(high[::2], high[1::2])
        levels.insert(0, np.stack([low, high], axis=1))
    return np.concatenate(levels)
