"""Counting the rows of a node by code and class, of several columns in one pass over the rows.

A row's codes lie side by side, so the columns of a row cost one wait for the memory together. Where mass is
weight, weights are summed in two tables in turns, the rows at odd places in the second; else the second table
holds the mass of each code. Columns with so many codes that a node's few rows are better sorted are left out,
and so are numbers, which are summed up in :mod:`~learners.trees.splitters.groups`.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.criteria import VARIANCE
from learners.trees.problem import (
    COMBINATIONS_A_ROW,
    COMBINATIONS_AT_ONCE,
    WEIGHT,
    Problem,
    Rules,
    Work,
)
from learners.types import BoolArray


@lean_inner_kernel
def count_columns(
    problem: Problem,
    rules: Rules,
    work: Work,
    active: BoolArray,
    start: int | np.int64,
    end: int | np.int64,
    first: int,
    last: int,
) -> int:
    """Count the active columns from ``first`` on, as many as fit, up to ``last``; returns where it stopped."""
    listed = 0
    combinations = 0
    column = first
    while column < last:
        work.columns[column].counted = -1
        if active[column] and is_counted(problem, rules, column, end - start):
            own = combinations_of(problem, column)
            if listed > 0 and combinations + own > COMBINATIONS_AT_ONCE:
                break
            list_column(problem, work, column, listed, combinations)
            listed += 1
            combinations += own
        column += 1
    count_listed(problem, rules, work, start, end, listed, combinations)
    return column


@lean_inner_kernel
def forget_counts(work: Work, first: int, last: int) -> None:
    """Mark columns as not counted: their counts are overwritten, or another thread's, or of another node."""
    for column in range(first, last):
        work.columns[column].counted = -1


@lean_inner_kernel
def count_column(
    problem: Problem, rules: Rules, work: Work, start: int | np.int64, end: int | np.int64, column: int
) -> None:
    """The same for one column."""
    work.columns[column].counted = -1
    if is_counted(problem, rules, column, end - start):
        list_column(problem, work, column, 0, 0)
        count_listed(problem, rules, work, start, end, 1, combinations_of(problem, column))


@lean_inner_kernel
def combinations_of(problem: Problem, column: int) -> int:
    """How many counts a column needs; the last are of rows that miss the value."""
    return int((np.int64(problem.columns[column].n_codes) + 1) << problem.layout.label_bits)


@lean_inner_kernel
def list_column(problem: Problem, work: Work, column: int, listed: int, base: int) -> None:
    """Put a column into the list of those to be counted, its counts from ``base`` on."""
    work.listed[listed].place = problem.columns[column].place
    work.listed[listed].begin = base
    work.columns[column].counted = base


@lean_inner_kernel
def count_listed(
    problem: Problem,
    rules: Rules,
    work: Work,
    start: int | np.int64,
    end: int | np.int64,
    listed: int,
    combinations: int,
) -> None:
    """Count the rows by the listed columns."""
    if listed == 0:
        return
    if rules.unit:
        count_rows(problem, work, start, end, listed, combinations)
    else:
        weigh_rows(problem, rules, work, start, end, listed, combinations)


@lean_inner_kernel
def is_counted(problem: Problem, rules: Rules, column: int, rows: int | np.int64) -> bool:
    """Whether a column's rows are counted, and not sorted."""
    if rules.criterion == VARIANCE or not problem.columns[column].is_coded or problem.columns[column].is_wide:
        return False
    return bool((np.int64(problem.columns[column].n_codes) << problem.layout.label_bits) <= COMBINATIONS_A_ROW * rows)


@lean_inner_kernel
def count_rows(
    problem: Problem, work: Work, start: int | np.int64, end: int | np.int64, listed: int, combinations: int
) -> None:
    """Fill ``counts`` of the listed columns."""
    counts = work.counts
    codes = problem.codes
    for combined in range(combinations):
        counts[combined] = 0
    one = np.uint64(start)
    last = np.uint64(end - 1)
    while one < last:
        row = np.uint64(problem.row[one])
        other = np.uint64(problem.row[one + np.uint64(1)])
        one += np.uint64(2)
        for j in range(listed):
            place = work.listed[j].place
            base = work.listed[j].begin
            counts[base + codes[row, place]] += np.int32(1)
            counts[base + codes[other, place]] += np.int32(1)
    if (end - start) % 2 == 1:
        row = np.uint64(problem.row[end - 1])
        for j in range(listed):
            counts[work.listed[j].begin + codes[row, work.listed[j].place]] += np.int32(1)


@lean_inner_kernel
def weigh_rows(
    problem: Problem,
    rules: Rules,
    work: Work,
    start: int | np.int64,
    end: int | np.int64,
    listed: int,
    combinations: int,
) -> None:
    """Fill ``weights`` of the listed columns."""
    weights = work.weights
    codes = problem.codes
    code_bits = np.uint16(0xFFFF & -(1 << problem.layout.label_bits))
    for combined in range(combinations):
        weights[0, combined] = 0.0
        weights[1, combined] = 0.0
    if rules.mass_is_weight:
        for one in range(start, end):
            row = np.uint64(problem.row[one])
            weight = problem.numbers[WEIGHT, one]
            table = np.uint64((one - start) & 1)
            for j in range(listed):
                weights[table, work.listed[j].begin + codes[row, work.listed[j].place]] += weight
        return
    for one in range(start, end):
        row = np.uint64(problem.row[one])
        weight = problem.numbers[WEIGHT, one]
        mass = problem.numbers[rules.mass_row, one]
        for j in range(listed):
            combined = codes[row, work.listed[j].place]
            weights[0, work.listed[j].begin + combined] += weight
            weights[1, work.listed[j].begin + (combined & code_bits)] += mass


@lean_inner_kernel
def groups_of_counts(problem: Problem, rules: Rules, work: Work, column: int) -> tuple[int, bool]:
    """Fill the groups of a counted column; see :func:`~learners.trees.splitters.groups.fill_groups`."""
    base = np.int64(work.columns[column].counted)
    n_codes = np.int64(problem.columns[column].n_codes)
    label_bits = problem.layout.label_bits
    groups = 0
    if rules.unit and rules.n_stats == 2:
        place = np.uint64(base)
        for code in range(n_codes):
            negatives = np.int64(work.counts[place])
            groups = put_two_classes(work, groups, code, negatives, np.int64(work.counts[place + np.uint64(1)]))
            place += np.uint64(2)
        return groups, True
    if rules.unit:
        for code in range(n_codes):
            groups += put_counts(rules, work, groups, code, base + (code << label_bits))
        return groups, True
    mass = 0.0
    for code in range(n_codes + 1):
        mass = put_weights(rules, work, groups, code, base + (code << label_bits))
        groups += 1 if mass > 0.0 and code < n_codes else 0
    return groups, not mass > 0.0


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
