"""Rules for a learner that has none: a small tree fitted to its answers, and how faithful it is on rows held out.

A surrogate says what the model does about as well as its fidelity tells, no better (Craven and Shavlik 1996). It is
learned from the model's answers alone, never from the target. In place of a model of sequences and texts it is learned
from facts of these (:mod:`learners.preprocessing.step_facts`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners._pausing import Division, undivided
from learners.base import Classifier, Learner
from learners.decisions import decide
from learners.errors import DataError
from learners.evaluation.folds import hold_out
from learners.preprocessing.step_facts import step_facts
from learners.table import Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor
from learners.types import FloatArray


@dataclass(frozen=True)
class Surrogate:
    """A tree in place of a model.

    Attributes:
        tree: fitted to the model's answers to the other rows.
        fidelity: on the rows held out, the share of the model's decisions that the tree's are equal to; of numbers
            R^2 of the tree's answers against the model's, which is below 0 where the mean would do better.
        rows: how many were held out.
    """

    tree: DecisionTreeClassifier | DecisionTreeRegressor
    fidelity: float
    rows: int


def surrogate_of(
    model: Learner,
    table: Table,
    *,
    max_leaves: int = 16,
    fraction: float = 0.25,
    seed: int = 0,
    division: Division = undivided,
) -> Surrogate:
    """Fit a tree to a model's answers.

    Args:
        model: fitted.
        table: rows like those that the model will answer, at least 2; no target is needed.
        max_leaves: of the tree, at least 1.
        fraction: share of the rows by which fidelity is measured.
        seed: which rows these are.
        division: of the rows that the model answers.

    Raises:
        NotFittedError: the model is not fitted.
        DataError: fewer than 2 rows.
    """
    rows = model.check_table(table)
    if rows.n_rows < 2:
        raise DataError(f"a surrogate needs at least 2 rows, one to learn from and one to judge by; got {rows.n_rows}")
    answers = _answers(model, rows, division)
    codes = answers.cells.astype(np.int64) if isinstance(model, Classifier) else None
    split, _ = hold_out(rows.n_rows, fraction, seed, codes)
    known, judged = split.train, split.test
    told = step_facts(rows)
    made = (DecisionTreeRegressor if codes is None else DecisionTreeClassifier).from_params({"max_leaves": max_leaves})
    tree: DecisionTreeClassifier | DecisionTreeRegressor = made.fit(told.take(known), answers.take(known))
    found, wanted = _answers(tree, told.take(judged)).cells, answers.cells[judged]
    fidelity = float(np.mean(found == wanted)) if codes is not None else _r_squared(found, wanted)
    return Surrogate(tree, fidelity, len(judged))


def _answers(model: Learner, table: Table, division: Division = undivided) -> Series:
    """What a model decides or says of each row, as a target."""
    parts = (Table(table.columns, np.asfortranarray(table.values[rows])) for rows in division(table.n_rows))
    if isinstance(model, Classifier):
        decided = decide(np.concatenate([model.predict_proba(part) for part in parts]), model.utility_)
        return Series(model.target_, decided.astype(np.float64))
    return Series(model.target_, np.concatenate([np.asarray(model.predict(part), dtype=np.float64) for part in parts]))


def _r_squared(found: FloatArray, wanted: FloatArray) -> float:
    """1 less the squared errors by those of the mean; of equal numbers 1 if they are met, else 0."""
    errors, total = float(((found - wanted) ** 2).sum()), float(((wanted - wanted.mean()) ** 2).sum())
    return 1.0 - errors / total if total > 0 else float(errors == 0)
