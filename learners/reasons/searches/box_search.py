"""The nearest rows with another answer of a tree of boxes, found exactly among all of its leaves.

A leaf's box is a product of one state for each tested column, so the nearest row in it takes the nearest allowed value
of each column whose own value is outside. All leaves are judged at once: what each state takes is computed for all
nodes and added up along the paths. Sums that come first are equal if they differ by less than rounding may make them
(:data:`TIE`).

Rows that leave some or all missing values missing are looked for by :mod:`learners.reasons.divided.mixed_search`, by
distance by :mod:`learners.reasons.divided.divided_search`, as far as they could be nearer than the next leaf's box.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from learners.reasons.divided.divided_search import DividedSearch
from learners.reasons.divided.mixed_search import MixedSearch
from learners.reasons.divided.mixed_seeker import MixedSeeker
from learners.reasons.nearest.demands import Demands, demands_of, target_cell
from learners.reasons.nearest.region_steps import RegionSteps
from learners.reasons.records import Asked, Change, Counterfactual, Ways, shown_cell
from learners.reasons.regions.boxes import Boxes
from learners.reasons.wanted.targets import Target, answers_of
from learners.reasons.work import Work
from learners.table import Table
from learners.trees.estimator import FittedTree
from learners.types import Array, BoolArray, FloatArray, IntArray

#: Costs (or, where they come first, distances) this close in relation to their size are equal.
TIE = 1e-9


@dataclass(frozen=True)
class _Candidates:
    """Boxes of leaves and how near they are, the nearest first."""

    leaves: IntArray
    costs: FloatArray
    distances: FloatArray


@dataclass(frozen=True)
class _Found:
    """A changed row, the leaf it counts for, how far each column went, and whether no nearer one was passed over."""

    leaf: int
    cells: FloatArray
    steps: dict[int, float]
    exact: bool


class BoxSeeker:
    """One search over any number of rows.

    Args:
        learner: a fitted tree all of whose tests are of single columns.
        boxes: of its leaves.
        target: the wanted answer.
        steps: what may be changed at what price, and what is compared first.
        count, diverse: see :class:`learners.reasons.counterfactuals.Search`.
        work: what the searches of all rows may take together.
    """

    def __init__(
        self,
        learner: FittedTree,
        boxes: Boxes,
        target: Target,
        steps: RegionSteps,
        *,
        count: int,
        diverse: bool,
        work: Work,
    ) -> None:
        self.learner = learner
        self.boxes = boxes
        self.count = count
        self.diverse = diverse
        self.wishes = wishes = steps.wishes
        self.scales = steps.scales
        self.target = target
        self.steps = steps
        self.mixes = MixedSeeker(learner, target, steps, work)
        self.wanted = boxes.leaves[target.holds(learner.packed_tree_.answers[boxes.leaves])]
        self.price = np.append(wishes.costs, 0.0)  # the last for the root, which tests no column
        self.weight = np.append(self.steps.weights, 0.0)
        random = np.random.default_rng(0)
        self.marks = np.append(random.integers(1, 2**62, len(wishes.costs)), 0)

    def find(self, row: FloatArray) -> Ways:
        """The nearest ways of one row, shape (d,)."""
        demands = demands_of(self.boxes, row, self.wishes, self.scales)
        mixes = self._mixes(row, demands) if _is_divided(demands) else None
        ways = self._ways_apart(row, demands, mixes)
        found = Ways()
        while batch := list(islice(ways, self.count - len(found))):
            rows = np.asfortranarray([one.cells for one in batch])
            answers = answers_of(self.learner, Table(self.learner.columns_, rows))
            for one, answer, holds in zip(batch, answers, self.target.holds(answers), strict=True):
                if holds:
                    found.append(self._described(row, one, answer, demands))
        if not found and mixes is not None and not mixes.is_complete:
            found.unfinished = str(mixes.ended())
        return found

    def _mixes(self, row: FloatArray, demands: Demands) -> MixedSearch | DividedSearch:
        """Sets of columns are few where their number counts first; where distances do, all may be as near as any."""
        if self.steps.by_distance:
            return DividedSearch(self.mixes, self.boxes, row, demands)
        return MixedSearch(self.mixes, row)

    def _ways_apart(
        self, row: FloatArray, demands: Demands, mixes: MixedSearch | DividedSearch | None
    ) -> Iterator[_Found]:
        """The changed rows of different leaves, if asked for with different sets of changed columns; nearest first."""
        leaves: set[int] = set()
        changed_sets: set[bytes] = set()
        for one in self._rows(row, demands, mixes):
            changed = _differs(one.cells, row).tobytes()
            if one.leaf not in leaves and not (self.diverse and changed in changed_sets):
                leaves.add(one.leaf)
                changed_sets.add(changed)
                yield one

    def _rows(self, row: FloatArray, demands: Demands, mixes: MixedSearch | DividedSearch | None) -> Iterator[_Found]:
        """Rows that reach a wanted leaf wholly, or divided and with the wanted answer; the nearest first."""
        whole = self._candidates(demands)
        for leaf, cost, distance in zip(
            whole.leaves.tolist(), whole.costs.tolist(), whole.distances.tolist(), strict=True
        ):
            if mixes is not None:
                yield from self._mixed(mixes, self.steps.key(cost, distance))
            exact = mixes is None or mixes.is_complete
            yield _Found(leaf, *self._moved(row, leaf, demands), exact)
        if mixes is not None:
            yield from self._mixed(mixes, None)

    def _mixed(self, mixes: MixedSearch | DividedSearch, key: tuple[float, float] | None) -> Iterator[_Found]:
        """Rows that stay divided and are nearer than a key says."""
        while (way := mixes.next_before(key)) is not None:
            yield _Found(self.mixes.leaf(way.cells), way.cells, way.steps, mixes.is_complete)

    def _candidates(self, demands: Demands) -> _Candidates:
        boxes = self.boxes
        needed = demands.shares != 1
        costs = boxes.sum_paths(np.where(needed, self.price[boxes.tested], 0.0))
        distances = boxes.sum_paths(np.where(needed, demands.distance * self.weight[boxes.tested], 0.0))
        blocked = boxes.any_on_path(demands.blocked & needed)
        leaves = self.wanted[~blocked[self.wanted]]
        if self.diverse:
            leaves = self._first_of_each_set(leaves, needed, costs, distances)
        order = np.lexsort((leaves, *self._keys(costs[leaves], distances[leaves])))
        leaves = leaves[order]
        return _Candidates(leaves, costs[leaves], distances[leaves])

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
        return (costs, _ranks(distances)) if self.steps.by_distance else (distances, _ranks(costs))

    def _moved(self, row: FloatArray, leaf: int, demands: Demands) -> tuple[FloatArray, dict[int, float]]:
        """The row with the nearest values that the leaf allows, and how far each is."""
        cells = row.copy()
        steps = {}
        for feature, node in self.boxes.path_states(leaf).items():
            if demands.shares[node] != 1:
                cells[feature] = target_cell(self.boxes, demands, row, self.wishes, node)
                steps[feature] = float(demands.distance[node])
        return cells, steps

    def _described(self, row: FloatArray, one: _Found, answers: FloatArray, demands: Demands) -> Counterfactual:
        states = self.boxes.path_states(one.leaf)
        differs = _differs(one.cells, row)
        # a divided row may change columns that other leaves' paths test
        changed = [place for place in dict.fromkeys((*states, *sorted(one.steps))) if differs[place]]
        columns = self.boxes.columns
        changes = [
            Change(
                columns[place].name,
                shown_cell(columns[place], row[place]),
                columns[place].decode(float(one.cells[place])),
                one.steps[place],
            )
            for place in changed
        ]
        weights = self.weight[changed]
        return Counterfactual(
            leaf=one.leaf,
            changes=tuple(changes),
            cost=math.fsum(self.wishes.costs[changed].tolist()),
            distance=float(
                sum(change.distance * float(weight) for change, weight in zip(changes, weights, strict=True))
            ),
            asked=tuple(self._asked(row, place, node, demands) for place, node in states.items()),
            cells=one.cells,
            answer=self.target.answer(answers),
            probabilities=None if self.learner.target_.is_numeric else tuple(answers.tolist()),
            exact=one.exact,
        )

    def _asked(self, row: FloatArray, place: int, node: int, demands: Demands) -> Asked:
        share = demands.shares[node]
        state: Literal["met", "unmet", "undecided"] = "met" if share == 1 else "unmet" if share == 0 else "undecided"
        return Asked(self.boxes.condition(node), shown_cell(self.boxes.columns[place], row[place]), state)


def _is_divided(demands: Demands) -> bool:
    """Whether some test leaves the row undecided."""
    return bool(((demands.shares > 0) & (demands.shares < 1)).any())


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
