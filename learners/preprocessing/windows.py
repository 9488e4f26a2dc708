"""A series cut into rows: the steps before each moment, which reach over no gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.errors import DataError, ParameterError, quoted
from learners.types import Array, FloatArray, IntArray

#: A difference of times beyond so many times the median one is a gap, where none is given.
_WIDE = 1.5


@dataclass(frozen=True, eq=False)
class Windows:
    """The moments that have enough steps before them.

    Attributes:
        rows: their places in the series as it was given, in the order of time, shape (m,).
        past: the steps before each, the latest last, shape (m, length, k). A table takes ``past.tolist()`` as a column
            of sequences, and the series' values at ``rows`` are the target one step ahead.
    """

    rows: IntArray
    past: FloatArray


def windows(
    values: FloatArray,
    length: int,
    *,
    times: FloatArray | None = None,
    groups: Array | None = None,
    gap: float | None = None,
) -> Windows:
    """The ``length`` steps before each moment of one or several series; a moment's own values are not among them.

    Args:
        values: shape (n,) or (n, k).
        length: steps of a window, at least 1.
        times: of the steps, shape (n,), in any unit and order; ``None`` where they come one after the other.
        groups: which series each step is of, shape (n,); ``None`` where there is one.
        gap: the largest difference of times between neighbours; ``None`` for 1.5 times the median one.

    Raises:
        ParameterError: the length is none.
        DataError: two steps of a series have one time, or a time is not finite.
    """
    if isinstance(length, bool) or not isinstance(length, int | np.integer) or length < 1:
        raise ParameterError(f"length must be a whole number >= 1; it is {quoted(length)}", field="length")
    steps = np.asarray(values, dtype=np.float64)
    steps = steps[:, np.newaxis] if steps.ndim == 1 else steps
    series = np.zeros(len(steps), np.int64) if groups is None else np.unique(groups, return_inverse=True)[1]
    when = np.arange(float(len(steps))) if times is None else np.asarray(times, dtype=np.float64)
    if not np.isfinite(when).all():
        raise DataError(f"step {int(np.argmin(np.isfinite(when)))} has no finite time", field="times")
    order = np.lexsort((when, series))
    follows = _follows(order, series, when, gap)
    ages = np.arange(len(order)) - np.maximum.accumulate(np.where(follows, 0, np.arange(len(order))))
    places = np.flatnonzero(ages >= length)
    past = steps[order[places[:, None] + np.arange(-length, 0)]]
    sooner = np.argsort(when[order[places]], kind="stable")
    return Windows(order[places][sooner], past[sooner])


def _follows(order: IntArray, series: IntArray, when: FloatArray, gap: float | None) -> Array:
    """Of each step in order whether it follows the one before without a gap."""
    same = np.concatenate([[False], np.diff(series[order]) == 0])[: len(order)]
    apart = np.concatenate([[0.0], np.diff(when[order])])[: len(order)]
    if (apart[same] <= 0).any():
        step = int(order[np.argmax(same & (apart <= 0))])
        raise DataError(f"step {step} has the time of another of its series", field="times")
    widest = _WIDE * float(np.median(apart[same])) if gap is None and same.any() else gap or 0.0
    return same & (apart <= widest)
