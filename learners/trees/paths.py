"""Why a tree answered as it did: the tests on the way, written down from the traversal itself.

:meth:`~learners.trees.batch.BatchWalk.reach` says which leaves a row reached and with what share,
for prediction and explanation alike; parents lead from each leaf back to the root. Adding up the
branches in their order, weight times answer, repeats the prediction to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from learners.conditions import AnyCondition, Condition
from learners.explanation import Branch, PathExplanation, Step
from learners.table import UNSEEN, Column
from learners.trees.combined.column import CombinedColumn
from learners.trees.combined.tests import LEVELS as TERM_OF_LEVELS
from learners.trees.combined.tests import CombinedTest, CombinedTests, Term
from learners.trees.nodes import INTERVALS, LEVELS, THRESHOLD, Nodes
from learners.trees.traverse import PackedTree
from learners.types import FloatArray, Int32Array, IntArray, Scalar

#: An explanation of several branches has at most so many tests: about 2 MB of JSON.
MAX_TESTS = 10_000


def explain_row(
    nodes: Nodes, tree: PackedTree, columns: Sequence[Column], row: FloatArray, labels: tuple[Scalar, ...] | None
) -> PathExplanation:
    """The paths of one row.

    Args:
        nodes: the tree; ``tree`` is the same one packed.
        columns: what the tree tests, as :func:`tested_columns` gives it.
        row: float64 (d,), writable.
        labels: class labels, or ``None`` for regression.
    """
    return explain_reached(nodes, tree.answers, columns, row, labels, *tree.reach(row))


def explain_reached(
    nodes: Nodes,
    answers: FloatArray,
    columns: Sequence[Column],
    row: FloatArray,
    labels: tuple[Scalar, ...] | None,
    leaves: IntArray,
    weights: FloatArray,
) -> PathExplanation:
    """The same where it is known which leaves the row reaches and with which share, and what nodes answer, (N, K)."""
    kept = _heaviest(nodes.depth[leaves], weights)
    known: dict[int, Step] = {}
    branches = tuple(
        _branch(nodes, answers, columns, row, labels, int(leaves[place]), float(weights[place]), known)
        for place in kept
    )
    left_out = np.delete(weights, kept)
    return PathExplanation(branches, len(left_out), float(left_out.sum()))


def _heaviest(depths: Int32Array, weights: FloatArray) -> IntArray:
    """Places of the heaviest branches that hold at most ``MAX_TESTS`` tests together, one at least; ascending."""
    if len(weights) == 1 or depths.sum() <= MAX_TESTS:
        return np.arange(len(weights))
    by_weight = np.argsort(-weights, kind="stable")
    fitting = int(np.searchsorted(np.cumsum(depths[by_weight]), MAX_TESTS, side="right"))
    return np.sort(by_weight[: max(fitting, 1)])


def told_tests(depths: Int32Array, weights: FloatArray) -> int:
    """How many tests are told of a row that reaches leaves of these depths with these shares."""
    return int(depths[_heaviest(depths, weights)].sum())


def _branch(
    nodes: Nodes,
    answers: FloatArray,
    columns: Sequence[Column],
    row: FloatArray,
    labels: tuple[Scalar, ...] | None,
    leaf: int,
    weight: float,
    known: dict[int, Step],
) -> Branch:
    answer = answers[leaf].tolist()
    return Branch(
        leaf=leaf,
        weight=weight,
        steps=tuple(_steps(nodes, columns, row, leaf, known)),
        rows=int(nodes.rows[leaf]),
        training_weight=float(nodes.weight[leaf]),
        distribution=None if labels is None else tuple(zip(labels, answer, strict=True)),
        value=answer[0] if labels is None else None,
    )


def _steps(nodes: Nodes, columns: Sequence[Column], row: FloatArray, leaf: int, known: dict[int, Step]) -> list[Step]:
    """The steps to a leaf; branches share the steps that they have in common, which are known by their child."""
    steps: list[Step] = []
    for node, child in path_to(nodes, leaf):
        step = known.get(child)
        if step is None:
            step = known[child] = _step(nodes, columns, row, node, child, steps[-1].weight if steps else 1.0)
        steps.append(step)
    return steps


def _step(nodes: Nodes, columns: Sequence[Column], row: FloatArray, node: int, child: int, share: float) -> Step:
    """The test of a node by which the row, or ``share`` of it, comes to a child."""
    column = columns[nodes.feature[node]]
    combined = isinstance(column, CombinedColumn)
    cell = column.test.value(row) if combined else float(row[nodes.feature[node]])
    branch = child - int(nodes.first_child[node])
    if _undecided(nodes, column, node, cell):
        share *= float(nodes.fraction[child])
    return Step(
        node=node,
        condition=condition_of(nodes, column, node, branch),
        observed=column.observed(row) if combined else _observed(column, cell),
        state=_state(nodes, column, node, cell),
        child=child,
        weight=share,
    )


def _observed(column: Column, cell: float) -> Scalar | None:
    return None if math.isnan(cell) or _is_unseen(column, cell) else column.decode(cell)


def path_to(nodes: Nodes, leaf: int) -> list[tuple[int, int]]:
    """The pairs (node, child) from the root down to a leaf."""
    pairs = []
    child = leaf
    while nodes.parent[child] >= 0:
        node = int(nodes.parent[child])
        pairs.append((node, child))
        child = node
    return pairs[::-1]


def tested_columns(nodes: Nodes, columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns by which the tree's features are numbered: those of the table, and one for each combined test."""
    return (*columns, *combined_columns(nodes, columns))


def combined_columns(nodes: Nodes, columns: Sequence[Column]) -> tuple[CombinedColumn, ...]:
    """The columns of the combined tests of a tree over the columns of a table, made once for each tree."""
    known = _known_columns.get(nodes.combined)
    if known is None or known[0] != tuple(columns):
        made = tuple(_combined_column(test, columns) for test in nodes.combined.tests)
        known = _known_columns[nodes.combined] = tuple(columns), made
    return known[1]


_known_columns: WeakKeyDictionary[CombinedTests, tuple[tuple[Column, ...], tuple[CombinedColumn, ...]]] = (
    WeakKeyDictionary()
)


def _combined_column(test: CombinedTest, columns: Sequence[Column]) -> CombinedColumn:
    terms: tuple[Condition, ...] = ()
    weights: tuple[tuple[str, float], ...] = ()
    if test.is_sum:
        weights = tuple((columns[term.feature].name, term.number) for term in test.terms)
    else:
        terms = tuple(_term_condition(term, columns[term.feature]) for term in test.terms)
    own = tuple(columns[term.feature] for term in test.terms)
    name = " and ".join(dict.fromkeys(column.name for column in own))
    return CombinedColumn(name, test=test, terms=terms, weights=weights, columns=own)


def _term_condition(term: Term, column: Column) -> Condition:
    if term.kind == TERM_OF_LEVELS:
        values = tuple(column.labels[code] for code in term.codes)
        return Condition(column.name, "not in" if term.negated else "in", values=values)
    operator: Literal["<=", ">"] = ">" if term.negated else "<="
    return Condition(column.name, operator, threshold=_bound(column, term.number))


def condition_of(nodes: Nodes, column: Column, node: int, branch: int) -> AnyCondition:
    """The test of a node in the form in which a branch satisfies it; ``column`` is the one that it tests.

    The branch that levels without an entry take is ``not in`` those of the other branches.
    """
    if isinstance(column, CombinedColumn):
        threshold = float(nodes.threshold[node])
        return column.condition(*((-math.inf, threshold) if branch == 0 else (threshold, math.inf)))
    if nodes.test[node] == THRESHOLD:
        operator: Literal["<=", ">"] = "<=" if branch == 0 else ">"
        return Condition(column.name, operator, threshold=column.decode(float(nodes.threshold[node])))
    if nodes.test[node] == INTERVALS:
        child = int(nodes.first_child[node]) + branch
        low = float(nodes.upper[child - 1]) if branch else -math.inf
        return bounds_condition(column, low, float(nodes.upper[child]))
    codes, branches = nodes.levels_of(node)
    is_other = branch == nodes.other_branch[node]
    named = codes[(branches == branch) != is_other]
    return Condition(column.name, "not in" if is_other else "in", values=tuple(column.labels[code] for code in named))


def condition_within(column: Column, low: float, high: float) -> AnyCondition:
    """What is asked of a row whose value in a column that a tree tests lies in ``low < value <= high``."""
    if isinstance(column, CombinedColumn) and math.isinf(low) != math.isinf(high):
        return column.condition(low, high)
    return bounds_condition(column, low, high)


def bounds_condition(column: Column, low: float, high: float) -> Condition:
    """``low < x <= high`` in words, of an ordinal column in labels; of no bounds, that the value is known.

    Of bounds that no value lies between since ``low`` is infinite, that it is missing.
    """
    if low == math.inf:
        return Condition(column.name, "in")
    if low == -math.inf:
        if high == math.inf:
            return Condition(column.name, "not in")
        return Condition(column.name, "<=", threshold=_bound(column, high))
    if high == math.inf:
        return Condition(column.name, ">", threshold=_bound(column, low))
    return Condition(column.name, "interval", low=_bound(column, low), high=_bound(column, high))


def _bound(column: Column, cell: float) -> Scalar:
    return cell if column.is_numeric else column.labels[math.floor(cell)]


def _is_unseen(column: Column, cell: float) -> bool:
    return not column.is_numeric and cell == UNSEEN


def _state(nodes: Nodes, column: Column, node: int, cell: float) -> Literal["known", "missing", "unseen"]:
    if math.isnan(cell):
        return "missing"
    if _is_unseen(column, cell) or _is_unlisted(nodes, node, cell):
        return "unseen"
    return "known"


def _is_unlisted(nodes: Nodes, node: int, cell: float) -> bool:
    """Whether a level has no branch at the node."""
    return bool(nodes.test[node] == LEVELS and nodes.other_branch[node] < 0 and cell not in nodes.levels_of(node)[0])


def _undecided(nodes: Nodes, column: Column, node: int, cell: float) -> bool:
    """Whether the row goes down all branches of the node; mirrors ``branch_of``."""
    if nodes.missing_branch[node] >= 0:
        return False
    if math.isnan(cell):
        return True
    return _is_unlisted(nodes, node, cell) or (nodes.test[node] == THRESHOLD and _is_unseen(column, cell))
