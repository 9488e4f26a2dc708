"""How members are learned from row weights: trees on columns that are laid out once, or any learners by themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from learners.base import Learner, Progress
from learners.decisions import decide
from learners.ensembles.fitted import impurity_importances
from learners.ensembles.member_learners import MemberLearners
from learners.ensembles.members import MemberTrees
from learners.table import Series, Table
from learners.trees.cells import by_column
from learners.trees.nodes import Nodes
from learners.trees.setup import GrowthOptions
from learners.trees.shared import SharedColumns
from learners.trees.traverse import pack
from learners.types import BoolArray, FloatArray, IntArray

#: What is made of members: one structure that answers for all.
Members: TypeAlias = MemberTrees | MemberLearners


class Makers(ABC):
    """Makes members one by one, on any thread, and puts them together in the end."""

    @abstractmethod
    def make(self, member: int, weights: FloatArray, progress: Progress) -> Any:
        """The member of that number, learned from rows with these weights, shape (n,)."""

    @abstractmethod
    def wrong(self, made: Any) -> BoolArray:
        """Which rows a member of classes answers wrong, shape (n,)."""

    @abstractmethod
    def joined(self, made: Sequence[Any], threads: int = 1) -> Members:
        """All members that are kept, in their order."""

    @abstractmethod
    def importances(self, made: Sequence[Any], weights: FloatArray) -> FloatArray | None:
        """Each column's share of the members' decrease of impurity, shape (d,); ``None`` of what decreases none."""


class TreeMakers(Makers):
    """Grows trees.

    Args:
        table, target, weights: of all rows.
        options: of growth; their threads lay the columns out.
        finish: what is done to a grown tree.
        by_given: stop rules count ``weights`` in place of a member's own.
    """

    def __init__(
        self,
        table: Table,
        target: Series,
        weights: FloatArray,
        options: GrowthOptions,
        finish: Callable[[Nodes], Nodes],
        *,
        by_given: bool = False,
    ) -> None:
        self._table, self._target = table, target
        self._cells = by_column(table.values)
        self._finish, self._by_given = finish, by_given
        n_classes = 0 if target.column.is_numeric else len(target.column.levels)
        self.columns = SharedColumns(table, np.ascontiguousarray(target.cells), n_classes, weights, options)
        #: By member how columns are drawn for each node; of all nodes all columns, unless it is set.
        self.draw: Callable[[int], IntArray | None] = lambda member: None

    def make(self, member: int, weights: FloatArray, progress: Progress) -> Nodes:
        draw = self.draw(member)
        return self._finish(self.columns.grow(weights, by_given=self._by_given, draw=draw, progress=progress))

    def wrong(self, made: Nodes) -> BoolArray:
        packed = pack(made, self._table.columns, regression=False)
        nodes, undecided = packed.descended(self._cells)
        decided = decide(packed.answers)[nodes]
        if len(undecided):
            decided[undecided] = decide(packed.predict(self._cells[:, undecided]))
        return np.asarray(decided != self._target.cells.astype(np.int64))

    def joined(self, made: Sequence[Nodes], threads: int = 1) -> MemberTrees:
        return MemberTrees.of(made, self._table.columns, regression=self._target.column.is_numeric, threads=threads)

    def importances(self, made: Sequence[Nodes], weights: FloatArray) -> FloatArray:
        return impurity_importances(list(made), weights, self._table)


class LearnerMakers(Makers):
    """Fits learners of any kind.

    Args:
        table, target: all rows.
        new: an unfitted learner, by the member's number.
    """

    def __init__(self, table: Table, target: Series, new: Callable[[int], Learner]) -> None:
        self._table, self._target, self._new = table, target, new

    def make(self, member: int, weights: FloatArray, progress: Progress) -> Learner:
        return self._new(member).fit(self._table, self._target, weights, progress=progress)

    def wrong(self, made: Any) -> BoolArray:
        return np.asarray(decide(made.predict_proba(self._table)) != self._target.cells.astype(np.int64))

    def joined(self, made: Sequence[Learner], threads: int = 1) -> MemberLearners:
        return MemberLearners(tuple(made), self._table.columns, self._target.column.is_numeric)

    def importances(self, made: Sequence[Learner], weights: FloatArray) -> FloatArray | None:
        return self.joined(made).importances(weights)
