"""What the rows of a region may reach within a budget, in a :mod:`~learners.reasons.divided.near_tree`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.reasons.divided.near_tree import Masks, NearTree
from learners.reasons.nearest.region_steps import Key, rounded_key
from learners.types import FloatArray

_NONE = -np.inf
_TIE = 1e-9


@dataclass(frozen=True)
class Fork:
    """A test on the way of the nearest row where other rows of the region go elsewhere.

    Attributes:
        place: of the node.
        share: of the row, that comes there.
        kept: the atoms that go where the nearest row goes.
        goes: where that is; several nodes where it is divided.
    """

    place: int
    share: float
    kept: int
    goes: list[int]


@dataclass(frozen=True)
class Route:
    """Where the nearest row of a region goes: the margins of its answer, shape (J,), and how many leaves it reaches."""

    margins: FloatArray
    n_leaves: int
    forks: list[Fork]


class NearRegion:
    """One region.

    Args:
        tree: the part.
        masks: of each column the atoms that are left.
        places: nodes that rows of a region around it reach, ascending.
        limit: what its rows may cost at most.

    Attributes:
        nearest: by column the atom that is nearest.
        changed: the columns that all of its rows change.
        key: of the nearest row.
        places: the nodes that its rows reach.
    """

    def __init__(self, tree: NearTree, masks: Masks, places: Sequence[int], limit: Key) -> None:
        self.tree, self.masks = tree, masks
        self.nearest = {column: tree.cheapest(column, masks[column]) for column in tree.columns}
        self.changed = frozenset(one for one, atom in self.nearest.items() if atom is not tree.atoms[one][0])
        prices = [self.nearest[column].price for column in sorted(self.changed)]
        self._root = (math.fsum(first for first, _ in prices), math.fsum(last for _, last in prices))
        self.key = rounded_key(*self._root)
        self._around, self._limit = places, limit
        self._route: Route | None = None
        self.places: list[int] = []
        self._prices: list[Key | None] = []

    def _price(self) -> None:
        """Find the price of the region's rows that come to each node; none where it is above the limit."""
        tree, masks = self.tree, self.masks
        cheapest, columns, known, parents = tree.cheapest, tree.column, tree.known, tree.parent
        mask, before = tree.mask, tree.before
        surely, most, second = _bounds(self._limit)
        prices: list[Key | None] = [None] * len(tree.ids)
        prices[0] = self._root
        found = self.places = [0]
        for place in self._around:
            if not place or (above := prices[parents[place]]) is None:
                continue
            column = columns[place]
            own = masks[column]
            left = mask[place] & own
            if not left:
                continue
            atoms = known[column]
            atom = atoms.get(left) or cheapest(column, left)
            was = atoms.get(before[place] & own) or cheapest(column, before[place] & own)
            if atom is not was:
                above = (above[0] - was.price[0] + atom.price[0], above[1] - was.price[1] + atom.price[1])
                if above[0] >= surely and (above[0] > most or above[1] > second):
                    continue
            prices[place] = above
            found.append(place)
        self._prices = prices

    def highest(self, margin: int, budget: Key) -> list[float]:
        """Of each node the highest mean of a margin that a row of the region and the budget may reach below it."""
        tree, masks, prices = self.tree, self.masks, self._prices
        shares, asked, children = tree.share, tree.asked, tree.children
        surely, most, second = _bounds(budget)
        cheapest = tree.cheapest
        worth, leaves = [_NONE] * len(tree.ids), tree.worth(margin)
        for place in reversed(self.places):
            price = prices[place]
            assert price is not None  # noqa: S101 - of a node that is reached
            if price[0] >= surely and (price[0] > most or price[1] > second):
                continue
            below = children[place]
            if not below:
                worth[place] = leaves[place]
                continue
            divided = tree.divided[place]
            if divided and (left := tree.above[place] & masks[asked[place]]) & divided:
                best = 0.0
                for child in below:
                    if shares[child]:
                        best += shares[child] * worth[child]
                if left != divided:
                    more = cheapest(asked[place], left & ~divided).price
                    first = price[0] + more[0]
                    if first < surely or (first <= most and price[1] + more[1] <= second):
                        best = max([best, *self._filled(place, left & ~divided, worth)])
                worth[place] = best
            else:
                worth[place] = max([worth[child] for child in below])
        return worth

    def _filled(self, place: int, filled: int, worth: list[float]) -> list[float]:
        """What is reached below a test that divides a row, if its missing value is filled in."""
        tree = self.tree
        return [worth[child] for child in tree.children[place] if tree.taken[child] & filled]

    def route(self) -> Route:
        """Where the nearest row goes."""
        if self._route is None:
            self._price()
            self._route = self._followed()
        return self._route

    def _followed(self) -> Route:
        tree, masks = self.tree, self.masks
        leaves: list[int] = []
        shares: list[float] = []
        forks: list[Fork] = []
        waiting = [(0, 1.0)]
        while waiting:
            place, share = waiting.pop()
            column = tree.asked[place]
            if column < 0:
                leaves.append(tree.ids[place])
                shares.append(share)
                continue
            own, kept = self.nearest[column].bit, tree.divided[place]
            if own & kept:
                goes = [child for child in tree.children[place] if tree.share[child]]
                waiting += [(child, share * tree.share[child]) for child in goes]
            else:
                goes = [child for child in tree.children[place] if tree.taken[child] & own]
                kept = tree.taken[goes[0]] if goes else own
                waiting += [(child, share) for child in goes]
            if tree.above[place] & masks[column] & ~kept:
                forks.append(Fork(place, share, kept, goes))
        return Route(np.array(shares) @ tree.margins[leaves], len(leaves), forks)

    def best_fork(self, worth: list[float] | None) -> Fork | None:
        """The test that keeps most of a margin from the nearest row; any one without bounds of its nodes."""
        forks = self.route().forks
        if not forks or worth is None:
            return forks[0] if forks else None
        return max(forks, key=lambda one: self._gain(worth, one))

    def _gain(self, worth: list[float], fork: Fork) -> float:
        tree = self.tree
        divides = fork.kept == tree.divided[fork.place]
        own = sum(worth[child] * (tree.share[child] if divides else 1.0) for child in fork.goes)
        return fork.share * (worth[fork.place] - own)


def _bounds(key: Key) -> tuple[float, float, float]:
    """Below the first of these a key is within a budget for its first part, up to the next two for both."""
    return key[0] * (1 - _TIE), key[0] * (1 + _TIE), key[1] * (1 + _TIE)
