"""Boxes and rows of many numbers in bytes, of which an eighth is read: kernels that say what need not be measured.

Each inner node has a frame: where its rows begin in each column, and one width of cells for all columns. In it the
boxes of its children, the rows of its pools and what is asked are whole numbers, whose differences, squares and sums
are exact. What is asked is moved by half a cell at most in each column, and the ends of boxes are moved outwards by as
much; a row lies as near to the middle of its cell.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners._lanes import (
    LANES,
    WHOLES,
    Lanes,
    add_apart,
    add_beyond,
    halves,
    load,
    no_wholes,
    store_rounded,
    where_less,
    wholes_up_to,
)
from learners.types import Array, FloatArray, Int16Array

#: Entries of a frame before its columns: cells to a unit, the square of a cell's width less what is rounded, the
#: farthest in cells that a row may lie from the middle of its own and the asked one from the whole it becomes,
#: together, and how far in cells from the frame's beginning what is asked is told apart.
FRAME = LANES
PER_UNIT, SQUARE, MOVED, FARTHEST = 0, 1, 2, 3
#: The cell in which a frame's least numbers lie, as what is asked may lie below.
FIRST_CELL = 1.0
#: What is added to a limit of whole numbers for rounding, as a share, and what such a limit is at most.
_SLACK, _MOST = 1.0 + 1e-9, 2.0**31 - 1.0


@lean_inner_kernel
def place_asked(frames: FloatArray, node: int, asked: FloatArray, pairs: Int16Array) -> None:
    """What is asked in whole cells of a node's frame: ``pairs`` are filled, two columns each."""
    begin = node * (FRAME + len(asked))
    per_unit, farthest = frames[begin + PER_UNIT], frames[begin + FARTHEST]
    for at in range(0, len(asked), LANES):
        cells = (load(asked, at) - load(frames, begin + FRAME + at)) * per_unit + FIRST_CELL
        cells = where_less(cells, 0.0 - farthest, 0.0 - farthest, cells)
        store_rounded(pairs, at, where_less(farthest, cells, farthest, cells))


@lean_inner_kernel
def bounds_by_bytes(frames: FloatArray, boxes: Array, node: int, n_pairs: int, pairs: Int16Array) -> Lanes:
    """What the squares of the distances from the rows of a node's eight children are at least."""
    total = no_wholes()
    for pair in range(n_pairs):
        total = add_beyond(total, boxes, 2 * WHOLES * (node * n_pairs + pair), pairs, 2 * pair)
    bounds: Lanes = halves(total) * frames[node * (FRAME + len(pairs)) + SQUARE]
    return bounds


@lean_inner_kernel
def limit_in_cells(frames: FloatArray, node: int, n_columns: int, power: float) -> float:
    """The largest sum of squares by cells of a row whose own may be at most ``power``, in a node's frame."""
    begin = node * (FRAME + n_columns)
    reach = np.sqrt(power) * frames[begin + PER_UNIT] + frames[begin + MOVED]
    return float(min(reach * reach * _SLACK, _MOST))


@lean_inner_kernel
def near_by_bytes(codes: Array, group: int, n_pairs: int, pairs: Int16Array, limit: float) -> int:
    """Which of sixteen rows may be near, as bits."""
    total = no_wholes()
    for pair in range(n_pairs):
        total = add_apart(total, codes, 2 * WHOLES * (group * n_pairs + pair), pairs, 2 * pair)
    return wholes_up_to(total, limit)
