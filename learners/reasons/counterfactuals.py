"""The nearest rows with another answer, found exactly among all leaves of a tree.

A leaf's box is a product of one state for each tested column, so the nearest row in it takes the
nearest allowed value of each column whose own value is outside. All leaves are judged at once:
what each state takes is computed for all nodes and added up along the paths. "Nearest" is first the
number of changed columns (or, with costs, their sum), then the sum of the scaled distances: of a
number its change divided by the column's width (:mod:`learners.reasons.scales`), of an ordinal
level the steps divided by the greatest number of steps, of anything else 1. Sums that come first are
equal if they differ by less than rounding may make them (:data:`TIE`).

A missing value that a leaf's path tests has to be chosen, which counts as a change. Beside that,
each leaf is tried with the missing values left missing: such a row still is divided among several
leaves, so it counts only if the model's own answer is the wanted one. Among rows that know all that
is tested the search is exact; rows that choose some of several missing values and leave others are
not tried, and at most :data:`MAX_TRIALS` rows with values left missing are.

Every row that is given was answered by the model itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np

from learners.base import Learner
from learners.errors import ParameterError, quoted
from learners.reasons.boxes import Boxes, boxes_of, check_leaves
from learners.reasons.combined_search import CombinedSeeker
from learners.reasons.demands import Demands, demands_of, target_cell
from learners.reasons.records import Asked, Change, Counterfactual, shown_cell
from learners.reasons.rule_search import RuleSeeker
from learners.reasons.scales import Scales
from learners.reasons.targets import Target, answers_of, target_of
from learners.reasons.wishes import Wishes
from learners.rules.fitted import FittedRules
from learners.table import Table
from learners.trees.estimator import FittedTree
from learners.types import Array, BoolArray, FloatArray, IntArray

#: Most rows with missing values left in them that are tried for one counterfactual search.
MAX_TRIALS = 16
#: Costs (or, where they come first, distances) this close in relation to their size are equal.
TIE = 1e-9


@dataclass(frozen=True)
class Search:
    """What is looked for besides the wanted answer.

    Attributes:
        wishes: what may be changed and at what price; None for anything at cost 1.
        count: how many counterfactuals, the nearest first.
        diverse: let no two of them change the same set of columns.
        order: ``changes`` compares costs first, then distances; ``distance`` compares distances, each
            times its column's cost, first, then costs.
    """

    wishes: Wishes | None = None
    count: int = 1
    diverse: bool = False
    order: Literal["changes", "distance"] = "changes"


def counterfactuals(
    learner: Learner, X: Any, wanted: Any, search: Search | None = None, scales: Scales | None = None
) -> list[list[Counterfactual]]:
    """For each row the nearest rows that have the wanted answer; none where it has it already, or none can be reached.

    Args:
        learner: a fitted tree (with tests of several values by :mod:`learners.reasons.combined_search`), or an
            ordered rule set (:mod:`learners.reasons.rule_search`).
        X: rows as for ``predict``.
        wanted: a class label; or of a regression (least, greatest), either of them None for no bound.
        search: see :class:`Search`.
        scales: of the model's columns; by default from the model's thresholds.

    Raises:
        LearnerError: the learner is neither, or its rules or tests of several values leave too much to be
            looked at. ParameterError: it has no such class, the
            range is empty, ``count`` is less than 1.
    """
    search = search or Search()
    if search.count < 1:
        raise ParameterError(f"count must be a whole number >= 1, not {quoted(search.count)}", field="count")
    if search.order not in ("changes", "distance"):
        raise ParameterError(f"order is 'changes' or 'distance', not {quoted(search.order)}", field="order")
    seeker, target = _seeker(learner, wanted, search, scales)
    table = learner.check_table(X)
    reached = target.holds(answers_of(learner, table))
    return [[] if reached[index] else seeker.find(np.array(row)) for index, row in enumerate(table.values)]


def _seeker(
    learner: Learner, wanted: Any, search: Search, scales: Scales | None
) -> tuple[_Seeker | RuleSeeker | CombinedSeeker, Target]:
    if isinstance(learner, FittedRules):
        learner.check_fitted()
        target = target_of(learner, wanted)
        return RuleSeeker(
            learner,
            target,
            search.wishes or Wishes.of(learner.columns_),
            scales or Scales.of_rules(learner.ordered_rules_, learner.columns_),
            count=search.count,
            diverse=search.diverse,
            by_distance=search.order == "distance",
        ), target
    check_leaves(learner)
    assert isinstance(learner, FittedTree)  # noqa: S101 - it is checked
    target = target_of(learner, wanted)
    wishes = search.wishes or Wishes.of(learner.columns_)
    if len(learner.tree_.combined):
        return CombinedSeeker(
            learner,
            target,
            wishes,
            scales or Scales.of_combined(learner.tree_, learner.columns_),
            count=search.count,
            diverse=search.diverse,
            by_distance=search.order == "distance",
        ), target
    boxes = boxes_of(learner)
    return _Seeker(learner, boxes, target, search, wishes, scales or Scales.of_boxes(boxes)), target


def why_not(learner: Learner, X: Any, wanted: Any, scales: Scales | None = None) -> list[Counterfactual | None]:
    """For each row the nearest way to the wanted answer with everything free: its unmet conditions say why not.

    None where the row has the answer already, or no leaf has it. See :func:`counterfactuals`.
    """
    return [found[0] if found else None for found in counterfactuals(learner, X, wanted, None, scales)]


@dataclass(frozen=True)
class _Candidates:
    """Ways to leaves, the nearest first: the leaf, and whether missing values are left as they are."""

    leaves: IntArray
    left: BoolArray
    costs: FloatArray
    distances: FloatArray


class _Seeker:
    """One search over any number of rows."""

    def __init__(
        self, learner: FittedTree, boxes: Boxes, target: Target, search: Search, wishes: Wishes, scales: Scales
    ) -> None:
        self.learner = learner
        self.boxes = boxes
        self.search = search
        self.wishes = wishes
        self.scales = scales
        self.target = target
        self.wanted = boxes.leaves[target.holds(learner.packed_tree_.answers[boxes.leaves])]
        self.leaves = boxes.leaves
        self.price = np.append(wishes.costs, 0.0)  # the last for the root, which tests no column
        self.weight = np.append(wishes.costs if search.order == "distance" else np.ones(len(wishes.costs)), 0.0)
        random = np.random.default_rng(0)
        self.marks = np.append(random.integers(1, 2**62, len(wishes.costs)), 0)

    def find(self, row: FloatArray) -> list[Counterfactual]:
        """The nearest ways of one row, shape (d,)."""
        demands = demands_of(self.boxes, row, self.wishes, self.scales)
        ways = self._ways_apart(row, demands)
        found: list[Counterfactual] = []
        while batch := list(islice(ways, self.search.count - len(found))):
            rows = np.asfortranarray([cells for _, cells in batch])
            answers = answers_of(self.learner, Table(self.learner.columns_, rows))
            for (leaf, cells), answer, holds in zip(batch, answers, self.target.holds(answers), strict=True):
                if holds:
                    found.append(self._described(row, leaf, cells, answer, demands))
        return found

    def _ways_apart(self, row: FloatArray, demands: Demands) -> Iterator[tuple[int, FloatArray]]:
        """The changed rows of different leaves, if asked for with different sets of changed columns; nearest first."""
        leaves: set[int] = set()
        changed_sets: set[bytes] = set()
        for leaf, cells in self._rows(row, demands):
            changed = _differs(cells, row).tobytes()
            if leaf not in leaves and not (self.search.diverse and changed in changed_sets):
                leaves.add(leaf)
                changed_sets.add(changed)
                yield leaf, cells

    def _rows(self, row: FloatArray, demands: Demands) -> Iterator[tuple[int, FloatArray]]:
        """Rows that reach a wanted leaf wholly, or divided and with the wanted answer; the nearest first."""
        candidates = self._candidates(demands)
        tried: set[bytes] = set()
        for leaf, left in zip(candidates.leaves.tolist(), candidates.left.tolist(), strict=True):
            if left and len(tried) == MAX_TRIALS:
                continue
            cells = self._moved(row, leaf, demands, left)
            if left:
                content = cells.tobytes()
                if content in tried:
                    continue
                tried.add(content)
                if not self._mixture_holds(cells):
                    continue
            yield leaf, cells

    def _mixture_holds(self, cells: FloatArray) -> bool:
        """Whether the mean of the leaves that a divided row reaches is as wanted; before the model itself is asked."""
        shares = self.boxes.multiply_paths(self.boxes.shares(cells))[self.leaves]
        mixture = shares @ self.learner.packed_tree_.answers[self.leaves]
        return bool(self.target.holds(mixture[None])[0])

    def _candidates(self, demands: Demands) -> _Candidates:
        full = self._ways(demands, demands.shares != 1, left=False)
        divided = (demands.shares > 0) & (demands.shares < 1)
        if not divided.any():
            return self._sorted(full)
        bare = self._ways(demands, demands.shares == 0, left=True)
        return self._sorted(
            _Candidates(
                np.concatenate((bare.leaves, full.leaves)),
                np.concatenate((bare.left, full.left)),
                np.concatenate((bare.costs, full.costs)),
                np.concatenate((bare.distances, full.distances)),
            )
        )

    def _ways(self, demands: Demands, needed: BoolArray, *, left: bool) -> _Candidates:
        boxes = self.boxes
        costs = boxes.sum_paths(np.where(needed, self.price[boxes.tested], 0.0))
        distances = boxes.sum_paths(np.where(needed, demands.distance * self.weight[boxes.tested], 0.0))
        blocked = boxes.any_on_path(demands.blocked & needed)
        if left:  # a path without divided states is the other kind's
            blocked |= ~boxes.any_on_path((demands.shares > 0) & (demands.shares < 1))
        leaves = self.wanted[~blocked[self.wanted]]
        if self.search.diverse and not left:
            leaves = self._first_of_each_set(leaves, needed, costs, distances)
        return _Candidates(leaves, np.full(len(leaves), left), costs[leaves], distances[leaves])

    def _first_of_each_set(
        self, leaves: IntArray, needed: BoolArray, costs: FloatArray, distances: FloatArray
    ) -> IntArray:
        """Of leaves for which the same columns have to be changed the nearest; sets are told apart by sums of marks."""
        sets = self.boxes.sum_paths(np.where(needed, self.marks[self.boxes.tested], 0))[leaves]
        order = np.lexsort((leaves, *self._keys(costs[leaves], distances[leaves])))
        _, first = np.unique(sets[order], return_index=True)
        return leaves[order[np.sort(first)]]

    def _keys(self, costs: FloatArray, distances: FloatArray) -> tuple[Array, Array]:
        """What to sort by, the more important last."""
        if self.search.order == "changes":
            return distances, _ranks(costs)
        return costs, _ranks(distances)

    def _sorted(self, found: _Candidates) -> _Candidates:
        order = np.lexsort((found.leaves, *self._keys(found.costs, found.distances)))
        return _Candidates(found.leaves[order], found.left[order], found.costs[order], found.distances[order])

    def _moved(self, row: FloatArray, leaf: int, demands: Demands, left: bool) -> FloatArray:
        """The row with the nearest values that the leaf allows."""
        cells = row.copy()
        for feature, node in self.boxes.path_states(leaf).items():
            share = demands.shares[node]
            if share == 0 or (share < 1 and not left):
                cells[feature] = target_cell(self.boxes, demands, row, self.wishes, node)
        return cells

    def _described(
        self, row: FloatArray, leaf: int, cells: FloatArray, answers: FloatArray, demands: Demands
    ) -> Counterfactual:
        boxes = self.boxes
        states = boxes.path_states(leaf)
        differs = _differs(cells, row)
        changed = [place for place in states if differs[place]]
        changes = [self._change(place, states[place], row, cells, demands) for place in changed]
        weights = self.weight[changed]
        return Counterfactual(
            leaf=leaf,
            changes=tuple(changes),
            cost=math.fsum(self.wishes.costs[changed].tolist()),
            distance=float(sum(one.distance * float(weight) for one, weight in zip(changes, weights, strict=True))),
            asked=tuple(self._asked(row, place, node, demands) for place, node in states.items()),
            cells=cells,
            answer=self.target.answer(answers),
            probabilities=None if self.learner.target_.is_numeric else tuple(answers.tolist()),
        )

    def _change(self, place: int, node: int, row: FloatArray, cells: FloatArray, demands: Demands) -> Change:
        column = self.boxes.columns[place]
        return Change(
            column.name,
            shown_cell(column, row[place]),
            column.decode(float(cells[place])),
            float(demands.distance[node]),
        )

    def _asked(self, row: FloatArray, place: int, node: int, demands: Demands) -> Asked:
        share = demands.shares[node]
        state: Literal["met", "unmet", "undecided"] = "met" if share == 1 else "unmet" if share == 0 else "undecided"
        return Asked(self.boxes.condition(node), shown_cell(self.boxes.columns[place], row[place]), state)


def _ranks(sums: FloatArray) -> IntArray:
    """The place of each of these numbers >= 0 among all, the same for equal ones, shape (n,)."""
    order = np.argsort(sums, kind="stable")
    ascending = sums[order]
    ranks = np.zeros(len(sums), np.int64)
    ranks[order[1:]] = np.cumsum(ascending[1:] > ascending[:-1] * (1 + TIE))
    return ranks


def _differs(cells: FloatArray, row: FloatArray) -> BoolArray:
    differs: BoolArray = (cells != row) & ~(np.isnan(cells) & np.isnan(row))
    return differs
