"""The steps of growing as separate kernels, for drivers that decide themselves which node is next.

Depth-first growth on one thread needs none of these: :func:`~learners.trees.grower.grow` does it all.
"""

from __future__ import annotations

from learners._accel import lean_kernel
from learners.trees.grower import choose, evaluate_columns, open_node, prepare_split
from learners.trees.partition import move_column
from learners.trees.problem import Grown, Problem, Rules, Work
from learners.types import BoolArray, IntArray


@lean_kernel
def open_root(problem: Problem, rules: Rules, grown: Grown) -> bool:
    """Describe the root; returns whether a test may be looked for. Children are described when they are made."""
    return open_node(problem, rules, grown, 0)


@lean_kernel
def search(
    problem: Problem, rules: Rules, work: Work, grown: Grown, node: int, active: BoolArray, first: int, last: int
) -> None:
    """Find the best test on each of the columns ``first .. last``."""
    evaluate_columns(problem, rules, work, grown, node, active, first, last)


@lean_kernel
def pick(problem: Problem, rules: Rules, work: Work, grown: Grown, node: int) -> int:
    """The column of the best test, or -1."""
    return choose(problem, rules, work, grown.nodes[node].impurity)


@lean_kernel
def divide(
    problem: Problem, rules: Rules, work: Work, grown: Grown, counters: IntArray, node: int, column: int
) -> tuple[int, int]:
    """Make the children; see :func:`~learners.trees.grower.prepare_split`."""
    return prepare_split(problem, rules, work, grown, counters, node, column)


@lean_kernel
def move_columns(
    problem: Problem,
    work: Work,
    active: BoolArray,
    start: int,
    end: int,
    made: tuple[int, int],
    first: int,
    last: int,
) -> None:
    """Move the keys of the active columns ``first .. last``; ``made`` is what :func:`divide` returned."""
    for column in range(first, last):
        if active[column]:
            move_column(problem, work, column, start, end, made[0], made[1])
