"""The rows of a node grouped by the code of one column, in ascending order of the codes.

Where rows are many they are counted by code; where codes are many beside the rows, the rows' codes
are sorted instead, so that the cost never depends on levels that do not occur in the node.

Rows are counted in two tables in turns: where most rows have one code, a sum would wait for the one before.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.criteria import VARIANCE
from learners.trees.problem import CENTRED, COMBINATIONS_A_ROW, MASS, WEIGHT, Problem, Rules, Work
from learners.types import Int32Array, IntArray

_BLOCK = 12
_ID_BITS = 32


@lean_inner_kernel
def fill_groups(problem: Problem, rules: Rules, work: Work, start: int, end: int, column: int) -> tuple[int, bool]:
    """Fill ``code`` and ``mass`` of ``groups``, and ``group_stats``.

    Returns the number of groups, and whether every row knows its value.
    """
    n_codes = np.int64(problem.columns[column].n_codes)
    codes = problem.codes[column]
    if (n_codes << problem.layout.label_bits) > COMBINATIONS_A_ROW * (end - start):
        return sort_rows(problem, rules, work, codes, start, end, n_codes)
    if rules.unit and rules.criterion != VARIANCE:
        return count_rows(problem, rules, work, codes, start, end, n_codes), True
    if rules.mass_is_weight and rules.criterion != VARIANCE:
        return weigh_rows(problem, rules, work, codes, start, end, n_codes)
    for code in range(n_codes + 1):
        open_group(rules, work, code, code)
    for one in range(start, end):
        combined = np.int64(codes[problem.row[one]])
        add_row(problem, rules, work, combined >> problem.layout.label_bits, combined, one)
    groups = 0
    for code in range(n_codes):
        if close_group(rules, work, code) > 0.0:
            if groups < code:
                work.groups[groups].code = code
                work.groups[groups].mass = work.groups[code].mass
                for k in range(rules.n_stats):
                    work.group_stats[groups, k] = work.group_stats[code, k]
            groups += 1
    return groups, not close_group(rules, work, n_codes) > 0.0


@lean_inner_kernel
def count_rows(
    problem: Problem, rules: Rules, work: Work, codes: Int32Array, start: int, end: int, n_codes: int | np.int64
) -> int:
    """:func:`fill_groups` by counting, for classes and weights of 1."""
    label_bits = problem.layout.label_bits
    counts = work.counts[0]
    others = work.counts[1]
    row = problem.row
    for combined in range(n_codes << label_bits):
        counts[combined] = 0
        others[combined] = 0
    for one in range(start, end - 1, 2):
        counts[codes[row[one]]] += 1
        others[codes[row[one + 1]]] += 1
    if (end - start) % 2 == 1:
        counts[codes[row[end - 1]]] += 1
    groups = 0
    for code in range(n_codes):
        if rules.n_stats == 2:
            negatives = counts[2 * code] + others[2 * code]
            positives = counts[2 * code + 1] + others[2 * code + 1]
            groups = put_two_classes(work, groups, code, negatives, positives)
            continue
        rows = np.int64(0)
        for k in range(rules.n_stats):
            own = counts[(code << label_bits) + k] + others[(code << label_bits) + k]
            work.group_stats[groups, k] = float(own)
            rows += own
        work.groups[groups].code = code
        work.groups[groups].mass = float(rows)
        groups += 1 if rows > 0 else 0
    return groups


@lean_inner_kernel
def put_two_classes(
    work: Work, groups: int, code: int | np.int64, negatives: int | np.int64, positives: int | np.int64
) -> int:
    """Write a group of two classes in the next place; returns the number of groups, an empty one not counted."""
    work.group_stats[groups, 0] = float(negatives)
    work.group_stats[groups, 1] = float(positives)
    work.groups[groups].code = code
    work.groups[groups].mass = float(negatives + positives)
    return groups + (1 if negatives + positives > 0 else 0)


@lean_inner_kernel
def weigh_rows(
    problem: Problem, rules: Rules, work: Work, codes: Int32Array, start: int, end: int, n_codes: int | np.int64
) -> tuple[int, bool]:
    """:func:`fill_groups` by summing weights, for classes where mass is weight."""
    label_bits = problem.layout.label_bits
    sums = work.weights[0]
    others = work.weights[1]
    row = problem.row
    weights = problem.numbers[WEIGHT]
    for combined in range((n_codes + 1) << label_bits):
        sums[combined] = 0.0
        others[combined] = 0.0
    for one in range(start, end - 1, 2):
        sums[codes[row[one]]] += weights[one]
        others[codes[row[one + 1]]] += weights[one + 1]
    if (end - start) % 2 == 1:
        sums[codes[row[end - 1]]] += weights[end - 1]
    groups = 0
    mass = 0.0
    for code in range(n_codes + 1):
        mass = 0.0
        for k in range(rules.n_stats):
            own = sums[(code << label_bits) + k] + others[(code << label_bits) + k]
            work.group_stats[groups, k] = own
            mass += own
        work.groups[groups].code = code
        work.groups[groups].mass = mass
        groups += 1 if mass > 0.0 and code < n_codes else 0
    return groups, not mass > 0.0


@lean_inner_kernel
def sort_rows(
    problem: Problem, rules: Rules, work: Work, codes: Int32Array, start: int, end: int, n_codes: int | np.int64
) -> tuple[int, bool]:
    """:func:`fill_groups` by sorting."""
    count = end - start
    label_bits = problem.layout.label_bits
    first = codes[problem.row[start]] >> label_bits
    differ = False
    for i in range(count):
        combined = codes[problem.row[start + i]]
        differ |= (combined >> label_bits) != first
        work.packed[0, i] = (np.int64(combined) << _ID_BITS) | (start + i)
    if not differ:
        return 1, first < n_codes
    entries = work.packed[sort_integers(work.packed, count)]
    if rules.unit and rules.criterion != VARIANCE and rules.n_stats == 2:
        return runs_of_two_classes(work, entries, count), True
    group = -1
    last = -1
    for i in range(count):
        code = entries[i] >> (_ID_BITS + label_bits)
        if code == n_codes:
            break
        if code != last:
            if group >= 0:
                close_group(rules, work, group)
            group += 1
            open_group(rules, work, group, code)
            last = code
        add_row(problem, rules, work, group, entries[i] >> _ID_BITS, entries[i] & ((np.int64(1) << _ID_BITS) - 1))
    if group >= 0:
        close_group(rules, work, group)
    return group + 1, (entries[count - 1] >> (_ID_BITS + label_bits)) < n_codes


@lean_inner_kernel
def runs_of_two_classes(work: Work, entries: IntArray, count: int) -> int:
    """Groups of sorted entries, for two classes and weights of 1."""
    groups = 0
    i = 0
    while i < count:
        first = i
        code = entries[i] >> (_ID_BITS + 1)
        positives = np.int64(0)
        while i < count and (entries[i] >> (_ID_BITS + 1)) == code:
            positives += (entries[i] >> _ID_BITS) & 1
            i += 1
        groups = put_two_classes(work, groups, code, i - first - positives, positives)
    return groups


@lean_inner_kernel
def open_group(rules: Rules, work: Work, group: int, code: int | np.int64) -> None:
    """Make a group empty."""
    work.groups[group].code = code
    work.groups[group].mass = 0.0
    for k in range(rules.n_stats):
        work.group_stats[group, k] = 0.0


@lean_inner_kernel
def add_row(
    problem: Problem,
    rules: Rules,
    work: Work,
    group: int | np.int64,
    combined: int | np.int64,
    one: int | np.int64,
) -> None:
    """Add the row with the id ``one``, whose code and label are ``combined``, to a group."""
    weight = 1.0 if rules.unit else problem.numbers[WEIGHT, one]
    if not rules.mass_is_weight:
        work.groups[group].mass += problem.numbers[MASS, one]
    if rules.criterion == VARIANCE:
        value = problem.numbers[CENTRED, one]
        work.group_stats[group, 0] += weight
        work.group_stats[group, 1] += weight * value
        work.group_stats[group, 2] += weight * value * value
    else:
        work.group_stats[group, combined & ((1 << problem.layout.label_bits) - 1)] += weight


@lean_inner_kernel
def close_group(rules: Rules, work: Work, group: int | np.int64) -> float:
    """The group's mass, when all its rows are in."""
    if rules.mass_is_weight:
        mass = work.group_stats[group, 0]
        if rules.criterion != VARIANCE:
            for k in range(1, rules.n_stats):
                mass += work.group_stats[group, k]
        work.groups[group].mass = mass
    return float(work.groups[group].mass)


@lean_inner_kernel
def sort_integers(packed: IntArray, count: int) -> int:
    """Sort the first ``count`` of row 0, with row 1 as room: insertion in blocks, then merging.

    Returns the row that holds the result.
    """
    for first in range(0, count, _BLOCK):
        for i in range(first + 1, min(first + _BLOCK, count)):
            entry = packed[0, i]
            j = i
            while j > first and packed[0, j - 1] > entry:
                packed[0, j] = packed[0, j - 1]
                j -= 1
            packed[0, j] = entry
    source = 0
    width = _BLOCK
    while width < count:
        for low in range(0, count, 2 * width):
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            one = low
            other = middle
            for target in range(low, high):
                take_one = other >= high or (one < middle and packed[source, one] <= packed[source, other])
                packed[1 - source, target] = packed[source, one if take_one else other]
                one += 1 if take_one else 0
                other += 0 if take_one else 1
        source = 1 - source
        width *= 2
    return source
