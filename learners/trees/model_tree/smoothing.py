"""Smoothing, worked into the leaves' functions once, so that a row needs nothing but its leaf.

On the way up from a leaf the answer p is mixed with that of each node's own model q: (n p + k q) / (n + k), where n
is the number of rows in the node below (Quinlan 1992; k = 15). All are linear, so the leaf's smoothed answer is a
linear function too. From the root downwards: with s the product of n / (n + k) along the path, a node adds
s k / (n + k) times its own model to all leaves beneath a child of n rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.trees.model_tree.fitting import NodeModels, Placed
from learners.trees.model_tree.leaves import LinearLeaves
from learners.trees.model_tree.variables import Variables
from learners.trees.nodes import LEAF, Nodes
from learners.types import FloatArray, IntArray


@dataclass(frozen=True)
class _Mixture:
    """What the nodes above give to a leaf, and the share that is left to it."""

    share: float
    intercept: float
    terms: dict[int, float]

    def with_model(self, amount: float, models: NodeModels, node: int) -> _Mixture:
        """The same with an amount of a node's model added."""
        mixed = dict(self.terms)
        for variable, coefficient in models.terms(node):
            mixed[variable] = mixed.get(variable, 0.0) + amount * coefficient
        return _Mixture(self.share, self.intercept + amount * float(models.intercept[node]), mixed)


def smoothed_leaves(
    nodes: Nodes, kept: IntArray, models: NodeModels, strength: float, variables: Variables, means: LeafMeans
) -> LinearLeaves:
    """The leaves' functions.

    Args:
        nodes: the pruned tree, N nodes.
        kept: its nodes' ids in the grown tree, shape (N,).
        models: of the grown tree.
        strength: k; 0 leaves the models as they are.
        variables: of the models.
        means: what a missing variable counts as.
    """
    mixtures = {0: _Mixture(1.0, 0.0, {})}
    found: list[tuple[float, dict[int, float]]] = []
    for node in range(nodes.n_nodes):
        mixture = mixtures.pop(node)
        old = int(kept[node])
        if nodes.test[node] == LEAF:
            own = mixture.with_model(mixture.share, models, old)
            found.append((own.intercept, own.terms))
            continue
        found.append((0.0, {}))
        for child in nodes.children(node):
            rows = float(models.rows[kept[child]])
            given = mixture.share * strength / (rows + strength) if strength > 0 else 0.0
            mixed = mixture
            if given > 0:
                mixed = mixture.with_model(given, models, old)
            mixtures[child] = _Mixture(mixture.share - given, mixed.intercept, mixed.terms)
    return _as_arrays(nodes, kept, found, variables, means)


@dataclass(frozen=True, eq=False)
class LeafMeans:
    """The mean of a variable over the training rows of a node that know it.

    Attributes:
        nodes: the grown tree.
        placed: its training rows.
        cells: by column, shape (d, n).
        variables: of the models.
    """

    nodes: Nodes
    placed: Placed
    cells: FloatArray
    variables: Variables

    def of(self, node: int, variable: int) -> float:
        """The mean in a node; where no row knows the variable, that of the nearest node above; else 0."""
        while node >= 0:
            entries = self.placed.at(node)
            cells = self.cells[self.variables.column[variable], self.placed.rows[entries]]
            values = self.variables.values(variable, cells)
            known = ~np.isnan(values)
            weights = self.placed.weights[entries][known]
            if weights.size:
                return float(np.sum(weights / weights.sum() * values[known]))
            node = int(self.nodes.parent[node])
        return 0.0


def _as_arrays(
    nodes: Nodes, kept: IntArray, found: list[tuple[float, dict[int, float]]], variables: Variables, means: LeafMeans
) -> LinearLeaves:
    counts, chosen, coefficients, defaults = [], [], [], []
    for old, (_, terms) in zip(kept.tolist(), found, strict=True):
        used = sorted(variable for variable, coefficient in terms.items() if coefficient != 0)
        counts.append(len(used))
        chosen += used
        coefficients += [terms[variable] for variable in used]
        defaults += [means.of(old, variable) for variable in used]
    inner = nodes.test != LEAF
    return LinearLeaves(
        intercept=np.where(inner, nodes.value[:, 0], np.array([intercept for intercept, _ in found])),
        first=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        variable=np.array(chosen, dtype=np.int32),
        coefficient=np.array(coefficients, dtype=np.float64),
        default=np.array(defaults, dtype=np.float64),
        column=variables.column,
        start=variables.start,
        levels=variables.levels,
    )
