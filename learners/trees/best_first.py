"""Growing best first: always the split that lowers the total impurity most, up to a number of leaves."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from learners.base import Progress
from learners.trees.growth import Growth
from learners.trees.problem import BINNED, MULTIWAY
from learners.trees.steps import divide, move, open_root, pick, search
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
    if open_root(growth):
        _consider(growth, 0, np.ones(len(growth.problem.columns), np.bool_), waiting)
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
    search(growth, growth.work, node, active, 0, len(active))
    column = pick(growth, node)
    if column < 0:
        return
    found = growth.work.columns[column]
    candidate = _Candidate(node, column, int(found.place), float(found.gain), active)
    heapq.heappush(waiting, (-candidate.gain * float(growth.grown.nodes[node].weight), node, candidate))


def _children(growth: Growth, candidate: _Candidate) -> int:
    """How many leaves the candidate's test would make of its node."""
    problem, column = growth.problem, growth.problem.columns[candidate.column]
    if column.kind not in (MULTIWAY, BINNED):
        return 2
    node = growth.grown.nodes[candidate.node]
    rows = problem.row[node.start : node.start + node["count"]]
    codes = np.unique(problem.codes[candidate.column, rows] >> problem.layout.label_bits)
    codes = codes[codes != column.n_codes]
    if column.kind == MULTIWAY:
        return len(codes) + int(len(codes) < column.n_levels)
    own = problem.values[column.first_value : column.first_value + column.n_codes]
    with_missing = int(np.isnan(own).any())  # that has a branch in any case
    bins = own[codes]
    bins = bins[~np.isnan(bins)]
    runs = np.diff(np.concatenate(([-1.0], bins, [column.n_levels - with_missing]))) > 1  # bins without rows
    return len(bins) + int(np.count_nonzero(runs)) + with_missing


def _split(growth: Growth, candidate: _Candidate) -> None:
    """Make the children of a candidate."""
    while True:
        found = growth.work.columns[candidate.column]
        found.place = candidate.place
        found.gain = candidate.gain
        made = divide(growth, candidate.node, candidate.column)
        if made is not None:
            break
        growth.make_space()
    active = candidate.active
    move(growth, growth.work, candidate.node, active, 0, len(active), made)
