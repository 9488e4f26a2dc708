"""How well a learner does on rows that it has not seen: plans, folds, metrics, their intervals; and choosing by it."""

from learners.evaluation.crossval import CrossValidation, cross_validate, out_of_fold
from learners.evaluation.fold import evaluate_fold
from learners.evaluation.folds import Folds, Split, hold_out, k_fold
from learners.evaluation.judging import Judging
from learners.evaluation.plan import Plan, Splits
from learners.evaluation.results import FoldResult, RowResults
from learners.evaluation.summary import combine

__all__ = [
    "CrossValidation",
    "FoldResult",
    "Folds",
    "Judging",
    "Plan",
    "RowResults",
    "Split",
    "Splits",
    "combine",
    "cross_validate",
    "evaluate_fold",
    "hold_out",
    "k_fold",
    "out_of_fold",
]
