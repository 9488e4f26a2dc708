"""Moving a node's rows to its children: stable, so every column stays sorted.

Each child gets a segment of its own and the ids in it are renumbered to its places, which keeps all
that is looked up by id close together in memory. First :func:`number_children` decides the new id
of each row and moves what is kept by id; then each column's keys are moved on their own, so that
columns can be shared among threads.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.halving import halve_column, halve_marked_rows, halve_rows
from learners.trees.problem import WEIGHT, Problem, Rules, Work
from learners.trees.sharing import SIGN, UNSIGNED, share_column, share_rows, shares_rows
from learners.types import FloatArray, IntArray


@lean_inner_kernel
def number_children(
    problem: Problem, rules: Rules, work: Work, start: int, end: int, place: int, branches: int, missing: int
) -> None:
    """Give new ids from ``place`` on, branch after branch, and move the arrays kept by id.

    In each branch with a positive share, the rows with a missing value come first, in the order of
    ``absent``. Their old ids get for ``new_id`` what it would be in the first branch, with the sign bit set.
    """
    if branches == 2 and missing == 0:
        if rules.unit:
            halve_rows(problem, work, start, end)
            return
        halve_marked_rows(problem, rules, work, start, end, True)
        return
    position = place
    for b in range(branches):
        work.branches[b].first = position
        position += work.branches[b].count
    if shares_rows(work, branches):
        share_rows(problem, rules, work, start, end, place, missing)
    else:
        spread_rows(problem, rules, work, start, end, place, branches, missing)
    if rules.mass_row != WEIGHT:
        move_numbers(problem.numbers[rules.mass_row], work, start, end, place, branches)


@lean_inner_kernel
def spread_rows(
    problem: Problem, rules: Rules, work: Work, start: int, end: int, place: int, branches: int, missing: int
) -> None:
    """Give new ids and move rows and their weights, to any number of branches."""
    for b in range(branches):
        work.cursor[b] = work.branches[b].first + (missing if work.branches[b].share > 0.0 else 0)
    for one in range(start, end):
        b = work.branch[one]
        if b >= 0:
            work.new_id[one] = work.cursor[b]
            work.cursor[b] += 1
    for q in range(missing):
        work.new_id[work.absent[q]] = place + q - SIGN
    move_rows(problem, work, start, end, place, branches)
    if not rules.unit:
        move_numbers(problem.numbers[WEIGHT], work, start, end, place, branches)


@lean_inner_kernel
def move_rows(problem: Problem, work: Work, start: int, end: int, place: int, branches: int) -> None:
    """Move the table rows to the new ids."""
    for one in range(start, end):
        new = work.new_id[one]
        if new >= 0:
            work.keys[new - place] = problem.row[one]
            continue
        for b in range(branches):
            if work.branches[b].share > 0.0:
                work.keys[work.branches[b].first + (new & UNSIGNED) - 2 * place] = problem.row[one]
    total = work.branches[branches - 1].first + work.branches[branches - 1].count - place
    for i in range(total):
        problem.row[place + i] = work.keys[i]


@lean_inner_kernel
def move_numbers(numbers: FloatArray, work: Work, start: int, end: int, place: int, branches: int) -> None:
    """Move weights to the new ids; a row with a missing value is divided by the branches' shares."""
    for one in range(start, end):
        new = work.new_id[one]
        if new >= 0:
            work.spare_numbers[new - place] = numbers[one]
            continue
        for b in range(branches):
            if work.branches[b].share > 0.0:
                at = work.branches[b].first + (new & UNSIGNED) - 2 * place
                work.spare_numbers[at] = numbers[one] * work.branches[b].share
    total = work.branches[branches - 1].first + work.branches[branches - 1].count - place
    for i in range(total):
        numbers[place + i] = work.spare_numbers[i]


@lean_inner_kernel
def move_column(
    problem: Problem, work: Work, keys: IntArray, start: int, end: int, branches: int, missing: int
) -> None:
    """Move one column's keys; ``work.keys`` and ``work.cursor`` are scratch of the calling thread."""
    spare = work.keys
    cursor = work.cursor
    place = work.branches[0].first
    if branches == 2 and missing == 0 and place == start:
        halve_column(problem, work, keys, start, end)
        return
    if shares_rows(work, branches):
        share_column(problem, work, spare, keys, start, end)
        return
    shift = problem.layout.label_bits
    id_mask = (np.int64(1) << (problem.layout.rank_shift - shift)) - 1
    for b in range(branches):
        cursor[b] = work.branches[b].first
    for i in range(start, end):
        key = keys[i]
        old = (key >> shift) & id_mask
        new = work.new_id[old]
        if new >= 0:
            b = work.branch[old]
            if work.branches[b].alive:
                spare[cursor[b] - place] = key + ((new - old) << shift)
                cursor[b] += 1
            continue
        for b in range(branches):
            if work.branches[b].alive:
                own = work.branches[b].first - place + (new & UNSIGNED)
                spare[cursor[b] - place] = key + ((own - old) << shift)
                cursor[b] += 1
    copy_alive(work, keys, place, branches)


@lean_inner_kernel
def copy_alive(work: Work, keys: IntArray, place: int, branches: int) -> None:
    """Copy the segments of branches that may be split further from ``work.keys`` to the column."""
    for b in range(branches):
        if work.branches[b].alive:
            for i in range(work.branches[b].first, work.cursor[b]):
                keys[i] = work.keys[i - place]
