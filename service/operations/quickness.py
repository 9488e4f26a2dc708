"""Whether rows are answered at once, while all other requests wait, or in a thread: told before by the steps it takes.

Bytes do not tell it: a few kilobytes hold hundreds of rows, and each may go through all nodes of a forest.
"""

from __future__ import annotations

import math

from learners.base import Learner
from learners.columns import OPEN_KINDS
from learners.ensembles.fitted import FittedEnsemble
from learners.ensembles.member_learners import MemberLearners
from learners.linear.fitted import FittedLinear
from learners.neural.fitted import FittedNetwork
from learners.neural.recurrent.estimator import StepwiseEstimator
from learners.rules.fitted import FittedRules
from learners.trees.estimator import FittedTree
from learners.trees.model_tree.fitted import FittedModelTree

#: Steps that are made while others wait: mostly some milliseconds.
QUICK_STEPS = 20_000
#: Steps that take as long as asking another learner: some 50 us.
_STEPS_OF_A_CALL = 200


def row_steps(learner: Learner, *, complete: bool) -> float:
    """How many tests, terms or weights the answer to one row goes through at most.

    Args:
        learner: fitted; no learner by neighbours, whose steps depend on where a row lies.
        complete: no value of the row is missing, so that it goes one way through a tree.

    Returns:
        Infinity where one row may take any time: texts, sequences, and learners that are not known here.
    """
    if isinstance(learner, StepwiseEstimator) or any(column.kind in OPEN_KINDS for column in learner.columns_):
        return math.inf
    if isinstance(learner, FittedTree | FittedEnsemble):
        return 1 + _steps_of_members(learner, complete=complete)
    if isinstance(learner, FittedRules):
        return 1 + len(learner.ordered_rules_.start) + int(learner.ordered_rules_.start[-1])
    if isinstance(learner, FittedLinear):
        return 1 + len(learner.functions_.parts) * len(learner.functions_.intercepts)
    if isinstance(learner, FittedNetwork):
        return 1 + learner.n_weights
    return math.inf


def _steps_of_members(learner: FittedTree | FittedEnsemble, *, complete: bool) -> float:
    """The same of a tree, or of all that an ensemble asks."""
    if isinstance(learner, FittedTree):
        nodes, longest = learner.tree_, learner.tree_.greatest_depth
    elif isinstance(learner.members_, MemberLearners):
        return sum(_STEPS_OF_A_CALL + row_steps(member, complete=complete) for member in learner.members_.learners)
    else:
        nodes, longest = learner.members_.nodes, learner.members_.total_greatest_depth
    terms = len(learner.columns_) if isinstance(learner, FittedModelTree) else 0
    if complete or not nodes.divides_missing:
        return longest + terms
    return nodes.n_nodes * (1 + terms)
