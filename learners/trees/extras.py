"""Rules of growth that few trees ask for: attribute costs, and significance as a stop.

A :class:`~learners.trees.problem.Problem` holds an :class:`~learners.trees.problem.Extras`, or None. Kernels
take it as an argument of its own, so that for None numba leaves out what lies behind it: the growing kernel
of most trees is compiled without all this, and once more with it for the first tree that asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from learners._accel import lean_inner_kernel
from learners.table import Column
from learners.trees.chi_square import chi_square_of, critical_values
from learners.trees.marking import mark_branches
from learners.trees.pricing import COST_FORMS, EG2, column_costs
from learners.trees.problem import LEFT, WEIGHT, Extras, Grown, Problem, Rules, Work


def extras_of(
    columns: Sequence[Column],
    cost_form: str,
    costs: Mapping[str, float] | None,
    exponent: float,
    significance: float | None,
    most_freedom: int,
) -> Extras | None:
    """The extras that are asked for, or None.

    Args:
        most_freedom: the most degrees of freedom that a test can have.
    """
    if cost_form == "none" and significance is None:
        return None
    own = column_costs(costs, columns)
    form = COST_FORMS[cost_form]
    paid = 0.0 if form == EG2 else float(min(own.min(initial=1.0), 1.0))
    critical = np.zeros(0) if significance is None else critical_values(np.arange(most_freedom + 1), significance)
    return Extras(form, float(exponent), own, paid, critical)


@lean_inner_kernel
def unless_by_chance(
    extras: Extras | None, problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, column: int
) -> int:
    """The column, or -1 if the branches of its test do not differ in class as the stop rule asks.

    Rows that do not know the value do not count, unless the test has a branch for them.
    """
    if extras is None:
        return column
    if extras.critical.shape[0] == 0 or column < 0:
        return column
    branches = mark_branches(problem, rules, work, grown, node, column)
    stats = work.group_stats
    work.filled[0] = -1
    for b in range(branches):
        for k in range(rules.n_stats):
            stats[b, k] = 0.0
    start = grown.nodes[node].start
    for one in range(start, start + grown.nodes[node].count):
        b = work.branch[one]
        if b >= 0:
            weight = 1.0 if rules.unit else problem.numbers[WEIGHT, one]
            stats[b, int(problem.answer[problem.row[one]])] += weight
    deviation, freedom = chi_square_of(stats, 0, branches, work.sums[LEFT])
    return column if deviation >= extras.critical[freedom] else -1
