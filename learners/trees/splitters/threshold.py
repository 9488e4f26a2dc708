"""Tests ``x <= t`` on a column of sorted keys: one sweep from left to right, best position kept.

Every scan looks at positions i of a sorted segment ``lo .. hi`` and asks what is gained if
``lo .. i`` go left. With w and S the weight and sum of t on the left, W and T those of all, what
the squared error loses is (Pearson's between-group sum of squares)

    (S W - T w)^2 / (W w (W - w)),

and with t = 1 for one of two classes twice that is the loss of the Gini sum. The product form is
compared without dividing. Only when a position would be the new best is it asked whether its two
neighbours differ in value at all: that is rare, and keeps the sweep free of branches. Positions are
unsigned: an index that might be negative costs as much as the rest of a step.

A position counts as better only if it gains more by ``TIE`` of the impurity, so of equally good
thresholds the lowest wins, whatever the rounding. All scans return (position, gain sum), position
-1 where the segment has no test. A position that gains less than ``floor`` is of no use to the caller
and may be left out; most columns of a node have no other.
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.criteria import GINI, VARIANCE, impurity_sum
from learners.trees.presort import KeyLayout, differ
from learners.trees.problem import CENTRED, KNOWN, LEFT, RIGHT, TIE, WEIGHT, Bounds, Problem, Rules, Work
from learners.trees.rough_entropy import SLACK
from learners.trees.splitters.weighted_threshold import scan_class_weights, scan_two_entropies
from learners.types import IntArray


@lean_inner_kernel
def best_threshold(
    problem: Problem, rules: Rules, work: Work, keys: IntArray, lo: int, hi: int, bounds: Bounds
) -> tuple[int, float]:
    """The best position by the scan that suits. The rows' sums are in ``work.sums[KNOWN]``."""
    rows = math.ceil(bounds.least)
    if rules.unit and rules.binary:
        return scan_binary_counts(keys, lo, hi, problem.layout, np.int64(work.sums[KNOWN, 1]), rows, bounds.floor)
    if rules.binary:
        return scan_binary_weights(problem, rules, work, keys, lo, hi, bounds)
    if rules.criterion == VARIANCE:
        return scan_numbers(problem, rules, work, keys, lo, hi, bounds)
    if rules.unit:
        return scan_class_counts(problem, rules, work, keys, lo, hi, rows, bounds.floor)
    if rules.n_stats == 2:
        return scan_two_entropies(problem, rules, work, keys, lo, hi, bounds)
    return scan_class_weights(problem, rules, work, keys, lo, hi, bounds)


@lean_inner_kernel
def between(square: float, product: float, scale: float, tie: float) -> tuple[float, float]:
    """Gain sum of a position, and what ``square / product`` must exceed at a better one."""
    gain = square / (product * scale)
    return gain, (gain + tie) * scale


@lean_inner_kernel
def class_changes(keys: IntArray, i: int | np.int64, lo: int, hi: int, layout: KeyLayout) -> bool:
    """Whether the values at i and i + 1, all their rows considered, are not purely of one same class.

    The best threshold always lies at such a place (Fayyad and Irani, 1992).
    """
    mask = (np.int64(1) << layout.label_bits) - 1
    label = keys[i] & mask
    if (keys[i + 1] & mask) != label:
        return True
    back = np.int64(i - 1)
    while back >= lo and not differ(keys, back, layout):
        if (keys[back] & mask) != label:
            return True
        back -= 1
    ahead = np.int64(i + 1)
    while ahead + 1 < hi and not differ(keys, ahead, layout):
        ahead += 1
        if (keys[ahead] & mask) != label:
            return True
    return False


@lean_inner_kernel
def scan_binary_counts(
    keys: IntArray, lo: int, hi: int, layout: KeyLayout, positives: int | np.int64, least: int, floor: float
) -> tuple[int, float]:
    """Gini of two classes, every weight 1: whole numbers throughout. ``positives`` rows have label 1."""
    rows = hi - lo
    tie = TIE * 2.0 * positives * (rows - positives) / rows
    scale = rows / 2.0
    best = -1.0
    place = -1
    limit = max(floor * scale, -1.0)
    moment = np.int64(0)
    left = np.int64(0)
    for i in range(np.uint64(lo), np.uint64(hi - max(least, 1))):
        moment += (-(keys[i] & np.int64(1)) & rows) - positives
        left += 1
        square = float(moment) * float(moment)
        product = float(left * (rows - left))
        if (
            square > limit * product
            and left >= least
            and differ(keys, np.int64(i), layout)
            and (least > 1 or class_changes(keys, np.int64(i), lo, hi, layout))
        ):
            place = int(np.int64(i))
            best, limit = between(square, product, scale, tie)
    return place, best


@lean_inner_kernel
def scan_binary_weights(
    problem: Problem, rules: Rules, work: Work, keys: IntArray, lo: int, hi: int, bounds: Bounds
) -> tuple[int, float]:
    """Gini of two classes with weights. The rows' sums are in ``work.sums[KNOWN]``."""
    mass, least, floor = bounds
    layout = problem.layout
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    by_mass = not rules.mass_is_weight
    positives = work.sums[KNOWN, 1]
    total = work.sums[KNOWN, 0] + positives
    tie = TIE * 2.0 * max(positives - positives * positives / total, 0.0)
    scale = total / 2.0
    best = -1.0
    place = -1
    limit = max(floor * scale, -1.0)
    left = 0.0
    left_positives = 0.0
    left_mass = 0.0
    for i in range(np.uint64(lo), np.uint64(hi - 1)):
        one = np.uint64((keys[i] >> layout.label_bits) & id_mask)
        weight = problem.numbers[WEIGHT, one]
        left += weight
        left_positives += weight * float(keys[i] & 1)
        if by_mass:
            left_mass += problem.numbers[rules.mass_row, one]
        moment = left_positives * total - positives * left
        square = moment * moment
        product = left * (total - left)
        if square > limit * product and differ(keys, np.int64(i), layout) and product > 0.0:
            own_mass = left_mass if by_mass else left
            if own_mass >= least and mass - own_mass >= least:
                place = int(np.int64(i))
                best, limit = between(square, product, scale, tie)
    return place, best


@lean_inner_kernel
def scan_numbers(
    problem: Problem, rules: Rules, work: Work, keys: IntArray, lo: int, hi: int, bounds: Bounds
) -> tuple[int, float]:
    """Variance. The rows' sums are in ``work.sums[KNOWN]``."""
    mass, least, floor = bounds
    stats = work.sums[KNOWN]
    layout = problem.layout
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    by_mass = not (rules.unit or rules.mass_is_weight)
    total = stats[0]
    total_sum = stats[1]
    tie = TIE * max(stats[2] - total_sum * total_sum / total, 0.0)
    best = -1.0
    place = -1
    limit = max(floor * total, -1.0)
    left = 0.0
    left_sum = 0.0
    left_mass = 0.0
    for i in range(np.uint64(lo), np.uint64(hi - 1)):
        one = np.uint64((keys[i] >> layout.label_bits) & id_mask)
        weight = 1.0 if rules.unit else problem.numbers[WEIGHT, one]
        left += weight
        left_sum += weight * problem.numbers[CENTRED, one]
        if by_mass:
            left_mass += problem.numbers[rules.mass_row, one]
        moment = left_sum * total - total_sum * left
        square = moment * moment
        product = left * (total - left)
        if square > limit * product and differ(keys, np.int64(i), layout) and product > 0.0:
            own_mass = left_mass if by_mass else left
            if own_mass >= least and mass - own_mass >= least:
                place = int(np.int64(i))
                best, limit = between(square, product, total, tie)
    return place, best


@lean_inner_kernel
def scan_class_counts(
    problem: Problem, rules: Rules, work: Work, keys: IntArray, lo: int, hi: int, least: int, floor: float
) -> tuple[int, float]:
    """Entropy or Gini of any number of classes, every weight 1, with ``n log2 n`` from a table.

    The sums over classes of n^2 or n log2 n are kept up to date by the one class that moves.
    """
    stats = work.sums[KNOWN]
    layout = problem.layout
    logs = problem.logs
    mask = (np.int64(1) << layout.label_bits) - 1
    rows = hi - lo
    gini = rules.criterion == GINI
    left = work.sums[LEFT]
    right = work.sums[RIGHT]
    left_inner = 0.0
    right_inner = 0.0
    for k in range(stats.shape[0]):
        left[k] = 0.0
        right[k] = stats[k]
        right_inner += stats[k] * stats[k] if gini else logs[int(stats[k])]
    before = rows - right_inner / rows if gini else logs[rows] - right_inner
    tie = TIE * before
    best = -1.0
    place = -1
    limit = floor - before - SLACK * (rows if gini else logs[rows])
    limit += rows if gini else 0.0
    w = np.int64(0)
    for i in range(np.uint64(lo), np.uint64(hi - max(least, 1))):
        label = np.uint64(keys[i] & mask)
        n_left = left[label]
        n_right = right[label]
        left[label] = n_left + 1.0
        right[label] = n_right - 1.0
        w += 1
        if gini:
            left_inner += 2.0 * n_left + 1.0
            right_inner -= 2.0 * n_right - 1.0
            worth = left_inner / w + right_inner / (rows - w)
        else:
            left_inner += logs[np.uint64(n_left) + np.uint64(1)] - logs[np.uint64(n_left)]
            right_inner += logs[np.uint64(n_right) - np.uint64(1)] - logs[np.uint64(n_right)]
            worth = left_inner + right_inner - logs[np.uint64(w)] - logs[np.uint64(rows - w)]
        if (
            worth > limit
            and w >= least
            and differ(keys, np.int64(i), layout)
            and (least > 1 or class_changes(keys, np.int64(i), lo, hi, layout))
        ):
            after = impurity_sum(left, rules.criterion) + impurity_sum(right, rules.criterion)
            place = int(np.int64(i))
            best = max(before - after, 0.0)
            limit = worth + tie
    return place, best


@lean_inner_kernel
def count_thresholds(
    problem: Problem, rules: Rules, keys: IntArray, lo: int, hi: int, mass: float, least: float
) -> int:
    """Number of places at which the segment may be cut; Release 8 of C4.5 charges for the choice."""
    layout = problem.layout
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    count = 0
    left = 0.0
    for i in range(lo, hi - 1):
        left += 1.0 if rules.unit else problem.numbers[rules.mass_row, (keys[i] >> layout.label_bits) & id_mask]
        if left >= least and mass - left >= least and differ(keys, i, layout):
            count += 1
    return count
