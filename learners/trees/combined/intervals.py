"""The best interval ``low < x <= high`` of a numeric or ordinal column, against all else.

Of at most ``MOST_CUTS`` cuts all pairs are tried. Of more, the best pair of so many spread evenly over them is
improved by moving one end at a time over all cuts, as long as the score rises: the best one that no single move
betters. For classes an end of a best interval lies where the class changes: with the other end fixed the
criteria are convex between such points (Fayyad and Irani 1992).
"""

from __future__ import annotations

import math

import numpy as np

from learners.trees.combined.cuts import Cuts, cuts_of
from learners.trees.combined.judging import FoundTest, NodeRows
from learners.trees.combined.tests import CODE, HALF, NUMBER, CombinedTest, Term
from learners.types import FloatArray, IntArray

MOST_CUTS = 64


def best_interval(node: NodeRows, column: int, *, is_numeric: bool) -> FoundTest | None:
    """The best interval of a column; ``None`` if none may be made."""
    cells = known_cells(node.cells(column), is_numeric=is_numeric)
    cuts = cuts_of(cells, node.stats, node.growth.rules.criterion)
    count = len(cuts.after)
    if count < 2:
        return None
    bits = math.log2(count * (count - 1) / 2)
    some = cuts.spread(MOST_CUTS)
    firsts, seconds = np.triu_indices(len(some), 1)
    best = _best_pair(node, column, cuts, some[firsts], some[seconds], bits)
    while best is not None and len(some) < count:
        moved = _moved(node, column, cuts, best, bits)
        if moved is None:
            break
        best = moved
    if best is None:
        return None
    low, high = cuts.threshold(best[0]), cuts.threshold(best[1])
    kind = NUMBER if is_numeric else CODE
    terms = (Term(kind, column, low, negated=True, share=HALF), Term(kind, column, high, share=HALF))
    with np.errstate(invalid="ignore"):
        outside = np.where((cells > low) & (cells <= high), 0.0, 1.0)
    return node.found(CombinedTest(2, terms), HALF, np.where(np.isnan(cells), np.nan, outside), bits)


def known_cells(cells: FloatArray, *, is_numeric: bool) -> FloatArray:
    """The cells with levels that the model does not know as missing."""
    return cells if is_numeric else np.where(cells < 0, np.nan, cells)


#: First cut, second cut and score.
_Pair = tuple[int, int, float]


def _best_pair(
    node: NodeRows, column: int, cuts: Cuts, firsts: IntArray, seconds: IntArray, bits: float
) -> _Pair | None:
    """The best of some pairs of cuts, the first among equals."""
    inside = cuts.below[seconds] - cuts.below[firsts]
    unknown = np.broadcast_to(node.total - cuts.known, inside.shape)
    scores = node.judge(inside, unknown, bits, node.cost_of((column,))).score
    best = node.first_best(scores)
    return None if best < 0 else (int(firsts[best]), int(seconds[best]), float(scores[best]))


def _moved(node: NodeRows, column: int, cuts: Cuts, pair: _Pair, bits: float) -> _Pair | None:
    """The pair with one end moved where that scores best; ``None`` if no move scores better."""
    first, second, score = pair
    lower, upper = np.arange(second), np.arange(first + 1, len(cuts.after))
    firsts = np.concatenate((lower, np.full(len(upper), first)))
    seconds = np.concatenate((np.full(len(lower), second), upper))
    found = _best_pair(node, column, cuts, firsts, seconds, bits)
    return found if found is not None and found[2] > score + node.slack(score) else None
