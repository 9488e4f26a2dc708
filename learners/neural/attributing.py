"""Integrated gradients: what each input adds to a score on the straight way from a baseline to the row.

Sundararajan, Taly and Yan (Axiomatic attribution for deep networks, 2017): input i adds ``(x_i - b_i)`` times the
integral of the score's derivative by it along ``b + t (x - b)``, t from 0 to 1. All inputs together add the score at
the row less that at the baseline (completeness). Gauss' rule is applied to parts of the way, and as the scores at both
ends of each part are known, so is what the part is incomplete by: the worst parts are halved until the whole is
complete within the tolerance, also across the kinks of rectified units. Where the most parts are not enough, what is
missing is told, and parts that are incomplete by more than they change add nothing: a recurrent network that is near
chaos bends more often the longer the sequence is, faster than any rule could follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from learners.types import BoolArray, FloatArray, IntArray

#: What may be missing from completeness, in shares of the difference of scores if that is above 1.
TOLERANCE = 1e-6
#: Parts of the way at the start, and most that are looked at where nothing else is said.
_PARTS, MOST_PARTS = 4, 4_000
#: Numbers of points that are held at once, some tens of megabytes with what is found there.
_AT_ONCE = 1_000_000
#: Points of a part.
NODES = 5
_NODES, _SHARES = np.polynomial.legendre.leggauss(NODES)

#: Scores of points of shape (m, W), shape (m,); and their derivatives by the numbers, shape (m, W).
Scores = Callable[[FloatArray], FloatArray]
Gradients = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Attributions:
    """What the numbers of n rows add to one score.

    Attributes:
        amounts: shape (n, W).
        baseline: the score at the baseline.
        scores: at the rows, shape (n,).
        complete: whether amounts and baseline add up to the score within the tolerance, bool (n,); otherwise what
            is missing went under in sums of numbers much larger, or in more bends than are looked at.
    """

    amounts: FloatArray
    baseline: float
    scores: FloatArray
    complete: BoolArray


def integrate(
    scores: Scores, gradients: Gradients, baseline: FloatArray, rows: FloatArray, most_parts: int = MOST_PARTS
) -> Attributions:
    """Attribute the differences of a score between a baseline and each of some rows.

    Args:
        scores, gradients: of the score.
        baseline: shape (W,).
        rows: shape (n, W).
        most_parts: of a row, those that were halved among them; what is missing then is told.
    """
    n_rows = len(rows)
    way = rows - baseline
    edges = np.linspace(0.0, 1.0, _PARTS + 1)
    at_edges = scores(_points(baseline, rows, way, edges)).reshape(n_rows, -1)
    done, kept, kept_gap = np.zeros_like(rows), np.zeros(n_rows), np.zeros(n_rows)
    looked_at = np.full(n_rows, float(_PARTS))
    allowed = TOLERANCE * np.maximum(1.0, np.abs(at_edges[:, -1] - at_edges[:, 0]))
    parts = _Parts(
        np.repeat(np.arange(n_rows), _PARTS),
        np.tile(edges[:-1], n_rows),
        np.full(n_rows * _PARTS, 1.0 / _PARTS),
        at_edges[:, :-1].ravel(),
        np.diff(at_edges, axis=1).ravel(),
    )
    while len(parts.row):
        amounts = _gauss(gradients, baseline, way[parts.row], parts)
        gaps = np.abs(parts.change - amounts.sum(axis=1))
        pending = np.bincount(parts.row, minlength=n_rows)
        number = kept + pending
        missing = kept_gap + np.bincount(parts.row, gaps, minlength=n_rows)
        is_small = gaps <= (allowed / (2 * number))[parts.row]
        n_bad = pending - np.bincount(parts.row, is_small, minlength=n_rows)
        looked_at += 2 * n_bad
        is_done = (missing <= allowed) | (looked_at > most_parts)
        good = is_small | is_done[parts.row]
        worse = ~is_small & (missing > allowed)[parts.row] & (gaps > np.abs(parts.change))
        amounts[worse], gaps[worse] = 0.0, np.abs(parts.change)[worse]  # what was found there says less than nothing
        np.add.at(done, parts.row[good], amounts[good])
        kept += np.bincount(parts.row[good], minlength=n_rows)
        kept_gap += np.bincount(parts.row[good], gaps[good], minlength=n_rows)
        parts = parts.halved(~good, lambda row, shares: scores(baseline + shares[:, None] * way[row]))
    missing = np.abs(at_edges[:, -1] - at_edges[0, 0] - done.sum(axis=1))
    return Attributions(done, float(at_edges[0, 0]), at_edges[:, -1], missing <= 2 * allowed)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Parts of the ways: the row, where the part begins, how long it is, the score there and how it changes."""

    row: IntArray
    low: FloatArray
    width: FloatArray
    start: FloatArray
    change: FloatArray

    def halved(self, chosen: BoolArray, scores: Callable[[IntArray, FloatArray], FloatArray]) -> _Parts:
        """The halves of some of the parts."""
        row, low, width = self.row[chosen], self.low[chosen], self.width[chosen] / 2
        if not len(row):
            return _Parts(row, low, width, low, low)
        start, change = self.start[chosen], self.change[chosen]
        middle = scores(row, low + width)
        return _Parts(
            np.tile(row, 2),
            np.concatenate([low, low + width]),
            np.tile(width, 2),
            np.concatenate([start, middle]),
            np.concatenate([middle - start, start + change - middle]),
        )


def _gauss(gradients: Gradients, baseline: FloatArray, way: FloatArray, parts: _Parts) -> FloatArray:
    """What each number adds on each part, shape (m, W), by five points."""
    nodes = parts.low[:, None] + parts.width[:, None] * (0.5 + 0.5 * _NODES)
    shares = (0.5 * parts.width[:, None] * _SHARES)[:, :, None]
    found = np.empty_like(way)
    at_once = max(1, _AT_ONCE // (NODES * max(1, len(baseline))))
    for first in range(0, len(way), at_once):
        own = slice(first, first + at_once)
        points = baseline + nodes[own, :, None] * way[own, None, :]
        slopes = gradients(points.reshape(-1, len(baseline))).reshape(points.shape)
        found[own] = (slopes * shares[own]).sum(axis=1) * way[own]
    return found


def _points(baseline: FloatArray, rows: FloatArray, way: FloatArray, shares: FloatArray) -> FloatArray:
    """Points at shares of each way, the ends to the bit; shape (n E, W)."""
    made: FloatArray = baseline + shares[:, None] * way[:, None, :]
    made[:, -1] = rows
    return made.reshape(-1, len(baseline))
