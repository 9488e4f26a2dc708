"""From a table and a target to a finished tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learners.base import Progress, no_progress
from learners.table import Kind, Table
from learners.trees.best_first import grow_best_first
from learners.trees.binning import with_cuts
from learners.trees.combined.search import CombinedSearch
from learners.trees.combined.tests import CODE, CombinedTests
from learners.trees.following import follow_heaviest
from learners.trees.growth import Growth, finished
from learners.trees.nodes import THRESHOLD, Nodes
from learners.trees.setup import GrowthOptions, Prepared, prepare
from learners.trees.threaded import grow_threaded
from learners.types import FloatArray

#: Below so many cells, threads cost more than they give.
LEAST_CELLS_FOR_THREADS = 1_000_000


def grow_tree(
    table: Table,
    target: FloatArray,
    n_classes: int,
    weights: FloatArray,
    options: GrowthOptions,
    progress: Progress = no_progress,
) -> Nodes:
    """Grow a tree; see :func:`~learners.trees.setup.prepare` for the arguments.

    Source of the method: presorted columns partitioned down the tree as in SLIQ (Mehta, Agrawal
    and Rissanen, 1996), so that a level of the tree costs O(n d).

    A small table is grown on one thread whatever the options say, and so is a tree with tests of several values; the
    tree is the same.
    """
    if table.n_rows * table.n_columns < LEAST_CELLS_FOR_THREADS:
        options = replace(options, threads=1)
    progress(0.0, "sorting columns")
    prepared = prepare(table, target, n_classes, weights, options)
    progress(0.0, "growing")
    return grow_prepared(prepared, table, weights, options, progress)


def grow_prepared(
    prepared: Prepared,
    table: Table,
    weights: FloatArray,
    options: GrowthOptions,
    progress: Progress = no_progress,
    before: Growth | None = None,
    keep: list[Growth] | None = None,
) -> Nodes:
    """Grow a tree from columns that are laid out already, whose keys, rows and numbers it uses up.

    Args:
        before: a finished growth on the same columns, whose memory is used.
        keep: gets this one when it is finished.
    """
    growth = Growth(prepared, before)
    del prepared
    if options.combines:
        grow_best_first(growth, options.max_leaves, progress, CombinedSearch(table.columns, options))
    elif options.max_leaves is not None:
        grow_best_first(growth, int(options.max_leaves), progress)
    elif options.threads > 1:
        grow_threaded(growth, options.threads, progress)
    else:
        growth.run(progress)
    grown, counters, cuts, combined = growth.grown, growth.counters, growth.prepared.cuts, growth.combined
    if keep is None:
        del growth, before  # the keys, which are as large as the table, are not needed any more
    nodes = finished(grown, counters)
    if keep is not None:
        keep.append(growth)
    if combined:
        nodes = nodes.with_combined(CombinedTests.of(table.n_columns, combined))
    nodes = settle_thresholds(nodes, table, weights, options.threshold)
    with_cuts(nodes, cuts)
    return follow_heaviest(nodes) if options.missing == "most-likely" else nodes


def settle_thresholds(nodes: Nodes, table: Table, weights: FloatArray, rule: str) -> Nodes:
    """Bring thresholds to their final form; training rows stay on their sides.

    A threshold on an ordinal column is the code of a level. By the rule ``data`` a numeric one is the
    largest value of the whole training column that is not above the midpoint (C4.5). So are those inside
    tests of several values, but for the thresholds of sums.
    """
    if rule != "data" and not any(column.kind is Kind.ORDINAL for column in table.columns):
        return nodes
    combined, numbers = nodes.combined, nodes.combined.number.copy()
    for index, column in enumerate(table.columns):
        tests = np.flatnonzero((nodes.test == THRESHOLD) & (nodes.feature == index))
        terms = np.flatnonzero((combined.feature == index) & (combined.kind <= CODE))
        if len(tests) + len(terms) == 0:
            continue
        if column.kind is Kind.ORDINAL:
            nodes.threshold[tests], numbers[terms] = np.floor(nodes.threshold[tests]), np.floor(numbers[terms])
        elif rule == "data":
            cells = table.values[weights > 0, index]
            values = np.sort(cells[~np.isnan(cells)])
            nodes.threshold[tests] = values[np.searchsorted(values, nodes.threshold[tests], side="right") - 1]
            numbers[terms] = values[np.searchsorted(values, numbers[terms], side="right") - 1]
    return replace(nodes, combined=replace(combined, number=numbers))
