"""Which branch each row of a node takes by its test, and what the rows of each branch sum up to."""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.coding import code_at
from learners.trees.criteria import VARIANCE
from learners.trees.missing import known_end
from learners.trees.problem import KNOWN, Grown, Problem, Rules, Work
from learners.trees.searching import stats_of_groups, stats_of_node
from learners.trees.splitters.counting import count_column
from learners.trees.splitters.groups import groups_of
from learners.trees.splitters.kinds import assign_groups, kind_of
from learners.trees.splitters.with_missing import branch_of_missing, last_known
from learners.types import IntArray


@lean_inner_kernel
def mark_branches(problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, column: int) -> int:
    """Fill ``branch`` for every id of the node (-1: missing) by the chosen test; returns the number of branches."""
    branches, _, _ = find_branches(problem, rules, work, grown, node, column)
    if problem.columns[column].is_coded:
        mark_codes(problem, work, grown, node, column)
    return branches


@lean_inner_kernel
def find_branches(
    problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, column: int
) -> tuple[int, int, bool]:
    """Find the branches of the chosen test: of a column with codes by code, else ``branch`` of every id.

    Returns the number of branches and of groups (0 for a column with keys), and whether every row knows its value.
    Where every weight is 1, what the branches sum up to is known afterwards.
    """
    work.branches[0].summed = False
    start = grown.nodes[node].start
    end = start + grown.nodes[node].count
    place = work.columns[column].place
    if not problem.columns[column].is_coded:
        return 2, 0, mark_halves(problem, rules, work, grown, node, problem.keys[column], place)
    if work.filled[0] != column and work.columns[column].counted < 0:
        count_column(problem, rules, work, start, end, column)
    groups, complete = groups_of(problem, rules, work, start, end, column)
    if complete:
        stats_of_node(rules, work, grown, node)
    else:
        stats_of_groups(work, groups)
    kind = kind_of(problem, work, column, groups)
    branches = assign_groups(problem, rules, work, column, kind, groups, place, work.sums[KNOWN])
    if rules.unit:
        sum_branches(rules, work, groups, branches)
    work.code_branch[problem.columns[column].n_codes] = -1
    for g in range(groups):
        work.code_branch[work.groups[g].code] = work.groups[g].branch
    return branches, groups, complete


@lean_inner_kernel
def mark_codes(problem: Problem, work: Work, grown: Grown, node: int, column: int) -> None:
    """Fill ``branch`` for every id of the node by the branches of the codes."""
    start = grown.nodes[node].start
    end = start + grown.nodes[node].count
    is_wide = problem.columns[column].is_wide
    at = problem.columns[column].place
    label_bits = problem.layout.label_bits
    for one in range(np.uint64(start), np.uint64(end)):
        code = code_at(problem.codes, problem.row[one], at, is_wide) >> label_bits
        work.branch[one] = work.code_branch[np.uint64(code)]


@lean_inner_kernel
def mark_halves(
    problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, keys: IntArray, place: int | np.int64
) -> bool:
    """Fill ``branch`` by a threshold on keys; returns whether none is -1."""
    start = grown.nodes[node].start
    end = start + grown.nodes[node].count
    layout = problem.layout
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    stop = known_end(keys, start, end, layout)
    last = last_known(place, start, end)
    absent = branch_of_missing(rules, place, end)
    for i in range(stop, end):
        work.branch[(keys[i] >> layout.label_bits) & id_mask] = absent
    after = np.uint64(last + 1)
    for i in range(np.uint64(start), np.uint64(stop)):
        work.branch[np.uint64((keys[i] >> layout.label_bits) & id_mask)] = 0 if i < after else 1
    if rules.unit:
        open_left(rules, work)
        count_left(problem, rules, work, keys, start, last + 1)
        if absent == 0:
            count_left(problem, rules, work, keys, stop, end)
        count_right(rules, work, grown, node)
    return bool(absent >= 0 or stop == end)


@lean_inner_kernel
def open_left(rules: Rules, work: Work) -> None:
    """Begin to count the rows of the left branch of a threshold on keys, where every weight is 1."""
    work.branches[0].count = 0
    for k in range(rules.n_stats):
        work.branch_stats[0, k] = 0.0


@lean_inner_kernel
def count_left(
    problem: Problem, rules: Rules, work: Work, keys: IntArray, first: int | np.int64, end: int | np.int64
) -> None:
    """Count the entries ``first .. end`` into the left branch; of numbers how many."""
    work.branches[0].count += end - first
    if rules.criterion == VARIANCE:
        return
    mask = (np.int64(1) << problem.layout.label_bits) - 1
    if rules.n_stats == 2:
        positives = np.int64(0)
        for i in range(first, end):
            positives += keys[i] & 1
        work.branch_stats[0, 1] += float(positives)
        work.branch_stats[0, 0] += float(end - first - positives)
    else:
        for i in range(first, end):
            work.branch_stats[0, keys[i] & mask] += 1.0


@lean_inner_kernel
def count_right(rules: Rules, work: Work, grown: Grown, node: int) -> None:
    """What is not on the left is on the right."""
    work.branches[1].count = grown.nodes[node].count - work.branches[0].count
    if rules.criterion != VARIANCE:
        for k in range(rules.n_stats):
            work.branch_stats[1, k] = grown.value[node, k] - work.branch_stats[0, k]


@lean_inner_kernel
def count_branches(problem: Problem, rules: Rules, work: Work, start: int | np.int64, end: int | np.int64) -> None:
    """Count the rows of two branches by what ``branch`` says of each id, and those of each class."""
    by_class = rules.criterion != VARIANCE
    for b in range(2):
        work.branches[b].count = 0
        for k in range(rules.n_stats):
            work.branch_stats[b, k] = 0.0
    for one in range(start, end):
        work.branches[work.branch[one]].count += 1
        if by_class:
            work.branch_stats[work.branch[one], int(problem.answer[problem.row[one]])] += 1.0


@lean_inner_kernel
def sum_branches(rules: Rules, work: Work, groups: int, branches: int) -> None:
    """The same of the branches of groups."""
    for b in range(branches):
        work.branches[b].count = 0
        for k in range(rules.n_stats):
            work.branch_stats[b, k] = 0.0
    for g in range(groups):
        b = work.groups[g].branch
        work.branches[b].count += np.int64(work.groups[g].mass)
        for k in range(rules.n_stats):
            work.branch_stats[b, k] += work.group_stats[g, k]
