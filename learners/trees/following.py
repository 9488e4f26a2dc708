"""Which branch a missing value follows in answers, whatever became of it in training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learners.trees.nodes import LEAF, Nodes
from learners.trees.problem import TIE


def follow_all(nodes: Nodes) -> Nodes:
    """The tree in which a missing value goes down all branches by their shares."""
    return replace(nodes, missing_branch=np.full(nodes.n_nodes, -1, np.int32))


def follow_heaviest(nodes: Nodes) -> Nodes:
    """The tree in which a missing value takes the branch of the largest known weight, the first of equal ones."""
    followed = np.full(nodes.n_nodes, -1, np.int32)
    parent, fraction = nodes.parent[1:], nodes.fraction[1:]
    largest = np.zeros(nodes.n_nodes)
    np.maximum.at(largest, parent, fraction)
    heavy = np.flatnonzero(fraction * (1.0 + TIE) >= largest[parent]) + 1
    inner, first = np.unique(nodes.parent[heavy], return_index=True)
    followed[inner] = heavy[first] - nodes.first_child[inner]
    followed[nodes.test == LEAF] = -1
    return replace(nodes, missing_branch=followed)
