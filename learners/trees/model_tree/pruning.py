"""From the leaves upwards: where a node's linear model is expected to err no more than the subtree, it takes its place.

Both are judged by their adjusted error, the mean absolute residual times (n + c v) / (n - v): of a subtree that of its
leaves, with as many parameters v as all its leaves' models and tests have together (M5'). Wang and Witten (1997)
write c = 1, after Quinlan (1992); the program of Witten's group has c = 2, which gives smaller trees.
"""

from __future__ import annotations

import numpy as np

from learners.trees.model_tree.fitting import NodeModels
from learners.trees.model_tree.terms import adjusted
from learners.trees.nodes import Nodes
from learners.types import BoolArray


def where_models_serve(nodes: Nodes, models: NodeModels, multiplier: float) -> BoolArray:
    """The nodes that become leaves, shape (N,); nodes beneath them are marked or not, as it comes.

    Args:
        nodes: the grown tree.
        models: its nodes' models.
        multiplier: c.
    """
    at: BoolArray = nodes.n_children == 0
    parameters = models.parameters.astype(np.float64)
    error = models.error.copy()
    weight = nodes.weight
    for node in range(nodes.n_nodes - 1, -1, -1):
        if at[node]:
            continue
        children = slice(int(nodes.first_child[node]), int(nodes.first_child[node] + nodes.n_children[node]))
        shares = weight[children] / weight[children].sum()
        below = float(np.sum(shares * error[children]))
        size = float(parameters[children].sum()) + 1
        own = float(adjusted(error[node], models.rows[node], parameters[node], multiplier))
        if own <= float(adjusted(below, models.rows[node], size, multiplier)) + models.slack:
            at[node] = True
        else:
            error[node], parameters[node] = below, size
    return at
