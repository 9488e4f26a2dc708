"""Levels in the order of their mean target, as M5' replaces a nominal column by k - 1 indicator variables.

The i-th indicator is 1 for the levels after the first i in that order, so a test on one of them is a threshold
in the order. A nominal or boolean column is therefore grown as an ordinal one whose levels are so ordered, and
the tests are then written back as tests on the column's own levels.

Source: Wang and Witten, Inducing model trees for continuous classes (1997), after Breiman and others (1984).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learners.table import Kind, Table
from learners.trees.nodes import LEVELS, THRESHOLD, Nodes
from learners.types import FloatArray, IntArray

#: By column, the codes of the levels that occur, from the least mean target to the greatest.
Orders = dict[int, IntArray]


def orders_of(table: Table, target: FloatArray, weights: FloatArray) -> Orders:
    """The order of the levels of every nominal and boolean column; of equal means the lower code comes first."""
    found: Orders = {}
    kept = weights > 0
    for place, column in enumerate(table.columns):
        if column.kind in (Kind.NOMINAL, Kind.BOOLEAN):
            cells = table.values[:, place]
            known = kept & (cells >= 0)  # neither missing nor unseen
            codes, own = cells[known].astype(np.int64), weights[known]
            sums = np.bincount(codes, own, len(column.levels))
            totals = np.bincount(codes, own * target[known], len(column.levels))
            occurring = np.flatnonzero(sums > 0)
            means = totals[occurring] / sums[occurring]
            found[place] = occurring[np.argsort(means, kind="stable")]
    return found


def in_order(table: Table, orders: Orders) -> Table:
    """The table with ordinal columns in the place of those that have an order."""
    columns, values = list(table.columns), table.values.copy(order="F")
    for place, order in orders.items():
        column = columns[place]
        ranks = np.full(len(column.levels) + 1, -1.0)  # the last entry is that of an unseen level, code -1
        ranks[order] = np.arange(len(order))
        known = ~np.isnan(values[:, place])
        values[known, place] = ranks[values[known, place].astype(np.int64)]
        levels = tuple(column.levels[code] for code in order)
        columns[place] = replace(column, kind=Kind.ORDINAL, levels=levels, level_type="text")
    return Table(tuple(columns), values)


def in_levels(nodes: Nodes, orders: Orders) -> Nodes:
    """A tree of the ordered table as one of the table itself; levels that did not occur take the heavier branch."""
    tests = np.flatnonzero((nodes.test == THRESHOLD) & np.isin(nodes.feature, list(orders)))
    if not len(tests):
        return nodes
    lists = [np.sort(orders[feature]) for feature in nodes.feature[tests].tolist()]
    branches = [
        np.isin(codes, order_after(orders[int(nodes.feature[node])], float(nodes.threshold[node])))
        for node, codes in zip(tests, lists, strict=True)
    ]
    test, threshold = nodes.test.copy(), nodes.threshold.copy()
    start, count, other = nodes.level_start.copy(), nodes.level_count.copy(), nodes.other_branch.copy()
    test[tests], threshold[tests] = LEVELS, np.nan
    count[tests] = [len(codes) for codes in lists]
    start[tests] = len(nodes.level_codes) + np.cumsum(count[tests]) - count[tests]
    first = nodes.first_child[tests]
    other[tests] = nodes.weight[first + 1] > nodes.weight[first]
    return replace(
        nodes,
        test=test,
        threshold=threshold,
        level_start=start,
        level_count=count,
        other_branch=other,
        level_codes=np.concatenate((nodes.level_codes, *lists)).astype(np.int32),
        level_branch=np.concatenate((nodes.level_branch, *branches)).astype(np.int32),
    )


def order_after(order: IntArray, threshold: float) -> IntArray:
    """The levels beyond a threshold in the order."""
    return order[int(np.floor(threshold)) + 1 :]
