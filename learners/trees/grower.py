"""The one growing kernel: find the best test of a node, split it; over and over, without recursion.

``GROW`` works depth first on a stack. The node on top of the stack always owns the last segment of
the arena, so children can take its place and what they need beyond it. It returns when its budget
of moved rows is spent, so that its caller can report progress, and when it needs more space.

The other tasks are single steps of the same, for best-first growth and growth on several threads
(:mod:`~learners.trees.steps`). One kernel for all of them is compiled once.
"""

from __future__ import annotations

from learners._accel import lean_inner_kernel, lean_kernel
from learners.trees.choosing import choose
from learners.trees.describing import open_node
from learners.trees.dividing import prepare_split
from learners.trees.extras import unless_by_chance
from learners.trees.partition import move_column
from learners.trees.problem import (
    DONE,
    N_NODES,
    N_STACK,
    NEEDS_SPACE,
    PAUSED,
    TOP,
    Grown,
    Problem,
    Rules,
    Work,
)
from learners.trees.searching import forget_search, search_columns
from learners.trees.splitters.counting import forget_counts
from learners.types import BoolArray, IntArray

#: What the kernel is asked to do.
GROW, OPEN_ROOT, SEARCH, CHOOSE, DIVIDE, MOVE = range(6)
#: Places in the int64 array that describes a task: what, on which node, which columns, which test;
#: and what :func:`~learners.trees.dividing.prepare_split` returned.
TASK, NODE, FIRST, LAST, COLUMN, BRANCHES, MISSING = range(7)
N_TASK = 7


@lean_kernel
def grow(
    problem: Problem,
    rules: Rules,
    work: Work,
    grown: Grown,
    counters: IntArray,
    task: IntArray,
    active: BoolArray,
    budget: int,
) -> int:
    """Do one task, or all of them node after node until the stack is empty.

    Args:
        task: int64 (``N_TASK``,), see above.
        active: bool (d,), columns that may hold a test in the task's node; not used by ``GROW``.
        budget: rows times columns to be moved at most.

    Returns:
        ``GROW``: ``DONE``, ``PAUSED`` or ``NEEDS_SPACE``. ``OPEN_ROOT``: whether a test may be looked for.
        ``CHOOSE``: the column of the best test, or -1. ``DIVIDE``: ``DONE`` or ``NEEDS_SPACE``. Else ``DONE``.
    """
    if task[TASK] != GROW:
        return step(problem, rules, work, grown, counters, task, active)
    # An argument of another type, such as int32 or a constant, would compile all that it reaches twice.
    spent = 0
    if counters[N_NODES] == 1 and not open_node(problem, rules, grown, task[NODE]):
        counters[N_STACK] = 0
    while counters[N_STACK] > 0:
        if spent > budget:
            return PAUSED
        active = grown.active[counters[N_STACK] - 1]
        node = next_on_stack(problem, grown, counters, task)
        spent += grown.nodes[node].count * task[LAST]
        search_columns(problem, rules, work, grown, node, active, task[FIRST], task[LAST])
        column = choose(problem, rules, work, grown.nodes[node].impurity)
        column = unless_by_chance(problem.extras, problem, rules, work, grown, node, column)
        if column < 0:
            counters[N_STACK] -= 1
            continue
        task[BRANCHES], task[MISSING] = prepare_split(problem, rules, work, grown, counters, node, column)
        if task[BRANCHES] < 0:
            forget_search(work, active)  # or other columns might be drawn for the node
            return NEEDS_SPACE
        if any_alive(work, task[BRANCHES]):
            move_columns(problem, work, grown, task, active)
        push_children(grown, counters, node)
    return DONE


@lean_inner_kernel
def step(
    problem: Problem, rules: Rules, work: Work, grown: Grown, counters: IntArray, task: IntArray, active: BoolArray
) -> int:
    """Any task but ``GROW``."""
    what = task[TASK]
    node = task[NODE]
    if what == OPEN_ROOT:
        return 1 if open_node(problem, rules, grown, node) else 0
    if what == SEARCH:
        search_columns(problem, rules, work, grown, node, active, task[FIRST], task[LAST])
    elif what == CHOOSE:
        forget_counts(work, 0, work.columns.shape[0])
        column = choose(problem, rules, work, grown.nodes[node].impurity)
        return unless_by_chance(problem.extras, problem, rules, work, grown, node, column)
    elif what == DIVIDE:
        forget_counts(work, 0, work.columns.shape[0])
        task[BRANCHES], task[MISSING] = prepare_split(problem, rules, work, grown, counters, node, task[COLUMN])
        return NEEDS_SPACE if task[BRANCHES] < 0 else DONE
    else:
        move_columns(problem, work, grown, task, active)
    return DONE


@lean_inner_kernel
def next_on_stack(problem: Problem, grown: Grown, counters: IntArray, task: IntArray) -> int:
    """Describe the work on the top of the stack in ``task``; returns its node."""
    task[NODE] = grown.stack[counters[N_STACK] - 1]
    node = task[NODE]
    task[FIRST] = 0
    task[LAST] = problem.columns.shape[0]
    counters[TOP] = grown.nodes[node].start + grown.nodes[node].count
    return int(node)


@lean_inner_kernel
def any_alive(work: Work, branches: int) -> bool:
    """Whether a child may be split further."""
    alive = False
    for b in range(branches):
        alive |= work.branches[b].alive
    return alive


@lean_inner_kernel
def move_columns(problem: Problem, work: Work, grown: Grown, task: IntArray, active: BoolArray) -> None:
    """Move the keys of the task's active columns to the children."""
    start = grown.nodes[task[NODE]].start
    end = start + grown.nodes[task[NODE]].count
    for position in range(work.keyed.shape[0]):
        column = work.keyed[position]
        if active[column] and task[FIRST] <= column < task[LAST]:
            move_column(problem, work, problem.keys[column], start, end, task[BRANCHES], task[MISSING])


@lean_inner_kernel
def push_children(grown: Grown, counters: IntArray, node: int) -> None:
    """Replace the top of the stack by the children that may be split, with their parent's columns."""
    slot = counters[N_STACK] - 1
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
