"""The simple tests of which formulas are made, and the rows of a node on which each holds or may hold.

Of a numeric or ordinal column: its best threshold and some spread evenly over its cuts. Of a nominal one: each of
its heaviest levels against the rest and, where splits by sets of levels are asked for, the best set by the order of
the levels' shares of the commonest class, or of their means (Breiman et al. 1984: optimal for two classes and numbers).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from learners.table import Column, Kind
from learners.trees.combined.cuts import cuts_of, sums_by
from learners.trees.combined.intervals import known_cells
from learners.trees.combined.judging import NodeRows
from learners.trees.combined.tests import CODE, LEVELS, NUMBER, Term
from learners.trees.criteria import VARIANCE
from learners.trees.problem import SUBSET
from learners.types import BoolArray, FloatArray, IntArray

#: Of one column at most so many thresholds and so many levels are candidates.
_CUTS, _LEVELS = 8, 16
#: Candidates times rows of a node are bounded; so many candidates there are in any case.
_CELLS, _FEWEST = 20_000_000, 64
#: Flags that are turned into numbers at a time.
_FLAGS_AT_ONCE = 2_000_000


@dataclass(frozen=True, eq=False)
class Candidates:
    """T simple tests, each twice: as it is, and T places later negated; m rows.

    Attributes:
        terms: the 2 T terms.
        bits: float64 (2 T,), what each choice takes, for the correction for many thresholds.
        holds, may_hold: bool (2 T, m), where the term is known to hold, and where it is not known not to.
    """

    terms: tuple[Term, ...]
    bits: FloatArray
    holds: BoolArray
    may_hold: BoolArray

    def __len__(self) -> int:
        return len(self.terms)

    @cached_property
    def are_known(self) -> bool:
        """Whether every term is known of every row."""
        return bool((self.holds == self.may_hold).all())

    @cached_property
    def columns(self) -> IntArray:
        """Of each term its column, shape (2 T,)."""
        return np.array([term.feature for term in self.terms], dtype=np.int64)

    def barred(self, places: Sequence[int]) -> list[int]:
        """The places of some terms and of their opposites."""
        half = len(self.terms) // 2
        return [one for place in places for one in (place % half, place % half + half)]

    def sums(self, flags: BoolArray, rows: IntArray, stats: FloatArray) -> FloatArray:
        """Of each term the sums over those of some rows that are flagged, shape (2 T, S)."""
        found = np.zeros((len(flags), stats.shape[1]))
        at_once = max(1, _FLAGS_AT_ONCE // max(len(rows), 1))
        for first in range(0, len(flags), at_once):
            some = slice(first, first + at_once)
            found[some] = flags[some, rows].astype(np.float64) @ stats[rows]
        return found


def candidates_of(node: NodeRows, columns: Sequence[Column]) -> Candidates:
    """The candidates of a node, in the order of their columns."""
    found: list[tuple[Term, float]] = []
    for place, column in enumerate(columns):
        is_ordered = column.kind in (Kind.NUMERIC, Kind.ORDINAL)
        found += _thresholds(node, place, column) if is_ordered else _levels(node, place, column)
    most = max(_FEWEST, _CELLS // max(len(node.rows), 1))
    if len(found) > most:
        scores = [_score(node, term) for term, _ in found]
        kept = np.sort(np.argsort(-np.array(scores), kind="stable")[:most])
        found = [found[place] for place in kept.tolist()]
    pairs = [_flags(node, term) for term, _ in found]
    holds = np.array([one for one, _ in pairs], dtype=np.bool_).reshape(len(found), len(node.rows))
    may_hold = np.array([other for _, other in pairs], dtype=np.bool_).reshape(holds.shape)
    return Candidates(
        terms=tuple(term for term, _ in found) + tuple(term._replace(negated=True) for term, _ in found),
        bits=np.array([bits for _, bits in found] * 2),
        holds=np.concatenate((holds, ~may_hold)),
        may_hold=np.concatenate((may_hold, ~holds)),
    )


def _flags(node: NodeRows, term: Term) -> tuple[BoolArray, BoolArray]:
    """Where a term holds, and where it may hold."""
    cells = node.cells(term.feature)
    with np.errstate(invalid="ignore"):
        holds: BoolArray = np.isin(cells, term.codes) if term.kind == LEVELS else cells <= term.number
        unknown: BoolArray = np.isnan(cells) | ((term.kind == CODE) & (cells < 0))
    return holds & ~unknown, holds | unknown


def _score(node: NodeRows, term: Term) -> float:
    holds, may_hold = _flags(node, term)
    cost = node.cost_of((term.feature,))
    left = node.stats[holds].sum(axis=0)[None]
    return float(node.judge(left, node.stats[may_hold].sum(axis=0)[None] - left, 0.0, cost).score[0])


def _thresholds(node: NodeRows, place: int, column: Column) -> Iterator[tuple[Term, float]]:
    cells = known_cells(node.cells(place), is_numeric=column.is_numeric)
    cuts = cuts_of(cells, node.stats, node.growth.rules.criterion)
    if not len(cuts.after):
        return
    unknown = np.broadcast_to(node.total - cuts.known, cuts.below.shape)
    best = node.first_best(node.judge(cuts.below, unknown, 0.0, node.cost_of((place,))).score)
    some = cuts.spread(_CUTS if best < 0 else _CUTS - 1)
    for cut in sorted({*some.tolist(), *([best] if best >= 0 else [])}):
        kind = NUMBER if column.is_numeric else CODE
        yield Term(kind, place, cuts.threshold(cut)), math.log2(len(cuts.after))


def _levels(node: NodeRows, place: int, column: Column) -> Iterator[tuple[Term, float]]:
    cells = node.cells(place)
    known = np.flatnonzero(cells >= 0)  # false where missing, too
    codes = cells[known].astype(np.int64)
    sums = sums_by(codes, node.stats[known], len(column.levels))
    mass = sums[:, -1]
    present = np.flatnonzero(mass > 0)
    if len(present) < 2:
        return
    heaviest = np.sort(present[np.argsort(-mass[present], kind="stable")[:_LEVELS]])
    for code in heaviest[-1:] if len(present) == 2 else heaviest:
        yield Term(LEVELS, place, math.nan, (int(code),)), 0.0
    if node.growth.rules.nominal == SUBSET and len(present) > 3:
        chosen = _best_set(node, sums, present, node.cost_of((place,)))
        if len(chosen) > 1:
            yield Term(LEVELS, place, math.nan, tuple(sorted(chosen))), 0.0


def _best_set(node: NodeRows, sums: FloatArray, present: IntArray, cost: float) -> list[int]:
    """The levels on the smaller side of the best cut of the levels in their order."""
    if node.growth.rules.criterion == VARIANCE:
        order = sums[present, 1] / sums[present, 0]
    else:
        commonest = int(sums[:, :-1].sum(axis=0).argmax())
        order = sums[present, commonest] / sums[present, :-1].sum(axis=1)
    ranked = present[np.argsort(order, kind="stable")]
    left = np.cumsum(sums[ranked], axis=0)[:-1]
    unknown = np.broadcast_to(node.total - sums.sum(axis=0), left.shape)
    cut = node.first_best(node.judge(left, unknown, 0.0, cost).score)
    if cut < 0:
        return []
    sides: tuple[list[int], list[int]] = ranked[: cut + 1].tolist(), ranked[cut + 1 :].tolist()
    return sides[0] if len(sides[0]) <= len(sides[1]) else sides[1]
