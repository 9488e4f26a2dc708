"""The walk through a tree of boxes: the nearest box first, then all that the ball of the nearest rows so far touches.

Eight boxes, and eight rows, are measured at a time, column by column as everywhere, so bounds never exceed what they
bound, to the bit. Of many columns of numbers rows are first looked at in bytes, of which an eighth is read: no row is
nearer than the middle of its cell is, less half of the cell's diagonal. The tree is the tuple of arrays that
:func:`learners.neighbors.search.pools.pooled` makes.
"""

from __future__ import annotations

import numpy as np

from learners._accel import kernel, lean_inner_kernel
from learners._lanes import (
    LANES,
    Lanes,
    load,
    load_bytes,
    places_up_to,
    prefetch,
    prefetch_bytes,
    spread,
    store,
    where_less,
    where_same,
)
from learners.neighbors.search.nearer import keep_nearer
from learners.types import Array, FloatArray, IntArray

#: How a column is compared: numbers, all of which are known; numbers of which some are missing; levels.
NUMBERS, GAPPED, LEVELS = 0, 1, 2
#: What is added to a square of a distance for rounding, as a share and where numbers are next to nothing.
SLACK, TINY = 1.0 + 1e-9, 1e-300
#: Of fewer columns the numbers themselves are read as soon as bytes, and without being fetched before.
MANY_COLUMNS = 6
#: In place of a row where there is none.
NO_ROW = 2**62


@kernel
def search_tree(
    p: float, tree: tuple[Array, ...], queries: FloatArray, order: IntArray, answer: tuple[Array, Array, Array]
) -> None:
    """The nearest rows of each query.

    Args:
        p: Minkowski's exponent, infinite for Chebyshev's distance.
        tree: see above.
        queries: shape (m, d); NaN where missing.
        order: in which queries are answered, shape (m,).
        answer: is filled: rows (m, k), powers (m, k), and number of rows compared with (m,).
    """
    found, powers, seen = answer
    most_wait = tree[9][-1, 0]
    room = (np.empty(LANES), np.empty(most_wait, np.int64), np.empty(most_wait))
    for place in range(len(order)):
        one = order[place]
        seen[one] = search_one(p, tree, queries[one], NO_ROW, powers[one], found[one], room)


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
        query: shape (d,); NaN where missing.
        most: rows compared beyond which the search is given up.
        near, near_rows: are filled: powers and rows, both (k,).
        room: for eight powers, and for nodes that wait and their bounds, as many of each as may wait.

    Returns:
        How many rows it was compared with.
    """
    children, least, start = tree[0], tree[1], tree[2]
    eight, stack, bounds = room
    n_inner = len(children)
    is_plain = p == 2 and tree[5][len(query)] == NUMBERS
    for column in range(len(query)):
        is_plain = is_plain and not np.isnan(query[column])
    near[:], near_rows[:] = np.inf, NO_ROW
    stack[0], bounds[0], depth, visited = 0, 0.0, 1, 0
    while depth > 0 and visited <= most:
        depth -= 1
        node = stack[depth]
        if not _is_nearer(bounds[depth], least[node], near, near_rows):
            continue
        if node >= n_inner:
            pool = node - n_inner
            visited += start[pool + 1, 0] - start[pool, 0]
            _look_into(p, tree, query, pool, is_plain, near, near_rows, eight)
            continue
        total = _from_boxes(p, tree, query, node, eight)
        within = places_up_to(total, near[-1])
        if within == 0:
            continue
        store(eight, 0, total)
        waiting = depth
        for place in range(LANES):
            child, bound = children[node, place], eight[place]
            if (within >> place) & 1 == 0 or child < 0 or not _is_nearer(bound, least[child], near, near_rows):
                continue
            at = depth  # what is nearest comes last, and is looked at first
            while at > waiting and not _waits_longer(bounds[at - 1], least[stack[at - 1]], bound, least[child]):
                stack[at], bounds[at] = stack[at - 1], bounds[at - 1]
                at -= 1
            stack[at], bounds[at] = child, bound
            depth += 1
            if len(query) >= MANY_COLUMNS and near[-1] < np.inf:
                _fetch(tree, child, len(query))
    return visited


@lean_inner_kernel
def _is_nearer(power: float, row: int, near: FloatArray, near_rows: IntArray) -> bool:
    """Whether a row, or a node's first, so far away is among the nearest; of equally distant rows the first."""
    return bool(power < near[-1] or (power == near[-1] and row < near_rows[-1]))


@lean_inner_kernel
def _waits_longer(power: float, row: int, other: float, other_row: int) -> bool:
    """Whether a node is looked at after another: it is farther off, or its first row comes later."""
    return power > other or (power == other and row > other_row)


@lean_inner_kernel
def _fetch(tree: tuple[Array, ...], node: int, n_columns: int) -> None:
    """Have a node ready when its turn comes: most are not in the processor's cache between requests."""
    size, pool = tree[9][n_columns, 0], node - len(tree[0])
    if pool < 0:
        for at in range(node * size, (node + 1) * size, LANES):
            prefetch(tree[7], at)
        return
    start, points, frames = tree[2], tree[4], tree[11]
    if len(frames) > 0:
        for at in range(pool * 2 * (n_columns + 1), (pool + 1) * 2 * (n_columns + 1), LANES):
            prefetch(frames, at)
        for at in range(start[pool, 1] * LANES * n_columns, start[pool + 1, 1] * LANES * n_columns, LANES * LANES):
            prefetch_bytes(tree[12], at)
    else:
        for at in range(start[pool, 1] * LANES * n_columns, start[pool + 1, 1] * LANES * n_columns, LANES):
            prefetch(points, at)


@lean_inner_kernel
def _look_into(
    p: float,
    tree: tuple[Array, ...],
    query: FloatArray,
    pool: int,
    is_plain: bool,
    near: FloatArray,
    near_rows: IntArray,
    eight: FloatArray,
) -> None:
    """Keep what is nearer among the rows of a pool; ``is_plain`` where squares of known differences are added up."""
    start, rows, points, frames = tree[2], tree[3], tree[4], tree[11]
    filters = is_plain and len(frames) > 0
    limit = np.inf
    if filters:
        reach = np.sqrt(near[-1]) + frames[2 * (len(query) + 1) * (pool + 1) - 2]
        limit = reach * reach * SLACK + TINY
    for group in range(start[pool, 1], start[pool + 1, 1]):
        if filters and places_up_to(_about(tree, query, pool, group), limit) == 0:
            continue
        total = spread(0.0)
        at = group * LANES * len(query)
        if is_plain:
            for column in range(len(query)):
                off = query[column] - load(points, at + LANES * column)
                total = total + off * off
        else:
            total = _from_rows(p, tree, query, at, eight)
        within = places_up_to(total, near[-1])
        if within == 0:
            continue
        store(eight, 0, total)
        for place in range(LANES):
            row = rows[group * LANES + place]
            if (within >> place) & 1 and row != NO_ROW and _is_nearer(eight[place], row, near, near_rows):
                keep_nearer(near, near_rows, eight[place], row)


@lean_inner_kernel
def _about(tree: tuple[Array, ...], query: FloatArray, pool: int, group: int) -> Lanes:
    """The squares of the distances from the middles of the cells in which eight rows lie."""
    frames, codes = tree[11], tree[12]
    frame, at = pool * 2 * (len(query) + 1), group * LANES * len(query)
    total = spread(0.0)
    for column in range(len(query)):
        first, width = frames[frame + 2 * column], frames[frame + 2 * column + 1]
        off = (query[column] - first) - load_bytes(codes, at + LANES * column) * width
        total = total + off * off
    return total


@lean_inner_kernel
def _from_rows(p: float, tree: tuple[Array, ...], query: FloatArray, at: int, eight: FloatArray) -> Lanes:
    """The powers of the distances from eight rows, whose coordinates begin there."""
    points, ways, steps = tree[4], tree[5], tree[6]
    total = spread(0.0)
    for column in range(len(query)):
        value, step = query[column], steps[column]
        cells = load(points, at + LANES * column)
        if ways[column] == LEVELS:
            term = where_same(cells, value, 0.0, step)
        elif np.isnan(value):
            term = spread(step)
        else:
            term = _raised(p, value - cells, eight)
            if ways[column] == GAPPED:
                term = where_same(cells, cells, term, step)
        total = where_less(total, term, term, total) if p == np.inf else total + term
    return total


@lean_inner_kernel
def _from_boxes(p: float, tree: tuple[Array, ...], query: FloatArray, node: int, eight: FloatArray) -> Lanes:
    """What the powers of the distances from the rows of a node's eight children are at least."""
    ways, steps, boxes, lacking, slots, absent = tree[5], tree[6], tree[7], tree[8], tree[9], tree[10]
    at, first = node * slots[len(query), 0], node * slots[len(query), 1]
    total = spread(0.0)
    for column in range(len(query)):
        value, step, way = query[column], steps[column], ways[column]
        if way == LEVELS:
            if value >= 0:
                byte = lacking[first + slots[column, 0] + int(value) % slots[column, 1]]
                term = load(absent, LANES * int(byte)) * step
            else:
                term = spread(step)
        else:
            under, over = load(boxes, at) - value, value - load(boxes, at + LANES)
            at += 2 * LANES
            off = where_less(under, over, over, under)
            term = _raised(p, where_less(off, 0.0, 0.0, off), eight)
            if way == GAPPED:
                term = where_less(term, step, term, step)
            if np.isnan(value):
                term = spread(step)
        total = where_less(total, term, term, total) if p == np.inf else total + term
    return total


@lean_inner_kernel
def _raised(p: float, off: Lanes, eight: FloatArray) -> Lanes:
    """Differences raised to p."""
    if p == 2:
        return off * off
    off = where_less(off, 0.0, 0.0 - off, off)
    if p in (1.0, np.inf):
        return off
    store(eight, 0, off)
    for place in range(LANES):
        eight[place] = eight[place] ** p
    return load(eight, 0)
