"""The groups of a column whose rows have been counted by code and class (:mod:`~learners.trees.splitters.counting`)."""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.problem import NOTED_BITS, Problem, Rules, Work
from learners.trees.splitters.counting import combinations_of, notes_codes

#: Where a double holds its exponent, by which the place of a single bit is found.
_FRACTION_BITS, _BIAS = 52, 1023


@lean_inner_kernel
def groups_of_counts(problem: Problem, rules: Rules, work: Work, column: int, rows: int | np.int64) -> tuple[int, bool]:
    """Fill the groups of a counted column; see :func:`~learners.trees.splitters.groups.fill_groups`."""
    base = np.int64(work.columns[column].counted)
    n_codes = np.int64(problem.columns[column].n_codes)
    label_bits = problem.layout.label_bits
    groups = 0
    if notes_codes(combinations_of(problem, column), rows):
        noted = np.int64(work.columns[column].noted)
        for first in range(0, n_codes, NOTED_BITS):
            word = work.noted[noted + first // NOTED_BITS]
            while word != 0:
                lowest = word & -word
                code = first + (np.float64(lowest).view(np.int64) >> _FRACTION_BITS) - _BIAS
                word &= word - 1
                if code < n_codes:
                    groups += put_group(rules, work, groups, code, base + (code << label_bits))
        last = work.noted[noted + n_codes // NOTED_BITS] >> (n_codes % NOTED_BITS)
        return groups, (last & 1) == 0
    for every in range(n_codes):
        groups += put_group(rules, work, groups, every, base + (every << label_bits))
    return groups, rules.unit or not put_group(rules, work, groups, n_codes, base + (n_codes << label_bits)) > 0


@lean_inner_kernel
def put_group(rules: Rules, work: Work, groups: int, code: int | np.int64, place: int | np.int64) -> int:
    """Write a code's counts into the next group; returns 0 if there are none, else 1."""
    if rules.unit and rules.n_stats == 2:
        at = np.uint64(place)
        negatives = np.int64(work.counts[at])
        return put_two_classes(work, groups, code, negatives, np.int64(work.counts[at + np.uint64(1)])) - groups
    if rules.unit:
        return put_counts(rules, work, groups, code, place)
    if rules.mass_is_weight and rules.n_stats == 2:
        return 1 if put_two_weights(work, groups, code, place) > 0.0 else 0
    return 1 if put_weights(rules, work, groups, code, place) > 0.0 else 0


@lean_inner_kernel
def put_two_classes(
    work: Work, groups: int, code: int | np.int64, negatives: int | np.int64, positives: int | np.int64
) -> int:
    """Write a group of two classes in the next place; returns the number of groups, an empty one not counted."""
    place = np.uint64(groups)  # an index that may be negative would cost more
    work.group_stats[place, 0] = float(negatives)
    work.group_stats[place, 1] = float(positives)
    work.groups[place].code = code
    work.groups[place].mass = float(negatives + positives)
    return groups + (1 if negatives + positives > 0 else 0)


@lean_inner_kernel
def put_two_weights(work: Work, group: int, code: int | np.int64, place: int | np.int64) -> float:
    """The same as :func:`put_weights` for two classes, where mass is weight."""
    own = np.uint64(group)
    at = np.uint64(place)
    after = at + np.uint64(1)
    negatives = work.weights[np.uint64(0), at] + work.weights[np.uint64(1), at]
    positives = work.weights[np.uint64(0), after] + work.weights[np.uint64(1), after]
    work.group_stats[own, 0] = negatives
    work.group_stats[own, 1] = positives
    work.groups[own].code = code
    work.groups[own].mass = negatives + positives
    return float(negatives + positives)


@lean_inner_kernel
def put_counts(rules: Rules, work: Work, group: int, code: int | np.int64, place: int | np.int64) -> int:
    """Write a code's counts into a group; returns 0 if there are none, else 1."""
    rows = np.int64(0)
    for k in range(rules.n_stats):
        own = np.int64(work.counts[place + k])
        work.group_stats[group, k] = float(own)
        rows += own
    work.groups[group].code = code
    work.groups[group].mass = float(rows)
    return 1 if rows > 0 else 0


@lean_inner_kernel
def put_weights(rules: Rules, work: Work, group: int, code: int | np.int64, place: int | np.int64) -> float:
    """Write a code's weights into a group; returns its mass."""
    mass = 0.0
    for k in range(rules.n_stats):
        own = work.weights[0, place + k]
        if rules.mass_is_weight:
            own += work.weights[1, place + k]
            mass += own
        work.group_stats[group, k] = own
    if not rules.mass_is_weight:
        mass = work.weights[1, place]
    work.groups[group].code = code
    work.groups[group].mass = mass
    return float(mass)
