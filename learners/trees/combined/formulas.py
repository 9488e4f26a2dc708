"""Counts of simple tests, found greedily: conjunctions, disjunctions, and "at least M of N hold".

After Murphy and Pazzani, "ID2-of-3: Constructive induction of M-of-N concepts for discriminators in decision
trees" (1991): from the best simple tests of a node on, the term is added, as it is or negated, with as many or
one more to hold, that scores best, as long as the score rises. A conjunction is all of its terms, a disjunction one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from learners.table import Column
from learners.trees.combined.candidates import Candidates, candidates_of
from learners.trees.combined.judging import FoundTest, Judgement, NodeRows
from learners.trees.combined.tests import HALF, CombinedTest, Term
from learners.types import BoolArray, FloatArray, IntArray

#: From so many of the best simple tests a search begins.
_STARTS = 4
BOOLEAN, M_OF_N = "boolean", "m-of-n"


class _Formula(NamedTuple):
    """A count on the way: its candidates, how many must hold, and by row how many hold and may hold."""

    terms: tuple[int, ...]
    need: int
    held: IntArray
    possible: IntArray
    score: float


def best_formula(node: NodeRows, columns: Sequence[Column], form: str, max_terms: int) -> FoundTest | None:
    """The best count that the search finds; ``None`` if none of two terms or more betters its own first term.

    Args:
        form: ``boolean`` for conjunctions and disjunctions, or ``m-of-n``.
        max_terms: most terms.
    """
    candidates = candidates_of(node, columns)
    if len(candidates) == 0:
        return None
    search = _Search(node, candidates, form, max_terms)
    best: _Formula | None = None
    for start in search.starts():
        found = search.grown(start)
        if found is not None and (best is None or found.score > best.score + node.slack(best.score)):
            best = found
    if best is None:
        return None
    terms = tuple(candidates.terms[place] for place in best.terms)
    values = np.where(best.held >= best.need, 0.0, np.where(best.possible >= best.need, np.nan, 1.0))
    bits = float(candidates.bits[list(best.terms)].sum())
    return node.found(_in_order(best.need, terms), HALF, values, bits)


def _in_order(need: int, terms: Sequence[Term]) -> CombinedTest:
    """The terms by column, lower bounds before upper ones; they share the gain equally."""
    ordered = sorted(terms, key=lambda term: (term.feature, not term.negated, term.number, term.codes))
    return CombinedTest(need, tuple(term._replace(share=1.0 / len(terms)) for term in ordered))


class _Search:
    def __init__(self, node: NodeRows, candidates: Candidates, form: str, max_terms: int) -> None:
        self.node = node
        self.candidates = candidates
        self.form = form
        self.max_terms = max_terms

    def starts(self) -> Iterator[_Formula]:
        """The best single terms, each on another column. What begins with a negated one is another's opposite."""
        none = np.zeros(len(self.node.rows), np.int64)
        scores = self._judged(_Formula((), 1, none, none, -np.inf), 1).score
        taken: set[int] = set()
        for place in np.argsort(-scores[: len(scores) // 2], kind="stable").tolist():
            column = int(self.candidates.columns[place])
            if column in taken:
                continue
            if len(taken) == _STARTS:
                break
            taken.add(column)
            yield self._with(_Formula((), 1, none, none, -np.inf), place, 1, float(scores[place]))

    def grown(self, formula: _Formula) -> _Formula | None:
        """The formula with terms added while the score rises; ``None`` if none was."""
        while len(formula.terms) < self.max_terms:
            better = self._extended(formula)
            if better is None:
                break
            formula = better
        return formula if len(formula.terms) > 1 else None

    def _extended(self, formula: _Formula) -> _Formula | None:
        """The best formula with one term more, if it scores better."""
        best: tuple[int, int, float] | None = None
        for need in self._needs(formula):
            scores = self._judged(formula, need).score
            scores[self.candidates.barred(formula.terms)] = -np.inf
            place = self.node.first_best(scores)
            if place >= 0 and (best is None or scores[place] > best[2] + self.node.slack(best[2])):
                best = place, need, float(scores[place])
        if best is None or best[2] <= formula.score + self.node.slack(formula.score):
            return None
        return self._with(formula, *best)

    def _needs(self, formula: _Formula) -> tuple[int, ...]:
        """How many terms may have to hold when there is one more."""
        count, need = len(formula.terms), formula.need
        if self.form == M_OF_N or count == 1:
            return need + 1, need
        return (need + 1,) if need == count else (need,)

    def _with(self, formula: _Formula, place: int, need: int, score: float) -> _Formula:
        own = self.candidates
        held, possible = formula.held + own.holds[place], formula.possible + own.may_hold[place]
        return _Formula((*formula.terms, place), need, held, possible, score)

    def _judged(self, formula: _Formula, need: int) -> Judgement:
        """Every candidate added to a formula of which then so many terms must hold."""
        own, terms = self.candidates, list(formula.terms)
        left = self._sums(own.holds, formula.held, need)
        possible = left if own.are_known else self._sums(own.may_hold, formula.possible, need)
        tested = own.columns[terms]
        cost: float | FloatArray = 0.0
        if self.node.costs is not None:
            cost = self.node.cost_of(tested.tolist()) + np.where(
                np.isin(own.columns, tested), 0.0, self.node.costs[own.columns]
            )
        return self.node.judge(left, possible - left, own.bits + own.bits[terms].sum(), cost)

    def _sums(self, flags: BoolArray, counts: IntArray, need: int) -> FloatArray:
        """Sums of the rows in which enough terms hold with each candidate: only those hang on it that lack one."""
        stats = self.node.stats
        short = np.flatnonzero(counts == need - 1)
        enough = stats[counts >= need].sum(axis=0)
        return np.asarray(enough + self.candidates.sums(flags, short, stats))
