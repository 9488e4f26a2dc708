"""A tree of which some values stay missing, as choices and means: for bounds of many regions of rows at once.

Below the root, and below each branch of a test that divides a row, known tests choose one of several ends: leaves, and
tests that divide again. Such an end is an *item*, the best of its *cluster* that a region reaches; an item that divides
is the mean of the clusters below it. A cluster of one item only is part of the item above: so an item has an answer of
its own, and beside that the clusters where something is left to choose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.types import FloatArray, IntArray

#: So many items of each cluster are compared with those of the others side by side; what is left cluster by cluster.
_SIDE_BY_SIDE = 8


class _Level(NamedTuple):
    """The clusters of one depth, the largest first.

    Attributes:
        clusters: which they are.
        ranks: the first items of all clusters, the second ones of those that have one, and so on.
        rest, starts: those that are left, and where each cluster's begin.
        owners: the items above that add clusters up, those with most first.
        parts: of each owner a first cluster, counted from the level's first, and its fraction; a second one, and so on.
        others, others_starts: the clusters that are left and their fractions, and where each owner's begin.
    """

    clusters: slice
    ranks: list[slice]
    rest: slice
    starts: IntArray
    owners: IntArray
    parts: list[tuple[IntArray, FloatArray]]
    others: tuple[IntArray, FloatArray]
    others_starts: IntArray


class Clusters:
    """Choices among I items in C clusters.

    Args:
        cluster: of each item, shape (I,); the first one is the whole.
        owner: by cluster the item above, shape (C,).
        fraction: by cluster its part of that, shape (C,).
        depth: by cluster, shape (C,).

    Attributes:
        order: the items as they are put in order: all arrays about items have this one.
        cluster: of each of these, among the clusters as they are put in order.
    """

    def __init__(self, cluster: IntArray, owner: IntArray, fraction: FloatArray, depth: IntArray) -> None:
        self._levels: list[_Level] = []
        place, number = np.zeros(len(cluster), np.int64), np.zeros(len(owner), np.int64)
        order, n_items, n_clusters = [], 0, 0
        by_depth = np.argsort(depth[cluster], kind="stable")
        for same in np.split(by_depth, np.cumsum(np.bincount(depth[cluster]))[:-1]):
            clusters, of_item, sizes = np.unique(cluster[same], return_inverse=True, return_counts=True)
            largest = np.argsort(-sizes, kind="stable")
            clusters, sizes, of_item = clusters[largest], sizes[largest], _inverse(largest)[of_item]
            rank = _ranks(of_item, sizes)
            row = np.minimum(rank, _SIDE_BY_SIDE)
            items = same[np.lexsort((rank, of_item, row))]
            place[items] = n_items + np.arange(len(items))
            number[clusters] = n_clusters + np.arange(len(clusters))
            ends = n_items + np.cumsum(np.bincount(row, minlength=_SIDE_BY_SIDE + 1))
            left = sizes[sizes > _SIDE_BY_SIDE] - _SIDE_BY_SIDE
            above = place[owner[clusters]] if self._levels else clusters[:0]
            self._levels.append(
                _Level(
                    slice(n_clusters, n_clusters + len(clusters)),
                    [slice(int(a), int(b)) for a, b in zip([n_items, *ends[:-2]], ends[:-1], strict=True) if a < b],
                    slice(int(ends[-2]), int(ends[-1])),
                    np.cumsum(left) - left,
                    *_shared_out(above, fraction[clusters]),
                )
            )
            order.append(items)
            n_items, n_clusters = n_items + len(items), n_clusters + len(clusters)
        self.order = np.concatenate(order)
        self.cluster = number[cluster[self.order]]
        self._members = np.argsort(self.cluster, kind="stable")
        self._first = np.append(0, np.cumsum(np.bincount(self.cluster)))

    def ends(self) -> IntArray:
        """The items of the whole below which nothing is left to choose."""
        above = self._levels[1].owners if len(self._levels) > 1 else np.empty(0, np.int64)
        return np.setdiff1d(self.members(0), above)

    def members(self, cluster: int) -> IntArray:
        """The items of a cluster."""
        found: IntArray = self._members[self._first[cluster] : self._first[cluster + 1]]
        return found

    def lift(self, worth: FloatArray) -> FloatArray:
        """The most that each cluster reaches, shape (R, C).

        Args:
            worth: of the items' own answers, shape (R, I); very low where a region does not reach one. What the
                clusters below an item reach is added.
        """
        best = np.empty((len(worth), len(self._first) - 1))
        for level in reversed(self._levels):
            own = best[:, level.clusters]
            own[:] = worth[:, level.ranks[0]]
            for rank in level.ranks[1:]:
                part = own[:, : rank.stop - rank.start]
                np.maximum(part, worth[:, rank], out=part)
            if len(level.starts):
                part = own[:, : len(level.starts)]
                np.maximum(part, np.maximum.reduceat(worth[:, level.rest], level.starts, axis=1), out=part)
            if level.parts:
                sums = np.zeros((len(worth), len(level.owners)))
                for clusters, fraction in level.parts:
                    sums[:, : len(clusters)] += own.take(clusters, axis=1) * fraction
                if len(level.others_starts):
                    clusters, fraction = level.others
                    rest = np.add.reduceat(own.take(clusters, axis=1) * fraction, level.others_starts, axis=1)
                    sums[:, : len(level.others_starts)] += rest
                worth[:, level.owners] += sums
        return best


def _inverse(order: IntArray) -> IntArray:
    """Where each number of a permutation stands."""
    found = np.empty_like(order)
    found[order] = np.arange(len(order))
    return found


def _ranks(groups: IntArray, sizes: IntArray) -> IntArray:
    """The place of each member within its group."""
    found = np.empty(len(groups), np.int64)
    found[np.argsort(groups, kind="stable")] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return found


def _shared_out(
    owner: IntArray, fraction: FloatArray
) -> tuple[IntArray, list[tuple[IntArray, FloatArray]], tuple[IntArray, FloatArray], IntArray]:
    """The owners of clusters, and the clusters of each, one after the other; see :class:`_Level`."""
    owners, of_owner, counts = np.unique(owner, return_inverse=True, return_counts=True)
    most = np.argsort(-counts, kind="stable")
    of_owner, counts = _inverse(most)[of_owner], counts[most]
    rank, grouped = _ranks(of_owner, counts), np.argsort(of_owner, kind="stable")
    rank = rank[grouped]
    parts = [grouped[rank == place] for place in range(min(_SIDE_BY_SIDE, int(counts.max(initial=0))))]
    others, left = grouped[rank >= _SIDE_BY_SIDE], counts[counts > _SIDE_BY_SIDE] - _SIDE_BY_SIDE
    return (
        owners[most],
        [(clusters, fraction[clusters]) for clusters in parts],
        (others, fraction[others]),
        np.cumsum(left) - left,
    )
