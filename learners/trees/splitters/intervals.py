"""Tests with a branch for each interval into which a numeric column was cut before growth.

The groups are of the bins in which rows of the node lie, in ascending order. Bins without rows between them, or
beyond the first or the last, become a branch too: such a branch behaves as a level that does not occur.
Where missing counts as a value, it has a branch after all these, whether or not rows of the node miss it.
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.problem import Grown, Problem, Work


@lean_inner_kernel
def has_missing_code(problem: Problem, column: int | np.int64) -> bool:
    """Whether missing is one of the column's values."""
    count = problem.columns[column].n_codes
    return count > 0 and math.isnan(problem.values[problem.columns[column].first_value + count - 1])


@lean_inner_kernel
def bin_of(problem: Problem, work: Work, column: int | np.int64, group: int | np.int64) -> float:
    """The number of a group's bin; NaN of the rows that miss the value."""
    return float(problem.values[problem.columns[column].first_value + work.groups[group].code])


@lean_inner_kernel
def assign_intervals(problem: Problem, work: Work, column: int | np.int64, groups: int) -> int:
    """Fill ``branch``; returns the number of branches, those without rows included."""
    with_missing = has_missing_code(problem, column)
    bins = float(problem.columns[column].n_levels - (1 if with_missing else 0))
    branch = 0
    expected = 0.0
    for g in range(groups):
        own = bin_of(problem, work, column, g)
        if math.isnan(own):
            own = bins
        if own > expected:
            branch += 1
        work.groups[g].branch = branch
        expected = own + 1.0
        branch += 1
    if expected < bins:
        branch += 1
    if with_missing and expected <= bins:
        branch += 1
    return branch


@lean_inner_kernel
def end_intervals(problem: Problem, work: Work, grown: Grown, node: int, column: int, groups: int) -> None:
    """Write the number of the last bin of each branch into the children's ``upper``, infinite from the last on."""
    first = grown.nodes[node].first_child
    branches = grown.nodes[node].n_children
    intervals = branches - (1 if has_missing_code(problem, column) else 0)
    for b in range(branches):
        grown.nodes[first + b].upper = math.inf
    for g in range(groups):
        own = bin_of(problem, work, column, g)
        b = work.groups[g].branch
        if math.isnan(own):
            continue
        if b > 0 and (g == 0 or work.groups[g - 1].branch < b - 1):
            grown.nodes[first + b - 1].upper = own - 1.0
        if b < intervals - 1:
            grown.nodes[first + b].upper = own
    if intervals < branches:
        grown.nodes[node].missing_branch = branches - 1
