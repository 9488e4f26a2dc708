"""The rules of any learner that has some."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learners._pausing import Pause, no_pause
from learners.base import Learner
from learners.errors import LearnerError
from learners.rules.fitted import FittedRules
from learners.rules.from_tree import rules_of_nodes
from learners.rules.rule import Rule, RuleSet, rule_id
from learners.rules.simplify import simplified
from learners.trees.estimator import FittedTree
from learners.trees.model_tree.fitted import FittedModelTree


def rules_of(
    learner: Learner, *, simplify: bool = False, part: range | None = None, pause: Pause = no_pause
) -> RuleSet:
    """The rules of a fitted tree, one for each leaf; or those of a rule set, in their order.

    Args:
        learner: a tree or a rule set.
        simplify: merge and leave out what no row can tell; see :mod:`learners.rules.simplify`.
        part: places of the rules that are wanted, None for all; of a tree, others are not even made. Only of
            rules that are not simplified.
        pause: called now and then while they are simplified, with how many rules are done of a pass.

    Raises:
        NotFittedError: the learner has not been fitted.
        LearnerError: the learner has no rules.
    """
    learner.check_fitted()
    if isinstance(learner, FittedRules):
        rules = learner.rules_
        rules = rules if part is None else replace(rules, rules=rules.rules[part.start : part.stop])
    elif isinstance(learner, FittedTree):
        rules = rules_of_nodes(learner.tree_, learner.columns_, learner.target_, learner.utility_, part)
    else:
        raise LearnerError(f"{learner.name} is neither a tree nor a rule set, so it has no rules")
    if isinstance(learner, FittedModelTree):
        rules = _with_functions(rules, learner)
    return simplified(rules, pause=pause) if simplify else rules


def count_rules(learner: Learner) -> int:
    """How many rules :func:`rules_of` gives, not simplified; errors as there."""
    learner.check_fitted()
    return learner.tree_.n_leaves if isinstance(learner, FittedTree) else len(rules_of(learner).rules)


def heaviest_rules(learner: Learner, count: int) -> list[Rule]:
    """The rules of most weight, the heaviest first, of equal ones in their order; errors as of :func:`rules_of`.

    Of a tree, others are not even made.
    """
    learner.check_fitted()
    if isinstance(learner, FittedTree) and not isinstance(learner, FittedModelTree) and learner.tree_.n_leaves > count:
        nodes = learner.tree_
        order = np.argsort(-nodes.weight[nodes.leaves_as_read], kind="stable")[:count]
        part = np.sort(order)
        rules = rules_of_nodes(nodes, learner.columns_, learner.target_, learner.utility_, part).rules
    else:
        rules = rules_of(learner).rules
    return sorted(rules, key=lambda rule: -rule.weight)[:count]


def _with_functions(rules: RuleSet, learner: FittedModelTree) -> RuleSet:
    """The rules of a model tree with what their leaves say of a row."""
    found = []
    for rule in rules.rules:
        if rule.leaf is None:
            raise LearnerError("a rule of a model tree names no leaf")
        function = learner.function(rule.leaf)
        tests = (one.text for one in rule.conditions)
        found.append(rule._replace(function=function, id=rule_id(rule.leaf, tests, function.text())))
    return replace(rules, rules=tuple(found))
