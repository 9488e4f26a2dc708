"""The nodes that a row may come to in a tree that counts terms, if known numbers change and what is missing stays so.

Of a count the terms on other columns hold, do not hold, or are not known, once and for all. What is left are terms on
the numbers that may change: tests on single columns, one after the other, until the count is decided, or surely is not,
which divides the row. So counts become tests of boxes, as far as a limit reaches. A sum is a test of a column of its
own (:mod:`learners.reasons.divided.numbers.stretched_sums`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.reasons.divided.numbers.near_nodes import NearNodes
from learners.reasons.divided.numbers.stretched import NEVER, Stretched
from learners.reasons.nearest.region_steps import Key
from learners.trees.combined.tests import NUMBER
from learners.trees.estimator import FittedTree
from learners.types import BoolArray, FloatArray, IntArray

_TIE = 1e-9


class _Terms(NamedTuple):
    """The terms of a tree's counts on numbers that may change, T of them.

    Attributes:
        node: at which each is counted, ascending.
        column, cut: of each, and the first stretch above its threshold.
        low_holds: whether it holds below.
    """

    node: IntArray
    column: IntArray
    cut: IntArray
    low_holds: BoolArray


class _Open(NamedTuple):
    """What changes within a limit decide.

    Attributes:
        goes: by node where a row goes on without a choice; tests that are decided are not looked at.
        asks: by node whether changes of a single number decide.
        first, count: by node of the terms that changes decide the first, and how many there are.
        held: by node how many other terms hold.
        terms: that changes decide.
    """

    goes: IntArray
    asks: BoolArray
    first: IntArray
    count: IntArray  # type: ignore[assignment] # no method of a tuple
    held: IntArray
    terms: _Terms


class NearCounts:
    """The nodes of one row.

    Args:
        learner: a fitted tree.
        row: shape (d,).
        below: where the row goes from each node; the node itself at a leaf and where it is divided; shape (N,).
        margins: of the answers of all nodes, shape (N, J).
        numbers: that may change, and sums that they may change.
    """

    def __init__(
        self,
        learner: FittedTree,
        row: FloatArray,
        below: IntArray,
        margins: FloatArray,
        numbers: Stretched,
    ) -> None:
        nodes, d = learner.tree_, len(row)
        self._nodes, self._below, self._margins, self._numbers = nodes, below, margins, numbers
        self._is_leaf = nodes.feature < 0
        column = np.full(d + len(nodes.combined) + 1, -1)
        column[numbers.columns] = np.arange(len(numbers.columns))
        #: By node the number on which it is a test; -1 of others.
        self._column = np.where(self._is_leaf, -1, column[nodes.feature])
        self._set_intervals(learner)
        self._set_terms(row, column)

    def _set_intervals(self, learner: FittedTree) -> None:
        """By node the stretches that lead there from the test above, if that is on a number that may change."""
        nodes, numbers = self._nodes, self._numbers
        low, high = nodes.child_bounds(np.array([column.is_numeric for column in learner.columns_]))
        column = np.where(nodes.parent >= 0, self._column[nodes.parent], -1)
        self._begin, self._end = np.zeros(len(low), np.int64), np.zeros(len(low), np.int64)
        for place, (first, last) in enumerate(zip(numbers.first.tolist(), numbers.last.tolist(), strict=True)):
            ids = np.flatnonzero(column == place)
            cuts, bottom, top = numbers.high[first:last], low[ids], high[ids]
            begin = np.where(bottom == np.inf, len(cuts) + 1, np.searchsorted(cuts, bottom) + 1)
            self._begin[ids] = first + np.where(bottom == -np.inf, 0, begin)
            self._end[ids] = first + np.where(top == np.inf, len(cuts) + 1, np.searchsorted(cuts, top) + 1)
        exists = (column >= 0) & (self._begin < self._end)
        #: What taking a branch costs at least, by node below a test on a number.
        self._price = np.full(len(low), NEVER)
        self._price[exists] = numbers.farther(self._begin[exists], self._end[exists])

    def _set_terms(self, row: FloatArray, column: IntArray) -> None:
        """The terms on numbers that may change, and by node what the others come to."""
        nodes, numbers, d = self._nodes, self._numbers, len(row)
        self._held, self._unknown, self._need = (np.zeros(len(nodes.feature), np.int64) for _ in range(3))
        found: list[tuple[int, int, int, bool]] = []
        for node in np.flatnonzero(nodes.feature >= d).tolist():
            test = nodes.combined.tests[int(nodes.feature[node]) - d]
            if test.is_sum:
                continue
            self._need[node] = test.need
            for term in test.terms:
                place = int(column[term.feature])
                if place >= 0 and term.kind == NUMBER:
                    first, last = int(numbers.first[place]), int(numbers.last[place])
                    cut = first + int(np.searchsorted(numbers.high[first:last], term.number)) + 1
                    found.append((node, place, cut, not term.negated))
                else:
                    holds = term.holds(float(row[term.feature]))
                    self._held[node] += holds is True
                    self._unknown[node] += holds is None
        of_nodes, places, cuts, low_holds = np.array(found, np.int64).reshape(-1, 4).T
        self._terms = _Terms(of_nodes, places, cuts, low_holds > 0)

    def _open_within(self, limit: Key) -> _Open:
        """What changes within a limit decide."""
        numbers, terms, n = self._numbers, self._terms, len(self._below)
        most = limit[0] * (1 + _TIE)
        is_low = numbers.own[terms.column] < terms.cut
        above = numbers.above[np.minimum(terms.cut, len(numbers.above) - 1)]
        price = np.where(is_low, above, numbers.below[terms.cut - 1])
        changes = (price <= most) & (price < NEVER)
        held = self._held + np.bincount(terms.node, ~changes & (terms.low_holds == is_low), n).astype(np.int64)
        terms = _Terms(terms.node[changes], terms.column[changes], terms.cut[changes], terms.low_holds[changes])
        count = np.bincount(terms.node, minlength=n)
        parent = np.maximum(self._nodes.parent, 0)
        leads = (self._price <= most) & (self._price < NEVER) & (np.arange(n) != self._below[parent])
        asks = np.bincount(parent, leads, n) > 0
        goes = np.where(asks | (count > 0), np.arange(n), self._below)
        while not np.array_equal(further := goes[goes], goes):
            goes = further
        return _Open(goes, asks, np.cumsum(count) - count, count, held, terms)

    def within(self, limit: Key) -> NearNodes:
        """Those that a row of a limit may come to."""
        numbers, open_ = self._numbers, self._open_within(limit)
        none = np.zeros(1, np.int64)
        boxes = numbers.first[None].copy(), numbers.last[None] + 1
        at = _Frontier(none, open_.goes[:1], none, none, np.zeros(1, np.bool_), np.zeros(1), *boxes, np.ones(1))
        chooses = self._is_leaf | open_.asks | (open_.count > 0)
        kept: list[_Frontier] = []
        n = 0
        while len(at.node):
            at = at._replace(divides=at.divides | ~chooses[at.node])
            kept.append(at)
            at, n = self._after(open_, at, n, limit[0] * (1 + _TIE)), n + len(at.node)
        ids = np.concatenate([one.node for one in kept])
        return NearNodes(
            np.split(np.arange(n), np.cumsum([len(one.node) for one in kept])[:-1]),
            np.concatenate([one.parent for one in kept]),
            np.concatenate([one.divides for one in kept]),
            self._is_leaf[ids],
            np.concatenate([one.fraction for one in kept]),
            np.concatenate([one.begin for one in kept]).T,
            np.concatenate([one.end for one in kept]).T,
            self._margins[ids].T,
        )

    def _after(self, open_: _Open, at: _Frontier, n: int, most: float) -> _Frontier:
        """What comes below nodes of which the first has place ``n``, and costs so much at most."""
        steps = [self._below_tests(open_, at)]
        if len(open_.terms.node):
            steps.append(self._below_terms(open_, at))
        above, column, begin, end, node, held = (np.concatenate(one) for one in zip(*steps, strict=True))
        is_count = np.arange(len(above)) >= len(steps[0].above)
        old_begin, old_end = at.begin[above, column], at.end[above, column]
        begin, end = np.maximum(old_begin, begin), np.minimum(old_end, end)
        exists = np.flatnonzero(begin < end)
        above, column, begin, end = above[exists], column[exists], begin[exists], end[exists]
        price = at.price[above] + self._numbers.least(begin, end)
        price -= self._numbers.least(old_begin[exists], old_end[exists])
        far = np.maximum(price, self._numbers.farther(begin, end))
        near = np.flatnonzero((far <= most) & (far < NEVER))
        above, column, place = above[near], column[near], np.arange(len(near))
        node, held, is_count = node[exists[near]], held[exists[near]], is_count[exists[near]]
        boxes = at.begin[above], at.end[above]
        boxes[0][place, column], boxes[1][place, column] = begin[near], end[near]
        divides, term = np.zeros(len(near), np.bool_), np.where(is_count, at.term[above] + 1, 0)
        fraction = np.where(is_count, 1.0, self._nodes.fraction[node])
        counts = np.flatnonzero(is_count)
        decided = self._decided(open_, node[counts], term[counts], held[counts])
        node[counts], term[counts], held[counts], divides[counts] = decided
        node[~is_count] = open_.goes[node[~is_count]]
        return _Frontier(n + above, node, term, held, divides, price[near], *boxes, fraction)

    def _below_tests(self, open_: _Open, at: _Frontier) -> _Steps:
        """The children of nodes that divide the row, and of those that test a number."""
        nodes = self._nodes
        divided, tests = np.flatnonzero(at.divides), np.flatnonzero(~at.divides & open_.asks[at.node])
        parents = np.concatenate((divided, tests))
        counts = nodes.n_children[at.node[parents]].astype(np.int64)
        above, tests_a_number = np.repeat(parents, counts), np.repeat(np.arange(len(parents)) >= len(divided), counts)
        firsts = nodes.first_child[at.node[parents]].astype(np.int64)
        child = np.arange(len(above)) + np.repeat(firsts - np.cumsum(counts) + counts, counts)
        column = np.where(tests_a_number, self._column[at.node[above]], 0)
        begin = np.where(tests_a_number, self._begin[child], 0)
        end = np.where(tests_a_number, self._end[child], len(self._numbers.next))
        end[~tests_a_number & (nodes.fraction[child] == 0)] = 0
        return _Steps(above, column, begin, end, child, np.zeros(len(above), np.int64))

    def _below_terms(self, open_: _Open, at: _Frontier) -> _Steps:
        """What the next terms of counts make of nodes: below their thresholds, and above."""
        asked = np.flatnonzero(~at.divides & (open_.count[at.node] > 0))
        term, terms = open_.first[at.node[asked]] + at.term[asked], open_.terms
        column, cut, holds = terms.column[term], terms.cut[term], terms.low_holds[term]
        begin = np.concatenate((np.zeros(len(cut), np.int64), cut))
        end = np.concatenate((cut, np.full(len(cut), len(self._numbers.next))))
        above = np.tile(asked, 2)
        held = at.held[above] + np.concatenate((holds, ~holds))
        return _Steps(above, np.tile(column, 2), begin, end, at.node[above], held)

    def _decided(
        self, open_: _Open, node: IntArray, term: IntArray, held: IntArray
    ) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
        """Counts gone to the branch that they decide for, or left as they are: node, term and held as of a frontier,
        and whether they divide the row."""
        nodes = self._nodes
        all_held, left = open_.held[node] + held, open_.count[node] - term
        need, unknown = self._need[node], self._unknown[node]
        first, branch = nodes.first_child[node], nodes.missing_branch[node]
        is_open = (all_held < need) & (all_held + left + unknown >= need)
        stays, divided = is_open & (left > 0), is_open & (left == 0)
        goes = np.where(all_held >= need, first, first + 1)
        goes = np.where(divided & (branch >= 0), first + branch, goes)
        divides = divided & (branch < 0)
        return np.where(stays | divides, node, open_.goes[goes]), term * stays, held * stays, divides


class _Steps(NamedTuple):
    """Steps from nodes of a frontier.

    Attributes:
        above: from which.
        column, begin, end: the stretches of a number that lead there.
        node: to which of the tree, or the same for a term that is counted.
        held: how many terms hold then.
    """

    above: IntArray
    column: IntArray
    begin: IntArray
    end: IntArray
    node: IntArray
    held: IntArray


class _Frontier(NamedTuple):
    """Nodes of one depth, F of them.

    Attributes:
        parent: place of the node above.
        node: of the tree.
        term, held: of a count how many of its terms that may change have been asked, and hold.
        divides: whether it is surely not decided.
        price: what a row takes at least to come there.
        begin, end: shape (F, C).
        fraction: of the row of a node above that divides it.
    """

    parent: IntArray
    node: IntArray
    term: IntArray
    held: IntArray
    divides: BoolArray
    price: FloatArray
    begin: IntArray
    end: IntArray
    fraction: FloatArray
