"""The kinds of tests on groups: where a new kind is entered.

A kind is a number in :mod:`~learners.trees.problem`, a search and an assignment of groups to branches
in a module of this package, and a line in each of the functions here.
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.problem import (
    BINNED,
    MULTIWAY,
    ONE_VS_REST,
    ORDERED,
    ORDERED_WITH_MISSING,
    SUBSET,
    Bounds,
    Problem,
    Rules,
    Work,
)
from learners.trees.splitters.intervals import assign_intervals
from learners.trees.splitters.levels import (
    assign_each,
    assign_one,
    assign_subset,
    best_one,
    best_subset,
    multiway_gain,
)
from learners.trees.splitters.ordered import (
    assign_cut,
    assign_cut_with_missing,
    best_cut,
    best_cut_with_missing,
    natural_order,
)
from learners.types import FloatArray


@lean_inner_kernel
def kind_of(problem: Problem, work: Work, column: int | np.int64, groups: int) -> int:
    """The kind of test that a column with codes gets in a node where it has these groups."""
    kind = int(problem.columns[column].kind)
    if kind == ORDERED_WITH_MISSING and not is_missing(problem, work, column, groups - 1):
        return ORDERED
    return kind


@lean_inner_kernel
def is_missing(problem: Problem, work: Work, column: int | np.int64, group: int | np.int64) -> bool:
    """Whether a group is of the rows that miss the value."""
    return math.isnan(problem.values[problem.columns[column].first_value + work.groups[group].code])


@lean_inner_kernel
def is_ordered(kind: int) -> bool:
    """Whether a test of the kind is a threshold."""
    return kind in (ORDERED, ORDERED_WITH_MISSING)


@lean_inner_kernel
def best_test(
    problem: Problem,
    rules: Rules,
    work: Work,
    kind: int,
    groups: int,
    stats: FloatArray,
    bounds: Bounds,
) -> tuple[int, float]:
    """The best test of a kind on the groups, whose rows ``stats`` sums up: (place or -1, gain sum).

    One that gains less than the floor may be left out.
    """
    if kind == ORDERED:
        natural_order(work, groups)
        return best_cut(problem, rules, work, groups, stats, bounds)
    if kind == ORDERED_WITH_MISSING:
        return best_cut_with_missing(problem, rules, work, groups, stats, bounds)
    if kind == SUBSET:
        return best_subset(problem, rules, work, groups, stats, bounds)
    if kind == ONE_VS_REST:
        return best_one(rules, work, groups, stats, bounds.mass, bounds.least)
    return multiway_gain(rules, work, groups, stats, bounds.least)


@lean_inner_kernel
def assign_groups(
    problem: Problem,
    rules: Rules,
    work: Work,
    column: int | np.int64,
    kind: int,
    groups: int,
    place: int | np.int64,
    stats: FloatArray,
) -> int:
    """Fill ``branch`` of the groups for the test at ``place``; returns the number of branches."""
    if kind == ORDERED:
        return assign_cut(work, groups, place)
    if kind == ORDERED_WITH_MISSING:
        return assign_cut_with_missing(work, groups, place)
    if kind == BINNED:
        return assign_intervals(problem, work, column, groups)
    if kind == SUBSET:
        return assign_subset(rules, work, groups, place, stats)
    if kind == ONE_VS_REST:
        return assign_one(work, groups, place)
    return assign_each(work, groups)


@lean_inner_kernel
def other_branch(kind: int, heaviest: int) -> int:
    """Where a level goes that does not occur in the node: -1 by the branches' shares or to a branch of its own.

    Of a test whether a value is known, where all known ones go.
    """
    if kind == SUBSET:
        return heaviest
    if is_ordered(kind):
        return 0
    return 1 if kind == ONE_VS_REST else -1


@lean_inner_kernel
def is_multiway(kind: int) -> bool:
    """Whether a test of the kind has a branch for each level."""
    return kind in (MULTIWAY, BINNED)
