"""The kinds of tests on groups: where a new kind is entered.

A kind is a number in :mod:`~learners.trees.problem`, a search and an assignment of groups to branches
in a module of this package, and a line in each of the functions here.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.problem import MULTIWAY, ONE_VS_REST, ORDERED, SUBSET, Problem, Rules, Work
from learners.trees.splitters.levels import (
    assign_each,
    assign_one,
    assign_subset,
    best_one,
    best_subset,
    multiway_gain,
)
from learners.trees.splitters.ordered import assign_cut, best_cut, natural_order
from learners.types import FloatArray


@lean_inner_kernel
def kind_of(problem: Problem, rules: Rules, column: int | np.int64) -> int:
    """The kind of test that a column with codes gets."""
    return rules.nominal if problem.columns[column].n_levels > 0 else ORDERED


@lean_inner_kernel
def best_test(
    problem: Problem, rules: Rules, work: Work, kind: int, groups: int, stats: FloatArray, mass: float, least: float
) -> tuple[int, float]:
    """The best test of a kind on the groups, whose rows ``stats`` sums up: (place or -1, gain sum)."""
    if kind == ORDERED:
        natural_order(work, groups)
        return best_cut(problem, rules, work, groups, stats, mass, least)
    if kind == SUBSET:
        return best_subset(problem, rules, work, groups, stats, mass, least)
    if kind == ONE_VS_REST:
        return best_one(rules, work, groups, stats, mass, least)
    return multiway_gain(rules, work, groups, stats, least)


@lean_inner_kernel
def assign_groups(rules: Rules, work: Work, kind: int, groups: int, place: int | np.int64, stats: FloatArray) -> int:
    """Fill ``branch`` of the groups for the test at ``place``; returns the number of branches."""
    if kind == ORDERED:
        return assign_cut(work, groups, place)
    if kind == SUBSET:
        return assign_subset(rules, work, groups, place, stats)
    if kind == ONE_VS_REST:
        return assign_one(work, groups, place)
    return assign_each(work, groups)


@lean_inner_kernel
def other_branch(kind: int, heaviest: int) -> int:
    """Where a level goes that does not occur in the node: -1 by the branches' shares or to a branch of its own."""
    if kind == SUBSET:
        return heaviest
    return 1 if kind == ONE_VS_REST else -1


@lean_inner_kernel
def is_multiway(kind: int) -> bool:
    """Whether a test of the kind has a branch for each level."""
    return kind == MULTIWAY
