"""A weighted sum of numeric columns against a threshold: where a node's classes or numbers differ most by a line.

The direction is that of a regularised regression on the node's rows (:mod:`~learners.trees.combined.directions`): of
two classes a logistic one, of more each of the commonest against the others, of numbers least squares. It is
fitted with all columns that vary, with the heavier half of them, and so on down to two; of equally good tests that of
the fewest columns is kept. The weights are written in few digits, for the table's own columns, and the threshold is
exact on the sum as it is written. Rows that miss one of the columns are as of missing value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from learners.trees.combined.cuts import cuts_of
from learners.trees.combined.digits import rounded
from learners.trees.combined.directions import least_squares, logistic, scaled
from learners.trees.combined.judging import FoundTest, NodeRows
from learners.trees.combined.tests import WEIGHT, CombinedTest, CombinedTests, Term
from learners.trees.criteria import VARIANCE
from learners.types import FloatArray, IntArray

#: A sum has at most so many columns: databases bound the depth of an expression, people what they read.
MOST_COLUMNS = 64
#: Classes that are set against the others.
_MOST_CLASSES = 8
#: A weight of less than this share of the largest, both of scaled columns, is none.
_LEAST_WEIGHT = 1e-3
#: At least this share of the node's weight must know all columns; those that most rows miss are left out.
_LEAST_KNOWN = 0.5


def best_sum(node: NodeRows, columns: IntArray, l2: float) -> FoundTest | None:
    """The best weighted sum of some numeric columns; ``None`` if none of two or more may be tested."""
    columns = _known_columns(node, columns)
    cells = np.stack([node.cells(int(column)) for column in columns], axis=1) if len(columns) else np.empty((0, 0))
    if cells.shape[1] < 2:
        return None
    rows = np.flatnonzero(~np.isnan(cells).any(axis=1))
    weights = _weights(node)[rows]
    if len(rows) < 2 or not weights.sum() > 0:
        return None
    x, deviation = scaled(cells[rows], weights)
    best: FoundTest | None = None
    for target in _targets(node, rows):
        for used, beta in _shrinking(x, target, weights, l2):
            found = _tested(node, columns[used], beta, deviation[used])
            if found is not None and (best is None or _is_better(node, found, best)):
                best = found
    return best


def _is_better(node: NodeRows, one: FoundTest, other: FoundTest) -> bool:
    gap = one.score - other.score
    slack = node.slack(other.score)
    return gap > slack or (gap >= -slack and len(one.test.terms) < len(other.test.terms))


def _known_columns(node: NodeRows, columns: IntArray) -> IntArray:
    """The columns less those that most rows miss, until enough rows know all that are left."""
    if not len(columns):
        return columns
    missing = np.stack([np.isnan(node.cells(int(column))) for column in columns], axis=1)
    weights = _weights(node)
    while missing.shape[1] and weights[~missing.any(axis=1)].sum() < _LEAST_KNOWN * weights.sum():
        worst = int((weights @ missing).argmax())
        missing, columns = np.delete(missing, worst, axis=1), np.delete(columns, worst)
    return columns


def _weights(node: NodeRows) -> FloatArray:
    stats = node.stats[:, :-1]
    return stats[:, 0] if node.growth.rules.criterion == VARIANCE else np.asarray(stats.sum(axis=1))


def _targets(node: NodeRows, rows: IntArray) -> Iterator[FloatArray]:
    """What is regressed on: numbers, or for each class 1 where a row is of it and 0 where not."""
    stats = node.stats[rows, :-1]
    if node.growth.rules.criterion == VARIANCE:
        yield stats[:, 1] / stats[:, 0]
        return
    weight = stats.sum(axis=0)
    present = np.flatnonzero(weight > 0)
    if len(present) < 2:
        return
    heaviest = present[np.argsort(-weight[present], kind="stable")[:_MOST_CLASSES]]
    for code in heaviest[:1] if len(present) == 2 else heaviest:
        yield (stats[:, code] > 0).astype(np.float64)


def _shrinking(
    x: FloatArray, target: FloatArray, weights: FloatArray, l2: float
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Fits with ever fewer columns: which, and their weights."""
    used = np.flatnonzero((x != 0).any(axis=0))
    is_class = bool(np.isin(target, (0.0, 1.0)).all())
    while len(used) > 1:
        fit = (
            logistic(x[:, used], target > 0, weights, l2)
            if is_class
            else least_squares(x[:, used], target, weights, l2)
        )
        by_weight = np.argsort(-np.abs(fit), kind="stable")
        kept = np.sort(by_weight[np.abs(fit[by_weight]) > _LEAST_WEIGHT * np.abs(fit).max()])
        if 2 <= len(kept) <= MOST_COLUMNS:
            yield used[kept], fit[kept]
        used = used[np.sort(by_weight[: min(max(len(used) // 2, 2), MOST_COLUMNS)])] if len(used) > 2 else used[:0]


def _tested(node: NodeRows, columns: IntArray, beta: FloatArray, deviation: FloatArray) -> FoundTest | None:
    """The sum as it is written, with its best threshold."""
    with np.errstate(over="ignore"):
        raw = beta / deviation
    if not np.isfinite(raw).all() or not raw.any():
        return None
    raw = raw / np.abs(raw).max() * np.sign(raw[0])
    numbers = [rounded(weight) for weight in raw.tolist()]
    shares = np.abs(numbers * deviation)
    if not np.isfinite(shares.sum()) or 0.0 in numbers:
        return None
    terms = tuple(
        Term(WEIGHT, column, number, share=share)
        for column, number, share in zip(columns.tolist(), numbers, (shares / shares.sum()).tolist(), strict=True)
    )
    test = CombinedTest(0, terms)
    problem = node.growth.problem
    tests = CombinedTests.of(len(problem.cells), [test])
    values = tests.values(np.zeros(len(node.rows), np.int64), problem.cells, node.rows)
    missing = np.zeros(len(values), np.bool_)
    for column in columns.tolist():
        missing |= np.isnan(node.cells(column))
    if not np.isfinite(values[~missing]).all():
        return None
    cuts = cuts_of(values, node.stats, node.growth.rules.criterion)
    if not len(cuts.after):
        return None
    bits = math.log2(len(cuts.after)) + (len(terms) - 1)
    unknown = np.broadcast_to(node.total - cuts.known, cuts.below.shape)
    cut = node.first_best(node.judge(cuts.below, unknown, bits, node.cost_of(columns.tolist())).score)
    return None if cut < 0 else node.found(test, cuts.threshold(cut), values, bits)
