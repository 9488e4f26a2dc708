"""A warning of least sizes that the rows are too few for, so that a tree has no test at all."""

from __future__ import annotations

from learners.trees.nodes import Nodes
from learners.types import IntArray


def single_leaf_warnings(nodes: Nodes, roots: IntArray, *, min_leaf: float, min_split: float) -> list[str]:
    """A sentence where all of several trees are single leaves, since no node can hold what a test needs.

    Args:
        roots: their nodes.
        min_leaf, min_split: the parameters.
    """
    if min_leaf <= 1 and min_split <= 2:
        return []  # less cannot be asked for
    rows = float(nodes.weight[roots].max())
    if (nodes.feature[roots] >= 0).any() or rows >= max(2 * min_leaf, min_split):
        return []
    if 2 * min_leaf >= min_split:
        cause = f"min_leaf = {min_leaf:g}, so a test needs a weight of {2 * min_leaf:g} in its two branches"
    else:
        cause = f"min_split = {min_split:g}, so a node with a test needs that weight"
    what = "the tree is a single leaf" if len(roots) == 1 else "every member is a single leaf"
    return [f"{cause}, and the rows have {rows:g}: {what} and answers every row alike"]
