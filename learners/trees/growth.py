"""A tree while it grows: the driver around the kernels of :mod:`~learners.trees.grower`."""

from __future__ import annotations

from typing import Any

import numpy as np

from learners._accel import kernel
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
    Work,
    enlarged,
    new_grown,
    new_work,
)
from learners.trees.setup import Prepared
from learners.types import Array, Int32Array, IntArray

#: Keys moved between two reports of progress: some tens of milliseconds.
_BUDGET = 10_000_000
#: Room for nodes at first: one for each row, between these. Of much room only what is used takes memory; it
#: grows by half when needed, which takes a copy.
_FEWEST_NODES, _MOST_NODES = 1024, 1 << 18
#: The same for entries of levels, of which there are at first enough for a test on any column within reason, and for
#: waiting nodes.
_FEWEST_ENTRIES, _MOST_ENTRIES = 64, 1 << 14


class Growth:
    """A tree while it grows: the problem, scratch memory, the nodes so far, and room for more."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.problem: Problem = prepared.problem
        self.rules = prepared.rules
        self.work: Work = new_work(prepared.problem, prepared.rules)
        columns = len(prepared.problem.columns)
        room = min(max(prepared.n_rows, _FEWEST_NODES), _MOST_NODES)
        codes = int(prepared.problem.columns.view(np.ndarray)["n_codes"].max(initial=0)) + 1
        entries = min(max(codes, prepared.n_rows, _FEWEST_ENTRIES), _MOST_ENTRIES)
        self.grown: Grown = new_grown(room, entries, _FEWEST_ENTRIES, columns, prepared.rules.n_values)
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


def finished(grown: Grown, counters: IntArray) -> Nodes:
    """The grown arrays as :class:`Nodes`, numbered depth first with siblings together."""
    count, levels = int(counters[N_NODES]), int(counters[N_LEVELS])
    order, rank = np.zeros(count, np.int32), np.zeros(count, np.int32)
    plain, plain_levels = grown.nodes.view(np.ndarray)[:count], grown.levels.view(np.ndarray)[:levels]
    numbering(plain["first_child"].copy(), plain["n_children"].copy(), order, rank)
    taken = _taken(plain, order)
    return Nodes(
        first_child=_renamed(taken.pop("first_child"), rank),
        parent=_renamed(taken.pop("parent"), rank),
        level_codes=plain_levels["code"].copy(),
        level_branch=plain_levels["branch"].copy(),
        value=grown.value.take(order, axis=0),
        **taken,
    )


def _taken(plain: Array, order: Int32Array) -> dict[str, Any]:
    """The nodes' fields in another order: a part of the nodes after the other, whose records stay in the cache."""
    kinds = {_OTHERWISE_NAMED.get(name, name): plain.dtype[name] for name in _TAKEN} | {"test": np.dtype(np.int8)}
    taken = {name: np.empty(len(order), kind) for name, kind in kinds.items()}
    for first in range(0, len(order), _NODES_AT_ONCE):
        part = slice(first, first + _NODES_AT_ONCE)
        records = plain.take(order[part])
        for name in _TAKEN:
            taken[_OTHERWISE_NAMED.get(name, name)][part] = records[name]
    return taken


_TAKEN = (
    *("test", "feature", "threshold", "upper", "first_child", "n_children", "parent", "depth", "other_branch"),
    *("missing_branch", "fraction", "level_start", "level_count", "count", "weight", "impurity", "gain"),
)
_OTHERWISE_NAMED = {"count": "rows"}
#: Nodes whose records are copied together.
_NODES_AT_ONCE = 4096


def _renamed(ids: Int32Array, rank: Int32Array) -> Int32Array:
    """Old ids as new ones; -1 stays."""
    renamed = rank.take(np.maximum(ids, 0))
    renamed[ids < 0] = -1
    return renamed


@kernel
def numbering(first_child: Int32Array, n_children: Int32Array, order: Int32Array, rank: Int32Array) -> None:
    """Fill ``order`` (old id by new) and ``rank`` (new id by old).

    New ids do not depend on the order in which the nodes were grown: a walk depth first, first child
    first, numbers all children of a node when it comes to the node.
    """
    stack = np.zeros(order.shape[0], np.int32)
    size = 1
    count = 1
    while size > 0:
        size -= 1
        node = stack[size]
        first = first_child[node]
        children = n_children[node]
        for b in range(children):
            order[count] = first + b
            rank[first + b] = count
            count += 1
        for b in range(children - 1, -1, -1):
            stack[size] = first + b
            size += 1
