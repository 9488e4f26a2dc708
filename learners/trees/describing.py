"""What a node is: weight, mass, class shares or mean, impurity; and whether it may be split."""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel
from learners.trees.criteria import VARIANCE, impurity_sum
from learners.trees.problem import CENTRED, WEIGHT, Grown, Problem, Rules, Work


@lean_inner_kernel
def open_node(problem: Problem, rules: Rules, grown: Grown, node: int) -> bool:
    """Describe a node; returns whether a test may be looked for."""
    return may_be_split(rules, grown, node, describe(problem, rules, grown, node))


@lean_inner_kernel
def may_be_split(rules: Rules, grown: Grown, node: int, pure: bool) -> bool:
    """Whether a test may be looked for in a node that has been described."""
    if pure or grown.nodes[node].mass < rules.min_split or grown.nodes[node].mass < 2.0 * rules.min_leaf:
        return False
    return rules.max_depth < 0 or grown.nodes[node].depth < rules.max_depth


@lean_inner_kernel
def open_child(problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, branch: int) -> bool:
    """The same of the child in a branch, whose rows may have been summed up by class."""
    if rules.criterion == VARIANCE or not work.branches[branch].summed:
        return open_node(problem, rules, grown, node)
    for k in range(rules.n_values):
        grown.value[node, k] = work.branch_stats[branch, k]
    weight = work.branches[branch].weight
    return may_be_split(rules, grown, node, measure(rules, grown, node, weight, work.branches[branch].mass))


@lean_inner_kernel
def describe(problem: Problem, rules: Rules, grown: Grown, node: int) -> bool:
    """Fill a node's weight, mass, value and impurity; returns whether it is pure.

    For regression, also centre the targets of its rows on its mean.
    """
    if rules.criterion == VARIANCE:
        return describe_numbers(problem, rules, grown, node)
    if rules.n_values == 2:
        return describe_two_classes(problem, rules, grown, node)
    start = grown.nodes[node].start
    end = start + grown.nodes[node].count
    weight = 0.0
    mass = 0.0
    value = grown.value[node]
    for k in range(rules.n_values):
        value[k] = 0.0
    for one in range(start, end):
        own = 1.0 if rules.unit else problem.numbers[WEIGHT, one]
        value[int(problem.answer[problem.row[one]])] += own
        weight += own
        mass += 1.0 if rules.unit else problem.numbers[rules.mass_row, one]
    return measure(rules, grown, node, weight, mass)


@lean_inner_kernel
def measure(rules: Rules, grown: Grown, node: int, weight: float, mass: float) -> bool:
    """Fill weight, mass and impurity of a node whose class weights are known; returns whether it is pure."""
    value = grown.value[node]
    grown.nodes[node].weight = weight
    grown.nodes[node].mass = mass
    grown.nodes[node].impurity = impurity_sum(value, rules.criterion) / weight
    classes = 0
    for k in range(rules.n_values):
        if value[k] > 0.0:
            classes += 1
    return classes < 2


@lean_inner_kernel
def describe_two_classes(problem: Problem, rules: Rules, grown: Grown, node: int) -> bool:
    """The same of two classes: sums that stay in registers."""
    start = grown.nodes[node].start
    end = start + grown.nodes[node].count
    negatives = 0.0
    positives = 0.0
    weight = 0.0
    mass = 0.0
    for one in range(np.uint64(start), np.uint64(end)):
        is_positive = problem.answer[np.uint64(problem.row[one])]
        own = 1.0 if rules.unit else problem.numbers[WEIGHT, one]
        negatives += own * (1.0 - is_positive)
        positives += own * is_positive
        weight += own
        mass += 1.0 if rules.unit else problem.numbers[rules.mass_row, one]
    grown.value[node, 0] = negatives
    grown.value[node, 1] = positives
    return measure(rules, grown, node, weight, mass)


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
        mass += 1.0 if rules.unit else problem.numbers[rules.mass_row, one]
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
