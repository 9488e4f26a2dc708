"""Many rows through one tree or several by machine code, for processes that have a compiler.

It says of one value what :mod:`learners.trees.batch` says of arrays; tests hold the two together.
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel, lean_kernel
from learners.trees.walk_layout import BETWEEN, COMPARED, RANKED, TABLED, WalkLayout
from learners.types import FloatArray, IntArray

#: Rows that walk side by side: while one waits for the memory, others are moved.
_TOGETHER = 8


@lean_kernel
def walk_rows(
    layout: WalkLayout,
    upper: FloatArray,
    cells: FloatArray,
    starts: IntArray,
    by_column: int,
    nodes: IntArray,
) -> None:
    """Move each row down from the node where it is, to a leaf or to the first node at which its value decides nothing.

    Args:
        layout: of the nodes.
        upper: by node, where the interval ends by which its parent leads to it.
        cells: all rows' cells in the order of memory.
        starts: where those of each row begin, shape (m,).
        by_column: how far apart the columns are.
        nodes: where each row is, shape (m,); gets where it ends.
    """
    for begin in range(np.uint64(0), np.uint64(nodes.shape[0]), np.uint64(_TOGETHER)):
        end = min(begin + np.uint64(_TOGETHER), np.uint64(nodes.shape[0]))
        moved = np.uint64(1)
        while moved != 0:
            moved = np.uint64(0)
            for one in range(begin, end):
                node = np.uint64(nodes[one])
                value = cells[np.uint64(starts[one] + layout.column[node] * by_column)]
                how = layout.kind[node]
                if math.isnan(value):
                    after = np.uint64(layout.absent[node])
                elif how == COMPARED:
                    after = np.uint64(layout.first[node]) + np.uint64(value > layout.threshold[node])
                elif how == TABLED:
                    code = np.int64(min(max(value, -1.0), float(layout.largest[node])))
                    after = np.uint64(layout.table[np.uint64(np.int64(layout.place[node]) + code)])
                else:
                    after = np.uint64(rarely(layout, upper, node, value))
                moved |= after ^ node
                nodes[one] = np.int64(after)


@lean_inner_kernel
def rarely(layout: WalkLayout, upper: FloatArray, node: np.uint64, value: float) -> int:
    """Where a known value leads from a node of a rarer kind."""
    first = np.int64(layout.first[node])
    if layout.kind[node] == RANKED:
        return int(layout.absent[node]) if value < 0.0 else int(first + np.int64(value > layout.threshold[node]))
    low = np.int64(0)
    if layout.kind[node] == BETWEEN:
        high = np.int64(layout.n_branches[node]) - 1
        while low < high:
            middle = (low + high) // 2
            if value <= upper[first + middle]:
                high = middle
            else:
                low = middle + 1
        return int(first + low)
    if not 0.0 <= value < layout.width:
        return int(layout.unlisted[node])
    key = np.int64(node) * layout.width + np.int64(value)
    high = np.int64(layout.keys.shape[0])
    while low < high:
        middle = (low + high) // 2
        if layout.keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    found = low < layout.keys.shape[0] and layout.keys[low] == key
    return int(layout.targets[low]) if found else int(layout.unlisted[node])
