"""Where a row may end among the known tests of a tree that divides it, as far as a limit reaches.

A row that misses values is divided; between two tests that divide it known numbers decide. So below the root, and below
each branch of a test that divides, is a *cluster* of *ends*: leaves, and tests that divide again. A row that reaches
such a test reaches an end of each cluster below: it lies in the box of the only end, or between those of several. That
narrows boxes from the leaves up, and leaves out most of them, before anything is searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from learners.reasons.divided.numbers.near_clusters import Clusters
from learners.reasons.divided.numbers.near_nodes import NearNodes
from learners.reasons.divided.numbers.stretched import NEVER, Stretched
from learners.reasons.nearest.region_steps import Key
from learners.types import FloatArray, IntArray

_TIE = 1e-9
_MOST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class NearNumbers:
    """What numbers decide within a limit, as I items (:class:`Clusters`); C columns may change.

    Attributes:
        begin, end: by column the first stretch that leads to each item, and the one after the last; shape (C, I).
        asks: what that costs at least, shape (C, I).
        margins: of the items' own answers, times their part of an item's row; shape (J, I).
        shares: of the row that comes to the items' clusters, shape (I,).
        leaves: how many leaves are parts of each item, shape (I,).
    """

    clusters: Clusters
    begin: IntArray
    end: IntArray
    asks: FloatArray
    margins: FloatArray
    shares: FloatArray
    leaves: IntArray


class _Level(NamedTuple):
    """The clusters of one depth; those below one end are side by side, as are the ends of one cluster.

    Attributes:
        ends, clusters: which they are.
        starts: of each cluster the first end, counted from the level's first.
        owner: by cluster the end above; ``owners`` each once.
        parts: of each of these the first cluster, counted from the level's first.
        fraction: by cluster, of the row that reaches the end above.
    """

    ends: slice
    clusters: slice
    starts: IntArray
    owner: IntArray
    owners: IntArray
    parts: IntArray
    fraction: FloatArray


class Ends:
    """The ends of a part of a tree, E of them; numbers that may change are C columns.

    Args:
        nodes: of the part.
        numbers: that may change.
    """

    def __init__(self, nodes: NearNodes, numbers: Stretched) -> None:
        self._numbers = numbers
        self._levels: list[_Level] = []
        places = self._put_in_order(nodes)
        self._begin, self._end = nodes.begin[:, places], nodes.end[:, places]
        self._is_leaf = nodes.is_leaf[places]
        self._margins = np.where(self._is_leaf, nodes.margins[:, places], 0.0)

    def _put_in_order(self, nodes: NearNodes) -> IntArray:
        """Set the levels of clusters; returns the places of the ends."""
        parent, divides, fraction, n = nodes.parent, nodes.divides, nodes.fraction, len(nodes.parent)
        # of tests that divide a row right after each other the first, and what each gets of its row
        top, part = np.arange(n), np.ones(n)
        head, depth = np.zeros(n, np.int64), np.zeros(n, np.int64)
        for level in nodes.levels[1:]:
            at = slice(int(level[0]), int(level[-1]) + 1)
            above = parent[at]
            below, again = divides[above], divides[at]
            part[at] = np.where(below, part[above] * fraction[at], 1.0)
            begins = below & ~again
            head[at] = np.where(begins, level, head[above])
            depth[at] = depth[above] + begins
            top[at] = np.where(below & again, top[above], level)
        owner = top[parent]
        ends = np.flatnonzero(nodes.is_leaf | (divides & (top == np.arange(n))))
        place = np.zeros(n, np.int64)  # by node of its end
        places, n_ends, n_clusters = [], 0, 0
        by_depth = ends[np.argsort(depth[ends], kind="stable")]
        for same in np.split(by_depth, np.cumsum(np.bincount(depth[ends]))[:-1]):
            own = same[np.lexsort((head[same], place[owner[head[same]]]))]
            starts = np.flatnonzero(np.diff(head[own], prepend=-1))
            heads = head[own[starts]]
            above = place[owner[heads]]
            place[own] = n_ends + np.arange(len(own))
            parts = np.flatnonzero(np.diff(above, prepend=-1))
            ends_of, clusters_of = slice(n_ends, n_ends + len(own)), slice(n_clusters, n_clusters + len(heads))
            self._levels.append(_Level(ends_of, clusters_of, starts, above, above[parts], parts, part[heads]))
            places.append(own)
            n_ends, n_clusters = n_ends + len(own), n_clusters + len(heads)
        return np.concatenate(places)

    def within(self, limit: Key) -> NearNumbers:
        """What no row within a limit reaches is left out; to be asked once."""
        self._narrow(limit)
        return self._joined()

    def _narrow(self, limit: Key) -> None:
        """Leave out of boxes what the clusters below leave out."""
        self._exists = np.ones(self._begin.shape[1], np.bool_)
        self._asks = np.empty(self._begin.shape)
        self._price(limit, slice(None))
        for level in reversed(self._levels[1:]):
            own, owners = level.ends, level.owners
            exists = self._exists[own]
            begin = np.minimum.reduceat(np.where(exists, self._begin[:, own], _MOST), level.starts, axis=1)
            end = np.maximum.reduceat(np.where(exists, self._end[:, own], -1), level.starts, axis=1)
            begin, end = np.maximum.reduceat(begin, level.parts, axis=1), np.minimum.reduceat(end, level.parts, axis=1)
            self._begin[:, owners] = np.maximum(self._begin[:, owners], begin)
            self._end[:, owners] = np.minimum(self._end[:, owners], end)
            self._price(limit, owners)

    def _price(self, limit: Key, own: slice | IntArray) -> None:
        """Find what the boxes of some ends cost at least, and which rows within the limit reach."""
        begin, end = self._begin[:, own], self._end[:, own]
        exists = (begin < end).all(axis=0)
        asks = self._numbers.least(begin * exists, end * exists)
        price = asks.sum(axis=0)
        self._asks[:, own] = asks
        self._exists[own] = exists & (price <= limit[0] * (1 + _TIE)) & (price < NEVER)

    def _joined(self) -> NearNumbers:
        """What is left, without clusters of one end only."""
        n = self._begin.shape[1]
        into, factor = np.arange(n), np.ones(n)
        cluster_of = np.full(n, -1)
        owner, fraction, depth, share = [np.zeros(1, np.int64)], [np.ones(1)], [np.zeros(1, np.int64)], [np.ones(1)]
        cluster_of[self._levels[0].ends] = 0
        depth_of, share_of = np.zeros(n, np.int64), np.ones(n)
        n_clusters = 1
        for level in self._levels[1:]:
            own, exists = level.ends, self._exists[level.ends]
            sizes = np.diff(level.starts, append=own.stop - own.start)
            counts = np.add.reduceat(exists.astype(np.int64), level.starts)
            above, part = into[level.owner], factor[level.owner] * level.fraction
            chooses = (counts > 1) & self._exists[level.owner]
            new = np.cumsum(chooses) - 1 + n_clusters
            joins = np.repeat(~chooses, sizes)
            ends = np.arange(own.start, own.stop)
            into[own] = np.where(joins, np.repeat(above, sizes), ends)
            factor[own] = np.where(joins, np.repeat(part, sizes), 1.0)
            cluster_of[own] = np.where(joins, -1, np.repeat(new, sizes))
            below, of_share = depth_of[above] + 1, share_of[above] * part
            depth_of[own] = np.where(joins, np.repeat(depth_of[above], sizes), np.repeat(below, sizes))
            share_of[own] = np.where(joins, np.repeat(share_of[above], sizes), np.repeat(of_share, sizes))
            owner.append(above[chooses])
            fraction.append(part[chooses])
            depth.append(below[chooses])
            share.append(of_share[chooses])
            n_clusters += int(chooses.sum())
        items = np.flatnonzero((cluster_of >= 0) & self._exists)
        place = np.zeros(n, np.int64)
        place[items] = np.arange(len(items))
        clusters = Clusters(
            cluster_of[items], place[np.concatenate(owner)], np.concatenate(fraction), np.concatenate(depth)
        )
        left = np.flatnonzero(self._exists)
        stands = place[into[left]]
        margins = np.array([np.bincount(stands, factor[left] * one[left], len(items)) for one in self._margins])
        order = clusters.order
        leaves = np.bincount(stands, self._is_leaf[left], len(items)).astype(np.int64)
        shares, items = np.concatenate(share)[cluster_of[items[order]]], items[order]
        begin, end, asks = self._begin[:, items], self._end[:, items], self._asks[:, items]
        return NearNumbers(clusters, begin, end, asks, margins[:, order], shares, leaves[order])
