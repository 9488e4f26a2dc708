"""Tests ``x <= t`` on a column of sorted keys where missing is one more value.

The rows that miss the value lie last in a segment ``start .. end``, the known ones in ``start .. stop``. They
may go to either side, or to a side of their own: the segment is swept as it is, and with them put first. A
place at or beyond ``end`` is one of the second sweep: those known ones go left too that lie up to the place
less the length of the segment.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.criteria import impurity_sum
from learners.trees.problem import AS_VALUE, KNOWN, TIE, Bounds, Problem, Rules, Work
from learners.trees.splitters.deviation import scan_deviations
from learners.trees.splitters.threshold import best_threshold
from learners.types import IntArray


@lean_inner_kernel
def best_place(
    problem: Problem,
    rules: Rules,
    work: Work,
    keys: IntArray,
    segment: tuple[int, int, int],
    bounds: Bounds,
) -> tuple[int, float]:
    """The best threshold of a segment ``start, stop, end``, wherever missing values go: (place or -1, gain sum).

    Of equally good ones it is the first that leaves missing values on the right.
    """
    start, stop, end = segment
    missing = value_is_missing(rules, stop, end)
    place = -1
    gain = 0.0
    own = keys
    lo = start
    hi = stop + missing
    for turn in range(2 if missing > 0 else 1):
        if turn == 1:
            put_missing_first(work, keys, start, stop, end)
            own = work.keys
            lo = 0
            hi = end - start
        if rules.by_deviation:
            found, its = scan_deviations(problem, rules, work, own, lo, hi, bounds.mass, bounds.least)
        else:
            found, its = best_threshold(problem, rules, work, own, lo, hi, bounds)
        if turn == 0:
            place = found
            gain = its
        elif found >= missing and (place < 0 or its > gain + TIE * impurity_sum(work.sums[KNOWN], rules.criterion)):
            place = end + found - missing
            gain = its
    return place, gain


@lean_inner_kernel
def value_is_missing(rules: Rules, stop: int, end: int) -> int:
    """How many rows have a missing value that counts as one."""
    return end - stop if rules.missing == AS_VALUE else 0


@lean_inner_kernel
def put_missing_first(work: Work, keys: IntArray, start: int, stop: int, end: int) -> None:
    """Copy a segment to ``work.keys``, the rows that miss the value first."""
    spare = work.keys
    missing = np.uint64(end - stop)
    for i in range(missing):
        spare[i] = keys[np.uint64(stop) + i]
    for i in range(np.uint64(stop - start)):
        spare[missing + i] = keys[np.uint64(start) + i]


@lean_inner_kernel
def last_known(place: int | np.int64, start: int | np.int64, end: int | np.int64) -> int | np.int64:
    """The last known entry on the left of a place."""
    return place - (end - start) if place >= end else place


@lean_inner_kernel
def branch_of_missing(rules: Rules, place: int | np.int64, end: int | np.int64) -> int:
    """Where rows go that miss the value; -1 if missing is no value."""
    if rules.missing != AS_VALUE:
        return -1
    return 0 if place >= end else 1
