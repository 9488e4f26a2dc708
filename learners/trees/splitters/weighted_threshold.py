"""Tests ``x <= t`` on sorted keys by entropy, or by Gini of more than two classes, where rows have weights.

The same sweep as in :mod:`~learners.trees.splitters.threshold`; what is judged exactly is rare here too.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.criteria import ENTROPY, impurity_sum, total_weight
from learners.trees.presort import differ
from learners.trees.problem import KNOWN, LEFT, RIGHT, TIE, WEIGHT, Bounds, Problem, Rules, Work
from learners.trees.rough_entropy import SLACK, least_square, rough_entropy_sum
from learners.types import IntArray


@lean_inner_kernel
def scan_class_weights(
    problem: Problem, rules: Rules, work: Work, keys: IntArray, lo: int, hi: int, bounds: Bounds
) -> tuple[int, float]:
    """Entropy or Gini of any number of classes, with weights.

    A place amid rows of one class, where the places before and after it may be cut too, is left out: along rows of
    one class the gain is convex, so one of those is better.
    """
    mass, least, floor = bounds
    stats = work.sums[KNOWN]
    layout = problem.layout
    mask = (np.int64(1) << layout.label_bits) - 1
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    left = work.sums[LEFT]
    right = work.sums[RIGHT]
    for k in range(stats.shape[0]):
        left[k] = 0.0
        right[k] = stats[k]
    before = impurity_sum(stats, rules.criterion)
    tie = TIE * before
    slack = SLACK * total_weight(stats, rules.criterion) - tie
    by_entropy = rules.criterion == ENTROPY
    by_mass = not rules.mass_is_weight
    best = -1.0
    bar = max(floor, best)
    place = -1
    left_mass = 0.0
    for i in range(lo, hi - 1):
        key = keys[i]
        one = (key >> layout.label_bits) & id_mask
        k = key & mask
        weight = problem.numbers[WEIGHT, one]
        left[k] += weight
        right[k] = max(right[k] - weight, 0.0)
        own_mass = problem.numbers[rules.mass_row, one] if by_mass else weight
        left_mass += own_mass
        if left_mass >= least and mass - left_mass >= least and differ(keys, i, layout):
            if is_amid_one_class(problem, rules, keys, (lo, i, hi), left_mass, mass - left_mass, least):
                continue
            if by_entropy and before - rough_entropy_sum(left) - rough_entropy_sum(right) < bar - slack:
                continue
            after = impurity_sum(left, rules.criterion) + impurity_sum(right, rules.criterion)
            gain = max(before - after, 0.0)
            if place < 0 or gain > best + tie:
                place = i
                best = gain
                bar = max(bar, gain)
    return place, best


@lean_inner_kernel
def scan_two_entropies(
    problem: Problem, rules: Rules, work: Work, keys: IntArray, lo: int, hi: int, bounds: Bounds
) -> tuple[int, float]:
    """The same for the entropy of two classes: sums that stay in registers, and no logarithm at most places."""
    mass, least, floor = bounds
    stats = work.sums[KNOWN]
    layout = problem.layout
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    left = work.sums[LEFT]
    right = work.sums[RIGHT]
    before = impurity_sum(stats, ENTROPY)
    tie = TIE * before
    positives = stats[1]
    total = stats[0] + positives
    slack = SLACK * total - tie
    by_mass = not rules.mass_is_weight
    best = -1.0
    bar = max(floor, best)
    limit = least_square(stats, bar - slack)
    place = -1
    left_negatives = 0.0
    left_positives = 0.0
    right_negatives = stats[0]
    right_positives = positives
    left_mass = 0.0
    for i in range(np.uint64(lo), np.uint64(hi - 1)):
        one = np.uint64((keys[i] >> layout.label_bits) & id_mask)
        weight = problem.numbers[WEIGHT, one]
        positive = weight * float(keys[i] & 1)
        negative = weight - positive  # one of the two is 0, so nothing is rounded
        left_negatives += negative
        left_positives += positive
        right_negatives = max(right_negatives - negative, 0.0)
        right_positives = max(right_positives - positive, 0.0)
        left_mass += problem.numbers[rules.mass_row, one] if by_mass else weight
        both = left_negatives + left_positives
        moment = left_positives * total - positives * both
        if (
            moment * moment < limit * (both * max(total - both, 0.0))
            or left_mass < least
            or mass - left_mass < least
            or not differ(keys, np.int64(i), layout)
            or is_amid_one_class(problem, rules, keys, (lo, np.int64(i), hi), left_mass, mass - left_mass, least)
        ):
            continue
        left[0] = left_negatives
        left[1] = left_positives
        right[0] = right_negatives
        right[1] = right_positives
        if before - rough_entropy_sum(left) - rough_entropy_sum(right) < bar - slack:
            continue
        gain = max(before - (impurity_sum(left, ENTROPY) + impurity_sum(right, ENTROPY)), 0.0)
        if place < 0 or gain > best + tie:
            place = int(np.int64(i))
            best = gain
            bar = max(bar, gain)
            limit = least_square(stats, bar - slack)
    return place, best


@lean_inner_kernel
def is_amid_one_class(
    problem: Problem,
    rules: Rules,
    keys: IntArray,
    around: tuple[int, int | np.int64, int],
    left_mass: float,
    right_mass: float,
    least: float,
) -> bool:
    """Whether the places before and after i of ``lo, i, hi`` may be cut too, and only one class lies between them."""
    lo, i, hi = around
    layout = problem.layout
    mask = (np.int64(1) << layout.label_bits) - 1
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    if not lo < i < hi - 2 or (keys[i + 1] & mask) != (keys[i] & mask):
        return False
    own_mass = problem.numbers[rules.mass_row, (keys[i] >> layout.label_bits) & id_mask]
    next_mass = problem.numbers[rules.mass_row, (keys[i + 1] >> layout.label_bits) & id_mask]
    return bool(
        left_mass - own_mass >= least
        and right_mass - next_mass >= least
        and differ(keys, i - 1, layout)
        and differ(keys, i + 1, layout)
    )
