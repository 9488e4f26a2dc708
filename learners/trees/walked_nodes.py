"""Nodes laid out for machine code (:mod:`learners.trees.compiled_walk`): a record of 32 bytes for each."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from learners._accel import lean_inner_kernel, lean_kernel
from learners.trees.branching import (
    FEATURE,
    FIRST_CHILD,
    LEVEL_COUNT,
    LEVEL_START,
    MISSING_BRANCH,
    N_CHILDREN,
    OTHER_BRANCH,
    SHARE,
    SPLIT,
    TEST,
)
from learners.trees.nodes import LEAF, LEVELS, THRESHOLD
from learners.trees.problem import Records, records
from learners.types import FloatArray, Int8Array, Int32Array

#: A node: a value above ``threshold``, or a code of which ``codes`` holds the bit, leads to the node after ``first``,
#: another to ``first``; a missing one to ``absent``. A leaf leads to itself. Of a ``RARE`` node the tree is asked.
_NODE = np.dtype(
    [
        ("threshold", "<f8"),
        ("codes", "<u8"),
        ("first", "<i4"),
        ("absent", "<i4"),
        ("column", "<i4"),
        ("kind", "<i4"),
    ],
    align=True,
)
#: Kinds of nodes: with two children, by a threshold or a set of codes; with any other test; and without one.
PLAIN, RARE, END = range(3)
#: The lowest bit of ``codes`` is that of unseen levels, the highest that of all codes beyond the largest.
LARGEST_CODE = 61


class NodeArrays(NamedTuple):
    """What is laid out of N nodes, as in :class:`learners.trees.nodes.Nodes`; ``test`` may be ``CODE_THRESHOLD``."""

    test: Int8Array
    feature: Int32Array
    threshold: FloatArray
    first_child: Int32Array
    n_children: Int32Array
    missing_branch: Int32Array
    other_branch: Int32Array
    fraction: FloatArray
    level_start: Int32Array
    level_count: Int32Array
    level_codes: Int32Array
    level_branch: Int32Array

    @classmethod
    def of_links(cls, links: Int32Array, splits: FloatArray, levels: Int32Array) -> NodeArrays:
        """Those of a :class:`learners.trees.traverse.PackedTree`."""
        places = (FIRST_CHILD, N_CHILDREN, MISSING_BRANCH, OTHER_BRANCH, LEVEL_START, LEVEL_COUNT)
        first, count, missing, other, start, listed = (links[:, place].copy() for place in places)
        test, feature, threshold = links[:, TEST].astype(np.int8), links[:, FEATURE].copy(), splits[:, SPLIT].copy()
        codes, branches = levels[:, 0].copy(), levels[:, 1].copy()
        share = splits[:, SHARE].copy()
        return cls(test, feature, threshold, first, count, missing, other, share, start, listed, codes, branches)


class WalkedNodes(NamedTuple):
    """Nodes laid out for machine code.

    Attributes:
        records: ``_NODE`` (N,).
        shares: of each node in its parent, shape (N,).
        links, splits, levels: those of the :class:`learners.trees.traverse.PackedTree`; read of ``RARE`` nodes alone.
    """

    records: Records
    shares: FloatArray
    links: Int32Array
    splits: FloatArray
    levels: Int32Array


def node_records(count: int) -> Records:
    """Room for the records of so many nodes."""
    return records(count, _NODE)


@lean_kernel
def lay_nodes(arrays: NodeArrays, laid: Records, first: int, last: int) -> bool:
    """Fill the records of the nodes ``first .. last - 1``; returns whether one of them is ``RARE``."""
    has_rare = False
    for node in range(np.uint64(first), np.uint64(last)):
        record = laid[node]
        record.threshold = math.inf
        record.codes = np.uint64(0)
        record.first = np.int32(node)
        record.absent = np.int32(node)
        record.column = 0
        record.kind = END
        test = arrays.test[node]
        if test == LEAF:
            continue
        record.kind = PLAIN
        record.first = arrays.first_child[node]
        record.column = arrays.feature[node]
        if arrays.missing_branch[node] >= 0:
            record.absent = arrays.first_child[node] + arrays.missing_branch[node]
        if test == THRESHOLD:
            record.threshold = arrays.threshold[node]
        elif is_set_of_codes(arrays, node):
            record.codes = codes_on_the_right(arrays, node)
        else:
            record.kind = RARE
            has_rare = True
    return has_rare


@lean_inner_kernel
def is_set_of_codes(arrays: NodeArrays, node: int) -> bool:
    """Whether a node divides all codes in two, and lists none that is large."""
    if arrays.test[node] != LEVELS or arrays.n_children[node] != 2 or arrays.other_branch[node] < 0:
        return False
    count = arrays.level_count[node]
    return bool(count == 0 or arrays.level_codes[arrays.level_start[node] + count - 1] <= LARGEST_CODE)


@lean_inner_kernel
def codes_on_the_right(arrays: NodeArrays, node: int) -> np.uint64:
    """A bit for each code that the second child gets, those not listed included."""
    others = np.uint64(arrays.other_branch[node])
    bits = np.uint64(0) - others
    start = np.uint64(arrays.level_start[node])
    for entry in range(start, start + np.uint64(arrays.level_count[node])):
        differs = np.uint64(arrays.level_branch[entry]) ^ others
        bits ^= differs << np.uint64(arrays.level_codes[entry] + 1)
    return bits
