"""Growing best first: always the split that lowers the total impurity most, up to a number of leaves."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from learners.base import Progress
from learners.trees.growth import Growth
from learners.trees.problem import MULTIWAY
from learners.trees.steps import divide, move_columns, open_root, pick, search
from learners.types import BoolArray


@dataclass(frozen=True)
class _Candidate:
    """A node that may be split, with its best test and the columns that are active in it."""

    node: int
    column: int
    place: int
    gain: float
    active: BoolArray


def grow_best_first(growth: Growth, max_leaves: int, progress: Progress) -> None:
    """Split the node with the greatest gain times weight until there would be too many leaves.

    Of equally good nodes the one made first is split. A multiway test that would make too many
    leaves is passed over.
    """
    waiting: list[tuple[float, int, _Candidate]] = []
    if open_root(growth.problem, growth.rules, growth.grown):
        _consider(growth, 0, np.ones(growth.problem.keys.shape[0], np.bool_), waiting)
    leaves = 1
    while waiting and leaves < max_leaves:
        _, _, best = heapq.heappop(waiting)
        added = _children(growth, best) - 1
        if leaves + added > max_leaves:
            continue
        _split(growth, best)
        leaves += added
        node = growth.grown.nodes[best.node]
        for child in range(node.first_child, node.first_child + node.n_children):
            if growth.grown.nodes[child].alive:
                _consider(growth, child, best.active.copy(), waiting)
        progress(leaves / max_leaves, f"{leaves} leaves")


def _consider(growth: Growth, node: int, active: BoolArray, waiting: list[tuple[float, int, _Candidate]]) -> None:
    """Look for a node's best test, and queue the node if it has one."""
    state = (growth.problem, growth.rules)
    search(*state, growth.work, growth.grown, node, active, 0, len(active))
    column = int(pick(*state, growth.work, growth.grown, node))
    if column < 0:
        return
    found = growth.work.columns[column]
    candidate = _Candidate(node, column, int(found.place), float(found.gain), active)
    heapq.heappush(waiting, (-candidate.gain * float(growth.grown.nodes[node].weight), node, candidate))


def _children(growth: Growth, candidate: _Candidate) -> int:
    """How many leaves the candidate's test would make of its node."""
    levels = int(growth.problem.columns[candidate.column].n_levels)
    if levels == 0 or growth.rules.nominal != MULTIWAY:
        return 2
    node = growth.grown.nodes[candidate.node]
    span = slice(node.start, node.start + node["count"])
    ranks = np.unique(growth.problem.keys[candidate.column, span] >> growth.problem.layout.rank_shift)
    occurring = int(np.count_nonzero(ranks != growth.problem.layout.missing_rank))
    return occurring + (occurring < levels)


def _split(growth: Growth, candidate: _Candidate) -> None:
    """Make the children of a candidate."""
    node = growth.grown.nodes[candidate.node]
    start, end = int(node.start), int(node.start + node["count"])
    while True:
        found = growth.work.columns[candidate.column]
        found.place = candidate.place
        found.gain = candidate.gain
        made = divide(
            growth.problem,
            growth.rules,
            growth.work,
            growth.grown,
            growth.counters,
            candidate.node,
            candidate.column,
        )
        if made[0] >= 0:
            break
        growth.make_space()
    active = candidate.active
    move_columns(growth.problem, growth.work, active, start, end, made, 0, len(active))
