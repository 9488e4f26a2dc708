"""How far one row is from each state of a tree, under a caller's wishes: for all nodes at once.

A state (see :mod:`learners.reasons.regions.boxes`) asks an interval or a set of one column. The nearest
value that satisfies it is the row's own, or the interval's end on the row's side: beyond an open
end the next double, or the next whole number where only whole ones make sense. Columns are
independent of each other, so the nearest row of a box takes the nearest value of each column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.reasons.regions.boxes import Boxes, LevelSets
from learners.reasons.wanted.scales import Scales
from learners.reasons.wanted.wishes import Wishes
from learners.table import Column, Kind
from learners.types import BoolArray, FloatArray, IntArray

_LARGEST = float(np.finfo(np.float64).max)
#: A distance is at most this, so that sums of them stay finite.
_FARTHEST = 1e100
#: Choosing a value for a missing or unseen one counts as far as changing a nominal level.
_UNKNOWN_STEP = 1.0
#: Flags of levels that are unpacked at a time: 32 MB of distances.
_FLAGS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Demands:
    """What reaching a state takes of the row; one entry a node.

    Attributes:
        taken: the branch that the row takes at a node, -1 where its value decides nothing.
        shares: the share of the row that satisfies the state as it is.
        blocked: whether no allowed value satisfies it, though the row's own does not wholly.
        distance: how far the nearest allowed value is; 0 where none is needed.
        target: that value as a cell; of nominal columns NaN, see :func:`target_cell`.
    """

    taken: IntArray
    shares: FloatArray
    blocked: BoolArray
    distance: FloatArray
    target: FloatArray


def demands_of(boxes: Boxes, row: FloatArray, wishes: Wishes, scales: Scales) -> Demands:
    """What each state asks of a row, shape (d,)."""
    taken = boxes.taken(row)
    shares = boxes.merge_down(boxes.shares_of(taken), np.multiply)
    n = len(shares)
    found = Demands(taken, shares, np.zeros(n, np.bool_), np.zeros(n), np.full(n, np.nan))
    numeric = np.array([column.is_numeric for column in boxes.columns])
    needed = (shares != 1) & (boxes.tested >= 0)
    _demand_numbers(found, boxes, row, wishes, scales, np.flatnonzero(needed & numeric[boxes.tested]))
    for feature in boxes.sets:
        _demand_levels(found, boxes, row, wishes, feature, needed)
    found.blocked[needed & wishes.fixed[boxes.tested]] = True
    found.distance[found.blocked] = 0.0
    return found


def _demand_numbers(
    found: Demands, boxes: Boxes, row: FloatArray, wishes: Wishes, scales: Scales, ids: IntArray
) -> None:
    feature = boxes.tested[ids]
    found.blocked[ids], found.target[ids], found.distance[ids] = nearest_numbers(
        row, feature, boxes.low[ids], boxes.high[ids], wishes, scales
    )


def nearest_numbers(
    row: FloatArray, feature: IntArray, low: FloatArray, high: FloatArray, wishes: Wishes, scales: Scales
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """The nearest allowed number above ``low`` and up to ``high`` in each of m numeric columns.

    Args:
        row: shape (d,).
        feature, low, high: shape (m,).
        wishes: what is allowed.
        scales: of the columns.

    Returns:
        Of each whether there is none, the number, and how far it is; shape (m,).
    """
    cells = row[feature]
    integral = scales.integral[feature]
    lower = np.maximum(least_above(low, integral), wishes.least[feature])
    upper = np.minimum(high, wishes.greatest[feature])
    lower[integral] = np.ceil(lower[integral])
    upper[integral] = np.floor(upper[integral])
    known = ~np.isnan(cells)
    # of a known value the side of the interval on which it lies
    rises = cells < lower
    target = np.where(known, np.where(rises, lower, upper), np.clip(scales.centre[feature], lower, upper))
    may = np.where(rises, wishes.rising[feature], wishes.falling[feature]) | ~known
    blocked = (lower > upper) | ~may | (np.abs(target) > _LARGEST)
    distance = np.where(known, scaled_steps(target, cells, scales.width[feature]), _UNKNOWN_STEP)
    return blocked, target, distance


def scaled_steps(target: FloatArray, cells: FloatArray, width: FloatArray) -> FloatArray:
    """The changes as shares of the widths; differences of doubles need not be doubles."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        whole = np.abs(target - cells)
        halves = np.abs(target / 2 - cells / 2) / (width / 2)
        return np.fmin(np.where(np.isfinite(whole), whole / width, halves), _FARTHEST)


def least_above(low: FloatArray, integral: BoolArray) -> FloatArray:
    """The least value above each bound."""
    with np.errstate(over="ignore"):
        after = np.nextafter(low, np.inf)
    return np.where(integral & np.isfinite(low), np.maximum(np.floor(low) + 1, after), after)


def _demand_levels(
    found: Demands, boxes: Boxes, row: FloatArray, wishes: Wishes, feature: int, needed: BoolArray
) -> None:
    sets = boxes.sets[feature]
    places = np.flatnonzero(needed[sets.nodes])
    ids = sets.nodes[places]
    permitted = permitted_levels(boxes.columns[feature], row, wishes, feature)
    own = row[feature]
    if boxes.columns[feature].kind is Kind.ORDINAL and own >= 0 and len(ids):
        steps = np.where(permitted, np.abs(np.arange(sets.n_levels) - own), np.inf)
        at_once = max(1, _FLAGS_AT_ONCE // sets.n_levels)
        for first in range(0, len(ids), at_once):
            _demand_steps(found, sets, steps, places[first : first + at_once])
        return
    found.blocked[ids] = ~(sets.bits[places] & np.packbits(permitted)).any(axis=1)
    found.distance[ids] = _UNKNOWN_STEP


def _demand_steps(found: Demands, sets: LevelSets, steps: FloatArray, places: IntArray) -> None:
    """The nearest level of some sets of an ordinal column; ``steps`` (L,) says how far each is, infinite if barred."""
    ids = sets.nodes[places]
    open_steps = np.where(sets.members(places), steps, np.inf)
    nearest = np.argmin(open_steps, axis=1)
    least = open_steps[np.arange(len(ids)), nearest]
    found.target[ids] = nearest
    found.blocked[ids] = ~np.isfinite(least)
    found.distance[ids] = np.where(np.isfinite(least), least / max(sets.n_levels - 1, 1), 0.0)


def steps_between(before: float, after: float, n_levels: int) -> float:
    """How far two codes of an ordinal column are apart, as a share of the greatest number of steps."""
    return abs(after - before) / max(n_levels - 1, 1)


def permitted_levels(column: Column, row: FloatArray, wishes: Wishes, feature: int) -> BoolArray:
    """The levels that a column of the row may be changed to, shape (L,)."""
    codes = np.arange(len(column.levels))
    permitted = wishes.levels.get(feature, np.ones(len(codes), np.bool_)).copy()
    own = row[feature]
    if own >= 0:
        permitted &= (codes < own) & wishes.falling[feature] | (codes > own) & wishes.rising[feature]
    return permitted


def target_cell(boxes: Boxes, demands: Demands, row: FloatArray, wishes: Wishes, node: int) -> float:
    """The value that the state at a node takes the row to; of several equally near levels the first."""
    target = float(demands.target[node])
    if not np.isnan(target):
        return target
    feature = int(boxes.tested[node])
    members = boxes.sets[feature].set_at(node) & permitted_levels(boxes.columns[feature], row, wishes, feature)
    return float(np.flatnonzero(members)[0])
