"""The trees of an ensemble as one node array with several roots, through which rows walk all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from learners.base import ModelState, Progress, no_progress
from learners.decisions import decide
from learners.ensembles.compiled_answers import CompiledAnswers
from learners.ensembles.growing import for_each
from learners.ensembles.storage import restored, stored
from learners.table import Column
from learners.trees.batch import MANY_WALKS, Finish
from learners.trees.descent import Descent
from learners.trees.nodes import Nodes
from learners.trees.traverse import PackedTree, node_answers, pack
from learners.types import Array, FloatArray, IntArray

#: Rows that walk together through one tree after the other: few enough for their numbers to stay in the cache.
_ROWS_AT_ONCE = 20_000
#: Numbers of the members' answers that are kept together; it bounds the memory.
_NUMBERS_AT_ONCE = 4_000_000
#: Up to so many rows are finished one by one.
_FEW_ROWS = 4
#: From so many rows on threads are worth their start.
_MANY_ROWS = 1_000
#: Ids of nodes, which move where trees are put one after the other.
_NODE_IDS = ("first_child", "parent")


@dataclass(frozen=True, eq=False)
class MemberTrees:
    """M trees over the same columns.

    Attributes:
        nodes: all trees' nodes, one tree after the other; ids count through all of them.
        bounds: int64 (M + 1,), the first node of each tree, and the number of nodes.
        columns: what the trees test.
        regression: whether they answer numbers.
    """

    nodes: Nodes
    bounds: IntArray
    columns: tuple[Column, ...]
    regression: bool

    @classmethod
    def of(
        cls, trees: Sequence[Nodes], columns: tuple[Column, ...], *, regression: bool, threads: int = 1
    ) -> MemberTrees:
        """Put trees, of which none has tests of several values, one after the other."""
        bounds = np.concatenate(([0], np.cumsum([tree.n_nodes for tree in trees])))
        levels = np.concatenate(([0], np.cumsum([len(tree.level_codes) for tree in trees])))
        names = list(trees[0].own_arrays())

        def join(place: int, _: Progress) -> Array:
            name = names[place]
            parts = [getattr(tree, name) for tree in trees]
            if name in _NODE_IDS:
                parts = [np.where(part >= 0, part + first, -1) for part, first in zip(parts, bounds, strict=False)]
            elif name == "level_start":
                parts = [part + first for part, first in zip(parts, levels, strict=False)]
            kind = parts[0].dtype if name not in _MOVED else np.int32
            return np.concatenate(parts, dtype=kind, casting="same_kind")

        joined: dict[str, Any] = dict(
            zip(names, for_each(join, len(names), threads, no_progress, "joining members"), strict=True)
        )
        return cls(Nodes(**joined), bounds, columns, regression)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @lru_cache(maxsize=256)  # noqa: B019 - of few trees at a time, and with them the ensemble is forgotten
    def tree(self, member: int) -> Nodes:
        """One of the trees by itself."""
        first, last = int(self.bounds[member]), int(self.bounds[member + 1])
        own: dict[str, Any] = self.nodes.own_arrays()
        levels = {name: own.pop(name) for name in ("level_codes", "level_branch")}
        own = {name: array[first:last] for name, array in own.items()}
        for name in _NODE_IDS:
            own[name] = np.where(own[name] >= 0, own[name] - first, -1).astype(np.int32)
        start, count = own["level_start"], own["level_count"]
        low = int(start[count > 0].min(initial=len(levels["level_codes"])))
        high = int((start + count)[count > 0].max(initial=low))
        own["level_start"] = np.where(count > 0, start - low, 0).astype(np.int32)
        return replace(self.nodes, **own, **{name: array[low:high] for name, array in levels.items()})

    @cached_property
    def packed(self) -> PackedTree:
        """All trees laid out for walking."""
        return pack(self.nodes, self.columns, regression=self.regression, answers=self._node_answers)

    @cached_property
    def _node_answers(self) -> FloatArray:
        return node_answers(self.nodes, regression=self.regression)

    @property
    def n_values(self) -> int:
        """Numbers in an answer."""
        return 1 if self.regression else int(self.nodes.value.shape[1])

    @property
    def roots(self) -> IntArray:
        return self.bounds[:-1]

    @cached_property
    def _descent(self) -> Descent:
        return Descent(self.packed, self.columns)

    @cached_property
    def _votes(self) -> FloatArray:
        """What each node's class is, as a row of 0 and one 1."""
        return one_hot(self._node_answers)

    def answers(self, cells: FloatArray, weights: FloatArray, *, hard: bool, threads: int = 1) -> FloatArray:
        """The members' answers times their weights, added up in the members' order.

        Args:
            cells: shape (d, n), by column or by row.
            weights: shape (M,).
            hard: whether a member votes for its likeliest class alone, in place of its class shares.
            threads: on which many rows are answered, where that is done by machine code.

        Returns:
            Shape (n, K), or (n, 1) of numbers.
        """
        n_rows = cells.shape[1]
        if n_rows <= _FEW_ROWS:
            answers = self.each(cells, hard=hard)
            base = self._base(answers[0])
            # the same sums as of more rows in a few calls, in place of some for each member
            sums: FloatArray = np.cumsum((answers - base) * weights[:, None, None], axis=0)[-1] + base
            return sums
        threads = threads if n_rows >= _MANY_ROWS and CompiledAnswers.runs() else 1
        compiled = None if hard or len(self) * n_rows < MANY_WALKS else self._compiled(threads)
        at_once = self._rows_at_once() if compiled is None else compiled.rows_at_once(len(cells))
        at_once = min(at_once, -(-n_rows // threads))
        out = np.empty((n_rows, self.n_values))

        def answer(part: int, _: Progress) -> None:
            rows = slice(part * at_once, (part + 1) * at_once)
            # a row's values side by side, for each row is asked for some of its columns by every tree
            own = np.ascontiguousarray(cells[:, rows].T).T
            out[rows] = self._added(own, weights, hard=hard) if compiled is None else compiled.added(own, weights)

        for_each(answer, -(-n_rows // at_once), threads, no_progress, "answering rows")
        return out

    def _rows_at_once(self) -> int:
        """How many rows arrays answer together."""
        return min(max(1, _NUMBERS_AT_ONCE // (len(self) * self.n_values)), _ROWS_AT_ONCE)

    def _compiled(self, threads: int) -> CompiledAnswers | None:
        """The way of many rows by machine code, made once, if there is a compiler."""
        if not CompiledAnswers.runs():
            return None
        own = self.__dict__  # where cached properties are
        if "_laid" not in own:
            own["_laid"] = CompiledAnswers(
                self.nodes,
                self.roots,
                self.columns,
                lambda: self.packed,
                self._node_answers,
                regression=self.regression,
                threads=threads,
            )
        found: CompiledAnswers = own["_laid"]
        return found

    def _added(self, cells: FloatArray, weights: FloatArray, *, hard: bool) -> FloatArray:
        """The same of rows that are answered together, of which there is more than one."""
        n_rows = cells.shape[1]
        nodes = self.packed.walk.descend_each(self.roots, cells)
        undecided, shares = self._divided(nodes.ravel(), cells, hard=hard)
        ends = np.searchsorted(undecided, np.arange(len(self) + 1) * n_rows)
        answers = self._votes if hard else self._node_answers
        sums = np.zeros((n_rows, answers.shape[1]))
        base = sums
        for member, weight in enumerate(weights.tolist()):
            found, own = answers.take(nodes[member], axis=0), slice(ends[member], ends[member + 1])
            found[undecided[own] - member * n_rows] = shares[own]
            base = self._base(found) if member == 0 else base
            sums += (found - base) * weight
        return sums + base

    def _base(self, first: FloatArray) -> FloatArray:
        """What answers are added up as differences to: numbers to the first member's.

        So the mean of equal ones is exactly that.
        """
        return first.copy() if self.regression else np.zeros_like(first)

    def _divided(self, nodes: IntArray, cells: FloatArray, *, hard: bool) -> tuple[IntArray, FloatArray]:
        """The places of nodes that are no leaves, where each member led all rows, and what is answered there."""
        undecided = self.packed.walk.undecided(nodes)
        shares = self.packed.walk.divided(cells, undecided % cells.shape[1], self.packed.answers, nodes[undecided])
        return undecided, one_hot(shares) if hard else shares

    def each(self, cells: FloatArray, *, hard: bool) -> FloatArray:
        """What each member answers to each of a few rows, shape (M, n, K)."""
        n_rows = cells.shape[1]
        rows, starts = np.tile(np.arange(n_rows), len(self)), np.repeat(self.roots, n_rows)
        finish = self._finish(cells) if n_rows <= _FEW_ROWS else None
        nodes = self.packed.walk.descend_from(starts, cells, rows, finish)
        found = (self._votes if hard else self._node_answers).take(nodes, axis=0)
        undecided, shares = self._divided(nodes, cells, hard=hard)
        found[undecided] = shares
        return found.reshape(len(self), n_rows, found.shape[1])

    def _finish(self, cells: FloatArray) -> Finish | None:
        """Leads few rows on in plain numbers; nothing if a value is missing."""
        if np.isnan(cells).any():
            return None
        end, known = self._descent.end, cells.T.tolist()
        return lambda node, row: end(known[row], node)

    def leaves(self, cells: FloatArray) -> IntArray:
        """The node of its own tree by which each member answers each of a few rows, shape (M, n).

        Of a divided row it is the leaf with its largest share.
        """
        n_rows = cells.shape[1]
        rows, starts = np.tile(np.arange(n_rows), len(self)), np.repeat(self.roots, n_rows)
        nodes = self.packed.walk.descend_from(starts, cells, rows)
        undecided = self.packed.walk.undecided(nodes)
        owners, reached, _ = self.packed.walk.reach(cells, rows[undecided], nodes[undecided])
        nodes[undecided] = reached[np.searchsorted(owners, np.arange(len(undecided)))]
        found: IntArray = (nodes - starts).reshape(len(self), n_rows)
        return found

    def of_member(self, member: int, cells: FloatArray, rows: IntArray) -> FloatArray:
        """What one member answers to some rows, shape (m, K)."""
        # a walk of its own: its few levels are found sooner than among those of all trees
        return pack(self.tree(member), self.columns, regression=self.regression).predict(cells[:, rows])

    def reached(self, cells: FloatArray, rows: IntArray, members: IntArray) -> list[tuple[IntArray, FloatArray]]:
        """For each of some rows the leaves of a member's own tree that it reaches, and its share in each.

        Args:
            cells: shape (d, n), by column or by row.
            rows: shape (m,).
            members: the member that each of them is asked of, shape (m,).
        """
        roots = self.bounds[members]
        owners, leaves, shares = self.packed.walk.reach(cells, rows, roots)
        ends = np.searchsorted(owners, np.arange(1, len(rows)))
        return list(zip(np.split(leaves - roots[owners], ends), np.split(shares, ends), strict=True))

    @property
    def is_of_stumps(self) -> bool:
        """Whether no member has more than one test."""
        return self.nodes.greatest_depth <= 1

    @cached_property
    def total_greatest_depth(self) -> int:
        """Number of tests on the longest path of each member, added up."""
        return int(np.maximum.reduceat(self.nodes.depth, self.bounds[:-1]).sum())

    @property
    def unpacked_bytes(self) -> int:
        """Memory that walking takes beside the stored arrays: some 165 bytes a node."""
        return 165 * self.nodes.n_nodes

    def looked_at(self, member: int) -> IntArray:
        """The columns that a member tests, ascending."""
        first, last = self.bounds[member : member + 2]
        tested = self.nodes.feature[first:last]
        return np.unique(tested[tested >= 0])

    def add_to(self, state: ModelState) -> None:
        """Put the trees into the state of their ensemble."""
        state.arrays |= {"bounds": self.bounds} | stored(self.nodes)

    @classmethod
    def of_state(cls, state: ModelState, columns: tuple[Column, ...], *, regression: bool) -> MemberTrees:
        """The inverse of :meth:`add_to`."""
        return cls(restored(state.arrays), state.arrays["bounds"], columns, regression)


_MOVED = (*_NODE_IDS, "level_start")


def one_hot(shares: FloatArray) -> FloatArray:
    """1 for the class that is decided for and 0 for others, shape (n, K)."""
    votes: FloatArray = np.eye(shares.shape[1])[decide(shares)]
    return votes
