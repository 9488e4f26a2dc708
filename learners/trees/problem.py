"""The arrays that the growing kernels share: what is learned from, by which rules, and what has grown.

A *node's rows* are one segment ``start .. start + count`` that is the same in every column of
``keys``, and the ids in that segment's keys are just the numbers ``start .. start + count - 1``;
``row`` and ``numbers`` are indexed by id. A row that is missing the value of a test has an
id in each of the branches, so the segments of the children may need more room than their parent's.
Columns with few distinct values have ``codes`` instead of keys; these are by table row and never move.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from learners.trees.presort import KeyLayout
from learners.types import BoolArray, FloatArray, Int32Array, IntArray

#: Kinds of tests on groups of rows with one code; ``ORDERED`` is a threshold, in a node where some value is
#: missing and that counts as a value ``ORDERED_WITH_MISSING``; ``BINNED`` has a branch for each interval.
MULTIWAY, ONE_VS_REST, SUBSET, ORDERED, ORDERED_WITH_MISSING, BINNED = range(6)
NOMINAL = {"multiway": MULTIWAY, "one-vs-rest": ONE_VS_REST, "subset": SUBSET}

#: What is done with a row whose tested value is missing.
FRACTIONAL, AS_VALUE, MOST_LIKELY = range(3)
MISSING_RULES = {"fractional": FRACTIONAL, "as-value": AS_VALUE, "most-likely": MOST_LIKELY}

#: Gains that differ by less than this share of the node's impurity count as equal.
TIE = 1e-12


class Rules(NamedTuple):
    """The choices that steer growth, as plain numbers for the kernels."""

    criterion: int
    by_ratio: bool
    by_deviation: bool  # regression by the standard deviation in place of the variance
    nominal: int
    missing: int
    unit: bool  # every weight is 1 and no row is divided, so counts are whole numbers
    mass_is_weight: bool  # no weight is below 1, so what stop rules count is the weight
    mass_row: int  # the row of ``Problem.numbers`` that holds what stop rules count
    binary: bool  # two classes under Gini: the sums of variance serve
    n_values: int  # K classes, or 2 (mean and variance)
    n_stats: int  # K classes, or 3 sums; see criteria.impurity_sum
    max_depth: int  # -1: none
    min_leaf: float
    min_split: float
    min_gain: float
    penalty: bool
    quinlan_minimum: bool


#: Rows of ``Problem.numbers`` and of ``Work.sums``.
WEIGHT, MASS, CENTRED = range(3)
LEFT, RIGHT, KNOWN, DIRECTION = range(4)

COLUMN_INFO = np.dtype(
    [
        ("n_levels", "<i4"),
        ("n_codes", "<i4"),
        ("first_value", "<i4"),
        ("kind", "<i4"),
        ("place", "<i4"),
        ("is_coded", "?"),
        ("is_wide", "?"),
        ("many_valued", "?"),
    ],
    align=True,
)
COLUMN_BEST = np.dtype(
    [("place", "<i8"), ("gain", "<f8"), ("score", "<f8"), ("counted", "<i4"), ("noted", "<i4")], align=True
)
#: A column whose rows are being counted: its place in a row of codes, where its counts begin, how many it needs, and
#: where it is noted which codes occur. Unsigned, for an index that may be negative costs as much as the count itself.
COUNTED = np.dtype([("place", "<u4"), ("begin", "<u4"), ("needs", "<u4"), ("noted", "<u4")], align=True)
GROUP = np.dtype(
    [
        ("mass", "<f8"),
        ("value", "<f8"),
        ("code", "<i4"),
        ("branch", "<i4"),
        ("order", "<i4"),
        ("spare", "<i4"),
    ],
    align=True,
)
BRANCH = np.dtype(
    [
        ("first", "<i8"),
        ("count", "<i8"),
        ("share", "<f8"),
        ("weight", "<f8"),
        ("mass", "<f8"),
        ("summed", "?"),
        ("alive", "?"),
    ],
    align=True,
)
LEVEL = np.dtype([("code", "<i4"), ("branch", "<i4")], align=True)
NODE = np.dtype(
    [
        ("threshold", "<f8"),
        ("fraction", "<f8"),
        ("weight", "<f8"),
        ("mass", "<f8"),
        ("impurity", "<f8"),
        ("upper", "<f8"),
        ("gain", "<f8"),
        ("start", "<i8"),
        ("count", "<i8"),
        ("feature", "<i4"),
        ("first_child", "<i4"),
        ("n_children", "<i4"),
        ("parent", "<i4"),
        ("depth", "<i4"),
        ("other_branch", "<i4"),
        ("missing_branch", "<i4"),
        ("level_start", "<i4"),
        ("level_count", "<i4"),
        ("test", "<i4"),
        ("alive", "?"),
    ],
    align=True,
)

Records: TypeAlias = Any  # a numpy record array, whose fields are attributes


class Extras(NamedTuple):
    """Rules of growth that few trees ask for; see :mod:`~learners.trees.extras`.

    Attributes:
        cost_form: one of ``COST_FORMS``.
        exponent: w of ``eg2``.
        costs: (d,), of each column.
        paid: the cost of a column that is tested already.
        critical: by degrees of freedom, the deviation that a test must reach; empty where none is asked.
    """

    cost_form: int
    exponent: float
    costs: FloatArray
    paid: float
    critical: FloatArray


class Bounds(NamedTuple):
    """What bounds the search for a column's test.

    Attributes:
        mass: of the node's rows that know the value.
        least: mass that a side of a threshold must have.
        floor: what a test must gain, as a sum, to be of use; one that gains less may be left out.
    """

    mass: float
    least: float
    floor: float


class Problem(NamedTuple):
    """What is learned from.

    Attributes:
        keys: int64 (d, capacity), see :mod:`~learners.trees.presort`; rows of columns with codes are never touched.
        codes: uint16 (n, places) by table row, see :mod:`~learners.trees.coding`.
        values: float64, the cell that each code stands for, column after column.
        layout: where the parts of a key lie.
        cells: float64 (d, n), the table's own values.
        columns: ``COLUMN_INFO`` (d,): the number of levels or bins (0 where thresholds split), whether the column
            has codes, how many and where their ``values`` begin, its place among the codes of a row and whether it
            takes two, its kind of test on them, and whether it is left out of C4.5's average gain. Where missing
            counts as a value it is the last code, and its value NaN.
        answer: float64 (n,), class codes or numbers, by table row.
        row: int32 (capacity,), the table row of an id.
        numbers: float64 (3, capacity) by id: weight; mass, which is what stop rules count; and the
            regression target less its node's mean. Narrower where it is not used.
        logs: ``logs[i]`` is i log2 i.
        draw: int64 (2,), see :mod:`~learners.trees.column_draws`.
        extras: what few trees ask for, or None.
    """

    keys: IntArray
    codes: NDArray[np.uint16]
    values: FloatArray
    layout: KeyLayout
    cells: FloatArray
    columns: Records
    answer: FloatArray
    row: Int32Array
    numbers: FloatArray
    logs: FloatArray
    draw: IntArray
    extras: Extras | None


class Work(NamedTuple):
    """Scratch memory; one to each thread that grows.

    Attributes:
        branch, new_id: int32 (capacity,) by id; branch -1 where the tested value is missing.
        keys, spare_numbers: room for one segment.
        absent: int32, the ids whose tested value is missing.
        sums: float64 (4, S) by class: left, right, known and direction.
        groups, group_stats: ``GROUP`` (G + 1,) and float64 (G + 1, S), the codes of a column in a node.
        counts: int32 (combinations,), number of rows by code and class, of several columns one after the other.
        weights: float64 (2, combinations), likewise; see :mod:`~learners.trees.splitters.counting`.
        listed: ``COUNTED`` (d,), the columns that are counted together.
        noted: int64, 32 bits of each for as many codes of a column, set for those that occur in a node of few rows.
        code_branch: int32 (G + 1,), the branch of each code.
        branch_stats: float64 (branches, S), sums of the rows of each branch that is ``summed``.
        packed: int64 (2, small), codes to be sorted.
        columns: ``COLUMN_BEST`` (d,), the best test of each column, place -1 where there is none; where its
            counts begin, -1 while it has none; and where it is noted which codes occur.
        looked: int64 (d,), the columns whose tests are looked for in this turn, ascending.
        keyed: int64, the columns with keys, ascending.
        filled: int64 (3,), the column that ``groups`` are of, -1 if they are of no use; how many they are, and whether
            every row knows its value.
        drawn, undrawn: bool (d,) and int64 (d,), where columns are drawn for a node: those of this turn, and those
            that are left.
        branches: ``BRANCH``: id of its first row, number of rows, share of the known weight; weight and mass, and
            whether they and the weights of its classes are known already; and whether it may be split further, for
            the keys of others are not moved.
        cursor: int64 by branch.
        empty: ``NODE`` (1,), what a node is before it is described.
    """

    branch: Int32Array
    new_id: Int32Array
    keys: IntArray
    spare_numbers: FloatArray
    absent: Int32Array
    sums: FloatArray
    groups: Records
    group_stats: FloatArray
    counts: Int32Array
    weights: FloatArray
    listed: Records
    noted: IntArray
    code_branch: Int32Array
    branch_stats: FloatArray
    packed: IntArray
    columns: Records
    looked: IntArray
    keyed: IntArray
    filled: IntArray
    drawn: BoolArray
    undrawn: IntArray
    branches: Records
    cursor: IntArray
    empty: Records


class Grown(NamedTuple):
    """The tree so far, with spare room; fields as in :class:`~learners.trees.nodes.Nodes`.

    Attributes:
        nodes: ``NODE``; ``start`` and ``count`` give the node's segment; ``alive`` whether it may be split.
        value: float64 (N, K).
        levels: ``LEVEL``, the level tests' codes and branches.
        stack: int32, ids of nodes yet to be worked on.
        active: bool (stack place, d), columns that may still hold a test there.
    """

    nodes: Records
    value: FloatArray
    levels: Records
    stack: Int32Array
    active: BoolArray


#: Places of the counters in the int64 array that goes with :class:`Grown`.
N_NODES, N_LEVELS, N_STACK, TOP, NEED_NODES, NEED_LEVELS, NEED_STACK, NEED_ROOM = range(8)
N_COUNTERS = 8

#: What a growing kernel says when it returns.
DONE, PAUSED, NEEDS_SPACE = 0, 1, 2


@cache
def record_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of a record array's items, which numpy would make anew for each array."""
    made: np.dtype[Any] = np.zeros(0, dtype).view(np.recarray).dtype
    return made


def records(count: int, dtype: np.dtype[Any]) -> Records:
    """A zeroed record array."""
    return np.zeros(count, record_type(dtype)).view(np.recarray)


#: While there are at most so many combinations of code and class a row, all are gone through; else only those that
#: occur.
COMBINATIONS_A_ROW = 2
#: Columns of more codes are sorted in nodes of few rows.
MOST_NOTED = 4096
#: Codes whose occurrence is noted in one number.
NOTED_BITS = 32
#: Columns are counted together while all have at most so many combinations; one column may have more.
COMBINATIONS_AT_ONCE = 4096
