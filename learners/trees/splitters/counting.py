"""Counting the rows of a node by code and class, of several columns in one pass over the rows.

A row's codes lie side by side, so the columns of a row cost one wait for the memory together: rows are gone through
a block at a time, two columns after two. Where mass is weight, weights are summed in two tables in turns, the rows at
odd places in the second; else the second table holds the mass of each code.

Where rows are few beside the codes, the counts of the codes that occur are cleared alone, these codes are noted as
bits, and only they are looked at; so levels that do not occur in a node cost next to nothing. Columns with very many
codes are left out in such nodes, and so are numbers; see :mod:`~learners.trees.splitters.groups`.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.criteria import VARIANCE
from learners.trees.problem import (
    COMBINATIONS_A_ROW,
    COMBINATIONS_AT_ONCE,
    MOST_NOTED,
    NOTED_BITS,
    WEIGHT,
    Problem,
    Rules,
    Work,
)

#: Rows that are gone through for one column after the other: few enough for their codes to stay in the nearest cache.
_BLOCK = 256


@lean_inner_kernel
def count_columns(
    problem: Problem,
    rules: Rules,
    work: Work,
    start: int | np.int64,
    end: int | np.int64,
    first: int,
    last: int | np.int64,
) -> int:
    """Count the columns at the places from ``first`` on of ``work.looked``, as many as fit, up to ``last``.

    Returns the place where it stopped.
    """
    listed = 0
    combinations = 0
    noted = 0
    position = first
    while position < last:
        column = work.looked[position]
        work.columns[column].counted = -1
        if is_counted(problem, rules, column, end - start):
            own = combinations_of(problem, column)
            if listed > 0 and combinations + own > COMBINATIONS_AT_ONCE:
                break
            list_column(problem, work, column, listed, combinations, noted)
            listed += 1
            combinations += own
            noted += words_of(problem, column)
        position += 1
    count_listed(problem, rules, work, start, end, listed)
    return position


@lean_inner_kernel
def forget_looked(work: Work, last: int) -> None:
    """Mark the columns of ``work.looked`` before a place as not counted: their counts are overwritten."""
    for position in range(last):
        work.columns[work.looked[position]].counted = -1


@lean_inner_kernel
def forget_counts(work: Work, first: int, last: int) -> None:
    """Mark columns as not counted, and groups as of no use: they are another thread's, or of another node."""
    work.filled[0] = -1
    for column in range(first, last):
        work.columns[column].counted = -1


@lean_inner_kernel
def count_column(
    problem: Problem, rules: Rules, work: Work, start: int | np.int64, end: int | np.int64, column: int
) -> None:
    """The same for one column."""
    work.columns[column].counted = -1
    if is_counted(problem, rules, column, end - start):
        list_column(problem, work, column, 0, 0, 0)
        count_listed(problem, rules, work, start, end, 1)


@lean_inner_kernel
def combinations_of(problem: Problem, column: int) -> int:
    """How many counts a column needs; the last are of rows that miss the value."""
    return int((np.int64(problem.columns[column].n_codes) + 1) << problem.layout.label_bits)


@lean_inner_kernel
def words_of(problem: Problem, column: int) -> int:
    """How many numbers note which codes of a column occur."""
    return int(np.int64(problem.columns[column].n_codes) // NOTED_BITS + 1)


@lean_inner_kernel
def list_column(problem: Problem, work: Work, column: int, listed: int, base: int, noted: int) -> None:
    """Put a column into the list of those to be counted, its counts from ``base`` on, its codes noted from there."""
    work.listed[listed].place = problem.columns[column].place
    work.listed[listed].begin = base
    work.listed[listed].needs = combinations_of(problem, column)
    work.listed[listed].noted = noted
    work.columns[column].counted = base
    work.columns[column].noted = noted


@lean_inner_kernel
def count_listed(
    problem: Problem, rules: Rules, work: Work, start: int | np.int64, end: int | np.int64, listed: int
) -> None:
    """Count the rows by the listed columns."""
    for j in range(listed):
        if notes_codes(work.listed[j].needs, end - start):
            note_codes(problem, rules, work, start, end, j)
        else:
            begin = np.uint64(work.listed[j].begin)
            clear_counts(rules, work, begin, begin + np.uint64(work.listed[j].needs))
    in_fours = listed & ~3 if rules.unit else 0
    in_pairs = listed & ~1 if rules.unit or rules.mass_is_weight else 0
    for low in range(start, end, _BLOCK):
        high = min(low + _BLOCK, end)
        for j in range(0, in_fours, 4):
            count_four(problem, work, low, high, j)
        for j in range(in_fours, in_pairs, 2):
            if rules.unit:
                count_two(problem, work, low, high, j)
            else:
                weigh_two(problem, work, low, high, j)
        for j in range(in_pairs, listed):
            if rules.unit:
                count_rows(problem, work, low, high, j)
            else:
                weigh_rows(problem, rules, work, low, high, j)


@lean_inner_kernel
def is_counted(problem: Problem, rules: Rules, column: int, rows: int | np.int64) -> bool:
    """Whether a column's rows are counted, and not sorted."""
    if rules.criterion == VARIANCE or not problem.columns[column].is_coded or problem.columns[column].is_wide:
        return False
    few = problem.columns[column].n_codes <= MOST_NOTED
    return bool(few or not notes_codes(combinations_of(problem, column), rows))


@lean_inner_kernel
def notes_codes(combinations: int | np.int64 | np.uint32, rows: int | np.int64) -> bool:
    """Whether so few rows have so many combinations that codes which do not occur are better left alone."""
    return bool(np.int64(combinations) > COMBINATIONS_A_ROW * rows)


@lean_inner_kernel
def clear_counts(rules: Rules, work: Work, first: np.uint64, end: np.uint64) -> None:
    """Make counts 0."""
    if rules.unit:
        for combined in range(first, end):
            work.counts[combined] = 0
        return
    for combined in range(first, end):
        work.weights[np.uint64(0), combined] = 0.0
        work.weights[np.uint64(1), combined] = 0.0


@lean_inner_kernel
def note_codes(problem: Problem, rules: Rules, work: Work, start: int | np.int64, end: int | np.int64, j: int) -> None:
    """Note which codes of a listed column occur, and clear their counts."""
    place = np.uint64(work.listed[j].place)
    begin = np.uint64(work.listed[j].begin)
    noted = np.uint64(work.listed[j].noted)
    label_bits = np.uint64(problem.layout.label_bits)
    labels = np.uint64(1) << label_bits
    words = (np.uint64(work.listed[j].needs) >> label_bits) // np.uint64(NOTED_BITS) + np.uint64(1)
    for word in range(words):
        work.noted[noted + word] = 0
    for one in range(np.uint64(start), np.uint64(end)):
        code = np.uint64(problem.codes[np.uint64(problem.row[one]), place]) >> label_bits
        work.noted[noted + code // np.uint64(NOTED_BITS)] |= np.int64(1) << np.int64(code % np.uint64(NOTED_BITS))
        first = begin + (code << label_bits)
        clear_counts(rules, work, first, first + labels)


@lean_inner_kernel
def count_rows(problem: Problem, work: Work, start: int | np.int64, end: int | np.int64, j: int) -> None:
    """Add a block of rows to the ``counts`` of a listed column."""
    place = np.uint64(work.listed[j].place)
    begin = np.uint64(work.listed[j].begin)
    for one in range(np.uint64(start), np.uint64(end)):
        work.counts[begin + np.uint64(problem.codes[np.uint64(problem.row[one]), place])] += np.int32(1)


@lean_inner_kernel
def count_two(problem: Problem, work: Work, start: int | np.int64, end: int | np.int64, j: int) -> None:
    """The same for two listed columns at once.

    Most rows have the same few codes, and a count can be raised again only when it has been written: meanwhile the
    other column's is.
    """
    place = np.uint64(work.listed[j].place)
    begin = np.uint64(work.listed[j].begin)
    other_place = np.uint64(work.listed[j + 1].place)
    other_begin = np.uint64(work.listed[j + 1].begin)
    for one in range(np.uint64(start), np.uint64(end)):
        row = np.uint64(problem.row[one])
        work.counts[begin + np.uint64(problem.codes[row, place])] += np.int32(1)
        work.counts[other_begin + np.uint64(problem.codes[row, other_place])] += np.int32(1)


@lean_inner_kernel
def count_four(problem: Problem, work: Work, start: int | np.int64, end: int | np.int64, j: int) -> None:
    """The same for four."""
    place = np.uint64(work.listed[j].place)
    second_place = np.uint64(work.listed[j + 1].place)
    third_place = np.uint64(work.listed[j + 2].place)
    fourth_place = np.uint64(work.listed[j + 3].place)
    begin = np.uint64(work.listed[j].begin)
    second = np.uint64(work.listed[j + 1].begin)
    third = np.uint64(work.listed[j + 2].begin)
    fourth = np.uint64(work.listed[j + 3].begin)
    for one in range(np.uint64(start), np.uint64(end)):
        row = np.uint64(problem.row[one])
        work.counts[begin + np.uint64(problem.codes[row, place])] += np.int32(1)
        work.counts[second + np.uint64(problem.codes[row, second_place])] += np.int32(1)
        work.counts[third + np.uint64(problem.codes[row, third_place])] += np.int32(1)
        work.counts[fourth + np.uint64(problem.codes[row, fourth_place])] += np.int32(1)


@lean_inner_kernel
def weigh_two(problem: Problem, work: Work, start: int | np.int64, end: int | np.int64, j: int) -> None:
    """The same as :func:`weigh_rows` for two listed columns at once, where mass is weight; see :func:`count_two`."""
    place = np.uint64(work.listed[j].place)
    begin = np.uint64(work.listed[j].begin)
    other_place = np.uint64(work.listed[j + 1].place)
    other_begin = np.uint64(work.listed[j + 1].begin)
    weights = work.weights
    one = np.uint64(start)
    last = np.uint64(end - 1)
    while one < last:
        row = np.uint64(problem.row[one])
        next_row = np.uint64(problem.row[one + np.uint64(1)])
        weight = problem.numbers[WEIGHT, one]
        next_weight = problem.numbers[WEIGHT, one + np.uint64(1)]
        weights[np.uint64(0), begin + np.uint64(problem.codes[row, place])] += weight
        weights[np.uint64(0), other_begin + np.uint64(problem.codes[row, other_place])] += weight
        weights[np.uint64(1), begin + np.uint64(problem.codes[next_row, place])] += next_weight
        weights[np.uint64(1), other_begin + np.uint64(problem.codes[next_row, other_place])] += next_weight
        one += np.uint64(2)
    if one == last:
        row = np.uint64(problem.row[one])
        weight = problem.numbers[WEIGHT, one]
        weights[np.uint64(0), begin + np.uint64(problem.codes[row, place])] += weight
        weights[np.uint64(0), other_begin + np.uint64(problem.codes[row, other_place])] += weight


@lean_inner_kernel
def weigh_rows(problem: Problem, rules: Rules, work: Work, start: int | np.int64, end: int | np.int64, j: int) -> None:
    """Add a block of rows to the ``weights`` of a listed column."""
    place = np.uint64(work.listed[j].place)
    begin = np.uint64(work.listed[j].begin)
    weights = work.weights
    if rules.mass_is_weight:
        even = np.uint64(start)
        last = np.uint64(end - 1)
        while even < last:
            odd = even + np.uint64(1)
            first = begin + np.uint64(problem.codes[np.uint64(problem.row[even]), place])
            second = begin + np.uint64(problem.codes[np.uint64(problem.row[odd]), place])
            weights[np.uint64(0), first] += problem.numbers[WEIGHT, even]
            weights[np.uint64(1), second] += problem.numbers[WEIGHT, odd]
            even += np.uint64(2)
        if even == last:
            first = begin + np.uint64(problem.codes[np.uint64(problem.row[even]), place])
            weights[np.uint64(0), first] += problem.numbers[WEIGHT, even]
        return
    code_bits = np.uint64(0xFFFF & -(1 << problem.layout.label_bits))
    for one in range(np.uint64(start), np.uint64(end)):
        combined = np.uint64(problem.codes[np.uint64(problem.row[one]), place])
        weights[np.uint64(0), begin + combined] += problem.numbers[WEIGHT, one]
        weights[np.uint64(1), begin + (combined & code_bits)] += problem.numbers[rules.mass_row, one]
