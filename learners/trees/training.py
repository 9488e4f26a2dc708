"""What a tree is grown from, and the prunings that keep rows back: reduced error and cross-validated cost.

Both leave rows out by giving them weight 0, so the table is neither copied nor coded anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from learners.base import Progress
from learners.decisions import decide, regrets
from learners.evaluation.folds import hold_out, k_fold
from learners.parts import parted
from learners.table import Table
from learners.trees.build import grow_tree
from learners.trees.cells import by_column
from learners.trees.nodes import Nodes
from learners.trees.pruning.alpha_choice import Judge, PruningPath, choose_alpha, pruning_path
from learners.trees.pruning.cost_complexity import error_risks, impurity_risks, prune_cost_complexity
from learners.trees.pruning.reduced_error import class_losses, prune_reduced_error, squared_losses
from learners.trees.setup import GrowthOptions
from learners.trees.traverse import PackedTree, pack
from learners.types import FloatArray, IntArray

#: Puts the leaves' estimates into a tree.
Finish = Callable[[Nodes], Nodes]


@dataclass(frozen=True, eq=False)
class Training:
    """Rows to learn from.

    Attributes:
        table: n rows.
        target: class codes or numbers, shape (n,).
        n_classes: K, or 0 for regression.
        weights: shape (n,), >= 0.
        options: how to grow.
        utility: see :mod:`learners.decisions`.
        by_error: what pruning at a price of a leaf counts: what decisions lose in place of impurity.
    """

    table: Table
    target: FloatArray
    n_classes: int
    weights: FloatArray
    options: GrowthOptions
    utility: FloatArray | None = None
    by_error: bool = False

    def grown(self, progress: Progress) -> Nodes:
        """The tree of all rows of positive weight."""
        return grow_tree(self.table, self.target, self.n_classes, self.weights, self.options, progress)

    def without(self, rows: IntArray) -> Training:
        """The same with these rows left out."""
        weights = self.weights.copy()
        weights[rows] = 0.0
        return replace(self, weights=weights)

    def packed(self, nodes: Nodes) -> PackedTree:
        return pack(nodes, self.table.columns, regression=self.n_classes == 0)

    @property
    def rows(self) -> IntArray:
        """The rows of positive weight."""
        return np.flatnonzero(self.weights > 0)

    @property
    def lost(self) -> FloatArray:
        """What a decision loses for each true class; empty for regression."""
        return regrets(self.utility, self.n_classes)

    def risks(self, nodes: Nodes) -> FloatArray:
        """By which a tree is pruned at a price of a leaf, shape (N,)."""
        return error_risks(nodes, self.utility) if self.by_error else impurity_risks(nodes)

    def codes(self, rows: IntArray) -> IntArray | None:
        """Class codes of some rows, by which to stratify; ``None`` for regression."""
        return self.target[rows].astype(np.int64) if self.n_classes else None


def grow_and_validate(
    training: Training, *, fraction: float, seed: int, order: str, finish: Finish, progress: Progress
) -> tuple[Nodes, Training]:
    """Grow on one part of the rows and prune by the errors on the other, stratified by class.

    Returns:
        The pruned tree, and the part that it was grown on, whose rows its numbers count.
    """
    rows = training.rows
    if len(rows) < 2:
        return training.grown(progress), training
    split, _ = hold_out(len(rows), float(fraction), int(seed), training.codes(rows))
    kept_back = rows[split.test]
    part = training.without(kept_back)
    nodes = part.grown(progress)
    entries = part.packed(finish(nodes)).placed(by_column(training.table.values), kept_back)
    if training.n_classes:
        decided = decide(finish(nodes).shares(), training.utility)
        codes = training.target.astype(np.int64)
        losses = class_losses(nodes, entries, codes, training.weights, decided, training.lost)
    else:
        losses = squared_losses(nodes, entries, training.target, training.weights)
    return prune_reduced_error(nodes, losses, order=order), part


def grow_and_price(
    training: Training, *, alpha: float, rule: str, folds: int, seed: int, finish: Finish, progress: Progress
) -> tuple[Nodes, PruningPath]:
    """Grow on all rows and prune at a price of a leaf, given or chosen by cross-validation.

    Of fewer rows than folds there are as many folds as rows; a single row leaves nothing to choose.
    """
    rows = training.rows
    if rule == "given" or len(rows) < 2:
        nodes = training.grown(progress)
        path = pruning_path(nodes, float(alpha), training.risks)
    else:
        plan = k_fold(len(rows), min(int(folds), len(rows)), int(seed), training.codes(rows))
        assignment = np.full(len(training.weights), -1, dtype=np.int32)
        assignment[rows] = plan.assignment
        training = replace(training, table=parted(training.table))
        nodes = training.grown(portion(progress, 0, len(plan) + 1))

        def grow_without(fold: int) -> tuple[Nodes, PackedTree]:
            part = training.without(np.flatnonzero(assignment == fold))
            grown = part.grown(portion(progress, fold + 1, len(plan) + 1))
            return grown, part.packed(finish(grown))

        path = choose_alpha(nodes, grow_without, assignment, judge_of(training), rule, training.risks)
    return prune_cost_complexity(nodes, alpha=path.alpha, risks=training.risks(nodes)), path


def judge_of(training: Training) -> Judge:
    """What prices are judged by."""
    utility = np.eye(training.n_classes) if training.utility is None else training.utility
    cells = by_column(training.table.values)
    scale = 1.0 if training.n_classes else float(np.ptp(training.target[training.rows])) or 1.0
    return Judge(cells, training.target, training.weights, utility, training.lost, scale)


def portion(progress: Progress, part: int, parts: int) -> Progress:
    """Progress of one of several parts that take about as long."""

    def of_all(share: float, message: str) -> None:
        progress((part + share) / parts, message if part == 0 else f"fold {part} of {parts - 1}: {message}")

    return of_all
