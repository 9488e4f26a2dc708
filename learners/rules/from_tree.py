"""From a tree to rules: one walk over the nodes that keeps, for each column, what the path asks of it.

The state of a column is merged as the walk goes down and put back as it comes up, so a path of
thousands of tests on one column costs one condition, and the whole takes time in proportion to
the nodes and to what is written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from learners.decisions import decide
from learners.explanation import AnyCondition, Condition
from learners.rules.rule import UNBOUNDED, Rule, RuleCondition, RuleSet, plain_share, rule_id
from learners.table import Column
from learners.trees.nodes import LEAF, LEVELS, Nodes
from learners.trees.paths import combined_columns, condition_within
from learners.types import Array, FloatArray, IntArray, Scalar


def rules_of_nodes(
    nodes: Nodes,
    columns: Sequence[Column],
    target: Column,
    utility: FloatArray | None = None,
    part: range | None = None,
) -> RuleSet:
    """The rules of a node array over these columns; a target with levels makes them class rules.

    Args:
        utility: by which each leaf decides for a class (see :mod:`learners.decisions`).
        part: places of the rules that are wanted, in the order of all; None for all.
    """
    classes = None if target.is_numeric else target.labels
    combined = combined_columns(nodes, columns)
    ids = None if part is None else _above_leaves(nodes, part)
    rules = tuple(_Walk(nodes, (*columns, *combined), classes, utility, ids).rules())
    return RuleSet(tuple(columns), target, classes, rules, utility=utility, combined=combined)


def _above_leaves(nodes: Nodes, part: range) -> IntArray:
    """The leaves at some places in the order of all, and every node above them; ascending."""
    found: set[int] = set()
    for leaf in nodes.leaves_as_read[part.start : part.stop].tolist():
        node = leaf
        while node >= 0 and node not in found:
            found.add(node)
            node = int(nodes.parent[node])
    return np.array(sorted(found), dtype=np.int64)


class _Asked(NamedTuple):
    """What the path so far asks of one column.

    ``included`` is the set of codes that are left, or ``None`` while all are left but the excluded
    ones, which the walk keeps (it would cost too much to copy them at each level).
    """

    low: float
    high: float
    included: frozenset[int] | None
    missing: float
    unseen: float


_NOTHING = _Asked(*UNBOUNDED, included=None, missing=1.0, unseen=1.0)
_NONE: set[int] = set()
_UNWRITTEN = RuleCondition(-1, Condition("", "not in"), *UNBOUNDED, None, False, missing=1.0, unseen=1.0)


class _Walk:
    """Depth-first walk with an explicit stack, over all nodes or over those of some leaves.

    ``asked`` holds the tested columns in the order of their first test; ``excluded`` the level
    codes that branches for "any other level" have ruled out; ``made``, in the same order, what is
    written out of each column, and ``stale`` the columns of which that is not, or no longer, all that is asked.
    """

    def __init__(
        self,
        nodes: Nodes,
        columns: tuple[Column, ...],
        classes: tuple[Scalar, ...] | None,
        utility: FloatArray | None,
        ids: IntArray | None,
    ) -> None:
        chosen = np.arange(nodes.n_nodes) if ids is None else ids

        def by_node(array: Array) -> Any:
            """A list by node; or a mapping, of those that are visited."""
            return array.tolist() if ids is None else dict(zip(ids.tolist(), array.tolist(), strict=True))

        def taken(array: Array) -> Any:
            return by_node(array[chosen])

        self.visited = range(nodes.n_nodes) if ids is None else frozenset(ids.tolist())
        self.test = taken(nodes.test)
        d = len(columns) - len(nodes.combined)
        low, high = nodes.child_bounds(np.array([column.is_numeric for column in columns[:d]], dtype=np.bool_), ids)
        above = nodes.parent[chosen]
        feature = np.where(above >= 0, nodes.feature[above], -1)
        for place in np.flatnonzero(feature >= d).tolist():
            interval = nodes.combined.tests[feature[place] - d].interval
            if interval is not None and chosen[place] == nodes.first_child[above[place]]:
                feature[place], low[place], high[place] = interval
        #: The column that the test above a node asks of it; of those in an interval the column itself.
        self.asked_of = by_node(feature)
        self.low = by_node(low)
        self.high = by_node(high)
        self.first_child = taken(nodes.first_child)
        self.n_children = taken(nodes.n_children)
        self.parent = taken(nodes.parent)
        self.missing_branch = taken(nodes.missing_branch)
        self.other_branch = taken(nodes.other_branch)
        self.fraction = taken(nodes.fraction)
        self.level_start = taken(nodes.level_start)
        self.level_count = taken(nodes.level_count)
        self.level_codes = nodes.level_codes
        self.level_branch = nodes.level_branch
        self.rows_of = taken(nodes.rows)
        self.weight = taken(nodes.weight)
        leaves = nodes.leaves() if ids is None else ids[nodes.test[ids] == LEAF]
        values = nodes.value[leaves]
        self.value = dict(zip(leaves.tolist(), values.tolist(), strict=True))
        if classes is not None:
            shares = values / values.sum(axis=1, keepdims=True)
            self.shares = dict(zip(leaves.tolist(), shares.tolist(), strict=True))
            self.decided = dict(zip(leaves.tolist(), decide(shares, utility).tolist(), strict=True))
        self.columns = columns
        self.classes = classes
        self.asked: dict[int, _Asked] = {}
        self.excluded: dict[int, set[int]] = {}
        self.made: dict[int, RuleCondition] = {}
        self.stale: set[int] = set()

    def rules(self) -> list[Rule]:
        found = []
        stack: list[tuple[Any, ...]] = [(0, None)] if 0 in self.visited else []
        while stack:
            node, back = stack.pop()
            if back is not None:
                self._put_back(node, *back)
                continue
            parent = self.parent[node]
            if parent >= 0:
                feature = self.asked_of[node]
                stack.append((feature, self._ask(parent, node, feature)))
            if self.test[node] == LEAF:
                found.append(self._rule(node))
                continue
            first = self.first_child[node]
            children = range(first, first + self.n_children[node])
            stack.extend([(child, None) for child in reversed(children) if child in self.visited])
        return found

    def _ask(self, node: int, child: int, feature: int) -> tuple[_Asked | None, RuleCondition | None, set[int]]:
        """Merge the test that leads to a child into its column; returns what puts it back."""
        before = self.asked.get(feature)
        if before is None:
            self.made[feature] = _UNWRITTEN  # its place among the others
        made = None if feature in self.stale else self.made[feature]
        self.stale.add(feature)
        low, high, included, missing, unseen = before or _NOTHING
        branch = child - self.first_child[node]
        followed = self.missing_branch[node]
        share = self.fraction[child]
        missing *= share if followed < 0 else float(followed == branch)
        added = _NONE
        low, high = max(low, self.low[child]), min(high, self.high[child])
        other = self.other_branch[node] if self.other_branch[node] >= 0 else followed
        unseen *= share if other < 0 else float(other == branch)
        if self.test[node] == LEVELS and not self.columns[feature].is_numeric:
            included, added = self._ask_levels(included, node, branch, feature)
        self.asked[feature] = _Asked(low, high, included, missing, unseen)
        return before, made, added

    def _ask_levels(
        self, included: frozenset[int] | None, node: int, branch: int, feature: int
    ) -> tuple[frozenset[int] | None, set[int]]:
        start = self.level_start[node]
        span = slice(start, start + self.level_count[node])
        pairs = zip(self.level_codes[span].tolist(), self.level_branch[span].tolist(), strict=True)
        excluded = self.excluded.setdefault(feature, set())
        if branch != self.other_branch[node]:
            taken = frozenset(code for code, its in pairs if its == branch)
            return taken - excluded if included is None else taken & included, _NONE
        barred = {code for code, its in pairs if its != branch}
        if included is not None:
            return included - barred, _NONE
        added = barred - excluded
        excluded |= added
        return None, added

    def _put_back(self, feature: int, before: _Asked | None, made: RuleCondition | None, added: set[int]) -> None:
        if added:
            self.excluded[feature] -= added
        if before is None:
            del self.asked[feature], self.made[feature]
            self.stale.discard(feature)
            return
        self.asked[feature] = before
        if made is None:
            self.stale.add(feature)
        else:
            self.made[feature] = made
            self.stale.discard(feature)

    def _write(self) -> None:
        for feature in self.stale:
            excluded = self.excluded.get(feature, _NONE)
            self.made[feature] = _condition(feature, self.columns[feature], self.asked[feature], excluded)
        self.stale.clear()

    def _rule(self, leaf: int) -> Rule:
        self._write()
        conditions = tuple(self.made.values())
        distribution = deviation = confidence = counts = None
        best = 0
        answer: Scalar
        if self.classes is None:
            answer, variance = self.value[leaf]
            deviation = math.sqrt(max(variance, 0.0))
        else:
            distribution = tuple(self.shares[leaf])
            best = self.decided[leaf]
            answer, confidence = self.classes[best], distribution[best]
            value = self.value[leaf]
            if math.isclose(sum(value), self.weight[leaf], rel_tol=1e-9):  # else it holds pseudo-counts too
                counts = tuple(value)
        return Rule(
            id=rule_id(leaf, [one.text for one in conditions], answer),
            leaf=leaf,
            conditions=conditions,
            answer=answer,
            distribution=distribution,
            confidence=confidence,
            deviation=deviation,
            rows=self.rows_of[leaf],
            weight=self.weight[leaf],
            counts=counts,
            share=plain_share(counts, best),
        )


def _condition(feature: int, column: Column, asked: _Asked, excluded: set[int]) -> RuleCondition:
    """Write out what is asked of a column."""
    codes: tuple[int, ...] | None = None
    negated = False
    bounded = (asked.low, asked.high) != UNBOUNDED
    if not column.is_numeric and (asked.included is not None or excluded or not bounded):
        included = range(len(column.levels)) if asked.included is None else sorted(asked.included)
        negated = asked.included is None and not bounded
        codes = tuple(sorted(excluded) if negated else [c for c in included if asked.low < c <= asked.high])
        if asked.included is None and not negated:
            codes = tuple(code for code in codes if code not in excluded)
    return RuleCondition(
        feature,
        written_condition(column, asked.low, asked.high, codes, negated),
        asked.low,
        asked.high,
        codes,
        negated,
        missing=asked.missing,
        unseen=asked.unseen,
    )


def written_condition(
    column: Column, low: float, high: float, codes: tuple[int, ...] | None, negated: bool
) -> AnyCondition:
    """A merged condition in labels: a set of level codes, or ``low < x <= high`` where ``codes`` is ``None``."""
    if codes is None:
        return condition_within(column, low, high)
    values = tuple(column.labels[code] for code in codes)
    return Condition(column.name, "not in" if negated else "in", values=values)
