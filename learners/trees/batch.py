"""Many rows through one tree or several at once: every step moves each of them one level down, by array operations.

For a batch this is as fast as a compiled loop, and it needs no compiler in the process that answers. What
:func:`learners.trees.branching.branch_of` says of one value is said here of arrays; tests hold the two together.
"""

from __future__ import annotations

import numpy as np

from learners.trees.branching import (
    BRANCH,
    CODE,
    FEATURE,
    FIRST_CHILD,
    LEVEL_COUNT,
    LEVEL_START,
    MISSING_BRANCH,
    MISSING_VALUE,
    N_CHILDREN,
    OTHER_BRANCH,
    SHARE,
    SPLIT,
    TEST,
    UNSEEN_LEVEL,
    UPPER,
)
from learners.trees.combined.tests import NO_TESTS, CombinedTests
from learners.trees.nodes import INTERVALS, LEAF, LEVELS, THRESHOLD
from learners.types import FloatArray, Int32Array, IntArray

#: Rows that walk together: few enough for their numbers to stay in the cache.
_ROWS_AT_ONCE = 20_000
#: Steps after which rows that have arrived are left out of the next ones.
_STEPS = 4
#: Leaves that the divided rows of one turn may reach together at most; it bounds the memory.
_LEAVES_AT_ONCE = 2_000_000


class BatchWalk:
    """The way of batches through one tree.

    Args:
        links, splits, levels, combined: as in :class:`learners.trees.traverse.PackedTree`.
        roots: of several trees one after the other, ascending; None for one.
    """

    def __init__(
        self,
        links: Int32Array,
        splits: FloatArray,
        levels: Int32Array,
        combined: CombinedTests = NO_TESTS,
        roots: IntArray | None = None,
    ) -> None:
        test = links[:, TEST]
        self._is_leaf = test == LEAF
        #: Of the largest tree.
        self._n_leaves = int(np.add.reduceat(self._is_leaf, [0] if roots is None else roots, dtype=np.int64).max())
        self._links = links
        self._share = splits[:, SHARE].copy()
        self._upper = splits[:, UPPER].copy()
        #: A leaf leads to itself, whatever the value.
        self._column = np.where(self._is_leaf, 0, links[:, FEATURE]).astype(np.intp)
        self._combined = combined
        if len(combined):
            #: Which combined test a node holds, below 0 for none; its value is put in the place of a column's.
            self._test = self._column - int(combined.n_columns)
            self._column[self._test >= 0] = 0
        self._first = np.where(self._is_leaf, np.arange(len(links)), links[:, FIRST_CHILD]).astype(np.intp)
        self._threshold = np.where(self._is_leaf | (test == LEVELS) | (test == INTERVALS), np.inf, splits[:, SPLIT])
        #: Tests of codes and of intervals: more than one comparison.
        self._is_coded = ~self._is_leaf & (test != THRESHOLD)
        self._has_codes = bool(self._is_coded.any())
        self._index_levels(levels)

    def _index_levels(self, levels: Int32Array) -> None:
        """One sorted list of all pairs of a node and one of its levels' codes."""
        counts = np.where(self._links[:, TEST] == LEVELS, self._links[:, LEVEL_COUNT], 0)
        owners = np.repeat(np.arange(len(counts)), counts)
        entries = _ranges(self._links[:, LEVEL_START], counts)
        self._width = int(levels[:, CODE].max(initial=0)) + 2
        keys = owners * self._width + levels[entries, CODE]
        order = np.argsort(keys, kind="stable")
        self._level_keys = keys[order]
        self._level_branches = levels[entries, BRANCH][order].astype(np.intp)

    def descend(self, cells: FloatArray) -> IntArray:
        """Where the values of each row of a batch lead: a leaf, or the first node at which they decide nothing.

        Args:
            cells: shape (d, n), in one piece, by column or by row.

        Returns:
            Node ids, shape (n,).
        """
        n_rows = cells.shape[1]
        if self._is_leaf[0]:
            return np.zeros(n_rows, np.intp)
        return self.descend_from(np.zeros(n_rows, np.intp), cells, np.arange(n_rows))

    def descend_from(self, roots: IntArray, cells: FloatArray, rows: IntArray) -> IntArray:
        """The same of some rows, each from a node of its own: the root of one of several trees.

        Args:
            roots: node ids, shape (m,).
            cells: as for :meth:`descend`.
            rows: shape (m,).

        Returns:
            Node ids, shape (m,).
        """
        nodes = np.empty(len(rows), np.intp)
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            part = slice(first, first + _ROWS_AT_ONCE)
            nodes[part] = self._walk(roots[part], cells, _starts(cells, rows[part]))
        return nodes

    def undecided(self, nodes: IntArray) -> IntArray:
        """The places of those nodes that are no leaves."""
        return np.flatnonzero(~self._is_leaf.take(nodes))

    def _walk(self, roots: IntArray, cells: FloatArray, starts: IntArray) -> IntArray:
        """The same for few enough rows that begin so."""
        reached, places, nodes = roots.copy(), np.arange(len(starts)), roots
        steps = 1  # which is all that a stump takes
        while len(places):
            for _ in range(steps):
                before, nodes = nodes, self._step(cells, starts, nodes)
            reached[places] = nodes
            on_the_way = np.flatnonzero((nodes != before) & ~self._is_leaf.take(nodes))
            places, starts, nodes = places[on_the_way], starts[on_the_way], nodes[on_the_way]
            steps = _STEPS
        return reached

    def _step(self, cells: FloatArray, starts: IntArray, before: IntArray) -> IntArray:
        """The node one level below, by each row's value; the same node at a leaf and where it decides nothing."""
        by_column, by_row = (stride // cells.itemsize for stride in cells.strides)
        at = self._column.take(before)
        if by_column > 1:
            at *= by_column
        at += starts
        values = cells.ravel("K").take(at)
        if len(self._combined):
            tests = self._test.take(before)
            places = np.flatnonzero(tests >= 0)
            rows = starts[places] // max(by_row, 1)  # of a single row the step may be 0
            values[places] = self._combined.values(tests[places], cells, rows)
        nodes: IntArray = self._first.take(before) + (values > self._threshold.take(before))
        self._settle(before, values, nodes)
        return nodes

    def _settle(self, before: IntArray, values: FloatArray, nodes: IntArray) -> None:
        """Correct the step of rows whose value is missing or a code; one that decides nothing stays where it is."""
        odd = np.isnan(values)
        if self._has_codes:
            odd |= self._is_coded.take(before)
        places = np.flatnonzero(odd)
        if not len(places):
            return
        nodes[places] = before[places]
        places = places[~self._is_leaf.take(before[places])]
        branches = self._branches(before[places], values[places])
        decided = branches >= 0
        places = places[decided]
        nodes[places] = self._first.take(before[places]) + branches[decided]

    def _branches(self, nodes: IntArray, values: FloatArray) -> IntArray:
        """:func:`learners.trees.branching.branch_of` of arrays."""
        links = self._links.take(nodes, axis=0)  # of a column alone numpy would first copy all nodes'
        test, missing, other = links[:, TEST], links[:, MISSING_BRANCH], links[:, OTHER_BRANCH]
        is_missing = np.isnan(values)
        codes = np.where(is_missing, UNSEEN_LEVEL, values)
        branches = (codes > self._threshold.take(nodes)).astype(np.intp)
        branches[(codes < 0) & (test != THRESHOLD)] = UNSEEN_LEVEL
        listed = np.flatnonzero(test == LEVELS)
        branches[listed] = self._listed(nodes[listed], codes[listed], other[listed])
        inside = np.flatnonzero(test == INTERVALS)
        branches[inside] = self._interval(nodes[inside], codes[inside])
        unseen = branches == UNSEEN_LEVEL
        branches[unseen] = np.where(missing >= 0, missing, UNSEEN_LEVEL)[unseen]
        branches[is_missing] = np.where(missing >= 0, missing, MISSING_VALUE)[is_missing]
        return branches

    def _interval(self, nodes: IntArray, values: FloatArray) -> IntArray:
        """The branch of each value at a node of intervals: a binary search of all at once."""
        first = self._first.take(nodes)
        low, high = np.zeros(len(nodes), np.intp), self._links.take(nodes, axis=0)[:, N_CHILDREN].astype(np.intp) - 1
        while (low < high).any():
            middle = (low + high) // 2
            below = values <= self._upper.take(first + middle)
            low, high = np.where(below | (low >= high), low, middle + 1), np.where(below, middle, high)
        return low

    def _listed(self, nodes: IntArray, codes: FloatArray, other: Int32Array) -> IntArray:
        """The branch of each code at a node that lists codes."""
        if not len(self._level_keys):
            return other.astype(np.intp)
        known = (codes >= 0) & (codes < self._width)
        keys = nodes * self._width + np.where(known, codes, 0).astype(np.intp)
        at = np.minimum(np.searchsorted(self._level_keys, keys), len(self._level_keys) - 1)
        found = known & (self._level_keys[at] == keys)
        return np.where(found, self._level_branches[at], np.where(other >= 0, other, UNSEEN_LEVEL))

    def reach(
        self, cells: FloatArray, rows: IntArray, roots: IntArray | None = None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """The leaves that rows reach when they go down every branch where their values decide nothing.

        Args:
            cells: shape (d, n), in one piece, by column or by row.
            rows: the rows asked for, shape (m,).
            roots: the node at which each begins, shape (m,); None for the first.

        Returns:
            Places in ``rows``, leaves and shares, one entry to each leaf that a row reaches: in the order of
            the rows, each row's largest share first, of equal shares the lowest id.
        """
        nodes = np.zeros(len(rows), np.intp) if roots is None else roots
        owners, shares = np.arange(len(rows)), np.ones(len(rows))
        found = []
        while True:
            at_leaf = self._is_leaf.take(nodes)
            found.append((owners[at_leaf], nodes[at_leaf], shares[at_leaf]))
            inner = np.flatnonzero(~at_leaf)
            if not len(inner):
                break
            owners, nodes, shares = self._step_divided(cells, rows, owners[inner], nodes[inner], shares[inner])
        owners, nodes, shares = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        order = np.lexsort((nodes, -shares, owners))
        return owners[order], nodes[order], shares[order]

    def _step_divided(
        self, cells: FloatArray, rows: IntArray, owners: IntArray, before: IntArray, shares: FloatArray
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Entries one level below; an entry whose value decides nothing as one for every child that gets a share."""
        nodes = self._step(cells, _starts(cells, rows.take(owners)), before)
        moved, stuck = np.flatnonzero(nodes != before), np.flatnonzero(nodes == before)
        counts = self._links.take(before[stuck], axis=0)[:, N_CHILDREN]
        children, parents = _ranges(self._first.take(before[stuck]), counts), np.repeat(stuck, counts)
        given = np.flatnonzero(self._share.take(children) > 0)
        children, parents = children[given], parents[given]
        return (
            np.concatenate((owners[moved], owners[parents])),
            np.concatenate((nodes[moved], children)),
            np.concatenate((shares[moved], shares[parents] * self._share.take(children))),
        )

    def divided(
        self, cells: FloatArray, rows: IntArray, answers: FloatArray, roots: IntArray | None = None
    ) -> FloatArray:
        """The mean of the answers of the leaves that each row reaches, weighted by its shares, heaviest first.

        Args:
            cells, rows, roots: as for :meth:`reach`.
            answers: by node, shape (N, K).

        Returns:
            Shape (m, K).
        """
        out = np.empty((len(rows), answers.shape[1]))
        at_once = max(1, _LEAVES_AT_ONCE // self._n_leaves)
        for first in range(0, len(rows), at_once):
            part = rows[first : first + at_once]
            own = None if roots is None else roots[first : first + at_once]
            owners, leaves, shares = self.reach(cells, part, own)
            for k in range(answers.shape[1]):  # bincount adds in the order of the entries
                added = shares * answers[leaves, k]
                out[first : first + at_once, k] = np.bincount(owners, added, minlength=len(part))
        return out


def _starts(cells: FloatArray, rows: IntArray) -> IntArray:
    """Where the cells of each row begin, counted in cells of the batch in memory; those of a column, from there."""
    return rows * (cells.strides[1] // cells.itemsize)


def _ranges(firsts: IntArray | Int32Array, counts: IntArray | Int32Array) -> IntArray:
    """The numbers ``first, first + 1, ...``, ``count`` of them, of each pair in turn."""
    ends = np.cumsum(counts, dtype=np.intp)
    numbers: IntArray = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(firsts - ends + counts, counts)
    return numbers
