"""Where the nodes of a tree picture stand: read from left to right, one leaf to a line.

Leaves take lines in the order in which the tree is read, a node stands on the line of its first child,
and every depth is a column wide enough for the texts on its branches. So no two boxes meet, all text
runs the way people read, and the root is at the top left, where a browser begins to show a large
picture. Trees too large for a page are cut: what carries most training weight is shown, the rest is
folded into its topmost node with the number of leaves beneath.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.trees.nodes import Nodes
from learners.types import IntArray


@dataclass(frozen=True)
class Placed:
    """A node of the picture.

    Attributes:
        node: its id in the tree.
        depth: its column.
        line: its line, counted from 0; that of its first child, if it has any.
        children: ids of the children that are shown; empty for a leaf of the picture.
        folded: number of leaves that are not shown beneath it; 0 for a node that is complete.
    """

    node: int
    depth: int
    line: int
    children: tuple[int, ...]
    folded: int


def place(nodes: Nodes, *, max_depth: int, max_leaves: int) -> list[Placed]:
    """The nodes to be drawn, in the order in which a tree is read (a node before its children).

    Args:
        nodes: the tree.
        max_depth: nodes of this depth are not opened.
        max_leaves: the picture has at most so many leaves, folded ones included (a node with more
            children than that is not opened either).
    """
    opened = _opened(nodes, max_depth, max_leaves)
    beneath = _leaves_beneath(nodes)
    order = _reading_order(nodes, opened)
    lines: dict[int, int] = {}
    n_lines = 0
    for node in order:
        if node not in opened:
            lines[node] = n_lines
            n_lines += 1
    for node in reversed(order):
        if node in opened:
            lines[node] = lines[nodes.children(node)[0]]
    return [
        Placed(
            node=node,
            depth=int(nodes.depth[node]),
            line=lines[node],
            children=tuple(nodes.children(node)) if node in opened else (),
            folded=0 if node in opened or not nodes.n_children[node] else int(beneath[node]),
        )
        for node in order
    ]


def _opened(nodes: Nodes, max_depth: int, max_leaves: int) -> set[int]:
    """The nodes whose children are shown: the heaviest first, as long as there is room."""
    opened: set[int] = set()
    n_leaves = 1
    waiting = [(-float(nodes.weight[0]), 0)]
    while waiting:
        _, node = heapq.heappop(waiting)
        n_children = int(nodes.n_children[node])
        if not n_children or nodes.depth[node] >= max_depth or n_leaves + n_children - 1 > max_leaves:
            continue
        opened.add(node)
        n_leaves += n_children - 1
        for child in nodes.children(node):
            heapq.heappush(waiting, (-float(nodes.weight[child]), child))
    return opened


def _leaves_beneath(nodes: Nodes) -> IntArray:
    counts: IntArray = np.equal(nodes.n_children, 0).astype(np.int64)
    for node in range(nodes.n_nodes - 1, 0, -1):  # children have larger ids than their parent
        counts[nodes.parent[node]] += counts[node]
    return counts


def _reading_order(nodes: Nodes, opened: set[int]) -> Sequence[int]:
    order: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if node in opened:
            stack.extend(reversed(nodes.children(node)))
    return order
