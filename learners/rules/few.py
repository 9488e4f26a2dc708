"""The best few of a handful of rules: where a set may have fewer rules than it would, every smaller set is tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations

import numpy as np

from learners.decisions import decide
from learners.rules.ranking import Judged, default_distribution, ranked
from learners.types import FloatArray, IntArray

#: Sums of weights this close, in relation to all weight, are equal.
_SLACK = 1e-12


def best_few(
    candidates: Sequence[Judged], codes: IntArray, weights: FloatArray, n_classes: int, most: int
) -> list[Judged]:
    """The set of at most ``most`` rules that errs least on the training rows, in the order in which they are asked.

    Each set is judged as it would answer: ranked, with the default of the rows that it leaves. Of equally good sets the
    smallest is taken, then the first in the order of the candidates.

    Args:
        candidates: m rules; 2^m sets are looked at.
        codes, weights: class and weight of each row, shape (n,).
        n_classes: K.
        most: >= 0.
    """
    groups, codes_of, weights_of = _grouped(candidates, codes, weights, n_classes)
    slack = _SLACK * float(weights.sum())
    best: tuple[int, ...] = ()
    least = np.inf
    for places in chain.from_iterable(combinations(range(len(candidates)), size) for size in range(most + 1)):
        lost = _error([groups[place] for place in places], codes_of, weights_of, n_classes)
        if lost < least - slack:
            best, least = places, lost
    return ranked([candidates[place] for place in best], codes, weights, n_classes)


def _grouped(
    candidates: Sequence[Judged], codes: IntArray, weights: FloatArray, n_classes: int
) -> tuple[list[Judged], IntArray, FloatArray]:
    """The rules on groups of rows that no rule and no class tells apart; the groups' classes and weights."""
    pattern = np.zeros(len(codes), np.int64)
    for place, rule in enumerate(candidates):
        pattern[rule.rows] |= 1 << place
    kinds, of_row = np.unique(pattern * n_classes + codes, return_inverse=True)
    covered = kinds // n_classes
    rules = [replace(rule, rows=np.flatnonzero(covered >> place & 1)) for place, rule in enumerate(candidates)]
    sums = np.bincount(of_row, weights=weights, minlength=len(kinds))
    return rules, kinds % n_classes, np.asarray(sums, dtype=np.float64)


def _error(rules: Sequence[Judged], codes: IntArray, weights: FloatArray, n_classes: int) -> float:
    """The weight of the rows that a set of rules answers wrongly."""
    order = ranked(rules, codes, weights, n_classes)
    totals = _by_class(codes, weights, n_classes)
    answers = np.full(len(codes), -1, np.int64)
    for rule in reversed(order):
        answers[rule.rows] = rule.answer
    left = answers < 0
    uncovered = _by_class(codes[left], weights[left], n_classes)
    answers[left] = decide(default_distribution(uncovered, totals)[None])[0]
    return float(weights[answers != codes].sum())


def _by_class(codes: IntArray, weights: FloatArray, n_classes: int) -> FloatArray:
    return np.asarray(np.bincount(codes, weights=weights, minlength=n_classes), dtype=np.float64)
