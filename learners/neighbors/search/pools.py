"""Rows in pools, and boxes around these, eight to a node, as the walk takes them.

Pools come in an order in which neighbours are near, with the level at which each was cut from the one before it: so
they are the leaves of a tree of two branches, of which three levels, or what there is, become one node here. A box
holds the least and the largest of each column's known numbers, and for each column of levels which are there.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from learners._lanes import LANES
from learners.neighbors.search.to_bytes import LARGEST_CODED, MOST_COLUMNS, boxes_in_bytes, frames_of, rows_in_bytes
from learners.neighbors.search.walk import LEVELS, MANY_COLUMNS, NO_ROW, NUMBERS
from learners.types import Array, FloatArray, IntArray

#: Levels that a box tells apart; of more, those with the same remainder count as one.
MOST_SLOTS = 256
#: Of eight children.
SUBSETS = 1 << LANES
#: The place of the steps in the tree.
STEPS = 6
_NO_CHILD = -1


@dataclass(frozen=True)
class Comparison:
    """How columns are compared.

    Attributes:
        ways: int64 (d,), see :mod:`learners.neighbors.search.walk`.
        steps: float64 (d,), the power of the difference of two levels, or from a missing number.
    """

    ways: IntArray
    steps: FloatArray


def of_numbers(n_columns: int) -> Comparison:
    """Numbers that are all known, in questions too."""
    return Comparison(np.full(n_columns, NUMBERS), np.zeros(n_columns))


@dataclass(frozen=True)
class Pools:
    """Rows pool by pool.

    Attributes:
        rows: int64 (n,), indices of the rows.
        start: int64 (pools + 1,), where each pool's rows begin.
        level: int64 (pools - 1,), on which level of the tree each pool but the first was cut from the one before it;
            of those between two cuts of one level one is least.
    """

    rows: IntArray
    start: IntArray
    level: IntArray


def pooled(points: FloatArray, pools: Pools, comparison: Comparison) -> tuple[Array, ...]:
    """The tree that is walked.

    Args:
        points: float64 (n, d); NaN where missing, levels as codes >= 0.
        pools: of the rows.
        comparison: of the columns.

    Returns:
        ``children`` (inner, 8), those of each inner node, the root first: inner nodes, or pools counted on from these,
        or -1; ``least`` (nodes,), the smallest row in each; ``start`` (pools + 1, 3), where its rows, its groups of
        eight and its groups of sixteen in bytes begin; ``rows`` (groups 8,); ``points`` (groups d 8,); ``ways``
        (d + 1,), at last the largest, and ``steps`` (d,); ``boxes``, for each inner node and column of numbers the
        least of eight children and their largest; ``lacking``, for each inner node, column of levels and slot the
        children that have it, as bits; ``slots`` (d + 2, 2), where a column's slots begin and how many they are, then
        how many numbers and slots a node has, then how many nodes may wait; ``absent`` (256 8,), by such bits 1 where
        it is not; ``frames``, ``codes`` of rows, each in the frame of the inner node whose child its pool is, and
        ``ends`` of boxes as :mod:`learners.neighbors.search.by_bytes` has them, all empty where they are of no use.
    """
    rows, start = pools.rows, pools.start
    placed = points[rows]
    begin, is_level = start[:-1], comparison.ways == LEVELS
    numbers = placed[:, ~is_level]
    low, high = np.fmin.reduceat(numbers, begin, axis=0), np.fmax.reduceat(numbers, begin, axis=0)
    low, high = np.where(np.isnan(low), np.inf, low), np.where(np.isnan(high), -np.inf, high)
    present, slots = _present(placed, start, is_level)
    children, first, last, slots[-1] = _children(pools.level)
    of_child = (low, np.minimum, np.inf), (high, np.maximum, -np.inf), (present, np.logical_or, False)
    lows, highs, presents = (_over(values, first, last, combine, none) for values, combine, none in of_child)
    least_of_pool = np.minimum.reduceat(rows, begin)
    least_of_child = _over(least_of_pool, first, last, np.minimum, NO_ROW)
    is_inner = (children > 0) & (children < len(children))
    least = np.concatenate([[0] * min(len(children), 1), least_of_child[is_inner], least_of_pool]).astype(np.int64)
    boxes = np.ascontiguousarray(np.stack([lows, highs], axis=1).transpose(0, 3, 1, 2))
    bits = (presents << np.arange(LANES)[None, :, None]).sum(axis=1).astype(np.uint8)
    groups, grouped_rows, grouped = _groups(placed, rows, start)
    frames, codes, ends, sixteens = _in_bytes(placed, start, children, lows, highs)
    absent = (np.arange(SUBSETS)[:, None] >> np.arange(LANES) & 1 ^ 1).astype(np.float64)
    return (
        children,
        least,
        np.ascontiguousarray(np.column_stack([start, groups, sixteens])),
        grouped_rows,
        _aligned(grouped),
        np.append(comparison.ways, comparison.ways.max(initial=NUMBERS)),
        comparison.steps,
        _aligned(boxes.ravel()),
        bits.ravel(),
        slots,
        _aligned(absent.ravel()),
        frames,
        codes,
        ends,
    )


def _children(level: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Children of each inner node, the root first, and which pools each holds, all (inner, 8); and what may wait.

    Of the parts of a node's pools the one of most pools is divided in two until there are eight, or none has more than
    nodes below with eight children each hold: so it is the root that has fewer, where there are not enough.
    """
    n_pools = len(level) + 1
    found, begun, ended, most = [], [], [], 1
    waiting = deque([(0, n_pools, 1)] if n_pools > 1 else [])
    n_inner = len(waiting)
    while waiting:
        first, last, others = waiting.popleft()
        parts, full = [(first, last)], 1
        while full * LANES < last - first:
            full *= LANES
        while len(parts) < LANES:
            place = max(range(len(parts)), key=lambda one: parts[one][1] - parts[one][0])
            begin, end = parts[place]
            if end - begin <= full:
                break
            cut = begin + 1 + int(np.argmin(level[begin : end - 1]))
            parts[place : place + 1] = [(begin, cut), (cut, end)]
        others += len(parts) - 1
        most = max(most, others)
        children = []
        for begin, end in parts:
            if end - begin == 1:
                children.append(-2 - begin)
            else:
                children.append(n_inner)
                n_inner += 1
                waiting.append((begin, end, others))
        none = LANES - len(parts)
        found.append(children + [_NO_CHILD] * none)
        begun.append([begin for begin, _ in parts] + [n_pools] * none)
        ended.append([end for _, end in parts] + [n_pools] * none)
    made = (np.array(rows, np.int64).reshape(-1, LANES) for rows in (found, begun, ended))
    ids, firsts, lasts = made
    return np.where(ids < _NO_CHILD, n_inner - 2 - ids, ids), firsts, lasts, np.array([most, 0])


def _over(values: Array, first: IntArray, last: IntArray, combine: np.ufunc, none: float) -> Array:
    """What is combined of each child's pools, shape (inner, 8, ...)."""
    padded = np.concatenate([values, np.full((1, *values.shape[1:]), none, values.dtype)])
    ends = np.stack([first.ravel(), last.ravel()], axis=1).ravel()
    found = combine.reduceat(padded, ends, axis=0)[::2] if len(ends) else padded[:0]
    return found.reshape(*first.shape, *values.shape[1:])


def _present(placed: FloatArray, start: IntArray, is_level: Array) -> tuple[Array, IntArray]:
    """In which slots each pool has rows, shape (pools, slots); and where each column's slots begin."""
    n_pools, n_columns = len(start) - 1, placed.shape[1]
    slots = np.zeros((n_columns + 2, 2), np.int64)
    pool = np.repeat(np.arange(n_pools), np.diff(start))
    parts, first = [], 0
    for column in np.flatnonzero(is_level).tolist():
        codes = placed[:, column]
        known = ~np.isnan(codes)
        width = int(min(MOST_SLOTS, codes[known].max(initial=0.0) + 1))
        part = np.zeros((n_pools, width), np.bool_)
        part[pool[known], codes[known].astype(np.int64) % width] = True
        slots[column] = first, width
        first += width
        parts.append(part)
    slots[n_columns] = 2 * LANES * (n_columns - len(parts)), first
    return np.concatenate(parts, axis=1) if parts else np.zeros((n_pools, 0), np.bool_), slots


def _groups(placed: FloatArray, rows: IntArray, start: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows by eight, each pool's for itself: where those of each pool begin, the rows, and their coordinates."""
    counts = np.diff(start)
    groups = np.concatenate(([0], np.cumsum(-(-counts // LANES))))
    place = np.repeat(LANES * groups[:-1] - start[:-1], counts) + np.arange(len(rows))
    grouped_rows = np.full(LANES * groups[-1], NO_ROW)
    grouped_rows[place] = rows
    cells = np.full((LANES * groups[-1], placed.shape[1]), np.nan)
    cells[place] = placed
    blocks = cells.reshape(-1, LANES, placed.shape[1]).transpose(0, 2, 1)
    return groups, grouped_rows, np.ascontiguousarray(blocks).ravel()


def _in_bytes(
    placed: FloatArray, start: IntArray, children: IntArray, lows: FloatArray, highs: FloatArray
) -> tuple[FloatArray, Array, Array, IntArray]:
    """Frames, rows and boxes in bytes, and where each pool's rows begin; empty where they are of no use.

    Args:
        lows, highs: of each inner node's eight children, (inner, 8, d).
    """
    n_inner, n_columns = len(children), placed.shape[1]
    holds_pools = children >= n_inner
    # of a node either all children are pools or none, as in every kd-tree
    is_even = n_inner > 0 and (holds_pools.any(axis=1) == (holds_pools | (children < 0)).all(axis=1)).all()
    is_known = lows.shape[2] == n_columns and np.abs(placed).max() <= LARGEST_CODED  # a missing number is not
    if not (is_even and is_known and MANY_COLUMNS <= n_columns <= MOST_COLUMNS):
        return np.empty(0), np.empty(0, np.uint8), np.empty(0, np.uint8), np.zeros(len(start), np.int64)
    node = np.zeros(len(start) - 1, np.int64)  # of which a pool is a child
    node[children[holds_pools] - n_inner] = np.nonzero(holds_pools)[0]
    frames = frames_of(lows.min(axis=1), highs.max(axis=1))
    codes, groups = rows_in_bytes(placed, start, node, frames)
    boxes = boxes_in_bytes(lows, highs, frames)
    return _aligned(frames.ravel()), _aligned(codes), _aligned(boxes), groups


def _aligned(numbers: Array) -> Array:
    """The same where the processor's lines of memory begin, so that no eight numbers lie in two of them."""
    line = LANES * LANES
    room = np.empty(numbers.nbytes + line, np.uint8)
    first = -room.ctypes.data % line
    placed = room[first : first + numbers.nbytes].view(numbers.dtype)
    placed[:] = numbers
    return placed
