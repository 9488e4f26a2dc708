"""The price of a leaf chosen by cross-validation: CART's k-fold estimate and its one-standard-error rule.

Breiman, Friedman, Olshen and Stone (1984), section 3.4.2. Between two alphas at which the best pruned
tree changes, their geometric mean stands for the tree; it is the price at which the trees grown
without a fold are pruned and judged on that fold. Of the prices, that of least error is taken, or by
the 1-SE rule the largest whose error is within one standard error of the least.

All prices are judged in one descent: a row stops, at a given price, at the topmost node whose own
alpha is not above it; so going down, each node whose alpha is the least so far answers for one
interval of prices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners._accel import inner_kernel, kernel
from learners.decisions import tie_width
from learners.trees.branching import FEATURE, FIRST_CHILD, N_CHILDREN, SHARE, TEST, branch_of
from learners.trees.nodes import LEAF, Nodes
from learners.trees.pruning.cost_complexity import cost_complexity_path, node_alphas
from learners.trees.traverse import PackedTree
from learners.types import Array, FloatArray, Int32Array, IntArray

GIVEN, LEAST_ERROR, ONE_STANDARD_ERROR = "given", "cv-min", "cv-1se"
#: Gives the risk of each node, see :mod:`learners.trees.pruning.cost_complexity`.
RisksOf = Callable[[Nodes], FloatArray]
#: Errors nearer than this share of the largest are equal: sums of weights round.
_TIE = 1e-12
#: Rows whose cells are copied at a time.
_ROWS_AT_ONCE = 20_000


@dataclass(frozen=True, eq=False)
class PruningPath:
    """CART's sequence of pruned trees, for reports; T trees, from the grown one to the root alone.

    Attributes:
        alphas: float64 (T,), where each tree's reign begins.
        impurities: float64 (T,), the total impurity of its leaves, or what their rows lose: what pruning counts.
        leaves: int64 (T,), their number.
        alpha: the price that was taken.
        folds: number of folds; 0 if alpha was given.
        prices: float64 (T,) or empty, the price that stood for the tree: the geometric mean of its
            alpha and the next one's, and infinite for the root alone.
        errors, standard_errors: float64 (T,) or empty, by cross-validation: mean loss (share of errors,
            regret under a utility matrix, or squared error), and the standard error of that mean.
    """

    alphas: FloatArray
    impurities: FloatArray
    leaves: IntArray
    alpha: float
    folds: int
    prices: FloatArray
    errors: FloatArray
    standard_errors: FloatArray

    def to_arrays(self) -> dict[str, Array]:
        return {_PREFIX + name: np.asarray(getattr(self, name)) for name in self.__dataclass_fields__}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> PruningPath | None:
        """The inverse; ``None`` where none was stored."""
        if _PREFIX + "alphas" not in arrays:
            return None
        own: dict[str, Any] = {name: arrays[_PREFIX + name] for name in cls.__dataclass_fields__}
        return cls(**own | {"alpha": float(own["alpha"]), "folds": int(own["folds"])})


_PREFIX = "pruning_path."
_NOTHING: FloatArray = np.empty(0)


@dataclass(frozen=True, eq=False)
class Judge:
    """The rows by which prices are judged, and what an answer loses.

    Attributes:
        cells: the table by column, (d, n).
        target: class codes or numbers, (n,).
        weights: (n,).
        utility, lost: (K, K) each, see :mod:`learners.decisions`; of no entries for regression.
        scale: > 0; errors are counted in units of its square, so that theirs squared are doubles too.
    """

    cells: FloatArray
    target: FloatArray
    weights: FloatArray
    utility: FloatArray
    lost: FloatArray
    scale: float = 1.0

    @property
    def width(self) -> float:
        """How far apart equally good decisions may be."""
        return tie_width(self.utility) if self.utility.size else 0.0


def pruning_path(nodes: Nodes, alpha: float, risks_of: RisksOf) -> PruningPath:
    """The path of a tree that is pruned at a given price."""
    alphas, impurities, leaves = cost_complexity_path(nodes, risks_of(nodes))
    return PruningPath(alphas, impurities, leaves, alpha, 0, _NOTHING, _NOTHING, _NOTHING)


def choose_alpha(
    nodes: Nodes,
    grow_without: Callable[[int], tuple[Nodes, PackedTree]],
    assignment: Int32Array,
    judge: Judge,
    rule: str,
    risks_of: RisksOf,
) -> PruningPath:
    """Judge every tree of the path by cross-validation.

    Args:
        nodes: the tree grown on all rows.
        grow_without: the tree grown without the rows of a fold; its answers are what it would predict.
        assignment: int32 (n,), the fold in which a row is judged; -1 for rows that are not.
        judge: see there.
        rule: ``cv-min`` or ``cv-1se``.
        risks_of: what trees are pruned by.
    """
    alphas, impurities, leaves = cost_complexity_path(nodes, risks_of(nodes))
    prices = np.append(np.sqrt(alphas[:-1]) * np.sqrt(alphas[1:]), np.inf)
    sums = np.zeros((2, len(prices)))
    folds = int(assignment.max(initial=-1)) + 1
    for fold in range(folds):
        grown, packed = grow_without(fold)
        starts, slack = node_alphas(grown, risks_of(grown))
        stops = np.where(grown.test == LEAF, 0, np.searchsorted(prices, starts - slack)).astype(np.int64)
        sums += _losses(packed, stops, len(prices), judge, np.flatnonzero(assignment == fold))
    own = judge.weights[assignment >= 0]
    errors = sums[0] / own.sum()
    spread = np.maximum(sums[1] / own.sum() - errors**2, 0.0)
    standard_errors = np.sqrt(spread * (own**2).sum()) / own.sum()
    chosen = _chosen(errors, standard_errors, rule)
    alpha = float(prices[chosen]) if chosen < len(prices) - 1 else float(alphas[-1])
    square = judge.scale**2
    return PruningPath(alphas, impurities, leaves, alpha, folds, prices, errors * square, standard_errors * square)


def _chosen(errors: FloatArray, standard_errors: FloatArray, rule: str) -> int:
    """The last price, so the smallest tree, of those that are good enough."""
    best = int(np.argmin(errors))
    bound = errors[best] + (standard_errors[best] if rule == ONE_STANDARD_ERROR else 0.0)
    return int(np.flatnonzero(errors <= bound + _TIE * errors.max())[-1])


def _losses(packed: PackedTree, stops: IntArray, n_prices: int, judge: Judge, rows: IntArray) -> FloatArray:
    """Sums of weighted losses and of their squares at every price, shape (2, T)."""
    sums = np.zeros((2, n_prices + 1))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        _judge_some(packed, stops, judge, rows[start : start + _ROWS_AT_ONCE], sums)
    return np.cumsum(sums, axis=1)[:, :-1]


def _judge_some(packed: PackedTree, stops: IntArray, judge: Judge, rows: IntArray, sums: FloatArray) -> None:
    """Add up the losses of some rows."""
    cells = np.ascontiguousarray(packed.combined.extended(judge.cells[:, rows]).T)
    of_rows = (cells, judge.target[rows] / judge.scale, judge.weights[rows])
    tree = (packed.links, packed.splits, packed.levels, packed.answers / judge.scale)
    _judge_rows(*tree, stops, *of_rows, judge.utility, judge.width, judge.lost, sums)


@kernel
def _judge_rows(  # noqa: PLR0913, PLR0917 - a tree and its rows are this many arrays
    links: Int32Array,
    splits: FloatArray,
    levels: Int32Array,
    answers: FloatArray,
    stops: IntArray,
    rows: FloatArray,
    target: FloatArray,
    weights: FloatArray,
    utility: FloatArray,
    width: float,
    lost: FloatArray,
    sums: FloatArray,
) -> None:
    """Add each row's losses to the places in ``sums`` where they begin, and take them off where they end."""
    n_prices = sums.shape[1] - 1
    mixed = np.zeros((n_prices, answers.shape[1]))
    worth = np.empty(lost.shape[0])
    for i in range(rows.shape[0]):
        node = 0
        end = n_prices
        while True:
            if stops[node] < end:
                loss = _loss(answers[node], target[i], utility, width, lost, worth)
                _add(sums, stops[node], end, weights[i], loss)
                end = stops[node]
            if end == 0:
                break
            branch = branch_of(links, splits, levels, node, rows[i, links[node, FEATURE]])
            if branch < 0:
                break
            node = links[node, FIRST_CHILD] + branch
        if end == 0:
            continue
        mixed[:end] = 0.0
        _mix(links, splits, levels, answers, stops, rows[i], node, end, mixed)
        for price in range(end):
            loss = _loss(mixed[price], target[i], utility, width, lost, worth)
            _add(sums, price, price + 1, weights[i], loss)


@inner_kernel
def _add(sums: FloatArray, begin: int, end: int, weight: float, loss: float) -> None:
    sums[0, begin] += weight * loss
    sums[0, end] -= weight * loss
    sums[1, begin] += weight * loss * loss
    sums[1, end] -= weight * loss * loss


@inner_kernel
def _mix(  # noqa: PLR0913, PLR0917 - a tree and its row are this many arrays
    links: Int32Array,
    splits: FloatArray,
    levels: Int32Array,
    answers: FloatArray,
    stops: IntArray,
    row: FloatArray,
    start: int,
    before: int,
    mixed: FloatArray,
) -> None:
    """Mean answers of a row that is divided at ``start``, for each price below ``before``."""
    nodes = np.zeros(64, np.int64)
    ends = np.zeros(64, np.int64)
    shares = np.ones(64)
    nodes[0], ends[0] = start, before
    size = 1
    while size > 0:
        size -= 1
        node, end, share = nodes[size], ends[size], shares[size]
        for price in range(stops[node], end):
            for k in range(answers.shape[1]):
                mixed[price, k] += share * answers[node, k]
        end = min(end, stops[node])
        if end == 0 or links[node, TEST] == LEAF:
            continue
        first = links[node, FIRST_CHILD]
        n_children = links[node, N_CHILDREN]
        branch = branch_of(links, splits, levels, node, row[links[node, FEATURE]])
        while size + n_children > nodes.shape[0]:
            nodes = np.concatenate((nodes, nodes))
            ends = np.concatenate((ends, ends))
            shares = np.concatenate((shares, shares))
        for child in range(first, first + n_children):
            part = splits[child, SHARE] if branch < 0 else (1.0 if child == first + branch else 0.0)
            if part > 0.0:
                nodes[size], ends[size], shares[size] = child, end, share * part
                size += 1


@inner_kernel
def _loss(
    answer: FloatArray, target: float, utility: FloatArray, width: float, lost: FloatArray, worth: FloatArray
) -> float:
    """Squared error; or what the decision by the answer loses, the first within ``width`` of the best.

    ``worth`` is room for a number a class.
    """
    if lost.shape[0] == 0:
        return float((answer[0] - target) * (answer[0] - target))
    for one in range(lost.shape[0]):
        worth[one] = 0.0
        for true in range(lost.shape[0]):
            worth[one] += answer[true] * utility[one, true]
    least = worth.max() - width
    decided = 0
    while worth[decided] < least:
        decided += 1
    return float(lost[decided, int(target)])
