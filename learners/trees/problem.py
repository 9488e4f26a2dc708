"""The arrays that the growing kernels share: what is learned from, by which rules, and what has grown.

A *node's rows* are one segment ``start .. start + count`` that is the same in every column of
``keys``, and the ids in that segment's keys are just the numbers ``start .. start + count - 1``;
``row``, ``weight`` and ``mass`` are indexed by id. A row that is missing the value of a test has an
id in each of the branches, so the segments of the children may need more room than their parent's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.trees.presort import KeyLayout
from learners.types import BoolArray, FloatArray, Int8Array, Int32Array, IntArray

MULTIWAY, ONE_VS_REST, SUBSET = 0, 1, 2
NOMINAL = {"multiway": MULTIWAY, "one-vs-rest": ONE_VS_REST, "subset": SUBSET}

#: Gains that differ by less than this share of the node's impurity count as equal.
TIE = 1e-12


class Rules(NamedTuple):
    """The choices that steer growth, as plain numbers for the kernels."""

    criterion: int
    by_ratio: bool
    nominal: int
    unit: bool  # every weight is 1 and no value is missing, so counts are whole numbers
    binary: bool  # two classes under Gini: the sums of variance serve
    n_values: int  # K classes, or 2 (mean and variance)
    n_stats: int  # K classes, or 3 sums; see criteria.impurity_sum
    max_depth: int  # -1: none
    min_leaf: float
    min_split: float
    min_gain: float
    penalty: bool
    quinlan_minimum: bool


class Problem(NamedTuple):
    """What is learned from.

    ``keys`` (d, capacity) int64, see :mod:`~learners.trees.presort`; ``cells`` (d, n) float64 the
    table's own values; ``n_levels`` (d,) int32, 0 for columns that are split by thresholds;
    ``many_valued`` (d,) marks columns left out of C4.5's average gain; ``labels`` (n,) int32 and
    ``answer`` (n,) float64 are the targets by table row. By id: ``row`` int32 the table row,
    ``weight`` float64, ``mass`` float64 (what counts towards stop rules), ``centred`` float64 the
    regression target less its node's mean. ``logs[i]`` is ``i log2 i``.
    """

    keys: IntArray
    layout: KeyLayout
    cells: FloatArray
    n_levels: Int32Array
    many_valued: BoolArray
    labels: Int32Array
    answer: FloatArray
    row: Int32Array
    weight: FloatArray
    mass: FloatArray
    centred: FloatArray
    logs: FloatArray


class Work(NamedTuple):
    """Scratch memory; one to each thread that grows.

    By id: ``branch`` int32 (-1: missing), ``new_id`` int32. Room for one segment: ``keys`` int64,
    ``rows`` int32, ``numbers`` float64, ``absent`` int32 (ids whose tested value is missing).
    By class: ``left``, ``right``, ``known``. By level of a column: ``group_stats`` (G, S),
    ``group_mass``, ``group_order``, ``group_code``, ``group_start``, ``group_branch``.
    By column: ``gain``, ``score``, ``place`` of its best test (``place`` -1: none).
    By branch: ``base`` first id, ``size`` keys, ``share`` of the known weight, ``cursor``.
    """

    branch: Int32Array
    new_id: Int32Array
    keys: IntArray
    rows: Int32Array
    numbers: FloatArray
    absent: Int32Array
    left: FloatArray
    right: FloatArray
    known: FloatArray
    direction: FloatArray
    group_stats: FloatArray
    group_mass: FloatArray
    group_value: FloatArray
    group_order: IntArray
    group_code: Int32Array
    group_start: IntArray
    group_branch: Int32Array
    gain: FloatArray
    score: FloatArray
    place: IntArray
    base: IntArray
    size: IntArray
    share: FloatArray
    cursor: IntArray


class Grown(NamedTuple):
    """The tree so far, arrays with spare room; see :class:`~learners.trees.nodes.Nodes`.

    Beside the node arrays: ``start`` and ``count`` of each node's segment; ``stack`` of node ids
    yet to be worked on, and ``active`` (stack place, d): columns that may still hold a test there.
    """

    test: Int8Array
    feature: Int32Array
    threshold: FloatArray
    first_child: Int32Array
    n_children: Int32Array
    parent: Int32Array
    depth: Int32Array
    other_branch: Int32Array
    fraction: FloatArray
    level_start: Int32Array
    level_count: Int32Array
    level_codes: Int32Array
    level_branch: Int32Array
    weight: FloatArray
    mass: FloatArray
    value: FloatArray
    impurity: FloatArray
    gain: FloatArray
    start: IntArray
    count: IntArray
    stack: Int32Array
    active: BoolArray


#: Places of the counters in the int64 array that goes with :class:`Grown`.
N_NODES, N_LEVELS, N_STACK, TOP, NEED_NODES, NEED_LEVELS, NEED_STACK, NEED_ROOM = range(8)
N_COUNTERS = 8

#: What a growing kernel says when it returns.
DONE, PAUSED, NEEDS_SPACE = 0, 1, 2


def new_work(problem: Problem, rules: Rules, max_groups: int) -> Work:
    """Scratch memory for a problem; ``max_groups`` is the largest number of levels in one column."""
    columns, capacity = problem.keys.shape
    groups = max(max_groups, 1)
    branches = max(groups + 1, 2)
    return Work(
        branch=np.zeros(capacity, np.int32),
        new_id=np.zeros(capacity, np.int32),
        keys=np.zeros(capacity, np.int64),
        rows=np.zeros(capacity, np.int32),
        numbers=np.zeros(1 if rules.unit else capacity),
        absent=np.zeros(1 if rules.unit else capacity, np.int32),
        left=np.zeros(rules.n_stats),
        right=np.zeros(rules.n_stats),
        known=np.zeros(rules.n_stats),
        direction=np.zeros(rules.n_stats),
        group_stats=np.zeros((groups, rules.n_stats)),
        group_mass=np.zeros(groups),
        group_value=np.zeros(groups),
        group_order=np.zeros(groups, np.int64),
        group_code=np.zeros(groups, np.int32),
        group_start=np.zeros(groups + 1, np.int64),
        group_branch=np.zeros(groups, np.int32),
        gain=np.zeros(columns),
        score=np.zeros(columns),
        place=np.zeros(columns, np.int64),
        base=np.zeros(branches, np.int64),
        size=np.zeros(branches, np.int64),
        share=np.zeros(branches),
        cursor=np.zeros(branches, np.int64),
    )


def new_grown(nodes: int, levels: int, stack: int, columns: int, n_values: int) -> Grown:
    """An empty tree with room for so many nodes, level entries and waiting nodes."""
    return Grown(
        test=np.zeros(nodes, np.int8),
        feature=np.full(nodes, -1, np.int32),
        threshold=np.full(nodes, np.nan),
        first_child=np.full(nodes, -1, np.int32),
        n_children=np.zeros(nodes, np.int32),
        parent=np.full(nodes, -1, np.int32),
        depth=np.zeros(nodes, np.int32),
        other_branch=np.full(nodes, -1, np.int32),
        fraction=np.ones(nodes),
        level_start=np.zeros(nodes, np.int32),
        level_count=np.zeros(nodes, np.int32),
        level_codes=np.zeros(levels, np.int32),
        level_branch=np.zeros(levels, np.int32),
        weight=np.zeros(nodes),
        mass=np.zeros(nodes),
        value=np.zeros((nodes, n_values)),
        impurity=np.zeros(nodes),
        gain=np.zeros(nodes),
        start=np.zeros(nodes, np.int64),
        count=np.zeros(nodes, np.int64),
        stack=np.zeros(stack, np.int32),
        active=np.ones((stack, columns), np.bool_),
    )


def enlarged(grown: Grown, nodes: int, levels: int, stack: int) -> Grown:
    """A copy of the tree with at least so much room, and never less than twice what it had if it grows."""
    columns, n_values = grown.active.shape[1], grown.value.shape[1]
    have = (len(grown.test), len(grown.level_codes), len(grown.stack))
    room = [size if size >= need else max(2 * size, need) for size, need in zip(have, (nodes, levels, stack), strict=True)]
    larger = new_grown(room[0], room[1], room[2], columns, n_values)
    for old, new in zip(grown, larger, strict=True):
        new[: len(old)] = old
    return larger
