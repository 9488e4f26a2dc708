"""Where a value goes at a node, and where a row that nothing divides ends: the definition of a tree's tests.

The arrays are those of :class:`learners.trees.traverse.PackedTree`; the constants name their columns.
"""

from __future__ import annotations

import math

from learners._accel import lean_inner_kernel, lean_kernel
from learners.trees.nodes import INTERVALS, LEAF, LEVELS
from learners.types import FloatArray, Int32Array

#: A threshold on codes, where a code below 0 is an unseen level and no number.
CODE_THRESHOLD = 4
#: What :func:`branch_of` says where the value decides nothing.
MISSING_VALUE, UNSEEN_LEVEL = -1, -2

TEST, FEATURE, FIRST_CHILD, N_CHILDREN, MISSING_BRANCH, OTHER_BRANCH, LEVEL_START, LEVEL_COUNT = range(8)
SPLIT, SHARE, UPPER = range(3)
CODE, BRANCH = 0, 1


@lean_inner_kernel
def branch_of(links: Int32Array, splits: FloatArray, levels: Int32Array, node: int, value: float) -> int:
    """The branch of an inner node that a value takes, or ``MISSING_VALUE`` or ``UNSEEN_LEVEL``."""
    nothing = MISSING_VALUE
    if not math.isnan(value):
        branch = branch_of_known(links, splits, levels, node, value)
        if branch >= 0:
            return branch
        nothing = UNSEEN_LEVEL
    missing = int(links[node, MISSING_BRANCH])
    return missing if missing >= 0 else nothing


@lean_inner_kernel
def branch_of_known(links: Int32Array, splits: FloatArray, levels: Int32Array, node: int, value: float) -> int:
    """The branch that a value takes which is not missing, or ``UNSEEN_LEVEL``."""
    test = links[node, TEST]
    if test == INTERVALS:
        return interval_of(links, splits, node, value)
    if test != LEVELS:
        if test == CODE_THRESHOLD and value < 0.0:
            return UNSEEN_LEVEL
        return 0 if value <= splits[node, SPLIT] else 1
    low = links[node, LEVEL_START]
    high = low + links[node, LEVEL_COUNT]
    end = high
    while low < high:
        middle = (low + high) // 2
        if levels[middle, CODE] < value:
            low = middle + 1
        else:
            high = middle
    if low < end and levels[low, CODE] == value:
        return int(levels[low, BRANCH])
    other = int(links[node, OTHER_BRANCH])
    return other if other >= 0 else UNSEEN_LEVEL


@lean_inner_kernel
def interval_of(links: Int32Array, splits: FloatArray, node: int, value: float) -> int:
    """The first branch whose interval does not end before a value."""
    first = int(links[node, FIRST_CHILD])
    low = 0
    high = int(links[node, N_CHILDREN]) - 1
    while low < high:
        middle = (low + high) // 2
        if value <= splits[first + middle, UPPER]:
            high = middle
        else:
            low = middle + 1
    return low


@lean_inner_kernel
def descend(links: Int32Array, splits: FloatArray, levels: Int32Array, row: FloatArray, node: int) -> int:
    """Walk from a node while the values decide; returns the leaf or the first node they do not decide."""
    while links[node, TEST] != LEAF:
        branch = branch_of(links, splits, levels, node, row[links[node, FEATURE]])
        if branch < 0:
            return node
        node = links[node, FIRST_CHILD] + branch
    return node


@lean_kernel
def plain_answer(
    links: Int32Array, splits: FloatArray, levels: Int32Array, answers: FloatArray, row: FloatArray, out: FloatArray
) -> bool:
    """Write the answer for a row whose values lead to one leaf; false, and nothing written, for any other."""
    node = descend(links, splits, levels, row, 0)
    if links[node, TEST] != LEAF:
        return False
    for k in range(out.shape[0]):
        out[k] = answers[node, k]
    return True
