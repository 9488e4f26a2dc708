"""The nodes of many trees in few bytes: each array in the smallest type that holds its numbers exactly."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from learners.trees.combined.tests import NO_TESTS
from learners.trees.nodes import Nodes
from learners.types import Array, FloatArray, Int32Array

#: What follows from other arrays, is only of use while a tree grows, or belongs to tests that members do not have.
_LEFT_OUT = ("parent", "impurity", "gain", "upper", "combined")
_TYPES = {
    "test": np.int8,
    **dict.fromkeys(("threshold", "fraction", "weight", "value"), np.float64),
    "rows": np.int64,
}


def stored(nodes: Nodes) -> dict[str, Array]:
    """The arrays by name."""
    return {field.name: smallest(getattr(nodes, field.name)) for field in fields(nodes) if field.name not in _LEFT_OUT}


def restored(arrays: dict[str, Array]) -> Nodes:
    """The inverse of :func:`stored`; impurities and gains are 0."""
    own = {
        field.name: arrays[field.name].astype(_TYPES.get(field.name, np.int32))
        for field in fields(Nodes)
        if field.name not in _LEFT_OUT
    }
    nothing, none = (np.broadcast_to(np.array([number]), len(own["test"])) for number in (0.0, np.nan))
    parent = parents(own["first_child"], own["n_children"])
    return Nodes(**own, parent=parent, impurity=nothing, gain=nothing, upper=none, combined=NO_TESTS)


def parents(first_child: Int32Array, n_children: Int32Array) -> Int32Array:
    """The parent of each node, -1 of roots."""
    parent = np.full(len(first_child), -1, np.int32)
    inner = np.flatnonzero(n_children)
    counts = n_children[inner].astype(np.int64)
    ends = np.cumsum(counts)
    children = np.arange(int(counts.sum())) + np.repeat(first_child[inner] - (ends - counts), counts)
    parent[children] = np.repeat(inner, counts)
    return parent


def smallest(array: Array) -> Array:
    """The same numbers in the smallest type that holds all of them exactly."""
    if array.dtype.kind == "f":
        return _smallest_float(array)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return array.astype(kind)
    return array


def _smallest_float(array: FloatArray) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        single = array.astype(np.float32)
        if not np.array_equal(single, array, equal_nan=True):
            return array
        whole = single.astype(np.int16)
        return whole if np.array_equal(whole, array) and not np.signbit(single[single == 0]).any() else single
