"""The nearest point of continuous columns that satisfies linear bounds, where no programme is needed.

Where one bound alone stands in the way, the columns that gain most of it for their distance are moved, one after the
other, each as far as it may (a continuous knapsack, Dantzig 1957). Of a few columns the nearest point is found among
the corners that bounds make.

The sum of weighted distances from a starting point is linear between the planes through that point, so it is least in
a corner: where as many planes meet as columns move, each of them a bound or one through the start. With two or three
columns there are so few corners that all are looked at, at once.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np

from learners.types import FloatArray, IntArray

#: Most columns, and most corners, that are looked at.
MOST_COLUMNS, MOST_CORNERS = 3, 20_000
#: Corners may miss a bound by so much, in units of its largest slope.
_TOLERANCE = 1e-9
#: Nothing is so far away, in units of the columns' steps.
_FARTHEST = 1e100


def nearest_corner(
    start: FloatArray, weights: FloatArray, slopes: FloatArray, tops: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray | None:
    """The nearest point with ``slopes @ point <= tops`` and ``low <= point <= high``.

    Args:
        start: shape (n,), from which distances count.
        weights: >= 0 of the columns, shape (n,).
        slopes, tops: m bounds, shapes (m, n) and (m,), the largest slope of each about 1.
        low, high: shape (n,); infinite for none.

    Returns:
        Shape (n,); None where no point satisfies the bounds.
    """
    n = len(start)
    planes = [np.column_stack((slopes, tops))]
    for values in (start, low, high):
        finite = np.flatnonzero(np.isfinite(values))
        planes.append(np.column_stack((np.eye(n)[finite], values[finite])))
    lines = np.vstack(planes)
    meeting = lines[_choices(len(lines), n)]
    sizes = np.abs(np.linalg.det(meeting[:, :, :n]))
    meeting = meeting[sizes > 1e-12]
    points = np.linalg.solve(meeting[:, :, :n], meeting[:, :, n:])[:, :, 0]
    points = points[(np.abs(points) < _FARTHEST).all(axis=1)]
    room = _TOLERANCE * (1 + np.abs(tops))
    inside = (points @ slopes.T <= tops + room).all(axis=1)
    beside = _TOLERANCE * (1 + np.abs(points))
    inside &= ((points >= low - beside) & (points <= high + beside)).all(axis=1)
    points = points[inside]
    if not len(points):
        return None
    nearest: FloatArray = points[np.argmin(np.abs(points - start) @ weights)]
    return np.clip(nearest, low, high)


def nearest_beyond_one(
    start: FloatArray, weights: FloatArray, slopes: FloatArray, tops: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray | None:
    """As :func:`nearest_corner` of any number of columns; None too where no bound alone decides it."""
    base = np.clip(start, low, high)
    missing = slopes @ base - tops
    room = _TOLERANCE * (1 + np.abs(tops))
    for place in np.flatnonzero(missing > 0).tolist():
        slope = slopes[place]
        speed = np.abs(slope)
        moves = np.flatnonzero(speed > 0)
        order = moves[np.argsort(weights[moves] / speed[moves], kind="stable")]
        most = np.where(slope > 0, base - low, high - base)[order] * speed[order]
        gained = np.minimum(np.maximum(missing[place] - np.append(0.0, np.cumsum(most)[:-1]), 0.0), most)
        if gained.sum() < missing[place] - room[place]:
            return None
        point = base.copy()
        point[order] -= np.sign(slope[order]) * gained / speed[order]
        point = np.clip(point, low, high)
        if (slopes @ point <= tops + room).all():
            return point
    return None if (missing > room).any() else base


def n_corners(n_columns: int, n_bounds: int) -> int:
    """How many corners so many bounds make at most, beside the start and the columns' own bounds."""
    total = 1
    for place in range(n_columns):
        total = total * (n_bounds + 3 * n_columns - place) // (place + 1)
    return total


@lru_cache(maxsize=64)
def _choices(n_planes: int, n: int) -> IntArray:
    return np.array(list(combinations(range(n_planes), n)), np.int64)
