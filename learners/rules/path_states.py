"""What a path of a tree asks of each column, merged test by test, and how that is written as conditions.

The state of a column is kept at the node beneath its last test, so that all leaves beneath share one condition.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from learners.conditions import AnyCondition, Condition
from learners.rules.rule import UNBOUNDED, RuleCondition
from learners.table import Column
from learners.trees.nodes import LEVELS, Nodes
from learners.trees.paths import condition_within
from learners.types import Array, BoolArray, FloatArray, IntArray

_NONE: frozenset[int] = frozenset()


class PathStates(dict[int, RuleCondition]):
    """By node the condition on the column of the test above it, written when it is first asked for.

    A walk down the tree calls :meth:`ask` for each node that it comes to and :meth:`leave` when all beneath it is
    done. A condition may be asked for while the walk is beneath its node and no further test on the column lies
    between.

    Attributes:
        asked_of: by node the column that the test above it asks of it; of those in an interval the column itself.
        before: by node the one further up beneath the test before on the same column, or 0; the walk fills it.
        first_child: by node.
    """

    def __init__(self, nodes: Nodes, columns: tuple[Column, ...], ids: IntArray | None) -> None:
        super().__init__()
        self._columns = columns
        self._ids = ids
        self._nodes = nodes
        chosen = np.arange(nodes.n_nodes) if ids is None else ids
        above = np.maximum(nodes.parent[chosen], 0)
        branch = chosen - nodes.first_child[above]
        feature, low, high = self._asked(chosen, above)
        self.asked_of = self._as_kept(feature)
        self._low, self._high = self._as_kept(low), self._as_kept(high)
        followed = nodes.missing_branch[above]
        other = np.where(nodes.other_branch[above] >= 0, nodes.other_branch[above], followed)
        share = nodes.fraction[chosen]
        self._missing = self._as_kept(np.where(followed < 0, share, followed == branch))
        self._unseen = self._as_kept(np.where(other < 0, share, other == branch))
        self.before = self._as_kept(np.zeros(len(chosen), np.int64))
        self.first_child = self.by_node(nodes.first_child)
        numeric = np.array([column.is_numeric for column in columns])
        listed = (nodes.test[above] == LEVELS) & ~numeric[np.maximum(feature, 0)] & (chosen > 0)
        #: Nodes beneath a test that names levels.
        self._listed = frozenset(chosen[listed].tolist())
        #: By such a node the codes that are left, or ``None`` while all are but the excluded ones.
        self._included: dict[int, frozenset[int] | None] = {}
        #: By column the codes that branches for "any other level" have ruled out, and by node those that it added: to
        #: copy them at each level would cost too much.
        self._excluded: dict[int, set[int]] = {}
        self._added: dict[int, set[int]] = {}

    def by_node(self, array: Array) -> Any:
        """The values of an array of all nodes, by node: a list; or a mapping, of the nodes that are visited."""
        return self._as_kept(array if self._ids is None else array[self._ids])

    def _as_kept(self, values: Array) -> Any:
        listed = values.tolist()
        return listed if self._ids is None else dict(zip(self._ids.tolist(), listed, strict=True))

    def _asked(self, chosen: IntArray, above: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """The column and the bounds that the test above each node asks for."""
        nodes = self._nodes
        d = len(self._columns) - len(nodes.combined)
        numeric: BoolArray = np.array([column.is_numeric for column in self._columns[:d]], dtype=np.bool_)
        low, high = nodes.child_bounds(numeric, self._ids)
        feature = np.where(nodes.parent[chosen] >= 0, nodes.feature[above], -1)
        for place in np.flatnonzero(feature >= d).tolist():
            interval = nodes.combined.tests[feature[place] - d].interval
            if interval is not None and chosen[place] == nodes.first_child[above[place]]:
                feature[place], low[place], high[place] = interval
        return feature, low, high

    def ask(self, node: int, above: int) -> None:
        """Merge what the test above a node asks with the state of its column at the node ``above``, 0 for none."""
        if above:
            low, high = self._low, self._high
            low[node] = max(low[node], low[above])
            high[node] = min(high[node], high[above])
            self._missing[node] *= self._missing[above]
            self._unseen[node] *= self._unseen[above]
        if node in self._listed:
            self._ask_levels(node, self._included.get(above))
        elif above in self._included:
            self._included[node] = self._included[above]

    def _ask_levels(self, node: int, included: frozenset[int] | None) -> None:
        nodes, parent = self._nodes, int(self._nodes.parent[node])
        codes, branches = nodes.levels_of(parent)
        branch = node - self.first_child[parent]
        excluded = self._excluded.setdefault(self.asked_of[node], set())
        if branch != nodes.other_branch[parent]:
            taken = frozenset(codes[branches == branch].tolist())
            self._included[node] = taken - excluded if included is None else taken & included
            return
        barred = set(codes[branches != branch].tolist())
        if included is not None:
            self._included[node] = included - barred
            return
        self._included[node] = None
        added = self._added[node] = barred - excluded
        excluded |= added

    def leave(self, node: int) -> None:
        """Forget what only the paths through a node rule out."""
        if node in self._added:
            self._excluded[self.asked_of[node]] -= self._added.pop(node)

    def __missing__(self, node: int) -> RuleCondition:
        feature = self.asked_of[node]
        column, low, high = self._columns[feature], self._low[node], self._high[node]
        codes, negated = None if column.is_numeric else self._codes(node, column), False
        if codes is not None:
            negated = self._included.get(node) is None and (low, high) == UNBOUNDED
        found = self[node] = RuleCondition(
            feature,
            written_condition(column, low, high, codes, negated),
            low,
            high,
            codes,
            negated,
            missing=self._missing[node],
            unseen=self._unseen[node],
        )
        return found

    def _codes(self, node: int, column: Column) -> tuple[int, ...] | None:
        """The levels that are left, or of unbounded paths the excluded ones; ``None`` where bounds say it all."""
        low, high, included = self._low[node], self._high[node], self._included.get(node)
        excluded = self._excluded.get(self.asked_of[node], _NONE)
        bounded = (low, high) != UNBOUNDED
        if included is None and not excluded and bounded:
            return None
        if included is not None:
            return tuple(code for code in sorted(included) if low < code <= high)
        if not bounded:
            return tuple(sorted(excluded))
        return tuple(code for code in range(len(column.levels)) if low < code <= high and code not in excluded)


def written_condition(
    column: Column, low: float, high: float, codes: tuple[int, ...] | None, negated: bool
) -> AnyCondition:
    """A merged condition in labels: a set of level codes, or ``low < x <= high`` where ``codes`` is ``None``."""
    if codes is None:
        return condition_within(column, low, high)
    values = tuple(column.labels[code] for code in codes)
    return Condition(column.name, "not in" if negated else "in", values=values)
