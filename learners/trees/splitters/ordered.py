"""Tests ``x <= t`` on the groups of a column with codes; the formulas are those of thresholds on keys.

All return (position, gain sum): the groups up to ``position`` go left; -1 where there is no test. Cuts that gain
less than ``floor`` may be left out.
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.criteria import ENTROPY, GINI, VARIANCE, impurity_sum, total_weight
from learners.trees.problem import LEFT, RIGHT, TIE, Bounds, Problem, Rules, Work
from learners.trees.rough_entropy import SLACK, least_square, rough_entropy_sum
from learners.trees.splitters.deviation import cut_by_deviations
from learners.trees.splitters.threshold import between
from learners.types import FloatArray


@lean_inner_kernel
def natural_order(work: Work, groups: int) -> None:
    """Fill ``order`` with the groups as they are."""
    for g in range(groups):
        work.groups[g].order = g


@lean_inner_kernel
def best_cut(
    problem: Problem, rules: Rules, work: Work, groups: int, stats: FloatArray, bounds: Bounds
) -> tuple[int, float]:
    """The best cut between two groups that follow each other in ``order``."""
    if rules.by_deviation:
        return cut_by_deviations(work, groups, stats, bounds.mass, bounds.least)
    if rules.binary or rules.criterion == VARIANCE:
        return cut_by_moments(rules, work, groups, stats, bounds)
    return cut_by_classes(problem, rules, work, groups, stats, bounds)


@lean_inner_kernel
def is_boundary(rules: Rules, work: Work, position: int) -> bool:
    """Whether the groups here and next are not purely of one same class; only there can the best cut lie."""
    one = np.uint64(work.groups[position].order)
    other = np.uint64(work.groups[position + 1].order)
    for k in range(rules.n_stats):
        if work.group_stats[one, k] == work.groups[one].mass:
            return bool(work.group_stats[other, k] != work.groups[other].mass)
    return True


@lean_inner_kernel
def cut_by_moments(rules: Rules, work: Work, groups: int, stats: FloatArray, bounds: Bounds) -> tuple[int, float]:
    """Variance, or Gini of two classes."""
    mass, least, floor = bounds
    regression = rules.criterion == VARIANCE
    factor = 1.0 if regression else 2.0
    total = stats[0] if regression else stats[0] + stats[1]
    total_sum = stats[1]
    squares = stats[2] if regression else stats[1]
    tie = TIE * factor * max(squares - total_sum * total_sum / total, 0.0)
    scale = total / factor
    by_boundary = rules.unit and not regression and least <= 1.0
    best = -1.0
    place = -1
    limit = max(floor * scale, -1.0)
    left = 0.0
    left_sum = 0.0
    left_mass = 0.0
    for position in range(groups - 1):
        g = np.uint64(work.groups[position].order)
        left += work.group_stats[g, 0] if regression else work.group_stats[g, 0] + work.group_stats[g, 1]
        left_sum += work.group_stats[g, 1]
        left_mass += work.groups[g].mass
        moment = left_sum * total - total_sum * left
        square = moment * moment
        product = left * (total - left)
        if (
            square > limit * product
            and product > 0.0
            and left_mass >= least
            and mass - left_mass >= least
            and not (by_boundary and not is_boundary(rules, work, position))
        ):
            place = position
            best, limit = between(square, product, scale, tie)
    return place, best


@lean_inner_kernel
def cut_by_classes(
    problem: Problem, rules: Rules, work: Work, groups: int, stats: FloatArray, bounds: Bounds
) -> tuple[int, float]:
    """Entropy or Gini of any number of classes; what counts are worth is looked up in a table."""
    mass, least, floor = bounds
    left = work.sums[LEFT]
    right = work.sums[RIGHT]
    for k in range(stats.shape[0]):
        left[k] = 0.0
        right[k] = stats[k]
    before = impurity_sum(stats, rules.criterion)
    tie = TIE * before
    by_table = rules.unit and rules.criterion != GINI
    by_entropy = not rules.unit and rules.criterion == ENTROPY
    slack = SLACK * total_weight(stats, rules.criterion) - tie
    by_boundary = rules.unit and least <= 1.0
    best = -1.0
    bar = max(floor, best)
    place = -1
    limit = floor - before - SLACK * problem.logs[np.uint64(mass)] if by_table else -math.inf
    square = least_square(stats, bar - slack)
    left_mass = 0.0
    for position in range(groups - 1):
        g = np.uint64(work.groups[position].order)
        left_mass += work.groups[g].mass
        worth = 0.0
        for k in range(stats.shape[0]):
            left[k] += work.group_stats[g, k]
            right[k] = max(right[k] - work.group_stats[g, k], 0.0)
            if by_table:
                worth += problem.logs[np.uint64(left[k])] + problem.logs[np.uint64(right[k])]
        if left_mass < least or mass - left_mass < least or (by_boundary and not is_boundary(rules, work, position)):
            continue
        if by_table:
            worth -= problem.logs[np.uint64(left_mass)] + problem.logs[np.uint64(mass - left_mass)]
            if not worth > limit:
                continue
        if by_entropy and is_below(left, right, stats, square, before - bar + slack):
            continue
        after = impurity_sum(left, rules.criterion) + impurity_sum(right, rules.criterion)
        gain = max(before - after, 0.0)
        if by_table or place < 0 or gain > best + tie:
            place = position
            best = gain
            bar = max(bar, gain)
            limit = worth + tie
            square = least_square(stats, bar - slack)
    return place, best


@lean_inner_kernel
def is_below(left: FloatArray, right: FloatArray, stats: FloatArray, square: float, after: float) -> bool:
    """Whether the entropies of both sides are beyond ``after`` together, by a bound or roughly.

    ``square`` is :func:`~learners.trees.rough_entropy.least_square`.
    """
    if square > 0.0:
        both = left[0] + left[1]
        total = stats[0] + stats[1]
        moment = left[1] * total - stats[1] * both
        if moment * moment < square * (both * max(total - both, 0.0)):
            return True
    return rough_entropy_sum(left) + rough_entropy_sum(right) > after


@lean_inner_kernel
def count_cuts(work: Work, groups: int, place: int | np.int64, mass: float, least: float) -> int:
    """Number of places at which the groups may be cut; Release 8 of C4.5 charges for the choice.

    Where missing values are put first for the cut at ``place``, they are so for the others.
    """
    missing_first = place >= groups
    count = 0
    left = 0.0
    for position in range(groups - 1):
        g = (position + groups - 1) % groups if missing_first else position
        left += work.groups[g].mass
        if left >= least and mass - left >= least:
            count += 1
    return count


@lean_inner_kernel
def assign_cut(work: Work, groups: int, place: int | np.int64) -> int:
    """Fill ``branch``: 0 up to the cut, 1 beyond; returns the number of branches."""
    for g in range(groups):
        work.groups[g].branch = 0 if g <= place else 1
    return 2


@lean_inner_kernel
def best_cut_with_missing(
    problem: Problem, rules: Rules, work: Work, groups: int, stats: FloatArray, bounds: Bounds
) -> tuple[int, float]:
    """The best cut where the last group is of rows that miss the value.

    They may go to either side, or to a side of their own: the groups are cut in their order, and with the
    last put first. Returns the position, by ``groups`` more in the second case. Of equally good cuts it is
    one of the first.
    """
    place = -1
    gain = 0.0
    for turn in range(2):
        for g in range(groups):
            work.groups[g].order = g if turn == 0 else (g + groups - 1) % groups
        own, its = best_cut(problem, rules, work, groups, stats, bounds)
        if own >= 0 and (place < 0 or its > gain + TIE * impurity_sum(stats, rules.criterion)):
            place = own + turn * groups
            gain = its
    return place, gain


@lean_inner_kernel
def assign_cut_with_missing(work: Work, groups: int, place: int | np.int64) -> int:
    """The same as :func:`assign_cut` for a position of :func:`best_cut_with_missing`."""
    missing_first = place >= groups
    last = last_below(groups, place)
    for g in range(groups - 1):
        work.groups[g].branch = 0 if g <= last else 1
    work.groups[groups - 1].branch = 0 if missing_first else 1
    return 2


@lean_inner_kernel
def last_below(groups: int, place: int | np.int64) -> int | np.int64:
    """The last group with a value on the left, for a position of either kind of cut."""
    return place - groups - 1 if place >= groups else place
