"""Tests on the levels of a nominal column: multiway, one level against the rest, and subsets.

All work on the groups of :mod:`~learners.trees.splitters.groups`, one a level that occurs.

Subsets: for two classes and for regression the levels are sorted by share or mean, and one of the
cuts of that order is best among all subsets (Fisher 1958; Breiman et al. 1984, theorem 4.5). For
more classes no such order exists; here the levels are sorted by the first principal component of
their class distributions (Coppersmith, Hong and Hosking 1999), a heuristic that finds the best
subset or nearly so.
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.criteria import VARIANCE, impurity_sum, total_weight
from learners.trees.problem import DIRECTION, LEFT, RIGHT, TIE, Bounds, Problem, Rules, Work
from learners.trees.splitters.ordered import best_cut
from learners.types import FloatArray

_POWER_STEPS = 64
_BLOCK = 16


@lean_inner_kernel
def multiway_gain(rules: Rules, work: Work, groups: int, stats: FloatArray, least: float) -> tuple[int, float]:
    """Gain sum of one branch a level; place 0, or -1 unless two branches hold the least mass."""
    inside = 0.0
    large = 0
    for g in range(groups):
        inside += impurity_sum(work.group_stats[g], rules.criterion)
        if work.groups[g].mass >= least:
            large += 1
    if large < 2:
        return -1, 0.0
    return 0, max(impurity_sum(stats, rules.criterion) - inside, 0.0)


@lean_inner_kernel
def best_one(rules: Rules, work: Work, groups: int, stats: FloatArray, mass: float, least: float) -> tuple[int, float]:
    """The level that gains most against the rest: (group, gain sum)."""
    right = work.sums[RIGHT]
    before = impurity_sum(stats, rules.criterion)
    best = -1.0
    place = -1
    for g in range(groups):
        one_mass = work.groups[g].mass
        if one_mass < least or mass - one_mass < least:
            continue
        for k in range(stats.shape[0]):
            right[k] = max(stats[k] - work.group_stats[g, k], 0.0)
        if rules.criterion == VARIANCE:
            right[1] = stats[1] - work.group_stats[g, 1]
        after = impurity_sum(work.group_stats[g], rules.criterion) + impurity_sum(right, rules.criterion)
        gain = max(before - after, 0.0)
        if place < 0 or gain > best + TIE * before:
            place = g
            best = gain
    return place, best


@lean_inner_kernel
def farthest_direction(rules: Rules, work: Work, groups: int, stats: FloatArray) -> None:
    """Fill ``direction`` with the way from the mean to the level that is farthest from it, by weight."""
    total = total_weight(stats, rules.criterion)
    direction = work.sums[DIRECTION]
    farthest = -1.0
    for g in range(groups):
        weight = total_weight(work.group_stats[g], rules.criterion)
        distance = 0.0
        for k in range(stats.shape[0]):
            gap = work.group_stats[g, k] / weight - stats[k] / total
            distance += weight * gap * gap
        if distance > farthest * (1.0 + TIE):
            farthest = distance
            for k in range(stats.shape[0]):
                direction[k] = work.group_stats[g, k] / weight - stats[k] / total


@lean_inner_kernel
def principal_direction(rules: Rules, work: Work, groups: int, stats: FloatArray) -> None:
    """Fill ``direction`` with the first principal component of the levels' class distributions.

    Power iteration on the weighted covariance, which is never formed: a step costs groups times
    classes. Its start is fixed, so it is deterministic.
    """
    farthest_direction(rules, work, groups, stats)
    classes = stats.shape[0]
    total = total_weight(stats, rules.criterion)
    direction = work.sums[DIRECTION]
    right = work.sums[RIGHT]
    for _ in range(_POWER_STEPS):
        for k in range(classes):
            right[k] = 0.0
        for g in range(groups):
            weight = total_weight(work.group_stats[g], rules.criterion)
            along = 0.0
            for k in range(classes):
                along += (work.group_stats[g, k] / weight - stats[k] / total) * direction[k]
            for k in range(classes):
                right[k] += weight * along * (work.group_stats[g, k] / weight - stats[k] / total)
        length = 0.0
        for k in range(classes):
            length += right[k] * right[k]
        length = math.sqrt(length)
        if length <= 0.0:
            return
        for k in range(classes):
            direction[k] = right[k] / length


@lean_inner_kernel
def sort_groups(work: Work, groups: int) -> None:
    """Bring ``order`` into ascending order of ``value``: a stable sort, insertion in blocks and then merging."""
    before = np.uint64(1)
    for first in range(np.uint64(0), np.uint64(groups), np.uint64(_BLOCK)):
        for i in range(first + before, min(first + np.uint64(_BLOCK), np.uint64(groups))):
            own = work.groups[i].order
            value = work.groups[np.uint64(own)].value
            j = np.uint64(i)
            while j > first and work.groups[np.uint64(work.groups[j - before].order)].value > value:
                work.groups[j].order = work.groups[j - before].order
                j -= before
            work.groups[j].order = own
    width = _BLOCK
    while width < groups:
        for low in range(0, groups, 2 * width):
            middle = min(low + width, groups)
            high = min(low + 2 * width, groups)
            one = low
            other = middle
            for target in range(low, high):
                take_one = one < middle
                if take_one and other < high:
                    first_value = work.groups[work.groups[one].order].value
                    take_one = first_value <= work.groups[work.groups[other].order].value
                work.groups[target].spare = work.groups[one].order if take_one else work.groups[other].order
                one += 1 if take_one else 0
                other += 0 if take_one else 1
        for g in range(groups):
            work.groups[g].order = work.groups[g].spare
        width *= 2


@lean_inner_kernel
def order_groups(rules: Rules, work: Work, groups: int, stats: FloatArray) -> None:
    """Fill ``order``: groups by mean, by share of the second class, or along the direction."""
    classes = stats.shape[0]
    direction = work.sums[DIRECTION]
    if rules.criterion != VARIANCE and classes > 2:
        principal_direction(rules, work, groups, stats)
    for g in range(groups):
        weight = total_weight(work.group_stats[g], rules.criterion)
        value = 0.0
        if rules.criterion == VARIANCE or classes == 2:
            value = work.group_stats[g, 1] / weight
        elif classes > 2:
            for k in range(classes):
                value += work.group_stats[g, k] / weight * direction[k]
        work.groups[g].value = value
        work.groups[g].order = g
    sort_groups(work, groups)


@lean_inner_kernel
def best_subset(
    problem: Problem, rules: Rules, work: Work, groups: int, stats: FloatArray, bounds: Bounds
) -> tuple[int, float]:
    """The best cut of the ordered groups: (position in ``order``, gain sum)."""
    order_groups(rules, work, groups, stats)
    place, gain = best_cut(problem, rules, work, groups, stats, bounds)
    if place >= 0 and rules.binary:
        left = work.sums[LEFT]
        right = work.sums[RIGHT]
        for k in range(stats.shape[0]):
            left[k] = 0.0
            for position in range(place + 1):
                left[k] += work.group_stats[np.uint64(work.groups[position].order), k]
            right[k] = max(stats[k] - left[k], 0.0)
        after = impurity_sum(left, rules.criterion) + impurity_sum(right, rules.criterion)
        gain = max(impurity_sum(stats, rules.criterion) - after, 0.0)
    return place, gain


@lean_inner_kernel
def assign_one(work: Work, groups: int, place: int | np.int64) -> int:
    """Fill ``branch``: the group at ``place`` against the rest; returns the number of branches."""
    for g in range(groups):
        work.groups[g].branch = 0 if g == place else 1
    return 2


@lean_inner_kernel
def assign_each(work: Work, groups: int) -> int:
    """Fill ``branch``: one for each group; returns the number of branches."""
    for g in range(groups):
        work.groups[g].branch = g
    return groups


@lean_inner_kernel
def assign_subset(rules: Rules, work: Work, groups: int, place: int | np.int64, stats: FloatArray) -> int:
    """Fill ``branch`` by the cut of the ordered groups; returns the number of branches.

    Branch 0 is the one that holds the lowest code, however the classes are named.
    """
    order_groups(rules, work, groups, stats)
    for position in range(groups):
        work.groups[work.groups[position].order].branch = 0 if position <= place else 1
    if work.groups[0].branch == 1:
        for g in range(groups):
            work.groups[g].branch = 1 - work.groups[g].branch
    return 2
