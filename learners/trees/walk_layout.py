"""What a walk reads of each node, laid out so that most steps are one comparison or one look into a table.

Two readers walk by it: :mod:`learners.trees.batch` with arrays of rows, and :mod:`learners.trees.descent` with one
row. Where there is a compiler, many rows go by the records of :mod:`learners.trees.compiled_walk`.
What :func:`learners.trees.branching.branch_of` says of each value is worked out here once for every node.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from learners.trees.branching import (
    BRANCH,
    CODE,
    CODE_THRESHOLD,
    FEATURE,
    FIRST_CHILD,
    LEVEL_COUNT,
    LEVEL_START,
    MISSING_BRANCH,
    N_CHILDREN,
    OTHER_BRANCH,
    SPLIT,
    TEST,
)
from learners.trees.nodes import INTERVALS, LEAF, LEVELS
from learners.types import Array, BoolArray, FloatArray, Int32Array, IntArray

#: How a node leads on: by one comparison (of a leaf to itself); by a table of its codes; by a search among its listed
#: codes, of which the largest is too large for a table; by a comparison of codes; or by a search among intervals.
COMPARED, TABLED, LISTED, RANKED, BETWEEN = range(5)

#: A node has a table if its largest code is below the first number, or below the second times its number of codes.
_FEW_CODES, _FEW_TIMES = 64, 4


class WalkLayout(NamedTuple):
    """N nodes of one tree or several.

    A node to which nothing leads on leads to itself: a leaf, and what an unknown value cannot decide.

    Attributes:
        kind: int8 (N,), how each leads on.
        column: int64 (N,), whose value is asked for; 0 of a leaf.
        threshold: float64 (N,), a value that is not above it leads to ``first``, another to the node after that.
        first: int64 (N,), the first child; the node itself of a leaf.
        absent: int32 (N,), the node to which a missing value leads.
        unlisted: int32 (N,), that of a value which a test on levels does not list.
        table: int32 (T,), of ``TABLED`` nodes where each code leads; the place before the first is that of unseen
            levels, the one after the last that of larger codes.
        place: int32 (N,), where in the table a node's code 0 is.
        largest: int32 (N,), the place after a node's largest code, counted from there.
        keys, targets: int64 (L,), of ``LISTED`` nodes all pairs of node and code, ``node * width + code``, ascending,
            and where they lead.
        width: more than every code.
        n_branches: int32 (N,), number of children.
    """

    kind: Array
    column: IntArray
    threshold: FloatArray
    first: IntArray
    absent: Int32Array
    unlisted: Int32Array
    table: Int32Array
    place: Int32Array
    largest: Int32Array
    keys: IntArray
    targets: IntArray
    width: int
    n_branches: Int32Array

    @property
    def is_leaf(self) -> BoolArray:
        found: BoolArray = self.n_branches == 0
        return found

    def codes_of(self, node: int) -> tuple[IntArray, IntArray]:
        """The codes of a ``LISTED`` node, and where they lead."""
        low, high = np.searchsorted(self.keys, (node * self.width, (node + 1) * self.width))
        return self.keys[low:high] - node * self.width, self.targets[low:high]


def lay_out(links: Int32Array, splits: FloatArray, levels: Int32Array) -> WalkLayout:
    """Lay out nodes; the arrays are those of :class:`learners.trees.traverse.PackedTree`."""
    test, count = links[:, TEST], links[:, LEVEL_COUNT]
    is_leaf, own = test == LEAF, np.arange(len(links))
    first = np.where(is_leaf, own, links[:, FIRST_CHILD]).astype(np.intp)
    absent = _branch(links[:, MISSING_BRANCH], first, own)
    unlisted = _branch(links[:, OTHER_BRANCH], first, absent)
    lists_codes = (test == LEVELS) & (count > 0)
    kind = np.full(len(links), COMPARED, np.int8)
    kind[test == CODE_THRESHOLD], kind[test == INTERVALS], kind[lists_codes] = RANKED, BETWEEN, LISTED
    asks_if_known = (test == LEVELS) & (count == 0)
    splitting = is_leaf | (test == LEVELS) | (test == INTERVALS)
    return WalkLayout(
        column=np.where(is_leaf, 0, links[:, FEATURE]).astype(np.intp),
        threshold=np.where(splitting, np.inf, splits[:, SPLIT]),
        first=np.where(asks_if_known, unlisted, first),
        absent=absent.astype(np.int32),
        unlisted=unlisted.astype(np.int32),
        n_branches=np.where(is_leaf, 0, links[:, N_CHILDREN]).astype(np.int32),
        **_codes(links, levels, kind, first, unlisted),
    )


def _branch(branch: Int32Array, first: IntArray, otherwise: IntArray) -> IntArray:
    found: IntArray = np.where(branch >= 0, first + branch, otherwise).astype(np.intp)
    return found


def _codes(links: Int32Array, levels: Int32Array, kind: Array, first: IntArray, unlisted: IntArray) -> dict[str, Any]:
    """Where the codes of nodes that list some lead; marks in ``kind`` those that get a table."""
    listing = np.flatnonzero(kind == LISTED)
    counts = links[listing, LEVEL_COUNT].astype(np.intp)
    entries = ranges(links[listing, LEVEL_START], counts)
    owners, codes = np.repeat(listing, counts), levels[entries, CODE].astype(np.intp)
    targets = first[owners] + levels[entries, BRANCH]
    largest = np.zeros(len(links), np.intp)
    np.maximum.at(largest, owners, codes + 1)
    few = largest[listing] <= np.maximum(_FEW_CODES, _FEW_TIMES * counts)
    tabled = listing[few]
    kind[tabled] = TABLED
    sizes = largest[tabled] + 2
    place = np.zeros(len(links), np.intp)
    place[tabled] = np.cumsum(sizes) - sizes + 1
    table = np.repeat(unlisted[tabled], sizes)
    in_table = kind[owners] == TABLED
    table[place[owners[in_table]] + codes[in_table]] = targets[in_table]
    width = int(codes.max(initial=0)) + 2
    keys = (owners * width + codes)[~in_table]
    order = np.argsort(keys, kind="stable")
    return {
        "kind": kind,
        "table": table.astype(np.int32),
        "place": place.astype(np.int32),
        "largest": largest.astype(np.int32),
        "keys": keys[order],
        "targets": targets[~in_table][order],
        "width": width,
    }


def ranges(firsts: IntArray | Int32Array, counts: IntArray | Int32Array) -> IntArray:
    """The numbers ``first, first + 1, ...``, ``count`` of them, of each pair in turn."""
    ends = np.cumsum(counts, dtype=np.intp)
    numbers: IntArray = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(firsts - ends + counts, counts)
    return numbers
