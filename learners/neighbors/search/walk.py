"""The walk through a kd-tree: down to a query's pool, then back to all that the ball of the nearest touches.

A tree is the tuple of its arrays: ``axis``, ``split``, ``boxes`` (nodes, 2, d), ``start``, ``rows``, ``points``
(n d,), pool by pool and in each column by column; see :attr:`~learners.neighbors.search.kd_tree.KdTree.searched`.
"""

from __future__ import annotations

import numpy as np

from learners._accel import kernel, lean_inner_kernel
from learners.neighbors.search.nearer import keep_nearer
from learners.types import Array, FloatArray, IntArray

#: Nodes that wait at once are at most the tree's levels.
DEEPEST = 64
_NO_ROW = 2**62


@kernel
def search_tree(
    p: float, tree: tuple[Array, ...], queries: FloatArray, order: IntArray, answer: tuple[Array, Array, Array]
) -> None:
    """The nearest rows of each query.

    Args:
        p: Minkowski's exponent, infinite for Chebyshev's distance.
        tree: see above.
        queries: shape (m, d).
        order: in which queries are answered, shape (m,).
        answer: is filled: rows (m, k), powers (m, k), and number of rows compared with (m,).
    """
    found, powers, seen = answer
    room = (np.empty(np.max(np.diff(tree[3]))), np.empty(DEEPEST, np.int64), np.empty(DEEPEST))
    for place in range(len(order)):
        one = order[place]
        seen[one] = search_one(p, tree, queries[one], len(tree[4]), powers[one], found[one], room)


@lean_inner_kernel
def search_one(
    p: float,
    tree: tuple[Array, ...],
    query: FloatArray,
    most: int,
    near: FloatArray,
    near_rows: IntArray,
    room: tuple[Array, ...],
) -> int:
    """The nearest rows of one query.

    Args:
        query: shape (d,).
        most: rows compared beyond which the search is given up.
        near, near_rows: are filled: powers and rows, both (k,).
        room: for a pool's powers, and for nodes that wait and their bounds, :data:`DEEPEST` of each.

    Returns:
        How many rows it was compared with.
    """
    axis, split, boxes, start, rows, points = tree
    total, stack, bounds = room
    near[:], near_rows[:] = np.inf, _NO_ROW
    stack[0], bounds[0], depth, visited = 0, 0.0, 1, 0
    while depth > 0 and visited <= most:
        depth -= 1
        if bounds[depth] > near[-1]:
            continue
        node = stack[depth]
        while node < len(axis):
            gap = query[axis[node]] - split[node]
            farther = 2 * node + (2 if gap <= 0 else 1)
            node = 4 * node + 3 - farther
            if _raised(p, abs(gap)) > near[-1]:
                continue
            bound = _from_box(p, query, boxes[farther, 0], boxes[farther, 1])
            if bound <= near[-1]:
                stack[depth], bounds[depth] = farther, bound
                depth += 1
        first, last = start[node - len(axis)], start[node - len(axis) + 1]
        visited += last - first
        _to_pool(p, query, points[first * len(query) : last * len(query)], total[: last - first])
        for row in range(first, last):
            power = total[row - first]
            if power < near[-1] or (power == near[-1] and rows[row] < near_rows[-1]):
                keep_nearer(near, near_rows, power, rows[row])
    return visited


@lean_inner_kernel
def _raised(p: float, difference: float) -> float:
    if p == 2:
        return difference * difference
    return difference if p in (1.0, np.inf) else difference**p


@lean_inner_kernel
def _from_box(p: float, query: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """The power of the distance from a box."""
    total = 0.0
    for column in range(len(query)):
        value = query[column]
        off = max(low[column] - value, value - high[column], 0.0)
        if p == 2:
            total += off * off
        elif p == np.inf:
            total = max(total, off)
        else:
            total += _raised(p, off)
    return total


@lean_inner_kernel
def _to_pool(p: float, query: FloatArray, points: FloatArray, total: FloatArray) -> None:
    """The powers of the distances from the rows of a pool; column by column, as everywhere."""
    n_rows = len(total)
    total[:] = 0.0
    paired = len(query) // 2 * 2 if p == 2 else 0
    for column in range(0, paired, 2):  # of two columns at once powers are read and written half as often
        value, other = query[column], query[column + 1]
        cells, others = points[column * n_rows :][:n_rows], points[(column + 1) * n_rows :][:n_rows]
        for row in range(n_rows):
            off, off_too = value - cells[row], other - others[row]
            total[row] = total[row] + off * off + off_too * off_too
    for column in range(paired, len(query)):
        value, cells = query[column], points[column * n_rows :][:n_rows]
        if p == 2:
            for row in range(n_rows):
                off = value - cells[row]
                total[row] += off * off
        elif p == np.inf:
            for row in range(n_rows):
                total[row] = max(total[row], abs(value - cells[row]))
        else:
            for row in range(n_rows):
                total[row] += _raised(p, abs(value - cells[row]))
