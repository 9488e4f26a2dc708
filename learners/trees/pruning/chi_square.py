"""Chi-square pruning: tests whose branches do not differ significantly in class are taken back.

Bottom-up: of the tests that have only leaves below them, those are replaced by a leaf whose deviation
(:mod:`learners.trees.chi_square`) stays below the critical value, until a significant one is met on
every path. Quinlan (1986), "Induction of decision trees", section 4.3, used the test to stop growth.
"""

from __future__ import annotations

import numpy as np

from learners._accel import kernel
from learners.trees.chi_square import chi_squares, critical_values
from learners.trees.nodes import Nodes
from learners.trees.pruning.compaction import cut
from learners.types import BoolArray, Int32Array


def prune_chi_square(nodes: Nodes, *, significance: float = 0.05) -> Nodes:
    """Cut tests that are not significant and have no significant test below them.

    Args:
        nodes: a classification tree; ``value`` holds class weights, which count as rows.
        significance: in (0, 1]; smaller values prune more.

    Raises:
        ParameterError: significance out of its range.
    """
    deviation, freedom = chi_squares(nodes.value, nodes.weight, nodes.first_child, nodes.n_children)
    degrees, place = np.unique(freedom, return_inverse=True)
    significant = deviation >= critical_values(degrees, significance)[place]
    return cut(nodes, _without_significant(significant, nodes.parent))


@kernel
def _without_significant(significant: BoolArray, parent: Int32Array) -> BoolArray:
    """Where neither the node nor any below it is marked; children before parents."""
    found = significant.copy()
    for node in range(found.shape[0] - 1, 0, -1):
        if found[node]:
            found[parent[node]] = True
    return ~found
