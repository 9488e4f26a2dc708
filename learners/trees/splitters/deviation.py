"""Where to cut by the standard deviation: what W s of all rows loses to W s of the two sides together (M5).

With w, S and Q the sums of weight, w t and w t^2 over a side, w s = sqrt(w Q - S^2). The root makes much of
what rounding leaves of a side of equal targets, so a difference below ``_NOTHING`` of w Q is 0.

All return (position, gain sum), as the scans of :mod:`learners.trees.splitters.threshold` and
:mod:`learners.trees.splitters.ordered` do; the gain sum is in units of weight times the target.
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.presort import differ
from learners.trees.problem import CENTRED, KNOWN, TIE, WEIGHT, Problem, Rules, Work
from learners.types import FloatArray, IntArray

_NOTHING = 1e-12


@lean_inner_kernel
def deviation_sum(weight: float, total: float, squares: float) -> float:
    """Weight times standard deviation of rows with these sums."""
    spread = weight * squares - total * total
    return math.sqrt(spread) if spread > _NOTHING * weight * squares else 0.0


@lean_inner_kernel
def scan_deviations(
    problem: Problem, rules: Rules, work: Work, keys: IntArray, lo: int, hi: int, mass: float, least: float
) -> tuple[int, float]:
    """The best threshold on keys. The rows' sums are in ``work.sums[KNOWN]``."""
    stats = work.sums[KNOWN]
    layout = problem.layout
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    before = deviation_sum(stats[0], stats[1], stats[2])
    limit = -1.0
    best = -1.0
    place = -1
    left = 0.0
    left_sum = 0.0
    left_squares = 0.0
    left_mass = 0.0
    for i in range(lo, hi - 1):
        one = (keys[i] >> layout.label_bits) & id_mask
        weight = 1.0 if rules.unit else problem.numbers[WEIGHT, one]
        centred = problem.numbers[CENTRED, one]
        left += weight
        left_sum += weight * centred
        left_squares += weight * centred * centred
        left_mass += 1.0 if rules.unit else problem.numbers[rules.mass_row, one]
        if left_mass >= least and mass - left_mass >= least and differ(keys, i, layout):
            after = deviation_sum(left, left_sum, left_squares)
            after += deviation_sum(stats[0] - left, stats[1] - left_sum, stats[2] - left_squares)
            if before - after > limit:
                place = i
                best = max(before - after, 0.0)
                limit = best + TIE * before
    return place, best


@lean_inner_kernel
def cut_by_deviations(work: Work, groups: int, stats: FloatArray, mass: float, least: float) -> tuple[int, float]:
    """The best cut between two groups that follow each other in ``order``."""
    before = deviation_sum(stats[0], stats[1], stats[2])
    limit = -1.0
    best = -1.0
    place = -1
    left = 0.0
    left_sum = 0.0
    left_squares = 0.0
    left_mass = 0.0
    for position in range(groups - 1):
        g = work.groups[position].order
        left += work.group_stats[g, 0]
        left_sum += work.group_stats[g, 1]
        left_squares += work.group_stats[g, 2]
        left_mass += work.groups[g].mass
        if left_mass >= least and mass - left_mass >= least:
            after = deviation_sum(left, left_sum, left_squares)
            after += deviation_sum(stats[0] - left, stats[1] - left_sum, stats[2] - left_squares)
            if before - after > limit:
                place = position
                best = max(before - after, 0.0)
                limit = best + TIE * before
    return place, best
