"""Cutting subtrees off a node array and renumbering what is left."""

from __future__ import annotations

import numpy as np

from learners._accel import kernel
from learners.trees.nodes import LEAF, Nodes
from learners.types import BoolArray, Int32Array, IntArray


def cut(nodes: Nodes, at: BoolArray) -> Nodes:
    """Make leaves of the marked nodes and drop all that hung below them.

    The nodes that stay keep their order, so the invariants of :mod:`learners.trees.nodes` hold.
    Nodes that no child range reaches any more are dropped too.

    Args:
        nodes: any tree.
        at: shape (N,), true where a node becomes a leaf.
    """
    inner = (nodes.test != LEAF) & ~at
    kept, depth = _reach(inner, nodes.first_child, nodes.n_children)
    taken = {name: array[kept] for name, array in nodes.own_arrays().items() if name not in _LEVEL_ARRAYS}
    inner = inner[kept]
    new_id = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    first_child = np.where(inner, new_id[taken["first_child"]], np.int32(-1))
    starts, pieces = _level_pieces(taken["level_start"], np.where(inner, taken["level_count"], 0))
    taken |= {
        "test": np.where(inner, taken["test"], np.int8(LEAF)),
        "feature": np.where(inner, taken["feature"], np.int32(-1)),
        "threshold": np.where(inner, taken["threshold"], np.nan),
        "first_child": first_child,
        "n_children": np.where(inner, taken["n_children"], np.int32(0)),
        "parent": _parents(first_child, taken["n_children"] * inner),
        "depth": depth[kept],
        "missing_branch": np.where(inner, taken["missing_branch"], np.int32(-1)),
        "other_branch": np.where(inner, taken["other_branch"], np.int32(-1)),
        "level_start": np.where(inner, starts, 0).astype(np.int32),
        "level_count": np.where(inner, taken["level_count"], np.int32(0)),
        "level_codes": nodes.level_codes[pieces],
        "level_branch": nodes.level_branch[pieces],
        "gain": np.where(inner, taken["gain"], 0.0),
    }
    return Nodes.from_arrays(taken).with_combined(nodes.combined)


_LEVEL_ARRAYS = ("level_codes", "level_branch")


def kept_by(nodes: Nodes, at: BoolArray) -> IntArray:
    """The ids of the nodes that :func:`cut` keeps, in the order of their new ids."""
    kept, _ = _reach((nodes.test != LEAF) & ~at, nodes.first_child, nodes.n_children)
    return np.flatnonzero(kept)


@kernel
def _reach(inner: BoolArray, first_child: Int32Array, n_children: Int32Array) -> tuple[BoolArray, Int32Array]:
    """Which nodes hang on the root through inner nodes, and how deep each of them then is."""
    kept = np.zeros(inner.shape[0], dtype=np.bool_)
    depth = np.zeros(inner.shape[0], dtype=np.int32)
    kept[0] = True
    for node in range(inner.shape[0]):
        if kept[node] and inner[node]:
            for child in range(first_child[node], first_child[node] + n_children[node]):
                kept[child] = True
                depth[child] = depth[node] + 1
    return kept, depth


def _parents(first_child: Int32Array, n_children: Int32Array) -> Int32Array:
    """The inverse of the child ranges."""
    parents = np.full(first_child.shape[0], -1, dtype=np.int32)
    inner = np.flatnonzero(n_children)
    counts = n_children[inner]
    parents[_ranges(first_child[inner].astype(np.int64), counts)] = np.repeat(inner, counts)
    return parents


def _level_pieces(starts: Int32Array, counts: Int32Array) -> tuple[IntArray, IntArray]:
    """New starts of the nodes' slices when laid end to end, and where each entry comes from."""
    new_starts = np.cumsum(counts, dtype=np.int64) - counts
    return new_starts, _ranges(starts.astype(np.int64), counts)


def _ranges(starts: IntArray, counts: Int32Array) -> IntArray:
    """The concatenation of ``range(start, start + count)``."""
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if ends.size else 0
    ranges: IntArray = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - counts), counts)
    return ranges
