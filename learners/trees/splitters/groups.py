"""The rows of a node grouped by the code of one column, in ascending order of the codes.

Where rows are many they are counted by code (:mod:`~learners.trees.splitters.counting`); where codes are many
beside the rows, the rows' codes are sorted instead, so that the cost never depends on levels that do not occur
in the node.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.coding import code_at
from learners.trees.criteria import VARIANCE
from learners.trees.problem import CENTRED, WEIGHT, Problem, Rules, Work
from learners.trees.splitters.counted_groups import groups_of_counts, put_two_classes
from learners.trees.splitters.counting import notes_codes
from learners.types import IntArray

_BLOCK = 12
_ID_BITS = 32


@lean_inner_kernel
def groups_of(problem: Problem, rules: Rules, work: Work, start: int, end: int, column: int) -> tuple[int, bool]:
    """The groups of a column as :func:`fill_groups` tells them, filled unless they are what was filled last."""
    if work.filled[0] != column:
        groups, complete = fill_groups(problem, rules, work, start, end, column)
        work.filled[0] = column
        work.filled[1] = groups
        work.filled[2] = complete
    return int(work.filled[1]), work.filled[2] != 0


@lean_inner_kernel
def fill_groups(problem: Problem, rules: Rules, work: Work, start: int, end: int, column: int) -> tuple[int, bool]:
    """Fill ``code`` and ``mass`` of ``groups``, and ``group_stats``.

    A column that can be counted has been counted before. Returns the number of groups, and whether every row knows
    its value.
    """
    if work.columns[column].counted >= 0:
        return groups_of_counts(problem, rules, work, column, end - start)
    n_codes = np.int64(problem.columns[column].n_codes)
    if notes_codes((n_codes + 1) << problem.layout.label_bits, end - start):
        return sort_rows(problem, rules, work, start, end, column)
    place = problem.columns[column].place
    is_wide = problem.columns[column].is_wide
    for code in range(n_codes + 1):
        open_group(rules, work, code, code)
    for one in range(start, end):
        combined = code_at(problem.codes, problem.row[one], place, is_wide)
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
def sort_rows(problem: Problem, rules: Rules, work: Work, start: int, end: int, column: int) -> tuple[int, bool]:
    """:func:`fill_groups` by sorting."""
    count = end - start
    label_bits = problem.layout.label_bits
    n_codes = problem.columns[column].n_codes
    place = problem.columns[column].place
    is_wide = problem.columns[column].is_wide
    first = code_at(problem.codes, problem.row[start], place, is_wide) >> label_bits
    differ = False
    for i in range(np.uint64(count)):
        combined = code_at(problem.codes, problem.row[np.uint64(start) + i], place, is_wide)
        differ |= (combined >> label_bits) != first
        work.packed[0, i] = (combined << _ID_BITS) | (start + np.int64(i))
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
    i = np.uint64(0)
    end = np.uint64(count)
    while i < end:
        code = entries[i] >> (_ID_BITS + 1)
        rows = np.int64(0)
        positives = np.int64(0)
        while i < end and (entries[i] >> (_ID_BITS + 1)) == code:
            positives += (entries[i] >> _ID_BITS) & 1
            rows += 1
            i += np.uint64(1)
        groups = put_two_classes(work, groups, code, rows - positives, positives)
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
        work.groups[group].mass += problem.numbers[rules.mass_row, one]
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
    before = np.uint64(1)
    for first in range(np.uint64(0), np.uint64(count), np.uint64(_BLOCK)):
        for i in range(first + before, min(first + np.uint64(_BLOCK), np.uint64(count))):
            entry = packed[0, i]
            j = np.uint64(i)
            while j > first and packed[0, j - before] > entry:
                packed[0, j] = packed[0, j - before]
                j -= before
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
