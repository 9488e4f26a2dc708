"""Many rows through one tree or several at once: every step moves each of them one level down, by array operations.

It needs no compiler in the process that answers; where there is one, rows that are many walk by
:mod:`learners.trees.compiled_walk`. What :func:`learners.trees.branching.branch_of` says of one value is said here of
arrays; tests hold them together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

import numpy as np

from learners._accel import has_compiler, is_loaded, runs_compiled
from learners.trees.branching import FIRST_CHILD, SHARE, TEST, UPPER
from learners.trees.combined.tests import NO_TESTS, CombinedTests
from learners.trees.compiled_walk import CompiledWalk, divide_rows, walk_rows
from learners.trees.nodes import LEAF
from learners.trees.walk_layout import BETWEEN, COMPARED, LISTED, RANKED, TABLED, WalkLayout, lay_out, ranges
from learners.types import Array, FloatArray, Int32Array, IntArray

#: Rows that walk together: few enough for their numbers to stay in the cache.
_ROWS_AT_ONCE = 20_000
#: From so many walks on machine code is worth its loading, where there is a compiler.
MANY_WALKS = 3_000
#: The same of rows that are divided.
_MANY_DIVISIONS = 1_000
#: The same of both where it is loaded already or will be, and the nodes need only be laid out for it.
_MANY_WALKS_LOADED, _MANY_DIVISIONS_LOADED = 200, 50
#: So few walks are finished one by one.
_LAST_WALKS = 64
#: Steps after which rows that have arrived are left out of the next ones.
_STEPS = 4
#: Leaves that the divided rows of one turn may reach together at most, unless it is one row; it bounds the memory.
_LEAVES_AT_ONCE = 2_000_000

#: Beginning at as many nodes that it is divided among, one row's ways from all nodes of a tree are found no slower.
_NODES_A_WALK = 2_500

#: Where the way of a row leads from a node: takes node and row, returns the leaf or the node that decides nothing.
Finish: TypeAlias = Callable[[int, int], int]


class BatchWalk:
    """The way of batches through one tree, or several one after the other.

    Args:
        links, splits, levels, combined: as in :class:`learners.trees.traverse.PackedTree`.
    """

    def __init__(
        self, links: Int32Array, splits: FloatArray, levels: Int32Array, combined: CombinedTests = NO_TESTS
    ) -> None:
        self._links, self._splits, self._levels = links, splits, levels
        self._is_leaf = links[:, TEST] == LEAF
        self._combined = combined

    @cached_property
    def layout(self) -> WalkLayout:
        """What is read of each node."""
        return lay_out(self._links, self._splits, self._levels)

    @cached_property
    def _compiled(self) -> CompiledWalk:
        return CompiledWalk(self._links, self._splits, self._levels)

    @property
    def is_compiled(self) -> bool:
        """Whether many rows walk by machine code."""
        return not len(self._combined) and has_compiler() and runs_compiled(walk_rows)

    @cached_property
    def _test(self) -> IntArray:
        """Which combined test a node holds, below 0 for none; its value is put in the place of a column's."""
        return self.layout.column - int(self._combined.n_columns)

    @cached_property
    def _column(self) -> IntArray:
        return np.where(self._test >= 0, 0, self.layout.column) if len(self._combined) else self.layout.column

    @cached_property
    def _kinds(self) -> list[int]:
        """The ways that some node leads on by, beside the comparison."""
        return [kind for kind in np.unique(self.layout.kind).tolist() if kind != COMPARED]

    @cached_property
    def _share(self) -> FloatArray:
        return self._splits[:, SHARE].copy()

    def descend(self, cells: FloatArray, rows: IntArray | None = None) -> IntArray:
        """Where the values of each row of a batch lead: a leaf, or the first node at which they decide nothing.

        Args:
            cells: shape (d, n), in one piece, by column or by row.
            rows: the rows asked for, shape (m,); None for all.

        Returns:
            Node ids, shape (m,).
        """
        rows = np.arange(cells.shape[1]) if rows is None else rows
        nodes = np.zeros(len(rows), np.intp)
        return nodes if self._is_leaf[0] else self.descend_from(nodes, cells, rows)

    def descend_from(
        self, roots: IntArray, cells: FloatArray, rows: IntArray, finish: Finish | None = None
    ) -> IntArray:
        """The same of some rows, each from a node of its own: the root of one of several trees.

        Args:
            roots: node ids, shape (m,).
            cells: as for :meth:`descend`.
            rows: shape (m,).
            finish: leads the last few of few rows on one by one, which is quicker then.

        Returns:
            Node ids, shape (m,).
        """
        many = _MANY_WALKS_LOADED if _pays_anyway(cells, walk_rows) else MANY_WALKS
        if len(rows) >= many and self.is_compiled:
            return self._compiled.descended(roots, cells, rows)
        nodes = np.empty(len(rows), np.intp)
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            part = slice(first, first + _ROWS_AT_ONCE)
            nodes[part] = self._walk(roots[part], cells, rows[part], finish)
        return nodes

    def descend_each(self, roots: IntArray, cells: FloatArray) -> IntArray:
        """The same of all rows of a batch from each of some nodes; node ids, shape (roots, n)."""
        n_rows = cells.shape[1]
        if len(roots) * n_rows >= MANY_WALKS and self.is_compiled:
            return self._compiled.descended_each(roots, cells)
        rows, starts = np.tile(np.arange(n_rows), len(roots)), np.repeat(roots, n_rows)
        return self.descend_from(starts, cells, rows).reshape(len(roots), n_rows)

    def steps(self, row: FloatArray) -> IntArray:
        """Where one row, shape (d,), goes from each node, shape (N,); the same node where its value decides nothing."""
        n_nodes = len(self.layout.first)
        return self._step(row.reshape(-1, 1), np.zeros(n_nodes, np.intp), np.arange(n_nodes))

    def step(self, nodes: IntArray, cells: FloatArray, rows: IntArray) -> IntArray:
        """The same of several rows of a batch, each from a node of its own; node ids, shape (m,)."""
        return self._step(cells, _starts(cells, rows), nodes)

    def undecided(self, nodes: IntArray) -> IntArray:
        """The places of those nodes that are no leaves."""
        return np.flatnonzero(~self._is_leaf.take(nodes))

    def _walk(self, roots: IntArray, cells: FloatArray, rows: IntArray, finish: Finish | None) -> IntArray:
        """The same for few enough rows."""
        reached, places, nodes, starts = roots.copy(), np.arange(len(rows)), roots, _starts(cells, rows)
        steps = 1  # which is all that a stump takes
        while len(places) > (0 if finish is None else _LAST_WALKS):
            for _ in range(steps):
                before, nodes = nodes, self._step(cells, starts, nodes)
            reached[places] = nodes
            on_the_way = ((nodes != before) & ~self._is_leaf.take(nodes)).nonzero()[0]
            places, starts, nodes = places.take(on_the_way), starts.take(on_the_way), nodes.take(on_the_way)
            steps = _STEPS
        if finish is not None and len(places):
            own = zip(nodes.tolist(), rows.take(places).tolist(), strict=True)
            reached[places] = [finish(node, row) for node, row in own]
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
        layout = self.layout
        nodes: IntArray = layout.first.take(before)
        nodes += values > layout.threshold.take(before)
        if self._kinds:
            kinds = layout.kind.take(before)
            for kind in self._kinds:
                places = (kinds == kind).nonzero()[0]
                if len(places):
                    nodes[places] = self._next(kind, before.take(places), values.take(places), nodes.take(places))
        unknown = np.isnan(values).nonzero()[0]
        if len(unknown):
            nodes[unknown] = layout.absent.take(before.take(unknown))
        return nodes

    def _next(self, kind: int, before: IntArray, values: FloatArray, compared: IntArray) -> Array:
        """Where values lead from nodes of one kind; of a missing one anything, for that is said elsewhere."""
        layout = self.layout
        if kind == TABLED:
            codes = np.fmin(np.fmax(values, -1.0), layout.largest.take(before)).astype(np.intp)
            return layout.table.take(layout.place.take(before) + codes)
        if kind == LISTED:
            return self._listed(before, values)
        if kind == RANKED:
            return np.where(values < 0, layout.absent.take(before), compared)
        if kind == BETWEEN:
            return self._between(before, values)
        raise AssertionError(f"no node leads on by {kind}")

    def _between(self, nodes: IntArray, values: FloatArray) -> IntArray:
        """The child of each value at a node of intervals: a binary search of all at once."""
        first = self.layout.first.take(nodes)
        low, high = np.zeros(len(nodes), np.intp), self.layout.n_branches.take(nodes).astype(np.intp) - 1
        while (low < high).any():
            middle = (low + high) // 2
            below = values <= self._splits[first + middle, UPPER]
            low, high = np.where(below | (low >= high), low, middle + 1), np.where(below, middle, high)
        return first + low

    def _listed(self, nodes: IntArray, values: FloatArray) -> IntArray:
        """The child of each code at a node that lists codes: a binary search among those of all such nodes."""
        layout = self.layout
        known = (values >= 0) & (values < layout.width)
        keys = nodes * layout.width + np.where(known, values, 0).astype(np.intp)
        at = np.minimum(np.searchsorted(layout.keys, keys), len(layout.keys) - 1)
        found: IntArray = np.where(known & (layout.keys[at] == keys), layout.targets[at], layout.unlisted.take(nodes))
        return found

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
        reached = self._reached(cells, rows, np.zeros(len(rows), np.intp) if roots is None else roots, None)
        if reached is None:
            raise AssertionError("there was no limit")
        return reached

    def _reached(
        self, cells: FloatArray, rows: IntArray, nodes: IntArray, most: int | None
    ) -> tuple[IntArray, IntArray, FloatArray] | None:
        """The same; nothing if rows are divided into more than ``most`` at once."""
        owners, shares = np.arange(len(rows)), np.ones(len(rows))
        found, n_found = [], 0
        ends: IntArray | None = None
        while True:
            if ends is None and len(rows) == 1 and len(nodes) * _NODES_A_WALK >= len(self._is_leaf):
                ends = self._ends(cells, rows)
            nodes = self.descend_from(nodes, cells, rows.take(owners)) if ends is None else ends.take(nodes)
            at_leaf = self._is_leaf.take(nodes)
            found.append((owners[at_leaf], nodes[at_leaf], shares[at_leaf]))
            inner = np.flatnonzero(~at_leaf)
            if not len(inner):
                break
            n_found += len(owners) - len(inner)
            owners, nodes, shares = self._children(owners[inner], nodes[inner], shares[inner])
            if most is not None and n_found + len(owners) > most:
                return None
        owners, nodes, shares = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        order = np.lexsort((nodes, -shares, owners))
        return owners[order], nodes[order], shares[order]

    def _ends(self, cells: FloatArray, rows: IntArray) -> IntArray:
        """Where one row's values lead from every node, by jumps that double in length; shape (N,)."""
        n_nodes = len(self._is_leaf)
        ends = self._step(cells, np.repeat(_starts(cells, rows), n_nodes), np.arange(n_nodes))
        while not np.array_equal(further := ends.take(ends), ends):
            ends = further
        return ends

    def _children(self, owners: IntArray, nodes: IntArray, shares: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """In place of each entry one for every child of its node that gets a share."""
        counts = self.layout.n_branches.take(nodes)
        children, parents = ranges(self._links[nodes, FIRST_CHILD], counts), np.repeat(np.arange(len(nodes)), counts)
        given = np.flatnonzero(self._share.take(children) > 0)
        children, parents = children[given], parents[given]
        return owners[parents], children, shares[parents] * self._share.take(children)

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
        nodes = np.zeros(len(rows), np.intp) if roots is None else roots
        many = _MANY_DIVISIONS_LOADED if _pays_anyway(cells, divide_rows) else _MANY_DIVISIONS
        if len(rows) >= many and self.is_compiled:
            return self._compiled.divided(nodes, cells, rows, answers)
        return self._divided(nodes, cells, rows, answers)

    def _divided(self, nodes: IntArray, cells: FloatArray, rows: IntArray, answers: FloatArray) -> FloatArray:
        """The same by arrays."""
        out = np.empty((len(rows), answers.shape[1]))
        waiting = [np.arange(len(rows))[first : first + _ROWS_AT_ONCE] for first in range(0, len(rows), _ROWS_AT_ONCE)]
        while waiting:
            part = waiting.pop()
            reached = self._reached(cells, rows[part], nodes[part], _LEAVES_AT_ONCE if len(part) > 1 else None)
            if reached is None:
                waiting += np.array_split(part, 2)
                continue
            owners, leaves, shares = reached
            for k in range(answers.shape[1]):  # bincount adds in the order of the entries
                out[part, k] = np.bincount(owners, shares * answers[leaves, k], minlength=len(part))
        return out


def _pays_anyway(cells: FloatArray, kernel: Callable[..., object]) -> bool:
    """Whether machine code is loaded, or worth its loading for the batch or the whole table that rows are of: each of
    its rows is asked about, if not at once, then in another fold.
    """
    return cells.shape[1] >= MANY_WALKS or is_loaded(kernel)


def _starts(cells: FloatArray, rows: IntArray) -> IntArray:
    """Where the cells of each row begin, counted in cells of the batch in memory; those of a column, from there."""
    return rows * (cells.strides[1] // cells.itemsize)
