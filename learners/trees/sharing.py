"""Moving a node's rows to two branches, where those that miss the value go to both.

Beyond :mod:`~learners.trees.halving`: these rows come first on either side, with their weight times its share, and
the children may lie elsewhere.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.halving import no_sums, put_weights, with_row
from learners.trees.problem import WEIGHT, Problem, Rules, Work
from learners.types import IntArray

#: The sign bit of a new id, by which a row that goes to several branches is known, and all the others.
SIGN = 1 << 31
UNSIGNED = SIGN - 1
#: How far an int64 is shifted for its sign alone to be left.
_LAST_BIT = 63


@lean_inner_kernel
def shares_rows(work: Work, branches: int) -> bool:
    """Whether there are two branches, and rows that miss the value go to both."""
    return bool(branches == 2 and work.branches[0].share > 0.0 and work.branches[1].share > 0.0)


@lean_inner_kernel
def share_rows(problem: Problem, rules: Rules, work: Work, start: int, end: int, place: int, missing: int) -> None:
    """Move rows and their weights to their new ids, and sum up the branches.

    What is in ``absent`` is added first, as it will come first; in the pass over the rows it weighs nothing, and is
    written over.
    """
    row = problem.row
    spare = work.keys
    weights = problem.numbers[WEIGHT]
    spare_weights = work.spare_numbers
    sums = no_sums()
    for q in range(np.uint64(missing)):
        lost = np.uint64(work.absent[q])
        is_positive = problem.answer[np.uint64(row[lost])]
        for b in range(2):
            sums = with_row(sums, np.int64(b), weights[lost] * work.branches[b].share, is_positive)
    left = np.uint64(missing)
    middle = np.uint64(work.branches[0].count)
    right = middle + np.uint64(missing)
    for one in range(np.uint64(start), np.uint64(end)):
        branch = work.branch[one]
        goes_right = np.uint64(branch > 0)
        goes_left = np.uint64(branch == 0)
        own = row[one]
        weight = weights[one]
        at = left + goes_right * (right - left)
        spare[at] = own
        spare_weights[at] = weight
        work.new_id[one] = np.uint64(place) + at
        right += goes_right
        left += goes_left
        known = weight * float(np.int64(goes_right + goes_left))
        sums = with_row(sums, np.int64(goes_right), known, problem.answer[np.uint64(own)])
    for q in range(np.uint64(missing)):
        lost = np.uint64(work.absent[q])
        spare[q] = row[lost]
        spare[middle + q] = row[lost]
        spare_weights[q] = weights[lost] * work.branches[0].share
        spare_weights[middle + q] = weights[lost] * work.branches[1].share
        work.new_id[lost] = place + np.int64(q) - SIGN
    for i in range(right):
        row[np.uint64(place) + i] = spare[i]
        weights[np.uint64(place) + i] = spare_weights[i]
    if rules.mass_is_weight:
        put_weights(rules, work, sums)


@lean_inner_kernel
def share_column(problem: Problem, work: Work, spare: IntArray, keys: IntArray, start: int, end: int) -> None:
    """Move one column's keys by their new ids. The children may lie elsewhere."""
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
        moved = key + (((new & UNSIGNED) - old) << shift)
        keys[left] = moved
        spare[right] = moved + (apart & (new >> _LAST_BIT))
        left += np.uint64(new < middle)
        right += np.uint64(np.uint64(new) >= np.uint64(middle))  # one with the sign bit is among the greatest
    if work.branches[1].alive:
        for i in range(right):
            keys[np.uint64(middle) + i] = spare[i]
