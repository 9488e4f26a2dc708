"""The nodes of a tree that a row comes to if known numbers change and what is missing stays so, within a limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.reasons.divided.numbers.stretched import Stretched
from learners.reasons.nearest.demands import Demands
from learners.reasons.regions.boxes import Boxes
from learners.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class NearNodes:
    """N nodes by depth, the root first; C numbers may change.

    Attributes:
        levels: places of the nodes of each depth.
        parent: place of the node above.
        divides: whether the row is divided there; of other inner nodes it takes one branch.
        is_leaf: whether nothing is below.
        fraction: of the row of a node above that divides it.
        begin, end: by column the first stretch that leads to the node, and the one after the last; shape (C, N).
        margins: of their answers, shape (J, N).
    """

    levels: list[IntArray]
    parent: IntArray
    divides: BoolArray
    is_leaf: BoolArray
    fraction: FloatArray
    begin: IntArray
    end: IntArray
    margins: FloatArray


def nodes_of_boxes(
    boxes: Boxes, row: FloatArray, demands: Demands, kept: IntArray, margins: FloatArray, numbers: Stretched
) -> NearNodes:
    """Those of a tree of boxes.

    Args:
        boxes: of the tree.
        row: shape (d,).
        demands: of the row.
        kept: ascending ids of the nodes within the limit, with the root.
        margins: of the answers of all nodes, shape (N, J).
        numbers: that may change.
    """
    moves = np.append(numbers.moves, False)
    kept = kept[np.argsort(boxes.nodes.depth[kept], kind="stable")]
    shares = boxes.shares_of(demands.taken)
    shares[moves[boxes.tested]] = 1.0
    for level in _by_depth(boxes, kept)[1:]:
        shares[kept[level]] *= shares[boxes.parent[kept[level]]]
    ids = kept[shares[kept] > 0]
    place_of = np.zeros(len(boxes.parent), np.int64)
    place_of[ids] = np.arange(len(ids))
    parent = place_of[boxes.parent[ids]]
    inner = boxes.nodes.n_children[ids] > 0
    column = np.full(len(row) + 1, -1)
    column[numbers.columns] = np.arange(len(numbers.columns))
    levels = _by_depth(boxes, ids)
    states = _states(levels, ids, parent, column[boxes.tested[ids]], len(numbers.columns)).T
    free = states == 0
    return NearNodes(
        levels,
        parent,
        inner & (demands.taken[ids] < 0) & ~moves[boxes.nodes.feature[ids]],
        ~inner,
        boxes.nodes.fraction[ids],
        np.where(free, numbers.first[:, None], boxes.stretches.begin[states]),
        np.where(free, numbers.last[:, None] + 1, boxes.stretches.end[states]),
        margins[ids].T,
    )


def _by_depth(boxes: Boxes, ids: IntArray) -> list[IntArray]:
    """The places of nodes of each depth, which ascends."""
    return np.split(np.arange(len(ids)), np.cumsum(np.bincount(boxes.nodes.depth[ids]))[:-1])


def _states(levels: list[IntArray], ids: IntArray, parent: IntArray, column: IntArray, n_columns: int) -> IntArray:
    """By node and column the id of the last node beneath a test on it, 0 where there is none; shape (N, C)."""
    states = np.zeros((len(ids), n_columns), np.int64)
    for level in levels[1:]:
        own = slice(int(level[0]), int(level[-1]) + 1)
        states[own] = states[parent[own]]
        tested = level[column[own] >= 0]
        states[tested, column[tested]] = ids[tested]
    return states
