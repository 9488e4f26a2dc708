"""Reasons beyond the path of a row: what would change the answer, what to ask next, what matters."""

from learners.reasons.counterfactuals import Search, counterfactuals, why_not
from learners.reasons.permutation import PermutationImportance, permutation_importance
from learners.reasons.question import Question, next_question
from learners.reasons.records import Counterfactual
from learners.reasons.wanted.scales import Scales
from learners.reasons.wanted.wishes import Wishes

__all__ = [
    "Counterfactual",
    "PermutationImportance",
    "Question",
    "Scales",
    "Search",
    "Wishes",
    "counterfactuals",
    "next_question",
    "permutation_importance",
    "why_not",
]
