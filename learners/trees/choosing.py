"""Which of the columns' best tests a node gets."""

from __future__ import annotations

import math

from learners._accel import lean_inner_kernel
from learners.trees.pricing import prices_tests
from learners.trees.problem import TIE, Problem, Rules, Work

#: C4.5's slack when it asks whether a gain reaches the average gain.
_AVERAGE_SLACK = 1e-3


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
        if best < 0:
            best = column
            continue
        scale = 1.0 if rules.by_ratio else impurity
        if prices_tests(problem.extras):
            scale = work.columns[best].score
        if work.columns[column].score > work.columns[best].score + TIE * scale:
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
