"""The frames, boxes and rows of :mod:`learners.neighbors.search.by_bytes`, as they are made of a tree's numbers.

Sources: Berchtold, Boehm, Jagadish, Kriegel and Sander, Independent quantization (2000), for rows; the boxes of
children in their node's frame are from Sakurai, Yoshikawa, Uemura and Kojima, The A-tree (2000).
"""

from __future__ import annotations

import numpy as np

from learners._lanes import LANES, WHOLES
from learners.neighbors.search.by_bytes import FARTHEST, FIRST_CELL, FRAME, MOVED, PER_UNIT, SQUARE
from learners.types import Array, FloatArray, IntArray

#: Cells of what a node spans in its widest column.
_CELLS = 253
#: The squares of larger numbers' differences are not finite; of narrower cells' they are 0.
LARGEST_CODED, _NARROWEST = 1e150, 1e-150
#: Sums of squares are below it, differences of words below that.
_LARGEST_SUM, _LARGEST_OFF = 2.0**31, 8192
#: Of more columns sums of squares would tell little apart.
MOST_COLUMNS = 1_000
#: For the rounding of numbers in cells.
_ROUNDED = 1e-6


def frames_of(low: FloatArray, high: FloatArray) -> FloatArray:
    """The frames of nodes, flat.

    Args:
        low, high: float64 (nodes, d), the least and largest numbers of each node, the root first; d at most
            :data:`MOST_COLUMNS`, numbers at most :data:`LARGEST_CODED`.
    """
    n_nodes, n_columns = low.shape
    span = (high - low).max(axis=1)
    width = np.maximum(np.where(span > 0, span, span[0] if span[0] > 0 else 1.0) / _CELLS, _NARROWEST)
    frames = np.zeros((n_nodes, FRAME + _padded(n_columns, LANES)))
    frames[:, PER_UNIT] = 1.0 / width
    frames[:, SQUARE] = (1.0 / frames[:, PER_UNIT]) ** 2 * (1.0 - 1e-9)
    frames[:, MOVED] = np.sqrt(n_columns) * (1.0 + _ROUNDED)
    frames[:, FARTHEST] = min(np.floor(np.sqrt(_LARGEST_SUM / n_columns)) - 257.0, _LARGEST_OFF)
    frames[:, FRAME : FRAME + n_columns] = low
    return frames


def boxes_in_bytes(lows: FloatArray, highs: FloatArray, frames: FloatArray) -> Array:
    """The boxes of each node's eight children, two columns at a time: least numbers, and 256 less the largest; flat.

    Args:
        lows, highs: float64 (nodes, 8, d); infinite of children that there are not, whose boxes say nothing.
        frames: of the nodes.
    """
    least = np.floor(_cells(lows, frames[:, None]) - 0.5 - _ROUNDED)
    largest = np.ceil(_cells(highs, frames[:, None]) + 0.5 + _ROUNDED)
    there = np.isfinite(lows)
    ends = np.stack([np.where(there, least, 0.0), np.where(there, 256.0 - largest, 0.0)], axis=1)
    return _in_pairs(ends.reshape(len(lows), WHOLES, lows.shape[2]))


def rows_in_bytes(placed: FloatArray, start: IntArray, node: IntArray, frames: FloatArray) -> tuple[Array, IntArray]:
    """The cells of rows, sixteen by sixteen, each pool's for itself, two columns at a time, flat; and the first sixteen
    of each pool, (pools + 1,).

    Args:
        placed: float64 (n, d), pool by pool.
        start: int64 (pools + 1,), where each pool's rows begin.
        node: int64 (pools,), in whose frame they are.
        frames: of the nodes.
    """
    counts = np.diff(start)
    groups = np.concatenate(([0], np.cumsum(-(-counts // WHOLES))))
    # where a pool has no more rows its last one stands: that is near only where it is near anyway
    place = np.arange(WHOLES * groups[-1]) - np.repeat(WHOLES * groups[:-1], WHOLES * np.diff(groups))
    last = np.repeat(counts - 1, WHOLES * np.diff(groups))
    rows = np.repeat(start[:-1], WHOLES * np.diff(groups)) + np.minimum(place, last)
    cells = np.rint(_cells(placed, frames[np.repeat(node, counts)]))
    return _in_pairs(cells[rows].reshape(-1, WHOLES, placed.shape[1])), groups


def _cells(numbers: FloatArray, frames: FloatArray) -> FloatArray:
    """Numbers, shape (..., d), in cells of frames."""
    low = frames[..., FRAME : FRAME + numbers.shape[-1]]
    return np.asarray((numbers - low) * frames[..., PER_UNIT, None] + FIRST_CELL)


def _in_pairs(cells: FloatArray) -> Array:
    """Bytes of sixteen times d cells, shape (..., 16, d), for two columns after the other; flat."""
    n_groups, _, n_columns = cells.shape
    # in a column that there is not all lies where what is asked does
    padded = np.full((n_groups, WHOLES, _padded(n_columns, 2)), FIRST_CELL, np.uint8)
    padded[..., :n_columns] = cells
    return np.ascontiguousarray(padded.reshape(n_groups, WHOLES, -1, 2).transpose(0, 2, 1, 3)).ravel()


def _padded(count: int, step: int) -> int:
    return -(-count // step) * step
