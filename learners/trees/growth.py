"""A tree while it grows: the driver around the kernels of :mod:`~learners.trees.grower`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from learners._accel import lean_inner_kernel, lean_kernel
from learners.base import Progress
from learners.trees.combined.tests import CombinedTest
from learners.trees.grower import GROW, N_TASK, TASK, grow
from learners.trees.nodes import Nodes
from learners.trees.problem import (
    DONE,
    N_COUNTERS,
    N_LEVELS,
    N_NODES,
    N_STACK,
    NEED_LEVELS,
    NEED_NODES,
    NEED_ROOM,
    NEED_STACK,
    NEEDS_SPACE,
    TOP,
    Grown,
    Problem,
    Records,
    Work,
)
from learners.trees.room import emptied, enlarged, new_grown, new_work
from learners.trees.setup import Prepared
from learners.types import FloatArray, Int8Array, Int32Array, IntArray

#: Keys moved between two reports of progress: some tens of milliseconds.
_BUDGET = 10_000_000
#: Room for nodes at first: one for each row, between these. Of much room only what is used takes memory; it
#: grows by half when needed, which takes a copy.
_FEWEST_NODES, _MOST_NODES = 1024, 1 << 18
#: The same for entries of levels, of which there are at first enough for a test on any column within reason, and for
#: waiting nodes.
_FEWEST_ENTRIES, _MOST_ENTRIES = 64, 1 << 14


class Growth:
    """A tree while it grows: the problem, scratch memory, the nodes so far, and room for more.

    Args:
        prepared: what is learned from.
        before: one on the same columns that is finished, whose memory is used again where it fits.
    """

    def __init__(self, prepared: Prepared, before: Growth | None = None) -> None:
        self.prepared = prepared
        self.problem: Problem = prepared.problem
        self.rules = prepared.rules
        fits = before is not None and before.rules == self.rules and len(before.problem.row) == len(self.problem.row)
        if before is not None and fits:
            self.work: Work = before.work
            self.grown: Grown = emptied(before.grown)
        else:
            self.work, self.grown = new_work(prepared.problem, prepared.rules), _first_room(prepared)
        self.counters: IntArray = np.zeros(N_COUNTERS, np.int64)
        self.grown.nodes[0].count = prepared.n_rows
        self.counters[N_NODES] = 1
        self.counters[N_STACK] = 1
        self.counters[TOP] = prepared.n_rows
        #: The tests of several values that nodes got, as columns that follow the table's.
        self.combined: list[CombinedTest] = []

    def make_space(self) -> None:
        """Enlarge whatever the last kernel found too small."""
        need = self.counters
        self.grown = enlarged(self.grown, int(need[NEED_NODES]), int(need[NEED_LEVELS]), int(need[NEED_STACK]))
        capacity = len(self.problem.row)
        if need[NEED_ROOM] > capacity:
            self.problem = widened(self.problem, max(int(need[NEED_ROOM]), capacity + capacity // 2))
            self.work = new_work(self.problem, self.rules)

    def run(self, progress: Progress) -> None:
        """Grow depth first to the end."""
        done = 0.0
        task = np.zeros(N_TASK, np.int64)
        task[TASK] = GROW
        while True:
            active = self.grown.active[0]
            state = grow(self.problem, self.rules, self.work, self.grown, self.counters, task, active, _BUDGET)
            if state == DONE:
                return
            if state == NEEDS_SPACE:
                self.make_space()
                continue
            waiting = self.grown.stack[: self.counters[N_STACK]]
            left = float(self.grown.nodes.count[waiting].sum()) / self.prepared.n_rows
            done = max(done, 1.0 - left)
            progress(done, f"{int(self.counters[N_NODES])} nodes")


def _first_room(prepared: Prepared) -> Grown:
    """Room for a tree."""
    room = min(max(prepared.n_rows, _FEWEST_NODES), _MOST_NODES)
    codes = int(prepared.problem.columns.view(np.ndarray)["n_codes"].max(initial=0)) + 1
    entries = min(max(codes, prepared.n_rows, _FEWEST_ENTRIES), _MOST_ENTRIES)
    return new_grown(room, entries, _FEWEST_ENTRIES, len(prepared.problem.columns), prepared.rules.n_values)


def widened(problem: Problem, capacity: int) -> Problem:
    """A copy of the problem with room for more keys and ids."""
    columns, old = problem.keys.shape
    keys = np.empty((columns, capacity), np.int64)
    for column in np.flatnonzero(~problem.columns.is_coded):
        keys[column, :old] = problem.keys[column]
    row = np.zeros(capacity, np.int32)
    row[:old] = problem.row
    numbers = np.zeros((3, capacity))
    numbers[:, :old] = problem.numbers
    return problem._replace(keys=keys, row=row, numbers=numbers)


class _Fields(NamedTuple):
    """The fields of :class:`Nodes` that are copied from the grown records."""

    test: Int8Array
    feature: Int32Array
    threshold: FloatArray
    upper: FloatArray
    first_child: Int32Array
    n_children: Int32Array
    parent: Int32Array
    depth: Int32Array
    other_branch: Int32Array
    missing_branch: Int32Array
    fraction: FloatArray
    level_start: Int32Array
    level_count: Int32Array
    rows: IntArray
    weight: FloatArray
    impurity: FloatArray
    gain: FloatArray
    value: FloatArray


_DOUBLES = ("threshold", "upper", "fraction", "weight", "impurity", "gain")


def finished(grown: Grown, counters: IntArray) -> Nodes:
    """The grown arrays as :class:`Nodes`, numbered depth first with siblings together."""
    count, levels = int(counters[N_NODES]), grown.levels.view(np.ndarray)[: int(counters[N_LEVELS])]
    kinds: dict[str, Any] = dict.fromkeys(_Fields._fields, np.int32) | dict.fromkeys(_DOUBLES, np.float64)
    kinds |= {"test": np.int8, "rows": np.int64}
    made = {name: np.empty(count, kind) for name, kind in kinds.items() if name != "value"}
    fields = _Fields(**made, value=np.empty((count, grown.value.shape[1])))
    order, rank, stack = (np.zeros(count, np.int32) for _ in range(3))
    write_nodes(grown.nodes, grown.value, fields, order, rank, stack)
    return Nodes(**fields._asdict(), level_codes=levels["code"].copy(), level_branch=levels["branch"].copy())


@lean_kernel
def write_nodes(
    nodes: Records, value: FloatArray, fields: _Fields, order: Int32Array, rank: Int32Array, stack: Int32Array
) -> None:
    """Copy the nodes in the order of their new ids; the last three are room for as many numbers as there are nodes."""
    numbering(nodes, order, rank, stack)
    for new in range(np.uint64(order.shape[0])):
        old = np.uint64(order[new])
        node = nodes[old]
        fields.test[new] = node.test
        fields.feature[new] = node.feature
        fields.threshold[new] = node.threshold
        fields.upper[new] = node.upper
        fields.first_child[new] = -1 if node.first_child < 0 else rank[node.first_child]
        fields.n_children[new] = node.n_children
        fields.parent[new] = -1 if node.parent < 0 else rank[node.parent]
        fields.depth[new] = node.depth
        fields.other_branch[new] = node.other_branch
        fields.missing_branch[new] = node.missing_branch
        fields.fraction[new] = node.fraction
        fields.level_start[new] = node.level_start
        fields.level_count[new] = node.level_count
        fields.rows[new] = node.count
        fields.weight[new] = node.weight
        fields.impurity[new] = node.impurity
        fields.gain[new] = node.gain
        for k in range(value.shape[1]):
            fields.value[new, k] = value[old, k]


@lean_inner_kernel
def numbering(nodes: Records, order: Int32Array, rank: Int32Array, stack: Int32Array) -> None:
    """Fill ``order`` (old id by new) and ``rank`` (new id by old).

    New ids do not depend on the order in which the nodes were grown: a walk depth first, first child
    first, numbers all children of a node when it comes to the node.
    """
    size = 1
    count = 1
    while size > 0:
        size -= 1
        node = stack[size]
        first = nodes[node].first_child
        children = nodes[node].n_children
        for b in range(children):
            order[count] = first + b
            rank[first + b] = count
            count += 1
        for b in range(children - 1, -1, -1):
            stack[size] = first + b
            size += 1
