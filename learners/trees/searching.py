"""Finding the best test of each column in a node."""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.column_draws import N_DRAWN, draw_columns, draws_columns, list_columns, list_looked
from learners.trees.criteria import VARIANCE, total_weight, weighted_log
from learners.trees.missing import known_end, known_stats
from learners.trees.pricing import priced, prices_tests
from learners.trees.problem import KNOWN, TIE, WEIGHT, Bounds, Grown, Problem, Rules, Work
from learners.trees.splitters.counting import count_columns, forget_looked
from learners.trees.splitters.groups import groups_of
from learners.trees.splitters.kinds import assign_groups, best_test, is_multiway, is_ordered, kind_of
from learners.trees.splitters.ordered import count_cuts
from learners.trees.splitters.threshold import count_thresholds
from learners.trees.splitters.with_missing import best_place, last_known, value_is_missing
from learners.types import BoolArray

_MOST_MINIMUM = 25.0
#: Instead of a place: no test is good enough; the column has one value only.
_NONE, _CONSTANT = -1, -2
#: Share of the impurity by which a test may gain less than the best one of the columns before and still be looked at:
#: far more than ``TIE``, so that equal gains are told apart as if all tests were looked at.
_FLOOR_SLACK = 1e-9


@lean_inner_kernel
def search_columns(
    problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, active: BoolArray, first: int, last: int
) -> None:
    """Find the best test on each active column from ``first`` to ``last``, or on those drawn for the node."""
    for column in range(first, last):
        work.columns[column].place = _NONE
    if not draws_columns(problem):
        evaluate_columns(problem, rules, work, grown, node, active, list_looked(work, active, first, last))
        return
    left = list_columns(problem, work, active)
    need = problem.draw[N_DRAWN]
    searching = True
    while searching:
        left, looked = draw_columns(problem, work, node, left, need)
        need = np.int64(1)  # more where none of them had a test, one at a time
        evaluate_columns(problem, rules, work, grown, node, active, looked)
        searching = bool(left > 0 and not any_found(work, looked))


@lean_inner_kernel
def forget_search(work: Work, active: BoolArray) -> None:
    """Make columns active again that the last search found constant: it will be made once more, as it was."""
    for column in range(active.shape[0]):
        if work.columns[column].place == _CONSTANT:
            active[column] = True


@lean_inner_kernel
def any_found(work: Work, looked: int | np.int64) -> bool:
    """Whether one of the columns that were looked at has a test."""
    for position in range(looked):  # noqa: SIM110 - a generator is no kernel's
        if work.columns[work.looked[position]].place >= 0:
            return True
    return False


@lean_inner_kernel
def evaluate_columns(
    problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, active: BoolArray, looked: int | np.int64
) -> None:
    """Find the best test on each of the first columns of ``work.looked``: ``gain``, ``score``, ``place``.

    Columns without any test in this node are made inactive: no descendant can have one either. A test
    that gains all there is ends the search: no later column can be better, and an equal one would not win.
    Tests that gain less than that of the best column before are not looked for, unless averages count or prices.
    """
    by_gain = not (rules.by_ratio or prices_tests(problem.extras))
    impurity = grown.nodes[node].impurity
    enough = impurity * (1.0 - TIE) if by_gain else math.inf
    best = -math.inf
    floor = -math.inf
    start = grown.nodes[node].start
    end = start + grown.nodes[node].count
    counted = 0
    work.filled[0] = -1
    for position in range(looked):
        if enough < 0.0:
            break
        column = work.looked[position]
        if problem.columns[column].is_coded:
            if position >= counted:
                forget_looked(work, position)
                counted = count_columns(problem, rules, work, start, end, position, looked)
            place, gain, ratio = evaluate_codes(problem, rules, work, grown, node, column, floor)
        else:
            place, gain, ratio = evaluate_keys(problem, rules, work, grown, node, column, floor)
        if rules.by_deviation:  # times the node's own deviation, so that it compares with the variance
            gain *= math.sqrt(grown.nodes[node].impurity)
        if place == _CONSTANT:
            active[column] = False
            work.columns[column].place = place
        if place < 0 or gain < rules.min_gain:
            continue
        work.columns[column].place = place
        work.columns[column].gain = gain
        work.columns[column].score = priced(problem.extras, grown, node, column, ratio if rules.by_ratio else gain)
        if gain >= enough:
            enough = -1.0
        if by_gain and not rules.by_deviation and gain > best + TIE * impurity:
            best = gain
            floor = (best - _FLOOR_SLACK * impurity) * grown.nodes[node].weight


@lean_inner_kernel
def evaluate_keys(
    problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, column: int, floor: float
) -> tuple[int, float, float]:
    """The best threshold of a column with keys: (place or below 0, gain, gain ratio)."""
    start = grown.nodes[node].start
    end = start + grown.nodes[node].count
    weight = grown.nodes[node].weight
    keys = problem.keys[column]
    layout = problem.layout
    stop = known_end(keys, start, end, layout)
    missing = value_is_missing(rules, stop, end)
    last = stop + missing - 1
    if last <= start or (keys[start] >> layout.rank_shift) == (keys[last] >> layout.rank_shift):
        return _CONSTANT, 0.0, 0.0
    stats = work.sums[KNOWN]
    if last + 1 == end:
        mass = stats_of_node(rules, work, grown, node)
    else:
        mass = known_stats(problem, rules, keys, start, stop, stats)
    least = threshold_least(rules, mass)
    place, gain_sum = best_place(problem, rules, work, keys, (start, stop, end), Bounds(mass, least, floor))
    if place < 0:
        return _NONE, 0.0, 0.0
    gain = gain_sum / weight
    if rules.penalty:
        if place >= end:
            count = count_thresholds(problem, rules, work.keys, 0, end - start, mass, least)
        else:
            count = count_thresholds(problem, rules, keys, start, last + 1, mass, least)
        gain -= math.log2(count) / weight
        if gain <= 0.0:
            return _NONE, 0.0, 0.0
    if not rules.by_ratio:
        return place, gain, 0.0
    id_mask = (np.int64(1) << (layout.rank_shift - layout.label_bits)) - 1
    left = 0.0
    for i in range(start, last_known(place, start, end) + 1):
        left += 1.0 if rules.unit else problem.numbers[WEIGHT, (keys[i] >> layout.label_bits) & id_mask]
    for i in range(stop, end if place >= end else stop):
        left += 1.0 if rules.unit else problem.numbers[WEIGHT, (keys[i] >> layout.label_bits) & id_mask]
    known = total_weight(stats, rules.criterion)
    parts = weighted_log(left) + weighted_log(known - left) + weighted_log(weight - known)
    return place, gain, ratio_of(gain, weight, parts)


@lean_inner_kernel
def evaluate_codes(
    problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, column: int, floor: float
) -> tuple[int, float, float]:
    """The best test of a column with codes: (place or below 0, gain, gain ratio)."""
    start = grown.nodes[node].start
    weight = grown.nodes[node].weight
    groups, complete = groups_of(problem, rules, work, start, start + grown.nodes[node].count, column)
    if groups < 2:
        return _CONSTANT, 0.0, 0.0
    stats = work.sums[KNOWN]
    mass = stats_of_node(rules, work, grown, node) if complete else stats_of_groups(work, groups)
    kind = kind_of(problem, work, column, groups)
    least = threshold_least(rules, mass) if is_ordered(kind) else rules.min_leaf
    place, gain_sum = best_test(problem, rules, work, kind, groups, stats, Bounds(mass, least, floor))
    if place < 0:
        return _NONE, 0.0, 0.0
    gain = gain_sum / weight
    if rules.penalty and is_ordered(kind):
        gain -= math.log2(count_cuts(work, groups, place, mass, least)) / weight
        if gain <= 0.0:
            return _NONE, 0.0, 0.0
    if not rules.by_ratio:
        return place, gain, 0.0
    assign_groups(problem, rules, work, column, kind, groups, place, stats)
    known = total_weight(stats, rules.criterion)
    parts = weighted_log(weight - known)
    first = 0.0
    for g in range(groups):
        group_weight = total_weight(work.group_stats[g], rules.criterion)
        if is_multiway(kind):
            parts += weighted_log(group_weight)
        elif work.groups[g].branch == 0:
            first += group_weight
    if not is_multiway(kind):
        parts += weighted_log(first) + weighted_log(known - first)
    return place, gain, ratio_of(gain, weight, parts)


@lean_inner_kernel
def stats_of_node(rules: Rules, work: Work, grown: Grown, node: int) -> float:
    """Sum up all rows of a node into ``sums[KNOWN]``; returns their mass."""
    stats = work.sums[KNOWN]
    if rules.criterion == VARIANCE:
        stats[0] = grown.nodes[node].weight
        stats[1] = 0.0
        stats[2] = grown.nodes[node].impurity * grown.nodes[node].weight
    else:
        for k in range(rules.n_values):
            stats[k] = grown.value[node, k]
    return float(grown.nodes[node].mass)


@lean_inner_kernel
def stats_of_groups(work: Work, groups: int) -> float:
    """Sum up the rows of all groups into ``sums[KNOWN]``; returns their mass."""
    stats = work.sums[KNOWN]
    mass = 0.0
    for k in range(stats.shape[0]):
        stats[k] = 0.0
    for g in range(groups):
        mass += work.groups[g].mass
        for k in range(stats.shape[0]):
            stats[k] += work.group_stats[g, k]
    return mass


@lean_inner_kernel
def threshold_least(rules: Rules, known_mass: float) -> float:
    """Least mass on each side of a threshold; C4.5 asks a tenth of the mean class size, 25 at most."""
    if not rules.quinlan_minimum:
        return rules.min_leaf
    tenth = 0.1 * known_mass / rules.n_values
    return max(min(tenth, _MOST_MINIMUM), rules.min_leaf)


@lean_inner_kernel
def ratio_of(gain: float, weight: float, parts: float) -> float:
    """Gain ratio; ``parts`` is the sum of w log2 w over branches and missing. 0 where it is undefined."""
    information = (weighted_log(weight) - parts) / weight
    if information <= 0.0:
        return 0.0
    return gain / information
