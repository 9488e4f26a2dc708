"""How often the same rules come back when a learner is fitted on other rows, e.g. in each fold.

Rules are compared by their structure, the numbers in their bounds left out; how far the numbers
wander is told beside. A model that finds other rules on every nine tenths of its data deserves less
trust in each of them.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from learners.base import Learner
from learners.conditions import Condition
from learners.rules.access import count_rules, heaviest_rules, rules_of
from learners.rules.compare import bounds, contents_and_structures
from learners.rules.rule import Rule, RuleCondition
from learners.trees.estimator import FittedTree
from learners.trees.nodes import LEAF, Nodes
from learners.trees.paths import condition_of, tested_columns

#: So many rules, the heaviest, are kept.
MAX_RULES = 200
_DIGITS = 16


def digest_rules(learner: Learner) -> dict[str, Any]:
    """What has to be kept of one fitted learner's rules; plain JSON of bounded size.

    Raises:
        LearnerError: the learner has no rules.
    """
    heaviest = heaviest_rules(learner, MAX_RULES)
    total = _weight_of_all(learner) or 1.0
    texts = contents_and_structures(heaviest)
    known: dict[int, tuple[str, list[float]]] = {}
    supports: dict[str, float] = defaultdict(float)
    for rule, (_, text) in zip(heaviest, texts, strict=True):
        supports[_short_hash(text)] += rule.weight / total
    return {
        "n_rules": count_rules(learner),
        "root": _root(learner),
        "supports": dict(supports),
        "rules": [
            {
                "structure": text,
                "content": _short_hash(told),
                "bounds": _bounds_by_column(rule, known),
                "support": rule.weight / total,
            }
            for rule, (told, text) in zip(heaviest, texts, strict=True)
        ],
    }


def _weight_of_all(learner: Learner) -> float:
    if isinstance(learner, FittedTree):
        return float(learner.tree_.weight[learner.tree_.leaves()].sum())
    return sum(rule.weight for rule in rules_of(learner).rules)


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _root(learner: Learner) -> dict[str, Any] | None:
    """The first test of a tree: its column, and the test as its first branch has it."""
    nodes = getattr(learner, "tree_", None)
    if not isinstance(nodes, Nodes) or nodes.test[0] == LEAF:
        return None
    column = tested_columns(nodes, learner.columns_)[int(nodes.feature[0])]
    return {"column": column.name, "test": condition_of(nodes, column, 0, 0).text()}


def _bounds_by_column(rule: Rule, known: dict[int, tuple[str, list[float]]]) -> dict[str, list[float]]:
    """The numbers in a rule; bounds that are levels of an ordinal column are none.

    ``known`` has the column and the numbers of the conditions that were looked at before, since rules share them.
    """
    found = {}
    for one in rule.conditions:
        if id(one) not in known:
            known[id(one)] = _column_and_bounds(one)
        column, numbers = known[id(one)]
        if numbers:
            found[column] = numbers
    return found


def _column_and_bounds(one: RuleCondition) -> tuple[str, list[float]]:
    told = one.condition
    return (told.column, list(bounds(one)) if _is_numeric(told) else []) if isinstance(told, Condition) else ("", [])


def _is_numeric(told: Condition) -> bool:
    return any(isinstance(bound, float) for bound in (told.threshold, told.low, told.high))


def rule_stability(digests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How often roots and rules recur among fits; plain JSON.

    Args:
        digests: one of :func:`digest_rules` for each fit.

    Returns:
        ``fits``; ``roots``, columns that are tested first and how often; ``rules``, by how many fits
        have a rule of that structure (``fits``), how many have it to the bit (``identical``, the most
        frequent form), mean ``support`` and the range of each bound; and ``agreement``, the mean over
        pairs of fits of the share of support that falls to structures that both have (1 for equal rules).
    """
    by_structure: dict[str, list[tuple[int, Mapping[str, Any]]]] = defaultdict(list)
    for number, digest in enumerate(digests):
        for rule in digest["rules"]:
            by_structure[rule["structure"]].append((number, rule))
    recurring = sorted((-_fits(found), -_support(found), text) for text, found in by_structure.items())
    roots = Counter(digest["root"]["column"] for digest in digests if digest["root"])
    tests: dict[str, Counter[str]] = defaultdict(Counter)
    for digest in digests:
        if digest["root"]:
            tests[digest["root"]["column"]][digest["root"]["test"]] += 1
    return {
        "fits": len(digests),
        "rules_mean": sum(digest["n_rules"] for digest in digests) / len(digests),
        "agreement": _agreement(digests),
        "roots": [
            {"column": column, "fits": count, "tests": dict(tests[column].most_common())}
            for column, count in roots.most_common()
        ],
        "rules": [_recurrence(text, by_structure[text]) for _, _, text in recurring[:MAX_RULES]],
        "rules_total": len(recurring),
    }


def _fits(found: Sequence[tuple[int, Mapping[str, Any]]]) -> int:
    """How many fits have rules of a structure."""
    return len({number for number, _ in found})


def _support(found: Sequence[tuple[int, Mapping[str, Any]]]) -> float:
    """The mean support of a structure over the fits that have it."""
    return float(sum(rule["support"] for _, rule in found) / _fits(found))


def _recurrence(text: str, found: Sequence[tuple[int, Mapping[str, Any]]]) -> dict[str, Any]:
    forms: dict[str, set[int]] = defaultdict(set)
    ranges: dict[str, list[list[float]]] = {}
    for number, rule in found:
        forms[rule["content"]].add(number)
        for column, values in rule["bounds"].items():
            known = ranges.setdefault(column, [[value, value] for value in values])
            for span, value in zip(known, values, strict=True):
                span[0], span[1] = min(span[0], value), max(span[1], value)
    return {
        "structure": text,
        "fits": _fits(found),
        "identical": max(len(numbers) for numbers in forms.values()),
        "support": _support(found),
        "bounds": {
            column: [{"least": low, "greatest": high} for low, high in spans] for column, spans in ranges.items()
        },
    }


def _agreement(digests: Sequence[Mapping[str, Any]]) -> float | None:
    """Mean over pairs of fits of the support that both give to the same structures; ``None`` for a single fit."""
    shared = [
        sum(min(support, other["supports"].get(text, 0.0)) for text, support in one["supports"].items())
        for one, other in combinations(digests, 2)
    ]
    return sum(shared) / len(shared) if shared else None
