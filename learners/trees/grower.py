"""The growing kernels: describe a node, find its best test, split it; over and over, without recursion.

``grow`` works depth first on a stack. The node on top of the stack always owns the last segment of
the arena, so children can take its place and what they need beyond it. It returns when its budget
of moved keys is spent, so that its caller can report progress, and when it needs more space.
The same kernels, one node at a time, serve best-first growth and growth on several threads.
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import kernel
from learners.trees.criteria import VARIANCE, impurity_sum, total_weight, weighted_log
from learners.trees.missing import branch_shares, known_end, known_stats
from learners.trees.nodes import LEAF, LEVELS, THRESHOLD
from learners.trees.partition import move_column, number_children
from learners.trees.problem import (
    DONE,
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
    TIE,
    TOP,
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
    differ,
    scan_binary_counts,
    scan_class_counts,
    scan_class_weights,
    scan_moments,
)
from learners.types import BoolArray, FloatArray, IntArray

#: C4.5's slack when it asks whether a gain reaches the average gain.
_AVERAGE_SLACK = 1e-3
_MOST_MINIMUM = 25.0


@kernel
def describe(problem: Problem, rules: Rules, grown: Grown, node: int) -> bool:
    """Fill a node's weight, mass, value and impurity; returns whether it is pure.

    For regression, also centre the targets of its rows on its mean.
    """
    start = grown.start[node]
    end = start + grown.count[node]
    weight = 0.0
    mass = 0.0
    value = grown.value[node]
    for k in range(rules.n_values):
        value[k] = 0.0
    if rules.criterion == VARIANCE:
        return describe_numbers(problem, rules, grown, node)
    for one in range(start, end):
        own = 1.0 if rules.unit else problem.weight[one]
        value[problem.labels[problem.row[one]]] += own
        weight += own
        mass += 1.0 if rules.unit else problem.mass[one]
    grown.weight[node] = weight
    grown.mass[node] = mass
    grown.impurity[node] = impurity_sum(value, rules.criterion) / weight
    classes = 0
    for k in range(rules.n_values):
        if value[k] > 0.0:
            classes += 1
    return classes < 2


@kernel
def describe_numbers(problem: Problem, rules: Rules, grown: Grown, node: int) -> bool:
    """The part of :func:`describe` for regression: mean and variance in two passes."""
    start = grown.start[node]
    end = start + grown.count[node]
    weight = 0.0
    mass = 0.0
    total = 0.0
    least = math.inf
    most = -math.inf
    for one in range(start, end):
        own = 1.0 if rules.unit else problem.weight[one]
        answer = problem.answer[problem.row[one]]
        weight += own
        mass += 1.0 if rules.unit else problem.mass[one]
        total += own * answer
        least = min(least, answer)
        most = max(most, answer)
    mean = min(max(total / weight, least), most)
    squares = 0.0
    for one in range(start, end):
        own = 1.0 if rules.unit else problem.weight[one]
        gap = problem.answer[problem.row[one]] - mean
        problem.centred[one] = gap
        squares += own * gap * gap
    grown.weight[node] = weight
    grown.mass[node] = mass
    grown.value[node, 0] = mean
    grown.value[node, 1] = squares / weight
    grown.impurity[node] = squares / weight
    return least == most


@kernel
def may_split(rules: Rules, grown: Grown, node: int, pure: bool) -> bool:
    """Whether the stop rules let a test be looked for."""
    if pure or grown.mass[node] < rules.min_split or grown.mass[node] < 2.0 * rules.min_leaf:
        return False
    return rules.max_depth < 0 or grown.depth[node] < rules.max_depth


@kernel
def threshold_least(rules: Rules, known_mass: float) -> float:
    """Least mass on each side of a threshold; C4.5 asks a tenth of the mean class size, 25 at most."""
    if not rules.quinlan_minimum:
        return rules.min_leaf
    tenth = 0.1 * known_mass / rules.n_values
    return max(min(tenth, _MOST_MINIMUM), rules.min_leaf)


@kernel
def evaluate_columns(
    problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, active: BoolArray, first: int, last: int
) -> None:
    """Find the best test on each active column from ``first`` to ``last``: ``gain``, ``score``, ``place``.

    Columns without any test in this node are made inactive: no descendant can have one either.
    """
    start = grown.start[node]
    end = start + grown.count[node]
    weight = grown.weight[node]
    for column in range(first, last):
        work.place[column] = -1
        if not active[column]:
            continue
        keys = problem.keys[column]
        stop = known_end(keys, start, end, problem.layout)
        if stop - start < 2 or (keys[start] >> problem.layout.rank_shift) == (
            keys[stop - 1] >> problem.layout.rank_shift
        ):
            active[column] = False
            continue
        stats = work.known
        if stop == end and rules.criterion != VARIANCE:
            mass = grown.mass[node]
            for k in range(rules.n_values):
                stats[k] = grown.value[node, k]
        elif stop == end:
            mass = grown.mass[node]
            stats[0] = weight
            stats[1] = 0.0
            stats[2] = grown.impurity[node] * weight
        else:
            mass = known_stats(problem, rules, keys, start, stop, stats)
        if problem.n_levels[column] > 0:
            place, gain, ratio = evaluate_levels(problem, rules, work, column, start, stop, stats, mass, weight)
        else:
            place, gain, ratio = evaluate_threshold(problem, rules, work, column, start, stop, stats, mass, weight)
        if place < 0 or gain < rules.min_gain:
            continue
        work.place[column] = place
        work.gain[column] = gain
        work.score[column] = ratio if rules.by_ratio else gain


@kernel
def evaluate_threshold(
    problem: Problem,
    rules: Rules,
    work: Work,
    column: int,
    start: int,
    stop: int,
    stats: FloatArray,
    mass: float,
    weight: float,
) -> tuple[int, float, float]:
    """The best threshold of one column: (place or -1, gain, gain ratio)."""
    keys = problem.keys[column]
    least = threshold_least(rules, mass)
    if rules.unit and rules.binary:
        place, gain_sum = scan_binary_counts(
            keys, start, stop, problem.layout, int(stats[1]), int(math.ceil(least))
        )
    elif rules.binary or rules.criterion == VARIANCE:
        total = total_weight(stats, rules.criterion)
        squares = stats[2] if rules.criterion == VARIANCE else stats[1]
        place, gain_sum = scan_moments(
            problem, rules, keys, start, stop, total, stats[1], squares, mass, least
        )
    elif rules.unit:
        place, gain_sum = scan_class_counts(
            problem, rules, work, keys, start, stop, stats, int(math.ceil(least))
        )
    else:
        place, gain_sum = scan_class_weights(problem, rules, work, keys, start, stop, stats, mass, least)
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
        left += 1.0 if rules.unit else problem.weight[(keys[i] >> problem.layout.label_bits) & id_mask]
    known = total_weight(stats, rules.criterion)
    parts = weighted_log(left) + weighted_log(known - left) + weighted_log(weight - known)
    return place, gain, ratio_of(gain, weight, parts)


@kernel
def ratio_of(gain: float, weight: float, parts: float) -> float:
    """Gain ratio; ``parts`` is the sum of w log2 w over branches and missing. 0 where it is undefined."""
    information = (weighted_log(weight) - parts) / weight
    if information <= 0.0:
        return 0.0
    return gain / information


@kernel
def evaluate_levels(
    problem: Problem,
    rules: Rules,
    work: Work,
    column: int,
    start: int,
    stop: int,
    stats: FloatArray,
    mass: float,
    weight: float,
) -> tuple[int, float, float]:
    """The best test on the levels of one column: (place or -1, gain, gain ratio)."""
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
        elif work.group_branch[g] == 0:
            first += group_weight
    if branches == 2 and rules.nominal != MULTIWAY:
        parts += weighted_log(first) + weighted_log(known - first)
    return place, gain, ratio_of(gain, weight, parts)


@kernel
def choose(problem: Problem, rules: Rules, work: Work, impurity: float) -> int:
    """The column of the best test, -1 if there is none; of equal ones the lowest column.

    By gain ratio, only tests of at least average gain stand for election; columns with very many
    levels do not count in the average unless there are no others (C4.5).
    """
    columns = work.place.shape[0]
    average = -math.inf
    if rules.by_ratio:
        average = average_gain(problem, work) - _AVERAGE_SLACK
    best = -1
    for column in range(columns):
        if work.place[column] < 0 or work.gain[column] < average:
            continue
        if best < 0 or work.score[column] > work.score[best] + TIE * (1.0 if rules.by_ratio else impurity):
            best = column
    return best


@kernel
def average_gain(problem: Problem, work: Work) -> float:
    """Mean gain of the tests that count."""
    total = 0.0
    count = 0
    total_all = 0.0
    count_all = 0
    for column in range(work.place.shape[0]):
        if work.place[column] >= 0:
            total_all += work.gain[column]
            count_all += 1
            if not problem.many_valued[column]:
                total += work.gain[column]
                count += 1
    if count > 0:
        return total / count
    return total_all / max(count_all, 1)


@kernel
def mark_branches(problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, column: int) -> tuple[int, int]:
    """Fill ``branch`` for every id of the node (-1: missing) by the chosen test.

    Returns the number of branches and of levels that occur (0 for a threshold).
    """
    start = grown.start[node]
    end = start + grown.count[node]
    keys = problem.keys[column]
    layout = problem.layout
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    stop = known_end(keys, start, end, layout)
    for i in range(stop, end):
        work.branch[(keys[i] >> layout.label_bits) & id_mask] = -1
    if problem.n_levels[column] == 0:
        place = work.place[column]
        for i in range(start, stop):
            work.branch[(keys[i] >> layout.label_bits) & id_mask] = 0 if i <= place else 1
        return 2, 0
    groups = group_levels(problem, rules, work, keys, start, stop, column)
    if rules.nominal != MULTIWAY and rules.nominal != ONE_VS_REST:
        known_stats(problem, rules, keys, start, stop, work.known)
        order_groups(rules, work, groups, work.known)
    branches = assign_groups(rules, work, groups, work.place[column])
    for g in range(groups):
        for i in range(work.group_start[g], work.group_start[g + 1]):
            work.branch[(keys[i] >> layout.label_bits) & id_mask] = work.group_branch[g]
    return branches, groups


@kernel
def has_room(problem: Problem, grown: Grown, counters: IntArray, nodes: int, levels: int, place: int, total: int) -> bool:
    """Whether a split fits; if not, the counters tell what is needed."""
    counters[NEED_NODES] = counters[N_NODES] + nodes
    counters[NEED_LEVELS] = counters[N_LEVELS] + levels
    counters[NEED_STACK] = counters[N_STACK] + nodes
    counters[NEED_ROOM] = place + total
    return (
        counters[NEED_NODES] <= grown.test.shape[0]
        and counters[NEED_LEVELS] <= grown.level_codes.shape[0]
        and counters[NEED_STACK] <= grown.stack.shape[0]
        and counters[NEED_ROOM] <= problem.keys.shape[1]
    )


@kernel
def record_test(
    problem: Problem, rules: Rules, work: Work, grown: Grown, counters: IntArray, node: int, column: int, groups: int
) -> None:
    """Write the chosen test into the node."""
    grown.feature[node] = column
    grown.gain[node] = max(work.gain[column], 0.0)
    if problem.n_levels[column] == 0:
        keys = problem.keys[column]
        layout = problem.layout
        id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
        place = work.place[column]
        lower = problem.cells[column, problem.row[(keys[place] >> layout.label_bits) & id_mask]]
        upper = problem.cells[column, problem.row[(keys[place + 1] >> layout.label_bits) & id_mask]]
        grown.test[node] = THRESHOLD
        grown.threshold[node] = midpoint(lower, upper)
        return
    grown.test[node] = LEVELS
    position = counters[N_LEVELS]
    grown.level_start[node] = position
    for g in range(groups):
        if rules.nominal == ONE_VS_REST and work.group_branch[g] != 0:
            continue
        grown.level_codes[position] = work.group_code[g]
        grown.level_branch[position] = work.group_branch[g]
        position += 1
    grown.level_count[node] = position - counters[N_LEVELS]
    counters[N_LEVELS] = position


@kernel
def add_children(
    rules: Rules, work: Work, grown: Grown, counters: IntArray, node: int, branches: int, spare: bool
) -> None:
    """Append the children; ``spare`` adds the weightless one for levels that did not occur."""
    first = counters[N_NODES]
    children = branches + (1 if spare else 0)
    grown.first_child[node] = first
    grown.n_children[node] = children
    heaviest = 0
    for b in range(children):
        child = first + b
        grown.test[child] = LEAF
        grown.parent[child] = node
        grown.depth[child] = grown.depth[node] + 1
        grown.fraction[child] = work.share[b] if b < branches else 0.0
        grown.start[child] = work.base[b] if b < branches else 0
        grown.count[child] = work.size[b] if b < branches else 0
        if b < branches and work.share[b] > work.share[heaviest] * (1.0 + TIE):
            heaviest = b
    if spare:
        for k in range(rules.n_values):
            grown.value[first + branches, k] = grown.value[node, k]
        grown.impurity[first + branches] = grown.impurity[node]
        grown.other_branch[node] = branches
    elif grown.test[node] == LEVELS and rules.nominal == ONE_VS_REST:
        grown.other_branch[node] = 1
    elif grown.test[node] == LEVELS and rules.nominal != MULTIWAY:
        grown.other_branch[node] = heaviest
    counters[N_NODES] += children


@kernel
def prepare_split(
    problem: Problem, rules: Rules, work: Work, grown: Grown, counters: IntArray, node: int, column: int
) -> tuple[int, int]:
    """Record the test, add the children and renumber their rows; the keys are still to be moved.

    Returns the number of branches with rows and of rows whose value is missing; branches -1 if more
    space is needed (nothing is changed then).
    """
    start = grown.start[node]
    count = grown.count[node]
    branches, groups = mark_branches(problem, rules, work, grown, node, column)
    missing = branch_shares(problem, rules, work, start, start + count, branches)
    total = 0
    for b in range(branches):
        total += work.size[b]
    place = start if total <= count or start + count == counters[TOP] else counters[TOP]
    spare = problem.n_levels[column] > 0 and rules.nominal == MULTIWAY and groups < problem.n_levels[column]
    if not has_room(problem, grown, counters, branches + 1, groups, place, total):
        return -1, 0
    record_test(problem, rules, work, grown, counters, node, column, groups)
    number_children(problem, rules, work, start, start + count, place, branches, missing)
    add_children(rules, work, grown, counters, node, branches, spare)
    counters[TOP] = max(counters[TOP], place + total)
    return branches, missing


@kernel
def push_children(grown: Grown, counters: IntArray, node: int, slot: int) -> None:
    """Put the children that have rows on the stack, from place ``slot`` on, with their parent's columns."""
    first = grown.first_child[node]
    top = slot
    for child in range(first, first + grown.n_children[node]):
        if grown.count[child] > 0:
            grown.stack[top] = child
            if top > slot:
                grown.active[top, :] = grown.active[slot, :]
            top += 1
    counters[N_STACK] = top


@kernel
def grow(problem: Problem, rules: Rules, work: Work, grown: Grown, counters: IntArray, budget: int) -> int:
    """Grow depth first until the stack is empty (``DONE``), the budget spent or space is needed."""
    columns = problem.keys.shape[0]
    spent = 0
    while counters[N_STACK] > 0:
        if spent > budget:
            return PAUSED
        slot = counters[N_STACK] - 1
        node = grown.stack[slot]
        start = grown.start[node]
        end = start + grown.count[node]
        counters[TOP] = end
        active = grown.active[slot]
        spent += (end - start) * columns
        column = -1
        if may_split(rules, grown, node, describe(problem, rules, grown, node)):
            evaluate_columns(problem, rules, work, grown, node, active, 0, columns)
            column = choose(problem, rules, work, grown.impurity[node])
        if column < 0:
            counters[N_STACK] = slot
            continue
        branches, missing = prepare_split(problem, rules, work, grown, counters, node, column)
        if branches < 0:
            return NEEDS_SPACE
        place = work.base[0]
        for other in range(columns):
            if active[other]:
                move_column(problem, work, work.keys, work.cursor, other, start, end, place, branches, missing)
        push_children(grown, counters, node, slot)
    return DONE
