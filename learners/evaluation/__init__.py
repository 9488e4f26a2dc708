"""How well a learner does on rows that it has not seen: folds, metrics, their intervals."""

from learners.evaluation.crossval import (
    CrossValidation,
    cross_validate,
    hold_out_validate,
    out_of_fold,
    plan_folds,
    plan_hold_out,
)
from learners.evaluation.fold import evaluate_fold
from learners.evaluation.folds import Folds, Split, hold_out, k_fold
from learners.evaluation.results import FoldResult, RowResults
from learners.evaluation.summary import combine

__all__ = [
    "CrossValidation",
    "FoldResult",
    "Folds",
    "RowResults",
    "Split",
    "combine",
    "cross_validate",
    "evaluate_fold",
    "hold_out",
    "hold_out_validate",
    "k_fold",
    "out_of_fold",
    "plan_folds",
    "plan_hold_out",
]
