"""Which nodes of a tree a picture shows, and on which line each stands.

On a wide page one leaf takes a line, in the order in which the tree is read; a node stands on the line
of its first child and every depth is a column. On a narrow page every node takes a line and depth is
an indent. Either way no two boxes meet, all text runs the way people read, and the root is at the top
left, where a browser begins to show a large picture. Trees too large for a page are cut: what carries
most training weight is shown, the rest is folded into its topmost node with the number of leaves beneath.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from learners.trees.nodes import Nodes


@dataclass(frozen=True)
class Placed:
    """A node of the picture.

    Attributes:
        node: its id in the tree.
        depth: tests between it and the top of the picture.
        line: its line, counted from 0; on a wide page that of its first child, if it has any.
        children: ids of the children that are shown; empty for a leaf of the picture.
        folded: number of leaves that are not shown beneath it; 0 for a node that is complete.
    """

    node: int
    depth: int
    line: int
    children: tuple[int, ...]
    folded: int


@dataclass(frozen=True)
class Extent:
    """How much of a tree is shown.

    Attributes:
        root: the node at the top; what is not beneath it is not shown.
        max_depth: nodes so many tests beneath the top are not opened.
        max_leaves: the picture has at most so many leaves, folded ones included (a node with more
            children than that is not opened either).
        kept: nodes that are opened before all others, those of the largest number (above 0) first, the limits
            permitting.
    """

    root: int = 0
    max_depth: int = 12
    max_leaves: int = 60
    kept: Mapping[int, float] = field(default_factory=dict)


def place(nodes: Nodes, extent: Extent, *, narrow: bool = False) -> list[Placed]:
    """The nodes to be drawn, in the order in which a tree is read (a node before its children)."""
    opened = _opened(nodes, extent)
    beneath = nodes.leaves_beneath
    order = _reading_order(nodes, opened, extent.root)
    lines = {node: line for line, node in enumerate(order)} if narrow else _leaf_lines(nodes, order, opened)
    return [
        Placed(
            node=node,
            depth=int(nodes.depth[node] - nodes.depth[extent.root]),
            line=lines[node],
            children=tuple(nodes.children(node)) if node in opened else (),
            folded=0 if node in opened or not nodes.n_children[node] else int(beneath[node]),
        )
        for node in order
    ]


def _leaf_lines(nodes: Nodes, order: Sequence[int], opened: set[int]) -> dict[int, int]:
    lines: dict[int, int] = {}
    n_lines = 0
    for node in order:
        if node not in opened:
            lines[node] = n_lines
            n_lines += 1
    for node in reversed(order):
        if node in opened:
            lines[node] = lines[nodes.children(node)[0]]
    return lines


def _opened(nodes: Nodes, extent: Extent) -> set[int]:
    """The nodes whose children are shown: those to be kept and then the heaviest first, as long as there is room."""
    opened: set[int] = set()
    n_leaves = 1
    deepest = int(nodes.depth[extent.root]) + extent.max_depth
    waiting = [(0.0, 0.0, extent.root)]
    while waiting:
        _, _, node = heapq.heappop(waiting)
        n_children = int(nodes.n_children[node])
        if not n_children or nodes.depth[node] >= deepest or n_leaves + n_children - 1 > extent.max_leaves:
            continue
        opened.add(node)
        n_leaves += n_children - 1
        for child in nodes.children(node):
            heapq.heappush(waiting, (-extent.kept.get(child, 0.0), -float(nodes.weight[child]), child))
    return opened


def _reading_order(nodes: Nodes, opened: set[int], root: int) -> Sequence[int]:
    order: list[int] = []
    stack = [root]
    while stack:
        node = stack.pop()
        order.append(node)
        if node in opened:
            stack.extend(reversed(nodes.children(node)))
    return order
