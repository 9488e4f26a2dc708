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

from learners.neighbors.search.kd_tree import KdTree
from learners.types import FloatArray, IntArray

#: A cell of more rows is not worth keeping.
MOST_ROWS = 2_000
#: Numbers that are kept for all cells; past it they are found anew.
_MOST_NUMBERS = 8_000_000
#: So much wider than told are bounds, for rounding.
_SLACK = 1.0 + 1e-9


@dataclass(frozen=True)
class Cell:
    """What may be among the nearest rows of a query in a cell.

    Attributes:
        rows: int64 (m,), ascending.
        points: float64 (d, m), C-ordered.
    """

    rows: IntArray
    points: FloatArray


class CellSearch:
    """Finds the k nearest rows of single queries, to the bit as every search does. Threads may share it.

    Args:
        tree: over the rows, for Euclidean, Manhattan or Chebyshev's distance.
        k: how many are asked for, at most the number of rows.
    """

    def __init__(self, tree: KdTree, k: int) -> None:
        self._tree, self._k = tree, k
        self._axis: list[int] = tree.axis.tolist()
        self._split: list[float] = tree.split.tolist()
        self._low: list[float] = tree.boxes[0, 0].tolist()
        self._high: list[float] = tree.boxes[0, 1].tolist()
        self._cells: dict[int, Cell | None] = {}
        self._n_numbers = 0

    def nearest(self, query: Sequence[float]) -> tuple[IntArray, FloatArray] | None:
        """Rows and powers of their distances, both (k,), the nearest first; ``None`` where another search is due.

        Args:
            query: d numbers.
        """
        for value, low, high in zip(query, self._low, self._high, strict=True):
            if not low <= value <= high:
                return None
        axis, split, node = self._axis, self._split, 0
        n_inner = len(axis)
        while node < n_inner:
            node = 2 * node + (1 if query[axis[node]] <= split[node] else 2)
        try:
            cell = self._cells[node]
        except KeyError:
            cell = self._kept(node)
        if cell is None:
            return None
        powers = self._powers(np.array(query)[:, None] - cell.points)
        if len(powers) > self._k:
            limit = np.partition(powers, self._k - 1)[self._k - 1]
            near = (powers <= limit).nonzero()[0]
            order = near[powers[near].argsort(kind="stable")[: self._k]]  # of equally distant rows the first
        else:
            order = powers.argsort(kind="stable")
        return cell.rows[order], powers[order]

    def _powers(self, off: FloatArray) -> FloatArray:
        p = self._tree.p
        terms = off * off if p == 2 else np.abs(off)
        combine = np.maximum if p == np.inf else np.add
        total: FloatArray = terms[0]
        for row in terms[1:]:  # column by column, as everywhere; of few columns sooner than a reduction
            total = combine(total, row)
        return total

    def _kept(self, node: int) -> Cell | None:
        cell = self._found(node)
        if self._n_numbers > _MOST_NUMBERS:
            self._cells, self._n_numbers = {}, 0
        self._cells[node] = cell
        self._n_numbers += 1 if cell is None else cell.points.size + cell.rows.size
        return cell

    def _found(self, node: int) -> Cell | None:
        """The cell of a leaf; ``None`` if too many rows may be among the nearest."""
        low, high = self._bounds(node)
        limit = self._limit(node, low, high)
        tree = self._tree
        n_inner = len(tree.axis)
        nodes = np.zeros(1, np.int64)
        while nodes[0] < n_inner:
            nodes = np.concatenate([2 * nodes + 1, 2 * nodes + 2])
            box = tree.boxes[nodes]
            gap = np.maximum(np.maximum(box[:, 0] - high, low - box[:, 1]), 0.0)
            nodes = np.sort(nodes[self._powers(gap.T) <= limit])
            if len(nodes) > MOST_ROWS:
                return None
        places = np.concatenate([np.arange(*tree.start[leaf : leaf + 2]) for leaf in (nodes - n_inner).tolist()])
        points = tree.points[:, places]
        gap = np.maximum(np.maximum(points - high[:, None], low[:, None] - points), 0.0)
        near = places[self._powers(gap) <= limit]
        if len(near) > MOST_ROWS:
            return None
        near = near[np.argsort(tree.rows[near])]
        return Cell(tree.rows[near], np.ascontiguousarray(tree.points[:, near]))

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
        powers = self._powers(widest)
        return float(np.partition(powers, self._k - 1)[self._k - 1]) * _SLACK if len(powers) >= self._k else np.inf
