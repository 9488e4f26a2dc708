"""The steps of growing one at a time, for drivers that decide themselves which node is next.

Each is a task of the one kernel :func:`~learners.trees.grower.grow`. A thread needs a :class:`Work` of its own.
"""

from __future__ import annotations

import numpy as np

from learners.trees.grower import CHOOSE, DIVIDE, MOVE, N_TASK, OPEN_ROOT, SEARCH, grow
from learners.trees.growth import Growth
from learners.trees.problem import NEEDS_SPACE, Work
from learners.types import BoolArray


def _do(growth: Growth, work: Work, active: BoolArray, *task: int) -> tuple[int, ...]:
    """Run a task, of which the first numbers are given; returns what the kernel says, and the task after it."""
    numbers = np.zeros(N_TASK, np.int64)
    numbers[: len(task)] = task
    said = grow(growth.problem, growth.rules, work, growth.grown, growth.counters, numbers, active, 0)
    return int(said), *numbers.tolist()


def open_root(growth: Growth) -> bool:
    """Describe the root; returns whether a test may be looked for. Children are described when they are made."""
    return _do(growth, growth.work, growth.grown.active[0], OPEN_ROOT)[0] == 1


def search(growth: Growth, work: Work, node: int, active: BoolArray, first: int, last: int) -> None:
    """Find the best test on each of the columns ``first .. last``."""
    _do(growth, work, active, SEARCH, node, first, last)


def pick(growth: Growth, node: int) -> int:
    """The column of the best test, or -1."""
    return _do(growth, growth.work, growth.grown.active[0], CHOOSE, node)[0]


def divide(growth: Growth, node: int, column: int) -> tuple[int, int] | None:
    """Make the children; see :func:`~learners.trees.dividing.prepare_split`. None: more space is needed."""
    said, *task = _do(growth, growth.work, growth.grown.active[0], DIVIDE, node, 0, 0, column)
    return None if said == NEEDS_SPACE else (task[-2], task[-1])


def move(
    growth: Growth, work: Work, node: int, active: BoolArray, first: int, last: int, made: tuple[int, int]
) -> None:
    """Move the keys of the active columns ``first .. last``; ``made`` is what :func:`divide` returned."""
    _do(growth, work, active, MOVE, node, first, last, 0, *made)
