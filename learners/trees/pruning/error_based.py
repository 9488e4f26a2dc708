"""Error-based pruning: C4.5's pessimistic estimate of a leaf's errors, and J48's collapse.

The source of the method is Quinlan, "C4.5: Programs for Machine Learning" (1993), chapter 4, in
the numerical form of Weka's J48 (``Stats.addErrs``), so that trees can be compared with J48's.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from learners._accel import inner_kernel, kernel
from learners.errors import ParameterError
from learners.trees.nodes import LEAF, Nodes
from learners.trees.pruning.compaction import cut
from learners.types import BoolArray, FloatArray, Int8Array, Int32Array

#: A subtree must be estimated to save more than this many errors to stay (J48's constant).
SLACK = 0.1
#: A subtree must save more than this many training errors not to collapse (J48's constant).
COLLAPSE_SLACK = 1e-3
#: Weights and errors nearer than this are equal, as in Weka's ``Utils.eq``.
SMALL = 1e-6


def added_errors(weight: float, errors: float, confidence: float) -> float:
    """How many more errors than the observed ones a leaf is expected to make on new rows.

    The upper limit, at the given confidence, of the binomial error rate after ``errors`` among
    ``weight`` cases, times ``weight``, less ``errors``. Exact for 0 errors, interpolated below 1,
    else the normal approximation with continuity correction.

    Args:
        weight: total weight of the leaf, > 0.
        errors: weight of the rows that are not of its class, 0 <= errors <= weight.
        confidence: in (0, 0.5]; smaller values expect more errors.
    """
    check_confidence(confidence)
    return float(errors_added(weight, errors, confidence, normal_quantile(confidence)))


def collapse(nodes: Nodes) -> Nodes:
    """Replace each subtree that makes no fewer training errors than its root as a leaf would.

    Trees grown by an impurity may hold such splits, since they lower the impurity and not the
    errors. J48 collapses them whether or not it prunes.
    """
    return cut(nodes, _collapsible(nodes.test, nodes.parent, nodes.weight, nodes.value))


def prune_error_based(nodes: Nodes, *, confidence: float = 0.25) -> Nodes:
    """Replace subtrees whose estimated errors are not lower than their root's as a leaf.

    Bottom-up in one pass. For subtree raising see :mod:`learners.trees.pruning.raising`.

    Args:
        nodes: a classification tree; ``value`` holds class weights.
        confidence: in (0, 0.5]; smaller values prune more.

    Raises:
        ParameterError: confidence out of its range.
    """
    check_confidence(confidence)
    at = _replaceable(nodes.test, nodes.parent, nodes.weight, nodes.value, confidence, normal_quantile(confidence))
    return cut(nodes, at)


def check_confidence(confidence: float) -> None:
    """Raise ``ParameterError`` unless 0 < confidence <= 0.5."""
    if not 0 < confidence <= 0.5:
        raise ParameterError(f"confidence must be > 0 and <= 0.5; it is {confidence}", field="confidence")


def normal_quantile(confidence: float) -> float:
    """The standard normal quantile that leaves this share above it, however small that is."""
    return -NormalDist().inv_cdf(confidence)  # 1 - confidence would round to 1


@kernel
def errors_added(weight: float, errors: float, confidence: float, quantile: float) -> float:
    """:func:`added_errors` with the normal quantile of its confidence given, for kernels."""
    if errors < 1:
        base = weight * (1 - math.pow(confidence, 1 / weight))
        if errors == 0:
            return base
        return base + errors * (_added_errors_normal(weight, 1.0, quantile) - base)
    return _added_errors_normal(weight, errors, quantile)


@inner_kernel
def _added_errors_normal(weight: float, errors: float, quantile: float) -> float:
    """The upper limit by the normal approximation; near ``errors == weight`` all cases are errors."""
    if errors + 0.5 >= weight:
        return max(weight - errors, 0.0)
    rate = (errors + 0.5) / weight
    square = quantile * quantile
    spread = quantile * math.sqrt(rate / weight - rate * rate / weight + square / (4 * weight * weight))
    upper = (rate + square / (2 * weight) + spread) / (1 + square / weight)
    return upper * weight - errors


@inner_kernel
def estimated_errors(weight: float, value: FloatArray, confidence: float, quantile: float) -> float:
    """Observed and added errors of a leaf with class weights ``value``; 0 for an empty one."""
    if weight < SMALL:
        return 0.0
    errors = max(weight - float(value.max()), 0.0)
    return errors + errors_added(weight, errors, confidence, quantile)


@kernel
def _replaceable(
    test: Int8Array, parent: Int32Array, weight: FloatArray, value: FloatArray, confidence: float, quantile: float
) -> BoolArray:
    """Where a leaf is estimated no worse than the pruned subtree; children before parents."""
    at = np.zeros(test.shape[0], dtype=np.bool_)
    below = np.zeros(test.shape[0])
    for node in range(test.shape[0] - 1, -1, -1):
        as_leaf = estimated_errors(weight[node], value[node], confidence, quantile)
        if test[node] == LEAF or as_leaf <= below[node] + SLACK + SMALL:
            at[node] = True
            below[node] = as_leaf
        if parent[node] >= 0:
            below[parent[node]] += below[node]
    return at


@kernel
def _collapsible(test: Int8Array, parent: Int32Array, weight: FloatArray, value: FloatArray) -> BoolArray:
    """Where the leaves below make no fewer errors in training than the node itself."""
    at = np.zeros(test.shape[0], dtype=np.bool_)
    below = np.zeros(test.shape[0])
    for node in range(test.shape[0] - 1, -1, -1):
        errors = max(weight[node] - float(value[node].max()), 0.0) if weight[node] >= SMALL else 0.0
        if test[node] == LEAF:
            below[node] = errors
        at[node] = below[node] >= errors - COLLAPSE_SLACK
        if parent[node] >= 0:
            below[parent[node]] += below[node]
    return at
