"""MDL pruning: the tree that, with the classes it gets wrong, is told in the fewest bits.

After Quinlan and Rivest, "Inferring decision trees using the minimum description length principle"
(1989): a sender who knows the rows and their classes tells a receiver who knows the rows only. A
subtree becomes a leaf where that is no longer to tell. The code, in bits, with d columns and the K
classes that occur:

* each node: 1, whether it is a leaf;
* a test: log2(d) for its column, and for the test itself
    - threshold: log2(max(n - 1, 1)), one of the gaps among its rows, of weight n; of an ordinal column of L
      levels not more than log2(max(L - 1, 1));
    - levels, one branch each: 0;
    - two sets of L levels: log2(2^(L-1) - 1), one of the ways to divide them;
    - one level against the rest: log2(L), which one of the column's L levels;
    - several values at once: see :func:`combined_bits`, our own;
* a leaf of weight n with weight e outside its class: log2(K) for the class, log2(n + 1) for e,
  log2 C(n, e) for which rows they are, e log2(K - 1) for their classes. For weights that are no
  whole numbers the binomial is that of the gamma function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from learners._accel import kernel
from learners.table import Column
from learners.trees.combined.digits import WEIGHT_DIGITS
from learners.trees.combined.tests import CombinedTest
from learners.trees.nodes import INTERVALS, LEAF, LEVELS, Nodes
from learners.trees.pruning.compaction import cut
from learners.types import BoolArray, FloatArray, Int8Array, Int32Array

_LN2 = math.log(2.0)
#: Lengths nearer than this are equal: logarithms round.
_TIE = 1e-9
#: Bits of a weight: its sign and its digits.
_WEIGHT_BITS = 1.0 + WEIGHT_DIGITS * math.log2(10.0)


def prune_minimum_length(nodes: Nodes, columns: Sequence[Column]) -> Nodes:
    """Replace subtrees by leaves where the whole message gets no longer; bottom-up, in one pass.

    Args:
        nodes: a classification tree; ``value`` holds class weights, which count as rows.
        columns: the d columns that could have been tested.
    """
    at, _ = _shorter(nodes.test, nodes.parent, leaf_bits(nodes), test_bits(nodes, columns))
    return cut(nodes, at)


def description_length(nodes: Nodes, columns: Sequence[Column]) -> float:
    """Bits of the whole message: all nodes and tests, and the exceptions of the leaves."""
    leaf = nodes.test == LEAF
    parts = np.where(leaf, leaf_bits(nodes), test_bits(nodes, columns))
    return float(parts.sum() + nodes.n_nodes)


def leaf_bits(nodes: Nodes) -> FloatArray:
    """Bits for the class and the exceptions of each node as a leaf, shape (N,)."""
    return _leaf_bits(nodes.value, nodes.weight, int(np.count_nonzero(nodes.value[0] > 0)))


def test_bits(nodes: Nodes, columns: Sequence[Column]) -> FloatArray:
    """Bits for the column and the test of each node, shape (N,); 0 for leaves."""
    feature = np.where(nodes.feature < len(columns), np.maximum(nodes.feature, 0), 0)
    n_levels = np.array([len(column.levels) for column in columns], dtype=np.float64)[feature]
    gaps = np.maximum(nodes.weight - 1.0, 1.0)
    gaps = np.where(n_levels > 0, np.minimum(gaps, np.maximum(n_levels - 1.0, 1.0)), gaps)
    bits = np.where(nodes.test == LEVELS, _level_bits(nodes, n_levels), np.log2(gaps))
    bits = np.where(nodes.test == INTERVALS, 0.0, bits)  # where they are cut is the column's, as levels are
    of_column = math.log2(max(len(columns), 1))
    bits = np.where(nodes.test == LEAF, 0.0, of_column + bits)
    for node in np.flatnonzero(nodes.feature >= len(columns)).tolist():
        test = nodes.combined.tests[nodes.feature[node] - len(columns)]
        bits[node] = combined_bits(test, columns, float(nodes.weight[node]))
    return bits


def combined_bits(test: CombinedTest, columns: Sequence[Column], weight: float) -> float:
    """Bits of a test of several values in a node of some weight.

    Of each term of a count: its column, its threshold or levels as a simple test's, and which way it goes; and
    how many terms must hold. Of each term of a sum: its column and the digits and sign of its weight; and where
    on the sum the threshold lies.
    """
    of_column, gaps = math.log2(max(len(columns), 1)), math.log2(max(weight - 1.0, 1.0))
    if test.is_sum:
        return len(test.terms) * (of_column + _WEIGHT_BITS) + gaps
    bits = math.log2(len(test.terms))
    for term in test.terms:
        levels = len(columns[term.feature].levels)
        places = math.log2(max(levels - 1, 1)) if levels else gaps
        listed = max(levels - 1, 0) if len(term.codes) > 1 else math.log2(max(levels, 1))
        bits += of_column + 1.0 + (listed if term.codes else min(places, gaps))
    return bits


def _level_bits(nodes: Nodes, n_levels: FloatArray) -> FloatArray:
    """Bits for which levels go where."""
    listed = np.maximum(nodes.level_count, 1).astype(np.float64)
    in_two_sets = (nodes.n_children == 2) & (nodes.level_count > 1)
    against_rest = (nodes.n_children == 2) & (nodes.level_count == 1)
    # log2(2^(L-1) - 1) without the power, which has no double for many levels
    sets = (listed - 1.0) + np.log2(np.maximum(-np.expm1(-(listed - 1.0) * _LN2), 0.5))
    one = np.log2(np.maximum(n_levels, 1.0))
    return np.where(in_two_sets, sets, np.where(against_rest, one, 0.0))


@kernel
def _leaf_bits(value: FloatArray, weight: FloatArray, n_classes: int) -> FloatArray:
    bits = np.zeros(weight.shape[0])
    for node in range(weight.shape[0]):
        n = weight[node]
        bits[node] = math.log2(max(n_classes, 1))
        if n <= 0.0:
            continue
        e = min(max(n - value[node].max(), 0.0), n)
        ways = (math.lgamma(n + 1.0) - math.lgamma(e + 1.0) - math.lgamma(n - e + 1.0)) / _LN2
        bits[node] += math.log2(n + 1.0) + ways + e * math.log2(max(n_classes - 1, 1))
    return bits


@kernel
def _shorter(
    test: Int8Array, parent: Int32Array, as_leaf: FloatArray, of_test: FloatArray
) -> tuple[BoolArray, FloatArray]:
    """Where a leaf is no longer than the pruned subtree, and the bits of each; children before parents."""
    at = np.zeros(test.shape[0], np.bool_)
    bits = np.zeros(test.shape[0])
    for node in range(test.shape[0] - 1, -1, -1):
        below = bits[node] + of_test[node]
        if test[node] == LEAF or as_leaf[node] <= below + _TIE:
            at[node] = True
            below = as_leaf[node]
        bits[node] = below + 1.0
        if parent[node] >= 0:
            bits[parent[node]] += bits[node]
    return at, bits
