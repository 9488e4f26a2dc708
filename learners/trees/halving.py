"""Moving a node's rows to two branches, where each row goes to one of them.

In one pass without a branch in the code: every row is written to both sides and only one side's end moves on. The left
side never overtakes the reader; the right one is kept apart and copied behind it. A row's new id counts from the
segment's start on the left and, since it is not known before how many these are, from its end on the right.

Of rows with weights the same pass finds what both branches sum up to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.criteria import VARIANCE
from learners.trees.problem import WEIGHT, Problem, Rules, Work
from learners.types import FloatArray, Int32Array, IntArray


class HalfSums(NamedTuple):
    """What the rows of two branches sum up to: weights, those of the second class and of the first."""

    known: float
    left: float
    right: float
    left_positives: float
    right_positives: float
    left_negatives: float
    right_negatives: float


@lean_inner_kernel
def halve_rows(problem: Problem, work: Work, start: int, end: int) -> None:
    """Move rows to the branches that ``branch`` says, where every weight is 1."""
    row = problem.row
    spare = work.keys
    left = np.uint64(start)
    right = np.uint64(0)
    for one in range(np.uint64(start), np.uint64(end)):
        goes_right = np.uint64(work.branch[one])
        own = row[one]
        work.new_id[one] = left + goes_right * (np.uint64(end) + right - left)
        row[left] = own
        spare[right] = own
        right += goes_right
        left += np.uint64(1) - goes_right
    for i in range(right):
        row[left + i] = spare[i]
    put_places(work, start, np.int64(left), end)


@lean_inner_kernel
def halve_coded_rows(problem: Problem, rules: Rules, work: Work, start: int, end: int, column: int) -> None:
    """Move rows and their weights, which are their mass, as ``code_branch`` says, and sum up the branches.

    The column's codes take one place each. What the class is lies beside the code.
    """
    row = problem.row
    spare = work.keys
    weights = problem.numbers[WEIGHT]
    spare_weights = work.spare_numbers
    at = np.uint64(problem.columns[column].place)
    label_bits = np.uint64(problem.layout.label_bits)
    sums = no_sums()
    left = np.uint64(start)
    right = np.uint64(0)
    for one in range(np.uint64(start), np.uint64(end)):
        own = row[one]
        weight = weights[one]
        combined = np.uint64(problem.codes[np.uint64(own), at])
        branch = work.code_branch[combined >> label_bits]
        sums = with_row(sums, branch, weight, float(np.int64(combined & np.uint64(1))))
        goes_right = np.uint64(branch)
        work.new_id[one] = left + goes_right * (np.uint64(end) + right - left)
        row[left] = own
        spare[right] = own
        weights[left] = weight
        spare_weights[right] = weight
        right += goes_right
        left += np.uint64(1) - goes_right
    put_right(row, weights, work, left, right)
    put_places(work, start, np.int64(left), end)
    put_shares(work, sums)
    put_weights(rules, work, sums)


@lean_inner_kernel
def halve_marked_rows(problem: Problem, rules: Rules, work: Work, start: int, end: int, is_settled: bool) -> None:
    """Move rows, their weights and masses as ``branch`` says, and sum up the branches.

    ``is_settled``: the branches' shares are known already, and they are not summed up.
    """
    row = problem.row
    spare = work.keys
    weights = problem.numbers[WEIGHT]
    spare_weights = work.spare_numbers
    sums = no_sums()
    left = np.uint64(start)
    right = np.uint64(0)
    for one in range(np.uint64(start), np.uint64(end)):
        own = row[one]
        weight = weights[one]
        branch = work.branch[one]
        sums = with_row(sums, branch, weight, problem.answer[np.uint64(own)])
        goes_right = np.uint64(branch)
        work.new_id[one] = left + goes_right * (np.uint64(end) + right - left)
        row[left] = own
        spare[right] = own
        weights[left] = weight
        spare_weights[right] = weight
        right += goes_right
        left += np.uint64(1) - goes_right
    put_right(row, weights, work, left, right)
    put_places(work, start, np.int64(left), end)
    if not is_settled:
        put_shares(work, sums)
        put_weights(rules, work, sums)
    if rules.mass_row != WEIGHT:
        if not is_settled:
            sum_masses(problem.numbers[rules.mass_row], work, start, end)
        halve_numbers(problem.numbers[rules.mass_row], work, start, end)


@lean_inner_kernel
def put_right(row: Int32Array, weights: FloatArray, work: Work, left: np.uint64, right: np.uint64) -> None:
    """Copy the right side behind the left one."""
    for i in range(right):
        row[left + i] = work.keys[i]
        weights[left + i] = work.spare_numbers[i]


@lean_inner_kernel
def put_shares(work: Work, sums: HalfSums) -> None:
    """Write down the shares of two branches."""
    work.branches[0].share = sums.left / sums.known
    work.branches[1].share = sums.right / sums.known


@lean_inner_kernel
def halve_numbers(numbers: FloatArray, work: Work, start: int, end: int) -> None:
    """Move what is kept by id, too."""
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
def put_places(work: Work, start: int | np.int64, middle: int | np.int64, end: int | np.int64) -> None:
    """Write down where the rows of two branches lie."""
    work.branches[0].first = start
    work.branches[0].count = middle - start
    work.branches[1].first = middle
    work.branches[1].count = end - middle


@lean_inner_kernel
def sums_classes(rules: Rules) -> bool:
    """Whether two branches are also summed up by class."""
    return bool(rules.criterion != VARIANCE and rules.n_values == 2)


@lean_inner_kernel
def no_sums() -> HalfSums:
    """Before the first row."""
    return HalfSums(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@lean_inner_kernel
def with_row(sums: HalfSums, branch: int | np.int64 | np.int32, weight: float, is_positive: float) -> HalfSums:
    """The sums with one row more; one of its parts on the left and on the right is 0, so nothing is rounded."""
    on_right = weight * float(branch)
    on_left = weight - on_right
    positive_right = on_right * is_positive
    positive_left = on_left * is_positive
    return HalfSums(
        sums.known + weight,
        sums.left + on_left,
        sums.right + on_right,
        sums.left_positives + positive_left,
        sums.right_positives + positive_right,
        sums.left_negatives + (on_left - positive_left),
        sums.right_negatives + (on_right - positive_right),
    )


@lean_inner_kernel
def put_weights(rules: Rules, work: Work, sums: HalfSums) -> None:
    """Write down what two branches weigh, as if mass were weight.

    Of two classes also what :func:`~learners.trees.describing.describe` would sum up of each branch.
    """
    by_class = sums_classes(rules)
    for b in range(2):
        work.branches[b].weight = sums.left if b == 0 else sums.right
        work.branches[b].mass = work.branches[b].weight
        work.branches[b].summed = by_class
        if by_class:
            work.branch_stats[b, 0] = sums.left_negatives if b == 0 else sums.right_negatives
            work.branch_stats[b, 1] = sums.left_positives if b == 0 else sums.right_positives


@lean_inner_kernel
def sum_masses(masses: FloatArray, work: Work, start: int, end: int) -> None:
    """Sum up the mass of two branches, where it is not the weight."""
    left_mass = 0.0
    right_mass = 0.0
    for one in range(np.uint64(start), np.uint64(end)):
        left_mass += masses[one] * (1.0 - float(work.branch[one]))
        right_mass += masses[one] * float(work.branch[one])
    work.branches[0].mass = left_mass
    work.branches[1].mass = right_mass


@lean_inner_kernel
def halve_column(problem: Problem, work: Work, keys: IntArray, start: int, end: int) -> None:
    """Move one column's keys by their new ids. A side that is not split further is only stepped over.

    Places are unsigned, for one that may be negative costs as much as the move itself.
    """
    spare = work.keys
    shift = problem.layout.label_bits
    id_mask = (np.int64(1) << (problem.layout.rank_shift - shift)) - 1
    beyond = (end - work.branches[1].first) << shift
    left = np.uint64(start)
    right = np.uint64(0)
    for i in range(np.uint64(start), np.uint64(end)):
        key = keys[i]
        old = (key >> shift) & id_mask
        new = np.int64(work.new_id[np.uint64(old)])
        is_right = np.int64(new >= end)
        moved = key + ((new - old) << shift) - (beyond & -is_right)
        keys[left] = moved
        spare[right] = moved
        goes_right = np.uint64(is_right)
        right += goes_right
        left += np.uint64(1) - goes_right
    if work.branches[1].alive:
        for i in range(right):
            keys[left + i] = spare[i]
