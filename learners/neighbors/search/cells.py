"""One query at a time without compiled code: which rows may be among the nearest is kept for each cell of a kd-tree.

A cell is what the splits on the way to a leaf leave of the box of all rows. No query in it has its k nearest rows
farther off than the k-th least of the greatest distances that rows have from the cell; so only rows whose least
distance from the cell is not above that can be among them. These are found when a cell is first asked, and kept: from
then on a query costs a walk down the tree and a few operations on some dozens of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.neighbors.search.found import powers_of
from learners.neighbors.search.kd_tree import KdTree
from learners.types import Array, FloatArray, Int32Array, IntArray

#: A cell of more rows is not worth keeping.
MOST_ROWS = 1_200
#: Rows that are kept for all cells, in 32 MB; past it they are found anew.
_MOST_KEPT = 8_000_000
#: So much wider than told are bounds, for rounding.
_SLACK = 1.0 + 1e-9
#: Up to so many rows are sorted sooner than the nearest are picked out first.
_SORTED = 128
#: Nodes with whose boxes a search begins.
_FIRST_NODES = 128
#: Cells that are tried before a tree of which most are not worth keeping is left to other searches.
_TRIED = 32


@dataclass(frozen=True)
class Cell:
    """What may be among the nearest rows of a query in a cell.

    Attributes:
        places: int32 (m,), of the rows in the tree, the first row first.
        alike: labels of the k nearest as bytes, if those of all rows are the same.
    """

    places: Int32Array
    alike: bytes | None


class CellSearch:
    """Finds the k nearest rows of single queries, to the bit as every search does. Threads may share it.

    Args:
        tree: over the rows, for Euclidean, Manhattan or Chebyshev's distance.
        k: how many are asked for, at most the number of rows.
        labels: one of each row, shape (n,), if it shall be told where those of the nearest are sure.
    """

    def __init__(self, tree: KdTree, k: int, labels: Array | None = None) -> None:
        self._tree, self._k, self._labels = tree, k, labels
        self._axis: list[int] = tree.axis.tolist()
        self._split: list[float] = tree.split.tolist()
        self._low: list[float] = tree.boxes[0, 0].tolist()
        self._high: list[float] = tree.boxes[0, 1].tolist()
        self._cells: dict[int, Cell | None] = {}
        self._n_kept = self._n_refused = 0

    def leaf(self, query: Sequence[float]) -> int:
        """The leaf, counted from 0, into which a query of d numbers falls."""
        axis, split, node = self._axis, self._split, 0
        n_inner = len(axis)
        while node < n_inner:
            node = 2 * node + (1 if query[axis[node]] <= split[node] else 2)
        return node - n_inner

    def cell(self, query: Sequence[float], leaf: int) -> Cell | None:
        """The cell of a query that falls into a leaf; ``None`` where another search is due."""
        for value, low, high in zip(query, self._low, self._high, strict=True):
            if not low <= value <= high:
                return None
        try:
            return self._cells[leaf]
        except KeyError:
            return self._kept(leaf)

    def nearest(self, query: Sequence[float], cell: Cell) -> tuple[IntArray, FloatArray]:
        """Rows and powers of their distances, both (k,), the nearest first, for a query in a cell."""
        tree = self._tree
        powers = powers_of(tree.points.take(cell.places, axis=1) - np.array(query)[:, None], tree.p)
        if len(powers) <= _SORTED:
            order = powers.argsort(kind="stable")[: self._k]  # of equally distant rows the first
        else:
            limit = np.partition(powers, self._k - 1)[self._k - 1]
            near = (powers <= limit).nonzero()[0]
            order = near[powers[near].argsort(kind="stable")[: self._k]]
        return tree.rows[cell.places[order]], powers[order]

    def _kept(self, leaf: int) -> Cell | None:
        if self._n_refused > max(_TRIED, len(self._cells) // 2):
            return None
        cell = self._found(leaf + len(self._axis))
        if self._n_kept > _MOST_KEPT:
            self._cells, self._n_kept, self._n_refused = {}, 0, 0
        self._cells[leaf] = cell
        self._n_kept += 1 if cell is None else len(cell.places)
        self._n_refused += cell is None
        return cell

    def _found(self, node: int) -> Cell | None:
        """The cell of a leaf; ``None`` if too many rows may be among the nearest."""
        low, high = self._bounds(node)
        limit = self._limit(node, low, high)
        tree, n_inner = self._tree, len(self._axis)
        first = min(n_inner, _FIRST_NODES - 1)  # the first node of a level
        nodes = np.arange(first, 2 * first + 1)
        while True:
            box = tree.boxes[nodes]
            gap = np.maximum(np.maximum(box[:, 0] - high, low - box[:, 1]), 0.0)
            nodes = nodes[powers_of(gap.T, tree.p) <= limit]
            if len(nodes) > MOST_ROWS // 2:
                return None
            if nodes[0] >= n_inner:
                break
            nodes = np.sort(np.concatenate([2 * nodes + 1, 2 * nodes + 2]))
        places = np.concatenate([np.arange(*tree.start[leaf : leaf + 2]) for leaf in (nodes - n_inner).tolist()])
        points = tree.points[:, places]
        gap = np.maximum(np.maximum(points - high[:, None], low[:, None] - points), 0.0)
        near = places[powers_of(gap, tree.p) <= limit]
        if len(near) > MOST_ROWS:
            return None
        rows = tree.rows[near]
        return Cell(near[np.argsort(rows)].astype(np.int32), self._alike(rows))

    def _alike(self, rows: IntArray) -> bytes | None:
        if self._labels is None:
            return None
        labels = self._labels[rows]
        return labels[: self._k].tobytes() if bool((labels == labels[0]).all()) else None

    def _bounds(self, node: int) -> tuple[FloatArray, FloatArray]:
        """The corners of a node's cell."""
        low, high = np.array(self._low), np.array(self._high)
        while node > 0:
            parent = (node - 1) // 2
            axis, split = self._axis[parent], self._split[parent]
            if node == 2 * parent + 1:
                high[axis] = min(high[axis], split)
            else:
                low[axis] = max(low[axis], split)
            node = parent
        return low, high

    def _limit(self, node: int, low: FloatArray, high: FloatArray) -> float:
        """A power that the k-th nearest row of no query in the cell exceeds, by rows about the leaf."""
        tree, depth = self._tree, 0
        n_inner = len(tree.axis)
        first = last = node - n_inner
        while tree.start[last + 1] - tree.start[first] < max(4 * self._k, 64) and (
            first > 0 or last + 2 < len(tree.start)
        ):
            depth += 1
            if (1 << depth) > n_inner + 1:
                break
            first = (node - n_inner) >> depth << depth
            last = min(first + (1 << depth), len(tree.start) - 1) - 1
        points = tree.points[:, tree.start[first] : tree.start[last + 1]]
        widest = np.maximum(np.abs(points - low[:, None]), np.abs(points - high[:, None]))
        powers = powers_of(widest, tree.p)
        return float(np.partition(powers, self._k - 1)[self._k - 1]) * _SLACK if len(powers) >= self._k else np.inf
