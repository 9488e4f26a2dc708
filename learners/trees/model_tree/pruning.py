"""From the leaves upwards: where a node's linear model is expected to err no more than the subtree, it takes its place.

Both are judged by their adjusted error, the mean absolute residual times (n + c v) / (n - v): of a subtree that of its
leaves, with as many parameters v as all its leaves' models and tests have together (M5'). Wang and Witten (1997)
write c = 1, after Quinlan (1992); the program of Witten's group has c = 2, which gives smaller trees.
"""

from __future__ import annotations

import numpy as np

from learners._accel import kernel
from learners.trees.model_tree.fitting import NodeModels
from learners.trees.model_tree.terms import adjusted
from learners.trees.nodes import Nodes
from learners.types import BoolArray, FloatArray, Int32Array


def where_models_serve(nodes: Nodes, models: NodeModels, multiplier: float) -> BoolArray:
    """The nodes that become leaves, shape (N,); nodes beneath them are marked or not, as it comes.

    Args:
        nodes: the grown tree.
        models: its nodes' models.
        multiplier: c.
    """
    parameters = models.parameters.astype(np.float64)
    return _bottom_up(
        nodes.first_child,
        nodes.n_children,
        nodes.weight,
        models.error.copy(),
        models.rows,
        parameters,
        float(multiplier),
        models.slack,
    )


@kernel
def _bottom_up(
    first_child: Int32Array,
    n_children: Int32Array,
    weight: FloatArray,
    error: FloatArray,
    rows: FloatArray,
    parameters: FloatArray,
    multiplier: float,
    slack: float,
) -> BoolArray:
    """Children before parents; ``error`` and ``parameters`` become those of what each node is left with."""
    at = np.zeros(weight.shape[0], np.bool_)
    for node in range(weight.shape[0] - 1, -1, -1):
        below = 0.0
        total = 0.0
        size = 1.0
        for child in range(first_child[node], first_child[node] + n_children[node]):
            below += weight[child] * error[child]
            total += weight[child]
            size += parameters[child]
        if n_children[node] > 0:
            below /= total
        own = adjusted(error[node], rows[node], parameters[node], multiplier)
        if n_children[node] == 0 or own <= adjusted(below, rows[node], size, multiplier) + slack:
            at[node] = True
        else:
            error[node] = below
            parameters[node] = size
    return at
