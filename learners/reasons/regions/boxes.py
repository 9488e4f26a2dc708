"""What each node's path asks of each column, merged: the boxes into which a tree cuts the rows.

A path's tests on one column merge into an interval or a set of levels. That state is kept once, at
the node beneath the last of these tests: a leaf's box is the states at those nodes of its path that
are the last for their column. So the boxes of all leaves take memory in proportion to the nodes,
and whatever depends on single states (how far is this row from it?) is computed for all nodes at
once and then added up along the paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from learners.base import Learner
from learners.conditions import Condition
from learners.errors import LearnerError
from learners.reasons.regions.stretches import Stretches, stretches_of
from learners.table import Column, Kind
from learners.trees.estimator import FittedTree
from learners.trees.model_tree.fitted import FittedModelTree
from learners.trees.nodes import INTERVALS, LEVELS, THRESHOLD, Nodes
from learners.trees.paths import bounds_condition
from learners.types import Array, BoolArray, FloatArray, IntArray

#: Most bytes that the sets of levels of one tree may take.
_MAX_SET_BYTES = 1 << 28


@dataclass(frozen=True)
class LevelSets:
    """The levels that are left of one column, at each node beneath a test on it.

    Attributes:
        nodes: m ids, ascending.
        bits: uint8 (m, ceil(L / 8)), the set of codes of each, packed as :func:`numpy.packbits` does.
        n_levels: L.
    """

    nodes: IntArray
    bits: Array
    n_levels: int

    def members(self, places: IntArray) -> BoolArray:
        """The sets at some of the places as a matrix of flags, shape (number of places, L)."""
        members: BoolArray = np.unpackbits(self.bits[places], axis=1, count=self.n_levels).astype(np.bool_)
        return members

    def set_at(self, node: int) -> BoolArray:
        """The set at one node, shape (L,)."""
        members: BoolArray = self.members(np.searchsorted(self.nodes, [node]))[0]
        return members


class Boxes:
    """The states of a tree's paths. Arrays have one entry a node; the root's say that nothing is asked.

    Attributes:
        nodes, columns: the tree and what it tests.
        tested: the column tested by the test that leads to the node; -1 at the root.
        branch: the branch by which its parent leads to it.
        before: the next node up the path beneath a test on the same column, or 0.
        low, high: of numeric and ordinal columns, ``low < cell <= high``.
        sets: by column with levels, the levels that are left.
        numeric: by column, whether it is.
    """

    def __init__(self, nodes: Nodes, columns: tuple[Column, ...]) -> None:
        if len(nodes.combined):
            raise LearnerError("the tree has tests of several values at once, so its leaves are no boxes")
        self.nodes = nodes
        self.columns = columns
        self.numeric = np.array([column.is_numeric for column in columns], dtype=np.bool_)
        self.parent = np.maximum(nodes.parent, 0).astype(np.int64)
        self.tested = np.where(nodes.parent >= 0, nodes.feature[self.parent], -1).astype(np.int64)
        self.branch = np.arange(nodes.n_nodes) - nodes.first_child[self.parent]
        self.before = _states_before(nodes, self.tested)
        self._by_depth = _split_by_depth(nodes)
        self.low, self.high = self._bounds()
        self.sets = self._level_sets()
        self.leaves = nodes.leaves()

    @cached_property
    def cuts(self) -> dict[int, FloatArray]:
        """By numeric column that is tested its thresholds, ascending."""
        found: dict[int, FloatArray] = {}
        bounds = np.concatenate((self.low, self.high))
        features = np.where(np.isfinite(bounds), np.tile(self.tested, 2), -1)
        order = np.argsort(features, kind="stable")
        bounds, features = bounds[order], features[order]
        columns, firsts = np.unique(features, return_index=True)
        for feature, own in zip(columns.tolist(), np.split(bounds, firsts[1:]), strict=True):
            if feature >= 0 and self.columns[feature].is_numeric:
                found[feature] = np.unique(own)
        return found

    @cached_property
    def stretches(self) -> Stretches:
        """Where the states of numeric columns begin and end among the stretches between thresholds."""
        return stretches_of(self.cuts, self.tested, self.low, self.high, len(self.columns))

    @cached_property
    def spans(self) -> list[tuple[float, float] | None]:
        """By column the least and greatest threshold of a numeric one; None without any."""
        every = range(len(self.columns))
        return [
            (float(cuts[0]), float(cuts[-1])) if (cuts := self.cuts.get(one)) is not None else None for one in every
        ]

    @cached_property
    def only_missing(self) -> BoolArray:
        """The nodes to which a test leads missing values and no other, shape (N,)."""
        nodes = self.nodes
        low, _ = nodes.child_bounds(self.numeric)
        levels = np.flatnonzero(nodes.test == LEVELS)
        owners = np.repeat(levels, nodes.level_count[levels])
        listed = np.zeros(nodes.n_nodes, np.bool_)
        listed[nodes.first_child[owners] + nodes.level_branch[_places_of(nodes, levels)]] = True
        bare = (nodes.test[self.parent] == LEVELS) & ~listed & (nodes.other_branch[self.parent] != self.branch)
        alone: BoolArray = ((low == np.inf) | bare) & (nodes.missing_branch[self.parent] == self.branch)
        alone[0] = False
        return alone

    @cached_property
    def undecided_levels(self) -> frozenset[int]:
        """The columns of which some test gives a known level no branch, so that it is in no leaf's set."""
        nodes = self.nodes
        n_levels = np.array([len(column.levels) for column in self.columns])
        bare = (nodes.test == LEVELS) & (nodes.other_branch < 0)
        bare &= nodes.level_count < n_levels[np.maximum(nodes.feature, 0)]
        return frozenset(nodes.feature[bare].tolist())

    def merge_down(self, own: Array, merge: np.ufunc) -> Array:
        """Combine what each single test says with the state before it; ``own`` is changed and returned."""
        for ids in self._by_depth:
            own[ids] = merge(own[ids], own[self.before[ids]])
        return own

    def sum_paths(self, states: Array) -> Array:
        """The sum of the states along each node's path: of each column its last state.

        Args:
            states: (N,), 0 at the root, and never less at a state than at the one before it, so
                that nothing cancels.
        """
        steps = states - states[self.before]
        sums = np.zeros_like(steps)
        for ids in self._by_depth:
            sums[ids] = sums[self.parent[ids]] + steps[ids]
        return sums

    def multiply_paths(self, shares: FloatArray) -> FloatArray:
        """The product of the shares on each node's path, shape (N,)."""
        products = np.ones(len(shares))
        for ids in self._by_depth:
            products[ids] = products[self.parent[ids]] * shares[ids]
        return products

    def any_on_path(self, flags: BoolArray) -> BoolArray:
        """Whether a node or one above it is flagged."""
        found = flags.copy()
        for ids in self._by_depth:
            found[ids] |= found[self.parent[ids]]
        return found

    def shares(self, row: FloatArray) -> FloatArray:
        """The share of a row that takes each single branch, given that it comes to its test; shape (N,).

        1 or 0 where the value decides. Where it is missing and the test names no branch for that, or
        is a level without a branch, the branch's share of the training weight.
        """
        return self.shares_of(self.taken(row))

    def shares_of(self, taken: IntArray) -> FloatArray:
        """The same from the branches that a row takes."""
        below = taken[self.parent]
        shares = np.where(below < 0, self.nodes.fraction, (below == self.branch).astype(np.float64))
        shares[0] = 1.0
        return shares

    def taken(self, row: FloatArray) -> IntArray:
        """The branch that a row takes at each inner node, -1 where its value decides nothing."""
        nodes = self.nodes
        feature = np.maximum(nodes.feature, 0)
        cells = row[feature]
        taken = (cells > nodes.threshold).astype(np.int64)
        levels = nodes.test == LEVELS
        absent = np.isnan(cells)
        taken[nodes.test == INTERVALS] = 0
        below = np.flatnonzero((nodes.test[self.parent] == INTERVALS) & (cells[self.parent] > nodes.upper))
        np.add.at(taken, self.parent[below], 1)
        if self.sets or levels.any():
            coded = ~self.numeric[feature]
            absent |= (cells < 0) & coded & ~levels  # an unseen level under a threshold on codes
            taken[levels] = nodes.other_branch[levels]
            asked = np.repeat(np.flatnonzero(levels), nodes.level_count[levels])
            places = _places_of(nodes, np.flatnonzero(levels))
            hit = nodes.level_codes[places] == cells[asked]
            taken[asked[hit]] = nodes.level_branch[places[hit]]
            absent |= levels & (taken < 0)
        taken[absent] = nodes.missing_branch[absent]
        return taken

    def path_states(self, leaf: int) -> dict[int, int]:
        """By column, the node that holds the path's state of it, in the order in which the path first tests them."""
        found: dict[int, int] = {}
        node = leaf
        while node > 0:
            feature = int(self.tested[node])
            last = found.pop(feature, node)  # put anew, so that the order is that of the first test
            found[feature] = last
            node = int(self.parent[node])
        return dict(reversed(found.items()))

    def last_states(self, leaves: IntArray, columns: Sequence[int]) -> dict[int, IntArray]:
        """By column the node with its state on each leaf's path, 0 where the path does not test it; only tested ones.

        In the order in which the tree is read a state holds from its node's first leaf on to its last one, after which
        the state before it holds again: of those that end together the outermost says so, of those that begin the
        innermost.
        """
        first, count = self.nodes.first_leaf_as_read, self.nodes.leaves_beneath
        found: dict[int, IntArray] = {}
        for column in columns:
            ids = np.flatnonzero(self.tested == column)
            places = np.concatenate((first[ids], first[ids] + count[ids]))
            order = np.lexsort((np.concatenate((ids, -ids)), places))  # ids ascend from a node to those beneath it
            held = np.append(0, np.concatenate((ids, self.before[ids]))[order])
            states = held[np.searchsorted(places[order], first[leaves], side="right")]
            if states.any():
                found[column] = states
        return found

    def condition(self, node: int) -> Condition:
        """The state at a node in words: an interval, or a set of levels."""
        column = self.columns[self.tested[node]]
        if column.is_numeric:
            return bounds_condition(column, float(self.low[node]), float(self.high[node]))
        members = self.sets[int(self.tested[node])].set_at(node)
        codes = np.flatnonzero(members)
        if column.kind is Kind.ORDINAL and len(codes) and codes[-1] - codes[0] == len(codes) - 1:
            low = codes[0] - 1 if codes[0] > 0 else -np.inf
            high = codes[-1] if codes[-1] < len(members) - 1 else np.inf
            if np.isfinite(low) or np.isfinite(high):
                return bounds_condition(column, float(low), float(high))
        if 2 * len(codes) > len(members) and self._takes_unseen(node):
            barred = tuple(column.labels[code] for code in np.flatnonzero(~members))
            return Condition(column.name, "not in", values=barred)
        return Condition(column.name, "in", values=tuple(column.labels[code] for code in codes))

    def _takes_unseen(self, node: int) -> bool:
        """Whether the state at a node is satisfied by levels that the model does not know."""
        while node:
            if self.nodes.other_branch[self.parent[node]] != self.branch[node]:
                return False
            node = int(self.before[node])
        return True

    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        low, high = self.nodes.child_bounds(self.numeric)
        return self.merge_down(low, np.maximum), self.merge_down(high, np.minimum)

    def _level_sets(self) -> dict[int, LevelSets]:
        found = {}
        size = 0
        for feature in np.unique(self.tested[self.tested >= 0]).tolist():
            n_levels = len(self.columns[feature].levels)
            if self.columns[feature].is_numeric:
                continue
            ids = np.flatnonzero(self.tested == feature)
            size += len(ids) * (n_levels + 7) // 8
            if size > _MAX_SET_BYTES:
                raise LearnerError("the tree tests too many levels at too many nodes for its boxes to be held")
            found[feature] = LevelSets(ids, self._merged_sets(ids, n_levels), n_levels)
        return found

    def _merged_sets(self, ids: IntArray, n_levels: int) -> Array:
        bits = np.empty((len(ids), (n_levels + 7) // 8), np.uint8)
        places = {node: place for place, node in enumerate(ids.tolist())}
        for node, place in places.items():  # ascending, so that the state before is ready
            bits[place] = np.packbits(self.own_set(node, n_levels))
            before = int(self.before[node])
            if before:
                bits[place] &= bits[places[before]]
        return bits

    def own_set(self, node: int, n_levels: int) -> BoolArray:
        """The levels that take the branch to a node, by its test alone."""
        nodes, parent, branch = self.nodes, int(self.parent[node]), int(self.branch[node])
        codes = np.arange(n_levels)
        if nodes.test[parent] == THRESHOLD:
            above: BoolArray = codes > nodes.threshold[parent]
            return above if branch == 1 else ~above
        members = np.full(n_levels, branch == nodes.other_branch[parent])
        listed, branches = nodes.levels_of(parent)
        members[listed] = branches == branch
        return members


def check_leaves(learner: Learner) -> None:
    """Refuse what is no fitted tree whose leaves have one answer each.

    Raises:
        NotFittedError: the learner has not been fitted.
        LearnerError: it is no such tree.
    """
    learner.check_fitted()
    if not isinstance(learner, FittedTree):
        raise LearnerError(f"{learner.name} is no tree")
    if isinstance(learner, FittedModelTree):
        raise LearnerError(f"{learner.name} answers the rows of a leaf by a linear function, not all alike")


def boxes_of(learner: Learner) -> Boxes:
    """The boxes of a fitted tree, made once for each.

    Raises:
        NotFittedError: the learner has not been fitted.
        LearnerError: it is no tree of tests on single columns whose leaves have one answer each.
    """
    check_leaves(learner)
    assert isinstance(learner, FittedTree)  # noqa: S101 - it is checked
    known = _known.get(learner)
    if known is None or known.nodes is not learner.tree_:
        known = _known[learner] = Boxes(learner.tree_, learner.columns_)
    return known


_known: WeakKeyDictionary[Learner, Boxes] = WeakKeyDictionary()


def _states_before(nodes: Nodes, tested: IntArray) -> IntArray:
    """For each node the last one above it beneath a test on the same column, or 0; one walk with a stack."""
    columns, first, count = tested.tolist(), nodes.first_child.tolist(), nodes.n_children.tolist()
    before = [0] * nodes.n_nodes
    last = [0] * (max(columns) + 2)
    stack = [0]
    while stack:
        node = stack.pop()
        if node < 0:  # the subtree of ~node is done
            last[columns[~node]] = before[~node]
            continue
        if node:
            before[node] = last[columns[node]]
            last[columns[node]] = node
            stack.append(~node)
        stack.extend(range(first[node], first[node] + count[node]))
    return np.array(before, dtype=np.int64)


def _split_by_depth(nodes: Nodes) -> list[IntArray]:
    """Ids of the nodes of each depth but the root's."""
    order = np.argsort(nodes.depth, kind="stable")
    ends = np.cumsum(np.bincount(nodes.depth))
    return np.split(order, ends[:-1])[1:]


def _places_of(nodes: Nodes, ids: IntArray) -> IntArray:
    """Places in the level arrays of all entries of these nodes, node by node."""
    counts = nodes.level_count[ids].astype(np.int64)
    starts = np.repeat(nodes.level_start[ids] - (np.cumsum(counts) - counts), counts)
    return starts + np.arange(len(starts))
