"""Splitting a node: its test is recorded, its children are made and their rows numbered."""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel, lean_kernel
from learners.trees.describing import open_child
from learners.trees.halving import halve_coded_rows, halve_marked_rows
from learners.trees.marking import count_branches, find_branches, mark_codes
from learners.trees.missing import branch_shares, knows_all
from learners.trees.nodes import INTERVALS, LEVELS, THRESHOLD
from learners.trees.partition import number_children
from learners.trees.problem import (
    BINNED,
    MULTIWAY,
    N_LEVELS,
    N_NODES,
    N_STACK,
    NEED_LEVELS,
    NEED_NODES,
    NEED_ROOM,
    NEED_STACK,
    ONE_VS_REST,
    ORDERED_WITH_MISSING,
    TIE,
    TOP,
    WEIGHT,
    Grown,
    Problem,
    Rules,
    Work,
)
from learners.trees.splitters.intervals import end_intervals, has_missing_code
from learners.trees.splitters.kinds import is_missing, is_ordered, kind_of, other_branch
from learners.trees.splitters.midpoint import midpoint
from learners.trees.splitters.ordered import last_below
from learners.trees.splitters.with_missing import branch_of_missing, last_known
from learners.types import IntArray


@lean_inner_kernel
def prepare_split(
    problem: Problem, rules: Rules, work: Work, grown: Grown, counters: IntArray, node: int, column: int
) -> tuple[int, int]:
    """Record the test, add the children and renumber their rows; the keys are still to be moved.

    Returns the number of branches with rows and of rows whose value is missing; branches -1 if more
    space is needed (nothing is changed then).
    """
    start = grown.nodes[node].start
    count = grown.nodes[node].count
    branches, groups, complete = find_branches(problem, rules, work, grown, node, column)
    at_once = complete and branches == 2 and not rules.unit
    by_code = at_once and is_plain(problem, rules, column)
    if problem.columns[column].is_coded and not by_code:
        mark_codes(problem, work, grown, node, column)
    missing = 0
    total = np.int64(count)
    if not at_once:
        missing, total = count_rows(problem, rules, work, start, start + count, branches)
    place = start if total <= count or start + count == counters[TOP] else counters[TOP]
    kind = kind_of(problem, work, column, groups)
    spare = kind == MULTIWAY and groups < problem.columns[column].n_levels
    if not has_room(problem, grown, counters, branches + 1, groups, place, total):
        return -1, 0
    record_test(problem, rules, work, grown, counters, node, column, groups)
    if by_code:
        halve_coded_rows(problem, rules, work, start, start + count, column)
    elif at_once:
        halve_marked_rows(problem, rules, work, start, start + count, False)
    else:
        number_children(problem, rules, work, start, start + count, place, branches, missing)
    add_children(problem, rules, work, grown, counters, node, branches, spare)
    if kind == BINNED:
        end_intervals(problem, work, grown, node, column, groups)
    counters[TOP] = max(counters[TOP], place + total)
    open_children(problem, rules, work, grown, node, branches)
    return branches, missing


@lean_inner_kernel
def is_plain(problem: Problem, rules: Rules, column: int) -> bool:
    """Whether a column has codes in one place each, and a row's mass is its weight."""
    return bool(problem.columns[column].is_coded and not problem.columns[column].is_wide and rules.mass_row == WEIGHT)


@lean_inner_kernel
def count_rows(problem: Problem, rules: Rules, work: Work, start: int, end: int, branches: int) -> tuple[int, np.int64]:
    """Count and weigh the rows of each branch by ``branch``; returns how many miss the value, and all of all branches.

    Where every weight is 1, they have been counted by class.
    """
    missing = 0
    if rules.unit:
        count_as_weights(work, branches, end - start)
    else:
        missing = branch_shares(problem, rules, work, start, end, branches)
    total = np.int64(0)
    for b in range(branches):
        total += work.branches[b].count
    return missing, total


@lean_inner_kernel
def count_as_weights(work: Work, branches: int, count: int | np.int64) -> None:
    """Shares, weights and masses of branches whose rows have been counted by class, where every weight is 1."""
    for b in range(branches):
        rows = float(work.branches[b].count)
        work.branches[b].share = rows / count
        work.branches[b].weight = rows
        work.branches[b].mass = rows
        work.branches[b].summed = True


@lean_inner_kernel
def open_children(problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, branches: int) -> None:
    """Describe the children and note which of them may be split."""
    first = grown.nodes[node].first_child
    for b in range(branches):
        alive = work.branches[b].count > 0 and open_child(problem, rules, work, grown, first + b, b)
        work.branches[b].alive = alive
        grown.nodes[first + b].alive = alive


@lean_kernel
def divide_in_two(problem: Problem, rules: Rules, work: Work, grown: Grown, counters: IntArray, node: int) -> int:
    """Make the two children of a node whose test its caller knows: ``work.branch`` says where each id goes.

    It is a threshold; the caller writes down feature, threshold, gain and missing branch.

    Returns:
        The number of rows whose value is missing (-1 in ``branch``); -1 if more space is needed.
    """
    start = grown.nodes[node].start
    count = grown.nodes[node].count
    work.branches[0].summed = False
    at_once = knows_all(work, start, start + count) and not rules.unit
    missing = 0
    total = np.int64(count)
    if not at_once:
        if rules.unit:
            count_branches(problem, rules, work, start, start + count)
        missing, total = count_rows(problem, rules, work, start, start + count, 2)
    place = start if total <= count or start + count == counters[TOP] else counters[TOP]
    if not has_room(problem, grown, counters, 3, 0, place, total):
        return -1
    grown.nodes[node].test = THRESHOLD
    if at_once:
        halve_marked_rows(problem, rules, work, start, start + count, False)
    else:
        number_children(problem, rules, work, start, start + count, place, 2, missing)
    add_children(problem, rules, work, grown, counters, node, 2, False)
    counters[TOP] = max(counters[TOP], place + total)
    open_children(problem, rules, work, grown, node, 2)
    return int(missing)


@lean_inner_kernel
def has_room(
    problem: Problem, grown: Grown, counters: IntArray, nodes: int, levels: int, place: int, total: int | np.int64
) -> bool:
    """Whether a split fits; if not, the counters tell what is needed."""
    counters[NEED_NODES] = counters[N_NODES] + nodes
    counters[NEED_LEVELS] = counters[N_LEVELS] + levels
    counters[NEED_STACK] = counters[N_STACK] + nodes
    counters[NEED_ROOM] = place + total
    return bool(
        counters[NEED_NODES] <= grown.nodes.shape[0]
        and counters[NEED_LEVELS] <= grown.levels.shape[0]
        and counters[NEED_STACK] <= grown.stack.shape[0]
        and counters[NEED_ROOM] <= problem.row.shape[0]
    )


@lean_inner_kernel
def record_test(
    problem: Problem, rules: Rules, work: Work, grown: Grown, counters: IntArray, node: int, column: int, groups: int
) -> None:
    """Write the chosen test into the node."""
    grown.nodes[node].feature = column
    grown.nodes[node].gain = max(work.columns[column].gain, 0.0)
    kind = kind_of(problem, work, column, groups)
    if kind == BINNED:
        grown.nodes[node].test = INTERVALS
        return
    position = counters[N_LEVELS]
    if is_ordered(kind):
        threshold = threshold_at(problem, work, grown, node, column, groups)
        if kind == ORDERED_WITH_MISSING:
            grown.nodes[node].missing_branch = work.groups[groups - 1].branch
        elif not problem.columns[column].is_coded:
            grown.nodes[node].missing_branch = missing_branch_at(problem, rules, work, grown, node, column)
        if not math.isnan(threshold):
            grown.nodes[node].test = THRESHOLD
            grown.nodes[node].threshold = threshold
            return
        groups = 0  # whether the value is known: no code is listed
    grown.nodes[node].test = LEVELS
    grown.nodes[node].level_start = position
    first_value = problem.columns[column].first_value
    for g in range(groups):
        if is_missing(problem, work, column, g):
            grown.nodes[node].missing_branch = work.groups[g].branch
            continue
        if rules.nominal == ONE_VS_REST and work.groups[g].branch != 0:
            continue
        grown.levels[position].code = np.int32(problem.values[first_value + work.groups[g].code])
        grown.levels[position].branch = work.groups[g].branch
        position += 1
    grown.nodes[node].level_count = position - counters[N_LEVELS]
    counters[N_LEVELS] = position


@lean_inner_kernel
def missing_branch_at(problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, column: int) -> int:
    """The branch of the rows that miss the value of a column with keys; -1 if there are none or missing is no value."""
    end = grown.nodes[node].start + grown.nodes[node].count
    if (problem.keys[column, end - 1] >> problem.layout.rank_shift) != problem.layout.missing_rank:
        return -1
    return branch_of_missing(rules, work.columns[column].place, end)


@lean_inner_kernel
def threshold_at(problem: Problem, work: Work, grown: Grown, node: int, column: int, groups: int) -> float:
    """The threshold between the two values at the column's place; NaN if the second one is missing."""
    place = work.columns[column].place
    if problem.columns[column].is_coded:
        place = last_below(groups, place)
        if is_missing(problem, work, column, place + 1):
            return math.nan
        first = problem.columns[column].first_value
        lower = problem.values[first + work.groups[place].code]
        return midpoint(lower, problem.values[first + work.groups[place + 1].code])
    start = grown.nodes[node].start
    place = last_known(place, start, start + grown.nodes[node].count)
    keys = problem.keys[column]
    layout = problem.layout
    if (keys[place + 1] >> layout.rank_shift) == layout.missing_rank:
        return math.nan
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    lower = problem.cells[column, problem.row[(keys[place] >> layout.label_bits) & id_mask]]
    upper = problem.cells[column, problem.row[(keys[place + 1] >> layout.label_bits) & id_mask]]
    return midpoint(lower, upper)


@lean_inner_kernel
def add_children(
    problem: Problem,
    rules: Rules,
    work: Work,
    grown: Grown,
    counters: IntArray,
    node: int,
    branches: int,
    spare: bool,
) -> None:
    """Append the children; ``spare`` adds the weightless one for levels that did not occur."""
    first = counters[N_NODES]
    children = branches + (1 if spare else 0)
    grown.nodes[node].first_child = first
    grown.nodes[node].n_children = children
    heaviest = 0
    for b in range(children):
        child = first + b
        grown.nodes[child] = work.empty[0]
        grown.nodes[child].parent = node
        grown.nodes[child].depth = grown.nodes[node].depth + 1
        grown.nodes[child].fraction = work.branches[b].share if b < branches else 0.0
        grown.nodes[child].start = work.branches[b].first if b < branches else 0
        grown.nodes[child].count = work.branches[b].count if b < branches else 0
        if b < branches and work.branches[b].share > work.branches[heaviest].share * (1.0 + TIE):
            heaviest = b
        if grown.nodes[child].count == 0:
            for k in range(rules.n_values):
                grown.value[child, k] = grown.value[node, k]
            grown.nodes[child].impurity = grown.nodes[node].impurity
    column = grown.nodes[node].feature
    if spare:
        grown.nodes[node].other_branch = branches
        if grown.nodes[node].missing_branch < 0 and has_missing_code(problem, column):
            grown.nodes[node].missing_branch = branches
    elif grown.nodes[node].test == LEVELS:
        grown.nodes[node].other_branch = other_branch(problem.columns[column].kind, heaviest)
    counters[N_NODES] += children
