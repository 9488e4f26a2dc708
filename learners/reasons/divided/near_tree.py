"""The part of a tree that changed rows within a budget may reach, as small lists for a search among regions of rows.

Of each column only few kinds of values matter there: those between two thresholds that lead the same way from every
test, of which the nearest allowed one stands for all (an *atom*; the row's own value is one by itself). Sets of a
column's atoms are whole numbers, a bit an atom, so that a region of rows is one such number a column. Nodes of which
the budget leaves one child only are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from learners.reasons.nearest.demands import Demands, nearest_numbers, permitted_levels, steps_between
from learners.reasons.nearest.region_steps import Key, RegionSteps
from learners.reasons.regions.boxes import Boxes
from learners.table import Kind
from learners.types import Array, BoolArray, FloatArray, IntArray

#: A region: of each column the atoms that are left.
Masks: TypeAlias = list[int]


class Atom(NamedTuple):
    """Some values of a column.

    Attributes:
        bit: of masks.
        price: what the change counts.
        cell: the nearest of them.
        step: how far it is.
    """

    bit: int
    price: Key
    cell: float
    step: float


class Prices:
    """What the nodes' paths cost a row that leaves missing what is missing; arrays have one entry a node.

    Args:
        boxes: of the tree.
        demands: of the row.
        steps: how changes are compared.
    """

    def __init__(self, boxes: Boxes, demands: Demands, steps: RegionSteps) -> None:
        unmet = demands.shares == 0
        cost = np.append(steps.wishes.costs, 0.0)[boxes.tested]
        distance = demands.distance * np.append(steps.weights, 0.0)[boxes.tested]
        costs = boxes.sum_paths(np.where(unmet, cost, 0.0))
        distances = boxes.sum_paths(np.where(unmet, distance, 0.0))
        self.first, self.second = (distances, costs) if steps.by_distance else (costs, distances)
        reached = ~boxes.any_on_path(demands.blocked & unmet)
        leaves = boxes.leaves[reached[boxes.leaves]]
        order = np.lexsort((self.second[leaves], self.first[leaves]))
        self._reached = reached
        #: Of the leaves, ascending.
        self.keys = np.column_stack((self.first[leaves[order]], self.second[leaves[order]]))

    def within(self, budget: Key) -> IntArray:
        """The nodes that a row of the budget may reach, ascending."""
        return np.flatnonzero(self._reached & within(self.first, self.second, budget))


def within(first: FloatArray, second: FloatArray, budget: Key) -> BoolArray:
    """Which keys are at most a budget, but for rounding."""
    inside: BoolArray = (first < budget[0] * (1 - _TIE)) | (
        (first <= budget[0] * (1 + _TIE)) & (second <= budget[1] * (1 + _TIE))
    )
    return inside


_TIE = 1e-9


class NearTree:
    """The part of a tree within a budget. Lists have one entry a node, parents before children.

    Args:
        boxes: of the tree.
        row: shape (d,).
        demands: of the row.
        steps: what changes are allowed.
        margins: of the answers of all nodes of the tree, shape (N, J).
        kept: ascending ids of the nodes, with the root.

    Attributes:
        columns: that are asked.
        ids: in the tree.
        parent: place of the node above.
        column: the column that the test above asks; ``asked`` the one that its own test asks, -1 of a leaf.
        mask: the atoms of ``column`` that lead to the node, by all tests on its path.
        before: the same, of the tests above; ``above``: of the column that its own test asks.
        taken: the atoms of ``column`` with which a row wholly takes the branch to the node.
        divided: the atoms of ``asked`` that divide a row.
        share: of the row, where it is divided.
        children: places.
        atoms: by column, the nearest first; the row's own value is the very first.
        whole: by column, all atoms.
        known: by column, the nearest atom of each mask that was asked for.
    """

    def __init__(
        self,
        boxes: Boxes,
        row: FloatArray,
        demands: Demands,
        steps: RegionSteps,
        margins: FloatArray,
        kept: IntArray,
    ) -> None:
        self.margins = margins
        self._worth: dict[int, list[float]] = {}
        self._boxes, self._row, self._steps = boxes, row, steps
        self.columns: list[int] = np.unique(boxes.tested[kept[1:]]).tolist()
        d = len(boxes.columns)
        self.atoms: list[list[Atom]] = [[Atom(1, (0.0, 0.0), float(cell), 0.0)] for cell in row]
        self.whole: Masks = [1] * d
        self.known: list[dict[int, Atom]] = [{} for _ in range(d)]
        leading = [0] * len(kept)
        parents = np.searchsorted(kept, boxes.parent[kept])
        stay = demands.taken[boxes.parent[kept]] == boxes.branch[kept]
        self._low, self._high = boxes.nodes.child_bounds(boxes.numeric, kept)
        tested = boxes.tested[kept]
        below = {feature: np.flatnonzero(tested == feature) for feature in self.columns}
        self._find_numbers({one: places for one, places in below.items() if boxes.numeric[one]})
        for feature, places in below.items():
            own = self.atoms[feature][0].bit if boxes.numeric[feature] else self._find_levels(feature)
            masks = self._number_masks(feature, places) if boxes.numeric[feature] else self._level_masks(kept[places])
            for place, mask, stays in zip(places.tolist(), masks, stay[places].tolist(), strict=True):
                leading[place] = mask & ~own | (own if stays else 0)
        self._link(kept, parents.tolist(), leading, demands)

    def _link(self, kept: IntArray, parents: list[int], leading: list[int], demands: Demands) -> None:
        """Put the nodes together that have several children left, and the leaves; one pass from the root down."""
        nodes = self._boxes.nodes
        features = nodes.feature[kept].tolist()
        undecided = (demands.taken[kept] < 0).tolist()
        shares = nodes.fraction[kept].tolist()
        below: list[list[int]] = [[] for _ in features]
        for place in range(1, len(parents)):
            below[parents[place]].append(place)
        self.ids: list[int] = []
        self.parent: list[int] = []
        self.column: list[int] = []
        self.asked: list[int] = []
        self.mask: list[int] = []
        self.before: list[int] = []
        self.above: list[int] = []
        self.taken: list[int] = []
        self.divided: list[int] = []
        self.share: list[float] = []
        self.children: list[list[int]] = []
        ids = kept.tolist()
        masks = list(self.whole)  # of the path, by column
        # place, place of the parent's new one, and of the test between them the column, its masks before and after,
        # and its own; or, to end a subtree, the column and its mask before
        stack: list[tuple[int, int, int, int, int, int]] = [(0, -1, -1, 0, 0, 0)]
        while stack:
            place, parent, column, before, mask, taken = stack.pop()
            if place < 0:
                masks[column] = before
                continue
            share = shares[place]
            while len(below[place]) == 1:
                (place,) = below[place]  # all that is within the budget goes on there
            new = len(self.ids)
            if parent >= 0:
                self.children[parent].append(new)
                masks[column] = mask
                stack.append((-1, -1, column, before, 0, 0))
            feature = features[place]
            above = masks[feature] if feature >= 0 else 0
            divided = self.atoms[feature][0].bit if feature >= 0 and undecided[place] else 0
            self.ids.append(ids[place])
            self.parent.append(parent)
            self.column.append(column)
            self.asked.append(feature)
            self.mask.append(mask)
            self.before.append(before)
            self.above.append(above)
            self.taken.append(taken)
            self.divided.append(divided)
            self.share.append(share)
            self.children.append([])
            for child in below[place]:
                own = leading[child]
                stack.append((child, new, feature, above, (own | divided) & above, own))

    def cheapest(self, column: int, mask: int) -> Atom:
        """The nearest of a column's atoms in a mask that is not empty."""
        known = self.known[column].get(mask)
        if known is None:
            known = next(atom for atom in self.atoms[column] if atom.bit & mask)
            self.known[column][mask] = known
        return known

    def worth(self, margin: int) -> list[float]:
        """One margin of each node's own answer."""
        if margin not in self._worth:
            self._worth[margin] = self.margins[self.ids, margin].tolist()
        return self._worth[margin]

    def _find_numbers(self, below: Mapping[int, IntArray]) -> None:
        """The atoms of numeric columns; ``below``: by column places of the kept nodes below its tests."""
        row, steps = self._row, self._steps
        self._cuts: dict[int, FloatArray] = {}
        for feature, places in below.items():
            bounds = np.concatenate((self._low[places], self._high[places]))
            self._cuts[feature] = np.unique(bounds[np.isfinite(bounds)])
        counts = [len(cuts) + 1 for cuts in self._cuts.values()]
        if not counts:
            return
        low = np.concatenate([np.append(-np.inf, cuts) for cuts in self._cuts.values()])
        high = np.concatenate([np.append(cuts, np.inf) for cuts in self._cuts.values()])
        features = np.repeat(list(self._cuts), counts)
        blocked, cells, far = nearest_numbers(row, features, low, high, steps.wishes, steps.scales)
        ends = np.cumsum(counts).tolist()
        for (feature, cuts), count, end in zip(self._cuts.items(), counts, ends, strict=True):
            part = slice(end - count, end)
            own = count if np.isnan(row[feature]) else int(np.searchsorted(cuts, row[feature]))
            self._set_atoms(feature, own, np.flatnonzero(~blocked[part]), cells[part], far[part])

    def _number_masks(self, feature: int, places: IntArray) -> list[int]:
        """The atoms that each test leads to a node, without regard to the row's own value."""
        cuts, low, high = self._cuts[feature], self._low[places], self._high[places]
        first = np.where(low > -np.inf, np.searchsorted(cuts, low) + 1, 0).tolist()
        end = np.where(high < np.inf, np.searchsorted(cuts, high) + 1, len(cuts) + 1).tolist()
        return [
            (1 << stop) - (1 << start) if start < stop and bottom < np.inf else 0
            for start, stop, bottom in zip(first, end, low.tolist(), strict=True)
        ]

    def _find_levels(self, feature: int) -> int:
        """The atoms of a column with levels; returns the bit of the row's own."""
        row, column = self._row, self._boxes.columns[feature]
        n, value = len(column.levels), float(row[feature])
        own = int(value) if value >= 0 else n
        ordered = column.kind is Kind.ORDINAL and value >= 0
        steps = [steps_between(value, code, n) if ordered else 1.0 for code in range(n)]
        codes = np.flatnonzero(permitted_levels(column, row, self._steps.wishes, feature))
        self._set_atoms(feature, own, codes, np.arange(n), np.array(steps))
        return 1 << own

    def _level_masks(self, ids: IntArray) -> list[int]:
        """The levels that each test leads to a node."""
        boxes = self._boxes
        flags = (boxes.own_set(node, len(boxes.columns[boxes.tested[node]].levels)) for node in ids.tolist())
        return [int.from_bytes(np.packbits(one, bitorder="little").tobytes(), "little") for one in flags]

    def _set_atoms(self, feature: int, own: int, others: IntArray, cells: Array, steps: FloatArray) -> None:
        """The row's own atom and the others that it may be changed to."""
        wishes = self._steps.wishes
        cost, weight = float(wishes.costs[feature]), float(self._steps.weights[feature])
        found = [Atom(1 << own, (0.0, 0.0), float(self._row[feature]), 0.0)]
        others = others[others != own]
        nearest = others[np.argsort(steps[others], kind="stable")]
        if not wishes.fixed[feature]:
            for place, cell, step in zip(
                nearest.tolist(), cells[nearest].tolist(), steps[nearest].tolist(), strict=True
            ):
                far = step * weight
                found.append(Atom(1 << place, (far, cost) if self._steps.by_distance else (cost, far), cell, step))
        self.atoms[feature] = found
        self.whole[feature] = sum(atom.bit for atom in found)
