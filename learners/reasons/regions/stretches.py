"""The stretches into which a tree's thresholds cut its numeric columns: all values of one are answered alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from learners.table import Column
from learners.trees.combined.tests import NUMBER
from learners.trees.nodes import INTERVALS, Nodes
from learners.types import FloatArray, IntArray


@dataclass(frozen=True)
class Stretches:
    """Of each numeric column the stretches between two of its thresholds, ``low < cell <= high``; S of all together.

    Attributes:
        firsts: by column its first stretch; at last S.
        low, high: their bounds, shape (S,).
        begin, end: by node the first stretch of its state, and the one after its last; the same where it has none.
    """

    firsts: IntArray
    low: FloatArray
    high: FloatArray
    begin: IntArray
    end: IntArray


def stretches_of(
    cuts: Mapping[int, FloatArray], tested: IntArray, low: FloatArray, high: FloatArray, n_columns: int
) -> Stretches:
    """Cut the columns.

    Args:
        cuts: by numeric column its thresholds, ascending.
        tested: by node the column of its state.
        low, high: by node its state, if that column is numeric.
        n_columns: of the table.
    """
    counts = np.array([len(cuts[column]) + 1 if column in cuts else 0 for column in range(n_columns)])
    firsts = np.append(0, np.cumsum(counts))
    begin, end = np.zeros(len(tested), np.int64), np.zeros(len(tested), np.int64)
    for column, own in cuts.items():
        ids = np.flatnonzero(tested == column)
        # a state begins after its lower threshold, and has ended after the stretch below its upper one
        begin[ids] = firsts[column] + np.where(low[ids] == -np.inf, 0, np.searchsorted(own, low[ids]) + 1)
        end[ids] = firsts[column] + np.where(high[ids] == np.inf, len(own) + 1, np.searchsorted(own, high[ids]) + 1)
    ordered = [cuts[column] for column in sorted(cuts)]
    return Stretches(
        firsts,
        np.concatenate([np.empty(0), *(np.append(-np.inf, own) for own in ordered)]),
        np.concatenate([np.empty(0), *(np.append(own, np.inf) for own in ordered)]),
        begin,
        np.maximum(begin, end),
    )


def stretches_of_terms(nodes: Nodes, columns: tuple[Column, ...]) -> Stretches:
    """Those between the thresholds of a tree's tests on single numbers and of the terms that it counts; of no node."""
    d, combined, parent = len(columns), nodes.combined, np.maximum(nodes.parent, 0)
    simple = (nodes.feature >= 0) & (nodes.feature < d)
    intervals = (nodes.parent >= 0) & (nodes.test[parent] == INTERVALS)
    terms = combined.kind == NUMBER
    features = np.concatenate((nodes.feature[simple], nodes.feature[parent][intervals], combined.feature[terms]))
    bounds = np.concatenate((nodes.threshold[simple], nodes.upper[intervals], combined.number[terms]))
    cuts = {
        place: own
        for place, column in enumerate(columns)
        if column.is_numeric and len(own := np.unique(bounds[(features == place) & np.isfinite(bounds)]))
    }
    return stretches_of(cuts, np.empty(0, np.int64), np.empty(0), np.empty(0), d)
