"""From a tree to rules: one walk over the nodes that keeps, for each column, what the path asks of it.

The state of a column is merged as the walk goes down (:mod:`learners.rules.path_states`), so a path of
thousands of tests on one column costs one condition, and the whole takes time in proportion to
the nodes and to what is written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from learners.decisions import decide
from learners.rules.path_states import PathStates
from learners.rules.rule import Rule, RuleSet, plain_share, rule_id
from learners.table import Column
from learners.trees.nodes import LEAF, Nodes
from learners.trees.paths import combined_columns
from learners.types import FloatArray, IntArray, Scalar


def rules_of_nodes(
    nodes: Nodes,
    columns: Sequence[Column],
    target: Column,
    utility: FloatArray | None = None,
    part: range | IntArray | None = None,
) -> RuleSet:
    """The rules of a node array over these columns; a target with levels makes them class rules.

    Args:
        utility: by which each leaf decides for a class (see :mod:`learners.decisions`).
        part: places of the rules that are wanted, ascending, in the order of all; None for all.
    """
    classes = None if target.is_numeric else target.labels
    combined = combined_columns(nodes, columns)
    ids = None if part is None else _above_leaves(nodes, part)
    rules = tuple(_Walk(nodes, (*columns, *combined), classes, utility, ids).rules())
    return RuleSet(tuple(columns), target, classes, rules, utility=utility, combined=combined)


def _above_leaves(nodes: Nodes, part: range | IntArray) -> IntArray:
    """The leaves at some places in the order of all, and every node above them; ascending."""
    found: set[int] = set()
    places = slice(part.start, part.stop) if isinstance(part, range) else part
    for leaf in nodes.leaves_as_read[places].tolist():
        node = leaf
        while node >= 0 and node not in found:
            found.add(node)
            node = int(nodes.parent[node])
    return np.array(sorted(found), dtype=np.int64)


class _Walk:
    """Depth-first walk with an explicit stack, over all nodes or over those of some leaves.

    ``last`` holds by tested column, in the order of their first tests on the path, the node beneath the last one.
    """

    def __init__(
        self,
        nodes: Nodes,
        columns: tuple[Column, ...],
        classes: tuple[Scalar, ...] | None,
        utility: FloatArray | None,
        ids: IntArray | None,
    ) -> None:
        self.visited = range(nodes.n_nodes) if ids is None else frozenset(ids.tolist())
        self.states = PathStates(nodes, columns, ids)
        self.first_child = self.states.first_child
        self.n_children = self.states.by_node(nodes.n_children)
        leaves = nodes.leaves() if ids is None else ids[nodes.test[ids] == LEAF]
        values = nodes.value[leaves]
        self.place = {leaf: place for place, leaf in enumerate(leaves.tolist())}
        self.rows_of, self.weight = nodes.rows[leaves].tolist(), nodes.weight[leaves].tolist()
        self.value = list(map(tuple, values.tolist()))
        if classes is not None:
            shares = values / values.sum(axis=1, keepdims=True)
            self.shares = list(map(tuple, shares.tolist()))
            self.decided = decide(shares, utility).tolist()
        self.classes = classes
        self.last: dict[int, int] = {}

    def rules(self) -> list[Rule]:
        found = []
        asked_of, before, ask, leave = self.states.asked_of, self.states.before, self.states.ask, self._leave
        last, place, partly = self.last, self.place, not isinstance(self.visited, range)
        stack = [0] if 0 in self.visited else []
        while stack:
            node = stack.pop()
            if node < 0:  # what is beneath ~node is done
                leave(~node)
                continue
            if node:
                feature = asked_of[node]
                above = before[node] = last.get(feature, 0)
                last[feature] = node
                ask(node, above)
            if node in place:
                found.append(self._rule(node))
                if node:
                    leave(node)
                continue
            if node:
                stack.append(~node)
            first = self.first_child[node]
            children = range(first + self.n_children[node] - 1, first - 1, -1)
            stack.extend([child for child in children if child in self.visited] if partly else children)
        return found

    def _leave(self, node: int) -> None:
        """Put back what held of a node's column above it."""
        above = self.states.before[node]
        if above:
            self.last[self.states.asked_of[node]] = above
        else:
            del self.last[self.states.asked_of[node]]
        self.states.leave(node)

    def _rule(self, leaf: int) -> Rule:
        conditions = tuple(map(self.states.__getitem__, self.last.values()))
        place = self.place[leaf]
        value, weight = self.value[place], self.weight[place]
        distribution = deviation = confidence = counts = None
        best = 0
        answer: Scalar
        if self.classes is None:
            answer, variance = value
            deviation = math.sqrt(max(variance, 0.0))
        else:
            distribution = self.shares[place]
            best = self.decided[place]
            answer, confidence = self.classes[best], distribution[best]
            if math.isclose(sum(value), weight, rel_tol=1e-9):  # else it holds pseudo-counts too
                counts = value
        return Rule(
            id=rule_id(leaf, [one.text for one in conditions], answer),
            leaf=leaf,
            conditions=conditions,
            answer=answer,
            distribution=distribution,
            confidence=confidence,
            deviation=deviation,
            rows=self.rows_of[place],
            weight=weight,
            counts=counts,
            share=plain_share(counts, best),
        )
