"""What a tree of boxes answers if a single column of a row changes: for all columns and all of their values at once.

A row that misses values is answered by the mean of several leaves. Where one column of it changes to a known value,
each leaf that it may reach then asks an interval or a set of that column, and has a share that does not depend on the
value. So the answer is a sum over intervals that begin and end at thresholds: one pass along the thresholds in
ascending order tells it for every value of the column, without a search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from learners.reasons.nearest.demands import nearest_numbers, permitted_levels, steps_between
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.records import Way
from learners.reasons.regions.boxes import Boxes
from learners.table import Kind
from learners.types import BoolArray, FloatArray, IntArray

#: Nobody's column: of the row as it is.
_NONE = -1
#: Candidates of each column that are asked of the tree itself at once.
_AT_ONCE = 32
#: Numbers that sets of levels are turned into at a time: 8 MB.
_FLAGS_AT_ONCE = 1 << 20


class _Reached(NamedTuple):
    """Nodes that a row comes to; arrays of shape (m,).

    Attributes:
        owner: the column that is changed; :data:`_NONE` for none, and d + c for those of the row as it is that come
            after a test on the missing column c.
        node: where.
        share: of the row.
        state: the last node on the way beneath a test on the changed column, or 0.
    """

    owner: IntArray
    node: IntArray
    share: FloatArray
    state: IntArray

    def at(self, places: IntArray | BoolArray) -> _Reached:
        return _Reached(self.owner[places], self.node[places], self.share[places], self.state[places])


class SingleChanges:
    """The changes of single columns of one row.

    Args:
        boxes: of the tree.
        row: shape (d,).
        below: where the row goes from each node; the node itself at a leaf and where it is divided; shape (N,).
        margins: of the answers of all nodes, shape (N, J): a row has the wanted answer if its means are not below 0.
        slack: how far below 0 they may be for rounding.
        steps: what changes are allowed, and how they are compared.

    Attributes:
        columns: that are tested on the ways of the row as it is, and may be changed; ascending.
        judged: those of them of which all changes are known: not where a test leaves a known level undecided.
        looked_at: nodes of all ways together.
    """

    def __init__(
        self,
        boxes: Boxes,
        row: FloatArray,
        below: IntArray,
        margins: FloatArray,
        slack: float,
        steps: RegionSteps,
    ) -> None:
        self._boxes, self._row, self._below, self._steps = boxes, row, below, steps
        self._slack = slack
        self._coded = ~boxes.numeric
        self._unknown = np.isnan(row) | (self._coded & (row < 0))
        self.looked_at = 0
        self._leaves = self._followed()
        values = self._leaves.share[:, None] * margins[self._leaves.node]
        #: Of each leaf its part of the margins and, at last, 1: the number of leaves.
        self._values = np.column_stack((values, np.ones(len(values))))
        tested = self._leaves.owner[(self._leaves.owner >= 0) & (self._leaves.owner < len(row))]
        self.columns = np.unique(tested).tolist()
        self.judged = frozenset(self.columns) - boxes.undecided_levels
        self._others = self._of_the_others()

    def nearest(self, holds: Callable[[FloatArray], BoolArray]) -> list[Way]:
        """The nearest row of each column's changes that stays divided and has the wanted answer, where there is one.

        Args:
            holds: which rows, shape (n, d), the tree itself answers as wanted.
        """
        parts = [self._numbers(), *(self._levels(one) for one in sorted(self.judged) if self._coded[one])]
        columns, cells, far, is_sure = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return nearest_of_each(self._row, columns, cells, far, is_sure, self._steps, holds)

    def _followed(self) -> _Reached:
        """The leaves that the row reaches as it is and with each column changed, level by level."""
        boxes, below, d = self._boxes, self._below, len(self._row)
        nodes = boxes.nodes
        one = np.zeros(1, np.int64)
        at = _Reached(one + _NONE, one, np.ones(1), one)
        leaves: list[_Reached] = []
        while len(at.node):
            self.looked_at += len(at.node)
            tested = nodes.feature[at.node].astype(np.int64)
            ended = tested < 0
            if ended.any():
                leaves.append(at.at(ended))
                at, tested = at.at(~ended), tested[~ended]
            free = at.owner == tested
            spread = free | (below[at.node] == at.node)
            own = self._children(at, spread)
            places, child = own
            share = np.where((spread & ~free)[places], nodes.fraction[child], 1.0) * at.share[places]
            goes = _Reached(at.owner[places], child, share, np.where(free[places], child, at.state[places]))
            # of several tests on a column the highest, below which a change is followed
            highest = (at.owner == _NONE) & (boxes.before[nodes.first_child[at.node]] == 0)
            begins = np.flatnonzero(highest & ~self._steps.wishes.fixed[tested])
            start = at.at(begins)
            places_of_start, changed = self._children(start, np.ones(len(begins), np.bool_))
            changes = _Reached(tested[begins][places_of_start], changed, start.share[places_of_start], changed)
            stays = np.flatnonzero((highest & self._unknown[tested])[places])
            stay = goes.at(stays)._replace(owner=tested[places[stays]] + d)
            at = _Reached(*(np.concatenate(parts) for parts in zip(goes, changes, stay, strict=True)))
            at = at.at(at.share > 0)
        return _Reached(*(np.concatenate(parts) for parts in zip(*leaves, strict=True)))

    def _children(self, at: _Reached, spread: BoolArray) -> tuple[IntArray, IntArray]:
        """The places of nodes, once for each child that is gone to, and these children."""
        nodes = self._boxes.nodes
        counts = np.where(spread, nodes.n_children[at.node], 1).astype(np.int64)
        firsts = np.where(spread, nodes.first_child[at.node], self._below[at.node]).astype(np.int64)
        places = np.repeat(np.arange(len(counts)), counts)
        return places, np.arange(len(places)) + (firsts - np.cumsum(counts) + counts)[places]

    def _of_the_others(self) -> FloatArray:
        """By column the sums over the leaves on whose ways it is not tested, shape (d, J + 1); of known ones of all."""
        d, owners = len(self._row), self._leaves.owner
        of_none = self._values[owners == _NONE].sum(axis=0)
        after = np.flatnonzero(owners >= d)
        sums = np.zeros((d, len(of_none)))
        for place in range(len(of_none)):
            sums[:, place] = np.bincount(owners[after] - d, self._values[after, place], minlength=d)
        others: FloatArray = of_none - sums
        return others

    def _numbers(self) -> tuple[IntArray, FloatArray, FloatArray, BoolArray]:
        """Of all numeric columns the values that may lead to the wanted answer, how far each is, and whether it surely
        does: one pass along all stretches, in which the leaves of each column begin and end."""
        stretches, owners = self._boxes.stretches, self._leaves.owner
        columns = np.array([one for one in sorted(self.judged) if not self._coded[one]], np.int64)
        own = np.zeros(len(self._row) + 1, np.bool_)
        own[columns] = True
        part = np.flatnonzero((owners >= 0) & (owners < len(self._row)) & own[np.minimum(owners, len(self._row))])
        begin, end = (one[self._leaves.state[part]] for one in (stretches.begin, stretches.end))
        n = len(stretches.low)
        sums = np.empty((n, self._values.shape[1]))
        for place in range(sums.shape[1]):
            steps = np.bincount(begin, self._values[part, place], minlength=n + 1)
            steps -= np.bincount(end, self._values[part, place], minlength=n + 1)
            sums[:, place] = np.cumsum(steps[:-1])
        counts = stretches.firsts[columns + 1] - stretches.firsts[columns]
        places = np.repeat(stretches.firsts[columns] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        feature = np.repeat(columns, counts)
        others = self._others[columns]
        known = np.flatnonzero(~self._unknown[columns])
        at = [
            stretches.firsts[column] + np.searchsorted(self._boxes.cuts[column], self._row[column])
            for column in columns[known].tolist()
        ]
        others[known] -= sums[at]
        may, is_sure = judged(sums[places] + np.repeat(others, counts, axis=0), self._slack)
        may &= ~np.isin(places, at)
        kept = np.flatnonzero(may)
        feature, places = feature[kept], places[kept]
        blocked, cells, far = nearest_numbers(
            self._row, feature, stretches.low[places], stretches.high[places], self._steps.wishes, self._steps.scales
        )
        return feature[~blocked], cells[~blocked], far[~blocked], is_sure[kept][~blocked]

    def _levels(self, column: int) -> tuple[IntArray, FloatArray, FloatArray, BoolArray]:
        """The same of a column with levels."""
        part, described = np.flatnonzero(self._leaves.owner == column), self._boxes.columns[column]
        sets, n = self._boxes.sets[column], len(described.levels)
        places = np.searchsorted(sets.nodes, self._leaves.state[part])
        sums = np.zeros((n, self._values.shape[1]))
        at_once = max(1, _FLAGS_AT_ONCE // n)
        for first in range(0, len(part), at_once):
            some = slice(first, first + at_once)
            sums += sets.members(places[some]).T.astype(np.float64) @ self._values[part[some]]
        value = float(self._row[column])
        is_known = not self._unknown[column]
        may, is_sure = judged(sums + self._others[column] - (sums[int(value)] if is_known else 0.0), self._slack)
        may &= permitted_levels(described, self._row, self._steps.wishes, column)
        if is_known:
            may[int(value)] = False
        codes = np.flatnonzero(may)
        far = np.ones(len(codes))
        if described.kind is Kind.ORDINAL and is_known:
            far = np.array([steps_between(value, code, n) for code in codes.tolist()])
        return np.full(len(codes), column), codes.astype(np.float64), far, is_sure[codes]


def judged(sums: FloatArray, slack: float) -> tuple[BoolArray, BoolArray]:
    """Which rows that stay divided may have the wanted answer, and which surely have it.

    Args:
        sums: by row the margins of its answer and how many leaves it reaches, shape (m, J + 1).
        slack: how far below 0 margins may be for rounding.
    """
    worst, divided = sums[:, :-1].min(axis=1, initial=np.inf), sums[:, -1] > 1.5
    return divided & (worst >= -slack), divided & (worst >= slack)


def nearest_of_each(
    row: FloatArray,
    columns: IntArray,
    cells: FloatArray,
    far: FloatArray,
    is_sure: BoolArray,
    steps: RegionSteps,
    holds: Callable[[FloatArray], BoolArray],
) -> list[Way]:
    """The nearest of each column's changes that has the wanted answer, where there is one.

    Args:
        row: shape (d,).
        columns, cells, far: the changes that may have it, what they change and how far; shape (m,).
        is_sure: whether they surely have it; else the tree itself is asked.
        steps: how changes are compared.
        holds: which rows, shape (n, d), the tree itself answers as wanted.
    """
    order = np.lexsort((far, columns))
    firsts = np.flatnonzero(np.diff(columns[order], prepend=-1))
    found: list[Way] = []
    for places in np.split(order, firsts[1:]) if len(order) else []:
        column = int(columns[places[0]])
        place = _first(row, column, places, cells, is_sure, holds)
        if place is not None:
            changed = row.copy()
            changed[column] = cells[place]
            found.append(steps.way(changed, {column: float(far[place])}))
    return found


def _first(
    row: FloatArray,
    column: int,
    places: IntArray,
    cells: FloatArray,
    is_sure: BoolArray,
    holds: Callable[[FloatArray], BoolArray],
) -> int | None:
    """The first of some values with the wanted answer; where rounding could decide, the tree itself is asked."""
    sure = int(np.argmax(is_sure[places])) if is_sure[places].any() else len(places)
    for first in range(0, sure, _AT_ONCE):
        some = places[first : min(first + _AT_ONCE, sure)]
        rows = np.repeat(row[None], len(some), axis=0)
        rows[:, column] = cells[some]
        held = holds(rows)
        if held.any():
            return int(some[np.argmax(held)])
    return int(places[sure]) if sure < len(places) else None
