"""Numeric columns cut into intervals before growth, and the cuts put into the grown tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learners.preprocessing.discretise import equal_frequency, equal_width, minimum_length
from learners.table import Column
from learners.trees.nodes import INTERVALS, Nodes
from learners.types import FloatArray, Int32Array


def cuts_of(
    cells: FloatArray,
    columns: Sequence[Column],
    rows: Int32Array,
    target: FloatArray,
    weights: FloatArray,
    rule: str,
    bins: int,
) -> list[FloatArray | None]:
    """The cut points of each numeric column, ``None`` of the others.

    Args:
        cells: shape (d, n).
        rows: those that are learned from.
        target: class codes or numbers, shape (n,).
        weights: shape (n,).
        rule: ``equal-width``, ``equal-frequency``, or ``mdl``, which is for classes.
        bins: number of intervals of the first two.
    """
    return [
        _cuts(cells[place], rows, target, weights, rule, bins) if column.is_numeric else None
        for place, column in enumerate(columns)
    ]


def _cuts(
    cells: FloatArray, rows: Int32Array, target: FloatArray, weights: FloatArray, rule: str, bins: int
) -> FloatArray:
    known = rows[~np.isnan(cells[rows])]
    values = cells[known]
    if rule == "equal-width":
        return equal_width(values, bins)
    if rule == "equal-frequency":
        return equal_frequency(values, weights[known], bins)
    codes = target[known].astype(np.int64)
    return minimum_length(values, codes, weights[known], int(codes.max(initial=0)) + 1)


def binned(cells: FloatArray, cuts: Sequence[FloatArray | None]) -> FloatArray:
    """The cells with the number of its interval in the place of each known value; shape (d, n)."""
    found = cells.copy()
    for place, own in enumerate(cuts):
        if own is not None:
            known = ~np.isnan(cells[place])
            found[place, known] = np.searchsorted(own, cells[place, known], side="left")
    return found


def with_cuts(nodes: Nodes, cuts: Sequence[FloatArray | None]) -> None:
    """Replace the numbers of intervals in ``upper`` by where these end."""
    if all(own is None for own in cuts):
        return
    parent = np.maximum(nodes.parent, 0)
    ends = (nodes.test[parent] == INTERVALS) & (nodes.parent >= 0) & np.isfinite(nodes.upper)
    for place, own in enumerate(cuts):
        if own is not None:
            children = np.flatnonzero(ends & (nodes.feature[parent] == place))
            nodes.upper[children] = own[nodes.upper[children].astype(np.intp)]
