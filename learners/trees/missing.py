"""Rows whose tested value is missing, in training.

* ``FRACTIONAL``: Quinlan's fractional cases (C4.5, 1993, chapter 3). A column is judged by the rows
  that know their value, and its gain is multiplied by the share of the weight that they hold. The rows
  that do not know it go down every branch, with their weight times the branch's share of the known
  weight. So a split "known or missing" is never made, and a column that is missing throughout, or
  constant where known, is no candidate.
* ``MOST_LIKELY``: judged alike; then the rows that do not know the value all take the branch that has
  most known weight, the first of equal ones.
* ``AS_VALUE``: missing is one more value. It is a level of its own, the last bin, and of thresholds it
  is put on the side where it gains most or, where that gains more, against all known values.

An unseen level (a code below 0) in training counts as missing.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.criteria import VARIANCE
from learners.trees.presort import KeyLayout
from learners.trees.problem import CENTRED, MOST_LIKELY, TIE, WEIGHT, Problem, Rules, Work
from learners.types import FloatArray, IntArray


@lean_inner_kernel
def known_end(keys: IntArray, lo: int, hi: int, layout: KeyLayout) -> int:
    """End of the known entries of a sorted segment; the missing ones lie from there to ``hi``."""
    if hi == lo or (keys[hi - 1] >> layout.rank_shift) != layout.missing_rank:
        return hi
    low = lo
    high = hi - 1
    while low < high:
        middle = (low + high) // 2
        if (keys[middle] >> layout.rank_shift) == layout.missing_rank:
            high = middle
        else:
            low = middle + 1
    return low


@lean_inner_kernel
def known_stats(problem: Problem, rules: Rules, keys: IntArray, lo: int, hi: int, stats: FloatArray) -> float:
    """Sum up the known rows of a segment into ``stats``; returns their mass."""
    layout = problem.layout
    mask = (np.int64(1) << layout.label_bits) - 1
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    if rules.n_stats == 2:
        return known_stats_of_two(problem, rules, keys, lo, hi, stats)
    regression = rules.criterion == VARIANCE
    mass = 0.0
    for k in range(stats.shape[0]):
        stats[k] = 0.0
    for i in range(lo, hi):
        key = keys[i]
        one = (key >> layout.label_bits) & id_mask
        weight = 1.0 if rules.unit else problem.numbers[WEIGHT, one]
        mass += 1.0 if rules.unit else problem.numbers[rules.mass_row, one]
        if regression:
            value = problem.numbers[CENTRED, one]
            stats[0] += weight
            stats[1] += weight * value
            stats[2] += weight * value * value
        else:
            stats[key & mask] += weight
    return mass


@lean_inner_kernel
def known_stats_of_two(problem: Problem, rules: Rules, keys: IntArray, lo: int, hi: int, stats: FloatArray) -> float:
    """The same for two classes: sums that stay in registers."""
    layout = problem.layout
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    by_mass = not (rules.unit or rules.mass_is_weight)
    negatives = 0.0
    positives = 0.0
    mass = 0.0
    for i in range(np.uint64(lo), np.uint64(hi)):
        one = np.uint64((keys[i] >> layout.label_bits) & id_mask)
        is_positive = float(keys[i] & 1)
        weight = 1.0 if rules.unit else problem.numbers[WEIGHT, one]
        negatives += weight * (1.0 - is_positive)
        positives += weight * is_positive
        mass += problem.numbers[rules.mass_row, one] if by_mass else weight
    stats[0] = negatives
    stats[1] = positives
    return mass


@lean_inner_kernel
def branch_shares(problem: Problem, rules: Rules, work: Work, start: int, end: int, branches: int) -> int:
    """Fill ``share`` from ``branch`` and list the ids with a missing value in ``absent``; returns how many.

    Where they take the most likely branch, ``branch`` says so then, and there are none any more.
    """
    for b in range(branches):
        work.branches[b].summed = False
    missing = known_shares(problem, rules, work, start, end, branches)
    if rules.missing == MOST_LIKELY:
        heaviest = 0
        for b in range(branches):
            if work.branches[b].share > work.branches[heaviest].share * (1.0 + TIE):
                heaviest = b
        for q in range(missing):
            work.branch[work.absent[q]] = heaviest
        work.branches[heaviest].count += missing
        return 0
    for b in range(branches):
        if work.branches[b].share > 0.0:
            work.branches[b].count += missing
    return missing


@lean_inner_kernel
def known_shares(problem: Problem, rules: Rules, work: Work, start: int, end: int, branches: int) -> int:
    """Fill ``share`` and ``count`` by the rows that know the value, and ``absent``; returns how many do not."""
    if branches == 2:
        return known_halves(problem, work, start, end)
    for b in range(branches):
        work.branches[b].share = 0.0
        work.branches[b].count = 0
    missing = 0
    known = 0.0
    for one in range(start, end):
        b = work.branch[one]
        if b < 0:
            work.absent[missing] = one
            missing += 1
            continue
        weight = 1.0 if rules.unit else problem.numbers[WEIGHT, one]
        work.branches[b].share += weight
        work.branches[b].count += 1
        known += weight
    for b in range(branches):
        work.branches[b].share /= known
    return missing


@lean_inner_kernel
def known_halves(problem: Problem, work: Work, start: int, end: int) -> int:
    """The same of two branches, without a branch in the code: what is not part of a sum adds 0 to it."""
    missing = np.uint64(0)
    on_right = np.uint64(0)
    left = 0.0
    right = 0.0
    known = 0.0
    for one in range(np.uint64(start), np.uint64(end)):
        b = work.branch[one]
        weight = problem.numbers[WEIGHT, one]
        is_right = np.uint64(b > 0)
        is_missing = np.uint64(b < 0)
        work.absent[missing] = one
        missing += is_missing
        on_right += is_right
        own = weight * float(np.int64(np.uint64(1) - is_missing))
        of_right = weight * float(np.int64(is_right))
        left += own - of_right
        right += of_right
        known += own
    work.branches[0].share = left / known
    work.branches[1].share = right / known
    work.branches[0].count = end - start - np.int64(on_right + missing)
    work.branches[1].count = on_right
    return int(missing)


@lean_inner_kernel
def knows_all(work: Work, start: int, end: int) -> bool:
    """Whether ``branch`` is nowhere -1."""
    least = np.int32(0)
    for one in range(np.uint64(start), np.uint64(end)):
        least = min(least, work.branch[one])
    return bool(least >= 0)
