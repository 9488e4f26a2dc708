"""Growing best first: always the split that lowers the total impurity most, up to a number of leaves.

Trees with tests of several values are grown by this loop too, since between two steps it can ask more than
the kernels know of; without a limit on the leaves the order makes no difference.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from learners.base import Progress
from learners.trees.coding import codes_of
from learners.trees.combined.search import CombinedSearch, FoundTest, split_by
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
    combined: FoundTest | None = None


def grow_best_first(
    growth: Growth, max_leaves: int | None, progress: Progress, combining: CombinedSearch | None = None
) -> None:
    """Split the node with the greatest gain times weight until there would be too many leaves.

    Of equally good nodes the one made first is split. A multiway test that would make too many
    leaves is passed over.

    Args:
        max_leaves: None: no limit.
        combining: looks for tests of several values, too.
    """
    limit = math.inf if max_leaves is None else max_leaves
    waiting: list[tuple[float, int, _Candidate]] = []
    if open_root(growth):
        _consider(growth, 0, np.ones(len(growth.problem.columns), np.bool_), waiting, combining)
    leaves = 1
    while waiting and leaves < limit:
        _, _, best = heapq.heappop(waiting)
        added = _children(growth, best) - 1
        if leaves + added > limit:
            continue
        _split(growth, best)
        leaves += added
        node = growth.grown.nodes[best.node]
        for child in range(node.first_child, node.first_child + node.n_children):
            if growth.grown.nodes[child].alive:
                _consider(growth, child, best.active.copy(), waiting, combining)
        progress(0.0 if max_leaves is None else leaves / max_leaves, f"{leaves} leaves")


def _consider(
    growth: Growth,
    node: int,
    active: BoolArray,
    waiting: list[tuple[float, int, _Candidate]],
    combining: CombinedSearch | None,
) -> None:
    """Look for a node's best test, and queue the node if it has one."""
    if combining is not None:
        combining.pay(growth, node)
    search(growth, growth.work, node, active, 0, len(active))
    combined = None if combining is None else combining.best(growth, node)
    column = pick(growth, node) if combined is None else -1
    if combined is not None:
        candidate = _Candidate(node, -1, -1, combined.gain, active, combined)
    elif column >= 0:
        found = growth.work.columns[column]
        candidate = _Candidate(node, column, int(found.place), float(found.gain), active)
    else:
        return
    heapq.heappush(waiting, (-candidate.gain * float(growth.grown.nodes[node].weight), node, candidate))


def _children(growth: Growth, candidate: _Candidate) -> int:
    """How many leaves the candidate's test would make of its node."""
    if candidate.combined is not None:
        return 2
    problem, column = growth.problem, growth.problem.columns[candidate.column]
    if column.kind not in (MULTIWAY, BINNED):
        return 2
    node = growth.grown.nodes[candidate.node]
    rows = problem.row[node.start : node.start + node["count"]]
    codes = np.unique(codes_of(problem.codes, rows, column.place, column.is_wide) >> problem.layout.label_bits)
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
    made = None if candidate.combined is None else split_by(growth, candidate.node, candidate.combined)
    while made is None:
        found = growth.work.columns[candidate.column]
        found.place = candidate.place
        found.gain = candidate.gain
        made = divide(growth, candidate.node, candidate.column)
        if made is None:
            growth.make_space()
    active = candidate.active
    move(growth, growth.work, candidate.node, active, 0, len(active), made)
