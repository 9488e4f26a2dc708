"""Moving a node's rows to its children: stable, so every column stays sorted.

Each child gets a segment of its own and the ids in it are renumbered to its places, which keeps all
that is looked up by id close together in memory. First :func:`number_children` decides the new id
of each row and moves what is kept by id; then each column's keys are moved on their own, so that
columns can be shared among threads.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.problem import WEIGHT, Problem, Rules, Work
from learners.types import FloatArray, IntArray

#: The sign bit of a new id, by which a row that goes to several branches is known, and all the others.
_SIGN = 1 << 31
_UNSIGNED = _SIGN - 1
#: How far an int64 is shifted for its sign alone to be left.
_LAST_BIT = 63


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
        halve_weighted_rows(problem, work, start, end)
        if rules.mass_row != WEIGHT:
            halve_numbers(problem.numbers[rules.mass_row], work, start, end)
        return
    position = place
    for b in range(branches):
        work.branches[b].first = position
        work.cursor[b] = position + (missing if work.branches[b].share > 0.0 else 0)
        position += work.branches[b].count
    for one in range(start, end):
        b = work.branch[one]
        if b >= 0:
            work.new_id[one] = work.cursor[b]
            work.cursor[b] += 1
    for q in range(missing):
        work.new_id[work.absent[q]] = place + q - _SIGN
    move_rows(problem, work, start, end, place, branches)
    if not rules.unit:
        move_numbers(problem.numbers[WEIGHT], work, start, end, place, branches)
        if rules.mass_row != WEIGHT:
            move_numbers(problem.numbers[rules.mass_row], work, start, end, place, branches)


@lean_inner_kernel
def halve_rows(problem: Problem, work: Work, start: int, end: int) -> None:
    """The common case, two branches and nothing missing, in one pass without a branch in the code.

    Every row is written to both sides and only one side's end moves on; the left side never overtakes the reader.
    """
    row = problem.row
    spare = work.keys
    middle = start + work.branches[0].count
    work.branches[0].first = start
    work.branches[1].first = middle
    left = np.uint64(start)
    right = np.uint64(0)
    for one in range(np.uint64(start), np.uint64(end)):
        goes_right = np.uint64(work.branch[one])
        own = row[one]
        work.new_id[one] = left + goes_right * (np.uint64(middle) + right - left)
        row[left] = own
        spare[right] = own
        right += goes_right
        left += np.uint64(1) - goes_right
    for i in range(right):
        row[left + i] = spare[i]


@lean_inner_kernel
def halve_weighted_rows(problem: Problem, work: Work, start: int, end: int) -> None:
    """The same of rows and their weights in one pass."""
    row = problem.row
    spare = work.keys
    numbers = problem.numbers
    spare_numbers = work.spare_numbers
    middle = start + work.branches[0].count
    work.branches[0].first = start
    work.branches[1].first = middle
    left = np.uint64(start)
    right = np.uint64(0)
    for one in range(np.uint64(start), np.uint64(end)):
        goes_right = np.uint64(work.branch[one])
        own = row[one]
        weight = numbers[WEIGHT, one]
        work.new_id[one] = left + goes_right * (np.uint64(middle) + right - left)
        row[left] = own
        spare[right] = own
        numbers[WEIGHT, left] = weight
        spare_numbers[right] = weight
        right += goes_right
        left += np.uint64(1) - goes_right
    for i in range(right):
        row[left + i] = spare[i]
        numbers[WEIGHT, left + i] = spare_numbers[i]


@lean_inner_kernel
def halve_numbers(numbers: FloatArray, work: Work, start: int, end: int) -> None:
    """The same of what is kept by id."""
    spare = work.spare_numbers
    left = np.uint64(start)
    right = np.uint64(0)
    for one in range(np.uint64(start), np.uint64(end)):
        goes_right = np.uint64(work.branch[one])
        own = numbers[one]
        numbers[left] = own
        spare[right] = own
        right += goes_right
        left += np.uint64(1) - goes_right
    for i in range(right):
        numbers[left + i] = spare[i]


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
                work.keys[work.branches[b].first + (new & _UNSIGNED) - 2 * place] = problem.row[one]
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
                at = work.branches[b].first + (new & _UNSIGNED) - 2 * place
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
        halve_column(problem, work, spare, keys, start, end)
        return
    if branches == 2 and work.branches[0].share > 0.0 and work.branches[1].share > 0.0:
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
                own = work.branches[b].first - place + (new & _UNSIGNED)
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


@lean_inner_kernel
def halve_column(problem: Problem, work: Work, spare: IntArray, keys: IntArray, start: int, end: int) -> None:
    """The common case, two branches and nothing missing, without a branch in the code.

    Every key is written to both sides and only one side's cursor moves on. The left side is written
    in place: it never overtakes the reader. A side that is not split further is only stepped over.
    Places are unsigned, for one that may be negative costs as much as the move itself.
    """
    shift = problem.layout.label_bits
    id_mask = (np.int64(1) << (problem.layout.rank_shift - shift)) - 1
    middle = work.branches[1].first
    left = np.uint64(start)
    right = np.uint64(0)
    for i in range(np.uint64(start), np.uint64(end)):
        key = keys[i]
        old = (key >> shift) & id_mask
        new = np.int64(work.new_id[np.uint64(old)])
        moved = key + ((new - old) << shift)
        keys[left] = moved
        spare[right] = moved
        goes_right = np.uint64(new >= middle)
        right += goes_right
        left += np.uint64(1) - goes_right
    if work.branches[1].alive:
        for i in range(right):
            keys[left + i] = spare[i]


@lean_inner_kernel
def share_column(problem: Problem, work: Work, spare: IntArray, keys: IntArray, start: int, end: int) -> None:
    """The same where rows miss the value: these go to both sides. The children may lie elsewhere."""
    shift = problem.layout.label_bits
    id_mask = (np.int64(1) << (problem.layout.rank_shift - shift)) - 1
    first = np.int64(work.branches[0].first)
    middle = np.int64(work.branches[1].first)
    apart = (middle - first) << shift
    new_id = work.new_id
    left = np.uint64(first)
    right = np.uint64(0)
    for i in range(np.uint64(start), np.uint64(end)):
        key = keys[i]
        old = (key >> shift) & id_mask
        new = np.int64(new_id[np.uint64(old)])
        moved = key + (((new & _UNSIGNED) - old) << shift)
        keys[left] = moved
        spare[right] = moved + (apart & (new >> _LAST_BIT))
        left += np.uint64(new < middle)
        right += np.uint64(np.uint64(new) >= np.uint64(middle))  # one with the sign bit is among the greatest
    if work.branches[1].alive:
        for i in range(right):
            keys[np.uint64(middle) + i] = spare[i]
