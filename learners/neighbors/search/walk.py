"""The walk through a tree of boxes: the nearest box first, then all that the ball of the nearest rows so far touches.

Eight boxes, and eight rows, are measured at a time, column by column as everywhere, so bounds never exceed what they
bound, to the bit. Of many columns of numbers boxes and rows are looked at in bytes first
(:mod:`learners.neighbors.search.by_bytes`). The tree is the tuple of arrays that
:func:`learners.neighbors.search.pools.pooled` makes.
"""

from __future__ import annotations

import numpy as np

from learners._accel import kernel, lean_inner_kernel
from learners._lanes import (
    LANES,
    WHOLES,
    Lanes,
    first_of,
    load,
    places_up_to,
    prefetch,
    prefetch_bytes,
    spread,
    store,
    where_less,
    where_same,
)
from learners.neighbors.search.by_bytes import FRAME, bounds_by_bytes, limit_in_cells, near_by_bytes, place_asked
from learners.neighbors.search.nearer import keep_nearer
from learners.types import Array, FloatArray, Int16Array, IntArray

#: How a column is compared: numbers, all of which are known; numbers of which some are missing; levels.
NUMBERS, GAPPED, LEVELS = 0, 1, 2
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
    n_asked = -(-queries.shape[1] // LANES) * LANES
    room = (np.empty(2 * LANES), np.empty(most_wait, np.int64), np.empty(most_wait), np.zeros(n_asked))
    pairs = np.empty(n_asked, np.int16)
    for place in range(len(order)):
        one = order[place]
        seen[one] = search_one(p, tree, queries[one], NO_ROW, powers[one], found[one], room, pairs)


@lean_inner_kernel
def search_one(
    p: float,
    tree: tuple[Array, ...],
    query: FloatArray,
    most: int,
    near: FloatArray,
    near_rows: IntArray,
    room: tuple[Array, ...],
    pairs: Int16Array,
) -> int:
    """The nearest rows of one query.

    Args:
        query: shape (d,); NaN where missing.
        most: rows compared beyond which the search is given up.
        near, near_rows: are filled: powers and rows, both (k,).
        room: for eight powers and eight bounds, for nodes that wait and their bounds, as many of each as may wait, and
            for the query with noughts up to a multiple of eight columns.
        pairs: room for as many whole numbers.

    Returns:
        How many rows it was compared with.
    """
    children, least = tree[0], tree[1]
    eight, stack, bounds, asked = room
    n_inner = len(children)
    is_plain = _is_plain(p, tree, query, asked)
    by_bytes = is_plain and len(tree[11]) > 0
    near[:], near_rows[:] = np.inf, NO_ROW
    stack[0], bounds[0], depth, visited = 0, 0.0, 1, 0
    while depth > 0 and visited <= most:
        depth -= 1
        node, reached = stack[depth], bounds[depth]
        if not _is_nearer(reached, least[node], near, near_rows):
            continue
        if node >= n_inner:
            visited += _look_into(p, tree, query, node - n_inner, is_plain, near, near_rows, eight)
            continue
        if by_bytes:
            place_asked(tree[11], node, asked, pairs)
            total = bounds_by_bytes(tree[11], tree[13], node, (len(query) + 1) // 2, pairs)
        else:
            total = _from_boxes(p, tree, query, node, eight)
        total = where_less(total, reached, reached, total)
        within = places_up_to(total, near[-1])
        store(eight, LANES, total)
        if by_bytes and children[node, 0] >= n_inner:
            visited += _look_into_pools(tree, query, node, within, pairs, near, near_rows, eight)
            continue
        waiting = depth
        while within != 0:
            place = first_of(within)
            within &= within - 1
            child, bound = children[node, place], eight[LANES + place]
            if child < 0 or not _is_nearer(bound, least[child], near, near_rows):
                continue
            _put_in_line(least, stack, bounds, waiting, depth, child, bound)
            depth += 1
            if by_bytes:
                _fetch(tree, child, len(query), len(asked))
    return visited


@lean_inner_kernel
def _is_plain(p: float, tree: tuple[Array, ...], query: FloatArray, asked: FloatArray) -> bool:
    """Whether squares of known differences are added up; ``asked`` is filled."""
    is_plain = p == 2 and tree[5][len(query)] == NUMBERS
    for column in range(len(query)):
        is_plain = is_plain and not np.isnan(query[column])
        asked[column] = query[column]
    return bool(is_plain)


@lean_inner_kernel
def _put_in_line(
    least: IntArray, stack: IntArray, bounds: FloatArray, waiting: int, depth: int, child: int, bound: float
) -> None:
    """Put a child among those of its node that wait from ``waiting`` to ``depth``: what is nearest comes last."""
    at = depth
    while at > waiting and not _waits_longer(bounds[at - 1], least[stack[at - 1]], bound, least[child]):
        stack[at], bounds[at] = stack[at - 1], bounds[at - 1]
        at -= 1
    stack[at], bounds[at] = child, bound


@lean_inner_kernel
def _nearest_of(within: int, eight: FloatArray) -> int:
    """Of some of a node's children, as bits, the nearest."""
    found = first_of(within)
    for place in range(found + 1, LANES):
        if (within >> place) & 1 and eight[LANES + place] < eight[LANES + found]:
            found = place
    return found


@lean_inner_kernel
def _is_nearer(power: float, row: int, near: FloatArray, near_rows: IntArray) -> bool:
    """Whether a row, or a node's first, so far away is among the nearest; of equally distant rows the first."""
    return bool(power < near[-1] or (power == near[-1] and row < near_rows[-1]))


@lean_inner_kernel
def _waits_longer(power: float, row: int, other: float, other_row: int) -> bool:
    """Whether a node is looked at after another: it is farther off, or its first row comes later."""
    return power > other or (power == other and row > other_row)


@lean_inner_kernel
def _fetch(tree: tuple[Array, ...], node: int, n_columns: int, n_asked: int) -> None:
    """Have an inner node's bytes ready when its turn comes: most are not in the processor's cache between requests."""
    size = (n_columns + 1) // 2 * 2 * WHOLES
    for at in range(node * (FRAME + n_asked), (node + 1) * (FRAME + n_asked), LANES):
        prefetch(tree[11], at)
    for at in range(node * size, (node + 1) * size, LANES * LANES):
        prefetch_bytes(tree[13], at)


@lean_inner_kernel
def _look_into_pools(
    tree: tuple[Array, ...],
    query: FloatArray,
    node: int,
    within: int,
    pairs: Int16Array,
    near: FloatArray,
    near_rows: IntArray,
    eight: FloatArray,
) -> int:
    """Keep what is nearer among the rows of a node's pools, of which those are measured that bytes say may be so.

    Returns:
        How many rows the pools have that were looked into.
    """
    children, least, start, n_inner, n_pairs = tree[0], tree[1], tree[2], len(tree[0]), (len(query) + 1) // 2
    visited, limit = 0, limit_in_cells(tree[11], node, len(pairs), near[-1])
    while within != 0:
        place = first_of(within) if near[-1] < np.inf else _nearest_of(within, eight)
        within &= ~(1 << place)
        child = children[node, place]
        if child < 0 or not _is_nearer(eight[LANES + place], least[child], near, near_rows):
            continue
        pool = child - n_inner
        visited += start[pool + 1, 0] - start[pool, 0]
        first, last = start[pool, 1], start[pool + 1, 1]
        for group in range(start[pool, 2], start[pool + 1, 2]):
            found = near_by_bytes(tree[12], group, n_pairs, pairs, limit)
            if found != 0:
                if found & 0xFF:
                    _measure(2.0, tree, query, first, True, near, near_rows, eight)
                if found >> LANES and first + 1 < last:
                    _measure(2.0, tree, query, first + 1, True, near, near_rows, eight)
                limit = limit_in_cells(tree[11], node, len(pairs), near[-1])
            first += 2
    return int(visited)


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
) -> int:
    """Keep what is nearer among the rows of a pool, and tell how many these are."""
    start = tree[2]
    for group in range(start[pool, 1], start[pool + 1, 1]):
        _measure(p, tree, query, group, is_plain, near, near_rows, eight)
    return int(start[pool + 1, 0] - start[pool, 0])


@lean_inner_kernel
def _measure(
    p: float,
    tree: tuple[Array, ...],
    query: FloatArray,
    group: int,
    is_plain: bool,
    near: FloatArray,
    near_rows: IntArray,
    eight: FloatArray,
) -> None:
    """Keep what is nearer among eight rows; ``is_plain`` where squares of known differences are added up."""
    rows, points = tree[3], tree[4]
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
        return
    store(eight, 0, total)
    for place in range(LANES):
        row = rows[group * LANES + place]
        if (within >> place) & 1 and row != NO_ROW and _is_nearer(eight[place], row, near, near_rows):
            keep_nearer(near, near_rows, eight[place], row)


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
