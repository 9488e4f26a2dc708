"""The growing kernels: describe a node, find its best test, split it; over and over, without recursion.

``grow`` works depth first on a stack. The node on top of the stack always owns the last segment of
the arena, so children can take its place and what they need beyond it. It returns when its budget
of moved keys is spent, so that its caller can report progress, and when it needs more space.
The same kernels, one node at a time, serve best-first growth and growth on several threads.
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel, lean_kernel
from learners.trees.criteria import VARIANCE, impurity_sum, total_weight, weighted_log
from learners.trees.missing import branch_shares, known_end, known_stats
from learners.trees.nodes import LEAF, LEVELS, THRESHOLD
from learners.trees.partition import move_column, number_children
from learners.trees.problem import (
    CENTRED,
    DONE,
    KNOWN,
    MASS,
    MULTIWAY,
    N_LEVELS,
    N_NODES,
    N_STACK,
    NEED_LEVELS,
    NEED_NODES,
    NEED_ROOM,
    NEED_STACK,
    NEEDS_SPACE,
    ONE_VS_REST,
    PAUSED,
    SUBSET,
    TIE,
    TOP,
    WEIGHT,
    Grown,
    Problem,
    Rules,
    Work,
)
from learners.trees.splitters.levels import (
    assign_groups,
    best_one,
    best_subset,
    group_levels,
    multiway_gain,
    order_groups,
)
from learners.trees.splitters.midpoint import midpoint
from learners.trees.splitters.threshold import (
    count_thresholds,
    scan_binary_counts,
    scan_class_counts,
    scan_class_weights,
    scan_moments,
)
from learners.types import BoolArray, IntArray

#: C4.5's slack when it asks whether a gain reaches the average gain.
_AVERAGE_SLACK = 1e-3
_MOST_MINIMUM = 25.0


@lean_inner_kernel
def describe(problem: Problem, rules: Rules, grown: Grown, node: int) -> bool:
    """Fill a node's weight, mass, value and impurity; returns whether it is pure.

    For regression, also centre the targets of its rows on its mean.
    """
    start = grown.nodes[node].start
    end = start + grown.nodes[node].count
    weight = 0.0
    mass = 0.0
    value = grown.value[node]
    for k in range(rules.n_values):
        value[k] = 0.0
    if rules.criterion == VARIANCE:
        return describe_numbers(problem, rules, grown, node)
    for one in range(start, end):
        own = 1.0 if rules.unit else problem.numbers[WEIGHT, one]
        value[int(problem.answer[problem.row[one]])] += own
        weight += own
        mass += 1.0 if rules.unit else problem.numbers[MASS, one]
    grown.nodes[node].weight = weight
    grown.nodes[node].mass = mass
    grown.nodes[node].impurity = impurity_sum(value, rules.criterion) / weight
    classes = 0
    for k in range(rules.n_values):
        if value[k] > 0.0:
            classes += 1
    return classes < 2


@lean_inner_kernel
def describe_numbers(problem: Problem, rules: Rules, grown: Grown, node: int) -> bool:
    """The part of :func:`describe` for regression: mean and variance in two passes."""
    start = grown.nodes[node].start
    end = start + grown.nodes[node].count
    weight = 0.0
    mass = 0.0
    total = 0.0
    least = math.inf
    most = -math.inf
    for one in range(start, end):
        own = 1.0 if rules.unit else problem.numbers[WEIGHT, one]
        answer = problem.answer[problem.row[one]]
        weight += own
        mass += 1.0 if rules.unit else problem.numbers[MASS, one]
        total += own * answer
        least = min(least, answer)
        most = max(most, answer)
    mean = min(max(total / weight, least), most)
    squares = 0.0
    for one in range(start, end):
        own = 1.0 if rules.unit else problem.numbers[WEIGHT, one]
        gap = problem.answer[problem.row[one]] - mean
        problem.numbers[CENTRED, one] = gap
        squares += own * gap * gap
    grown.nodes[node].weight = weight
    grown.nodes[node].mass = mass
    grown.value[node, 0] = mean
    grown.value[node, 1] = squares / weight
    grown.nodes[node].impurity = squares / weight
    return least == most


@lean_inner_kernel
def open_node(problem: Problem, rules: Rules, grown: Grown, node: int) -> bool:
    """Describe a node; returns whether a test may be looked for."""
    pure = describe(problem, rules, grown, node)
    if pure or grown.nodes[node].mass < rules.min_split or grown.nodes[node].mass < 2.0 * rules.min_leaf:
        return False
    return rules.max_depth < 0 or grown.nodes[node].depth < rules.max_depth


@lean_inner_kernel
def any_alive(work: Work, branches: int) -> bool:
    """Whether a child may be split further."""
    alive = False
    for b in range(branches):
        alive |= work.branches[b].alive
    return alive


@lean_inner_kernel
def threshold_least(rules: Rules, known_mass: float) -> float:
    """Least mass on each side of a threshold; C4.5 asks a tenth of the mean class size, 25 at most."""
    if not rules.quinlan_minimum:
        return rules.min_leaf
    tenth = 0.1 * known_mass / rules.n_values
    return max(min(tenth, _MOST_MINIMUM), rules.min_leaf)


@lean_inner_kernel
def evaluate_columns(
    problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, active: BoolArray, first: int, last: int
) -> None:
    """Find the best test on each active column from ``first`` to ``last``: ``gain``, ``score``, ``place``.

    Columns without any test in this node are made inactive: no descendant can have one either. A test
    that gains all there is ends the search: no later column can be better, and an equal one would not win.
    """
    start = grown.nodes[node].start
    end = start + grown.nodes[node].count
    weight = grown.nodes[node].weight
    enough = math.inf if rules.by_ratio else grown.nodes[node].impurity * (1.0 - TIE)
    for column in range(first, last):
        work.columns[column].place = -1
        if not active[column] or enough < 0.0:
            continue
        keys = problem.keys[column]
        stop = known_end(keys, start, end, problem.layout)
        if stop - start < 2 or (keys[start] >> problem.layout.rank_shift) == (
            keys[stop - 1] >> problem.layout.rank_shift
        ):
            active[column] = False
            continue
        stats = work.sums[KNOWN]
        if stop == end and rules.criterion != VARIANCE:
            mass = grown.nodes[node].mass
            for k in range(rules.n_values):
                stats[k] = grown.value[node, k]
        elif stop == end:
            mass = grown.nodes[node].mass
            stats[0] = weight
            stats[1] = 0.0
            stats[2] = grown.nodes[node].impurity * weight
        else:
            mass = known_stats(problem, rules, keys, start, stop, stats)
        if problem.columns[column].n_levels > 0:
            place, gain, ratio = evaluate_levels(problem, rules, work, column, start, stop, mass, weight)
        else:
            place, gain, ratio = evaluate_threshold(problem, rules, work, column, start, stop, mass, weight)
        if place < 0 or gain < rules.min_gain:
            continue
        work.columns[column].place = place
        work.columns[column].gain = gain
        work.columns[column].score = ratio if rules.by_ratio else gain
        if gain >= enough:
            enough = -1.0


@lean_inner_kernel
def evaluate_threshold(
    problem: Problem, rules: Rules, work: Work, column: int, start: int, stop: int, mass: float, weight: float
) -> tuple[int, float, float]:
    """The best threshold of one column: (place or -1, gain, gain ratio)."""
    keys = problem.keys[column]
    stats = work.sums[KNOWN]
    least = threshold_least(rules, mass)
    rows = math.ceil(least)
    if rules.unit and rules.binary:
        place, gain_sum = scan_binary_counts(keys, start, stop, problem.layout, np.int64(stats[1]), rows)
    elif rules.binary or rules.criterion == VARIANCE:
        place, gain_sum = scan_moments(problem, rules, work, keys, start, stop, mass, least)
    elif rules.unit:
        place, gain_sum = scan_class_counts(problem, rules, work, keys, start, stop, rows)
    else:
        place, gain_sum = scan_class_weights(problem, rules, work, keys, start, stop, mass, least)
    if place < 0:
        return -1, 0.0, 0.0
    gain = gain_sum / weight
    if rules.penalty:
        gain -= math.log2(count_thresholds(problem, rules, keys, start, stop, mass, least)) / weight
        if gain <= 0.0:
            return -1, 0.0, 0.0
    if not rules.by_ratio:
        return place, gain, 0.0
    id_mask = (np.int64(1) << (problem.layout.rank_shift - problem.layout.label_bits)) - 1
    left = 0.0
    for i in range(start, place + 1):
        left += 1.0 if rules.unit else problem.numbers[WEIGHT, (keys[i] >> problem.layout.label_bits) & id_mask]
    known = total_weight(stats, rules.criterion)
    parts = weighted_log(left) + weighted_log(known - left) + weighted_log(weight - known)
    return place, gain, ratio_of(gain, weight, parts)


@lean_inner_kernel
def ratio_of(gain: float, weight: float, parts: float) -> float:
    """Gain ratio; ``parts`` is the sum of w log2 w over branches and missing. 0 where it is undefined."""
    information = (weighted_log(weight) - parts) / weight
    if information <= 0.0:
        return 0.0
    return gain / information


@lean_inner_kernel
def evaluate_levels(
    problem: Problem, rules: Rules, work: Work, column: int, start: int, stop: int, mass: float, weight: float
) -> tuple[int, float, float]:
    """The best test on the levels of one column: (place or -1, gain, gain ratio)."""
    stats = work.sums[KNOWN]
    groups = group_levels(problem, rules, work, problem.keys[column], start, stop, column)
    if rules.nominal == MULTIWAY:
        place, gain_sum = multiway_gain(rules, work, groups, stats, rules.min_leaf)
    elif rules.nominal == ONE_VS_REST:
        place, gain_sum = best_one(rules, work, groups, stats, mass, rules.min_leaf)
    else:
        place, gain_sum = best_subset(rules, work, groups, stats, mass, rules.min_leaf)
    if place < 0:
        return -1, 0.0, 0.0
    gain = gain_sum / weight
    if not rules.by_ratio:
        return place, gain, 0.0
    branches = assign_groups(rules, work, groups, place)
    known = total_weight(stats, rules.criterion)
    parts = weighted_log(weight - known)
    first = 0.0
    for g in range(groups):
        group_weight = total_weight(work.group_stats[g], rules.criterion)
        if rules.nominal == MULTIWAY:
            parts += weighted_log(group_weight)
        elif work.groups[g].branch == 0:
            first += group_weight
    if branches == 2 and rules.nominal != MULTIWAY:
        parts += weighted_log(first) + weighted_log(known - first)
    return place, gain, ratio_of(gain, weight, parts)


@lean_inner_kernel
def choose(problem: Problem, rules: Rules, work: Work, impurity: float) -> int:
    """The column of the best test, -1 if there is none; of equal ones the lowest column.

    By gain ratio, only tests of at least average gain stand for election; columns with very many
    levels do not count in the average unless there are no others (C4.5).
    """
    columns = work.columns.shape[0]
    average = -math.inf
    if rules.by_ratio:
        average = average_gain(problem, work) - _AVERAGE_SLACK
    best = -1
    for column in range(columns):
        if work.columns[column].place < 0 or work.columns[column].gain < average:
            continue
        if best < 0 or work.columns[column].score > work.columns[best].score + TIE * (
            1.0 if rules.by_ratio else impurity
        ):
            best = column
    return best


@lean_inner_kernel
def average_gain(problem: Problem, work: Work) -> float:
    """Mean gain of the tests that count."""
    total = 0.0
    count = 0
    total_all = 0.0
    count_all = 0
    for column in range(work.columns.shape[0]):
        if work.columns[column].place >= 0:
            total_all += work.columns[column].gain
            count_all += 1
            if not problem.columns[column].many_valued:
                total += work.columns[column].gain
                count += 1
    if count > 0:
        return total / count
    return total_all / max(count_all, 1)


@lean_inner_kernel
def mark_branches(problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, column: int) -> tuple[int, int]:
    """Fill ``branch`` for every id of the node (-1: missing) by the chosen test.

    Returns the number of branches and of levels that occur (0 for a threshold).
    """
    start = grown.nodes[node].start
    end = start + grown.nodes[node].count
    keys = problem.keys[column]
    layout = problem.layout
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    stop = known_end(keys, start, end, layout)
    for i in range(stop, end):
        work.branch[(keys[i] >> layout.label_bits) & id_mask] = -1
    if problem.columns[column].n_levels == 0:
        place = work.columns[column].place
        for i in range(start, stop):
            work.branch[(keys[i] >> layout.label_bits) & id_mask] = 0 if i <= place else 1
        return 2, 0
    groups = group_levels(problem, rules, work, keys, start, stop, column)
    if rules.nominal == SUBSET:
        stats = work.sums[KNOWN]
        known_stats(problem, rules, keys, start, stop, stats)
        order_groups(rules, work, groups, stats)
    branches = assign_groups(rules, work, groups, work.columns[column].place)
    for g in range(groups):
        for i in range(work.groups[g].start, work.groups[g + 1].start):
            work.branch[(keys[i] >> layout.label_bits) & id_mask] = work.groups[g].branch
    return branches, groups


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
        and counters[NEED_ROOM] <= problem.keys.shape[1]
    )


@lean_inner_kernel
def record_test(
    problem: Problem, rules: Rules, work: Work, grown: Grown, counters: IntArray, node: int, column: int, groups: int
) -> None:
    """Write the chosen test into the node."""
    grown.nodes[node].feature = column
    grown.nodes[node].gain = max(work.columns[column].gain, 0.0)
    if problem.columns[column].n_levels == 0:
        keys = problem.keys[column]
        layout = problem.layout
        id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
        place = work.columns[column].place
        lower = problem.cells[column, problem.row[(keys[place] >> layout.label_bits) & id_mask]]
        upper = problem.cells[column, problem.row[(keys[place + 1] >> layout.label_bits) & id_mask]]
        grown.nodes[node].test = THRESHOLD
        grown.nodes[node].threshold = midpoint(lower, upper)
        return
    grown.nodes[node].test = LEVELS
    position = counters[N_LEVELS]
    grown.nodes[node].level_start = position
    for g in range(groups):
        if rules.nominal == ONE_VS_REST and work.groups[g].branch != 0:
            continue
        grown.levels[position].code = work.groups[g].code
        grown.levels[position].branch = work.groups[g].branch
        position += 1
    grown.nodes[node].level_count = position - counters[N_LEVELS]
    counters[N_LEVELS] = position


@lean_inner_kernel
def add_children(
    rules: Rules, work: Work, grown: Grown, counters: IntArray, node: int, branches: int, spare: bool
) -> None:
    """Append the children; ``spare`` adds the weightless one for levels that did not occur."""
    first = counters[N_NODES]
    children = branches + (1 if spare else 0)
    grown.nodes[node].first_child = first
    grown.nodes[node].n_children = children
    heaviest = 0
    for b in range(children):
        child = first + b
        grown.nodes[child].test = LEAF
        grown.nodes[child].parent = node
        grown.nodes[child].depth = grown.nodes[node].depth + 1
        grown.nodes[child].fraction = work.branches[b].share if b < branches else 0.0
        grown.nodes[child].start = work.branches[b].first if b < branches else 0
        grown.nodes[child].count = work.branches[b].count if b < branches else 0
        if b < branches and work.branches[b].share > work.branches[heaviest].share * (1.0 + TIE):
            heaviest = b
    if spare:
        for k in range(rules.n_values):
            grown.value[first + branches, k] = grown.value[node, k]
        grown.nodes[first + branches].impurity = grown.nodes[node].impurity
        grown.nodes[node].other_branch = branches
    elif grown.nodes[node].test == LEVELS and rules.nominal == ONE_VS_REST:
        grown.nodes[node].other_branch = 1
    elif grown.nodes[node].test == LEVELS and rules.nominal != MULTIWAY:
        grown.nodes[node].other_branch = heaviest
    counters[N_NODES] += children


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
    branches, groups = mark_branches(problem, rules, work, grown, node, column)
    missing = branch_shares(problem, rules, work, start, start + count, branches)
    total = np.int64(0)
    for b in range(branches):
        total += work.branches[b].count
    place = start if total <= count or start + count == counters[TOP] else counters[TOP]
    spare = (
        problem.columns[column].n_levels > 0 and rules.nominal == MULTIWAY and groups < problem.columns[column].n_levels
    )
    if not has_room(problem, grown, counters, branches + 1, groups, place, total):
        return -1, 0
    record_test(problem, rules, work, grown, counters, node, column, groups)
    number_children(problem, rules, work, start, start + count, place, branches, missing)
    add_children(rules, work, grown, counters, node, branches, spare)
    counters[TOP] = max(counters[TOP], place + total)
    first = grown.nodes[node].first_child
    for b in range(branches):
        alive = work.branches[b].count > 0 and open_node(problem, rules, grown, first + b)
        work.branches[b].alive = alive
        grown.nodes[first + b].alive = alive
    return branches, missing


@lean_inner_kernel
def push_children(grown: Grown, counters: IntArray, node: int, slot: int) -> None:
    """Put the children that may be split on the stack, from place ``slot`` on, with their parent's columns."""
    first = grown.nodes[node].first_child
    top = slot
    for child in range(first, first + grown.nodes[node].n_children):
        if grown.nodes[child].alive:
            grown.stack[top] = child
            if top > slot:
                for column in range(grown.active.shape[1]):
                    grown.active[top, column] = grown.active[slot, column]
            top += 1
    counters[N_STACK] = top


@lean_kernel
def grow(problem: Problem, rules: Rules, work: Work, grown: Grown, counters: IntArray, budget: int) -> int:
    """Grow depth first until the stack is empty (``DONE``), the budget spent or space is needed."""
    columns = problem.keys.shape[0]
    spent = 0
    if counters[N_NODES] == 1 and not open_node(problem, rules, grown, 0):
        counters[N_STACK] = 0
    while counters[N_STACK] > 0:
        if spent > budget:
            return PAUSED
        slot = counters[N_STACK] - 1
        node = grown.stack[slot]
        start = grown.nodes[node].start
        end = start + grown.nodes[node].count
        counters[TOP] = end
        active = grown.active[slot]
        spent += (end - start) * columns
        evaluate_columns(problem, rules, work, grown, node, active, 0, columns)
        column = choose(problem, rules, work, grown.nodes[node].impurity)
        if column < 0:
            counters[N_STACK] = slot
            continue
        branches, missing = prepare_split(problem, rules, work, grown, counters, node, column)
        if branches < 0:
            return NEEDS_SPACE
        for other in range(columns if any_alive(work, branches) else 0):
            if active[other]:
                move_column(problem, work, other, start, end, branches, missing)
        push_children(grown, counters, node, slot)
    return DONE
