"""A linear model to each node of a grown tree, from the variables that are tested beneath it.

A leaf's model is its mean. An inner node takes the variables that the tests in its subtree ask for (M5), those
first that lower the impurity most there, and no more than a given number; see
:mod:`learners.trees.model_tree.terms` for the fit. A row that missing values have divided counts in each
node with its share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from learners.base import Progress
from learners.trees.leaves import reading_order
from learners.trees.model_tree.terms import fit_nodes
from learners.trees.model_tree.variables import Variables
from learners.trees.nodes import Nodes
from learners.types import Array, FloatArray, IntArray

#: Errors nearer than this share of the target's deviation are equal.
TIE = 1e-9
#: Nodes that are fitted between two reports.
_NODES_AT_ONCE = 500


@dataclass(frozen=True, eq=False)
class NodeModels:
    """The linear model of each of N nodes.

    Attributes:
        intercept: float64 (N,).
        first: int64 (N + 1,), where each node's terms begin.
        variable, coefficient: int64 and float64 (T,), the terms; variables ascend within a node.
        error: float64 (N,), mean absolute residual.
        rows: float64 (N,), how many rows the node has: each counts as its weight, or 1 if that is more, times the
            share of it that comes here.
        slack: errors nearer than this are equal.
    """

    intercept: FloatArray
    first: IntArray
    variable: IntArray
    coefficient: FloatArray
    error: FloatArray
    rows: FloatArray
    slack: float

    @property
    def parameters(self) -> IntArray:
        """Terms and intercept of each node, shape (N,)."""
        return np.diff(self.first) + 1

    def terms(self, node: int) -> list[tuple[int, float]]:
        """A node's variables and their coefficients."""
        span = slice(int(self.first[node]), int(self.first[node + 1]))
        return list(zip(self.variable[span].tolist(), self.coefficient[span].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Placed:
    """Which share of which training row lies in which node: one entry after the other, as the tree is read.

    Attributes:
        rows, weights: row and its weight times share, shape (entries,).
        counts: the share times the weight, or 1 if that is more.
        starts, ends: the entries of each node, shape (N,).
    """

    rows: IntArray
    weights: FloatArray
    counts: FloatArray
    starts: IntArray
    ends: IntArray

    @classmethod
    def of(cls, nodes: Nodes, leaves: Array, rows: IntArray, shares: FloatArray, weights: FloatArray) -> Placed:
        """From the entries of the leaves, in any order."""
        reading, last = reading_order(nodes.first_child, nodes.n_children, nodes.parent)
        order = np.lexsort((rows, reading[leaves]))
        rows, shares, place = rows[order], shares[order], reading[leaves][order]
        starts, ends = np.searchsorted(place, reading), np.searchsorted(place, last)
        return cls(rows, shares * weights[rows], shares * np.maximum(weights[rows], 1.0), starts, ends)

    def at(self, node: int) -> slice:
        """The entries of a node."""
        return slice(int(self.starts[node]), int(self.ends[node]))

    def sums(self, numbers: FloatArray) -> FloatArray:
        """The sum of a number of each entry over each node, shape (N,)."""
        running = np.concatenate(([0.0], np.cumsum(numbers)))
        sums: FloatArray = running[self.ends] - running[self.starts]
        return sums


def fit_models(
    nodes: Nodes,
    placed: Placed,
    cells: FloatArray,
    target: FloatArray,
    variables: Variables,
    of_node: IntArray,
    *,
    max_terms: int,
    progress: Progress,
) -> NodeModels:
    """Fit every node.

    Args:
        nodes: the grown tree.
        placed: its training rows.
        cells: the table's cells by column, shape (d, n).
        target: shape (n,).
        variables, of_node: see :func:`learners.trees.model_tree.variables.variables_of`.
        max_terms: most candidates of a node.
        progress: told how far the work is.
    """
    slack = TIE * float(np.sqrt(max(nodes.value[0, 1], 0.0)))
    intercept = nodes.value[:, 0].copy()
    rows = placed.sums(placed.counts)
    error = _deviations(nodes, placed, target)
    counts = np.zeros(nodes.n_nodes, dtype=np.int64)
    found: list[tuple[IntArray, FloatArray]] = []
    inner = int(np.count_nonzero(of_node >= 0))
    done = 0
    waiting = _candidates(nodes, of_node, max_terms)
    while some := list(islice(waiting, _NODES_AT_ONCE)):
        own = np.array([node for node, _ in some])
        first = np.cumsum([0, *(len(candidates) for _, candidates in some)])
        candidates = np.array([one for _, listed in some for one in listed], dtype=np.int64)
        intercept[own], error[own], coefficients, kept = fit_nodes(
            first,
            candidates,
            placed.starts[own],
            placed.ends[own],
            rows[own],
            placed.rows,
            placed.weights,
            target,
            cells,
            variables.column,
            variables.start,
            variables.levels,
            slack,
        )
        order = np.lexsort((candidates, np.repeat(np.arange(len(some)), np.diff(first))))
        order = order[kept[order]]
        counts[own] = np.diff(np.concatenate(([0], np.cumsum(kept)))[first])
        found.append((candidates[order], coefficients[order]))
        done += len(some)
        progress(0.5 + 0.4 * done / inner, f"{done} linear models fitted")
    return NodeModels(intercept, *_by_node(counts, np.flatnonzero(of_node >= 0)[::-1], found), error, rows, slack)


def _by_node(
    counts: IntArray, fitted: IntArray, found: list[tuple[IntArray, FloatArray]]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Terms that were found node after node in some order, in the order of the nodes, and where each begins."""
    first = np.concatenate(([0], np.cumsum(counts)))
    variable = np.concatenate([np.zeros(0, np.int64), *(variables for variables, _ in found)])
    coefficient = np.concatenate([np.zeros(0), *(coefficients for _, coefficients in found)])
    order = np.argsort(np.repeat(fitted, counts[fitted]), kind="stable")
    return first, variable[order], coefficient[order]


def _deviations(nodes: Nodes, placed: Placed, target: FloatArray) -> FloatArray:
    """Mean absolute deviation of each leaf from its mean; 0 of other nodes."""
    error = np.zeros(nodes.n_nodes)
    leaves = nodes.leaves()
    leaves = leaves[placed.ends[leaves] > placed.starts[leaves]]
    leaves = leaves[np.argsort(placed.starts[leaves])]  # their entries follow each other
    counts = placed.ends[leaves] - placed.starts[leaves]
    rests = np.abs(target[placed.rows] - np.repeat(nodes.value[leaves, 0], counts))
    weights = np.add.reduceat(placed.weights, placed.starts[leaves])
    error[leaves] = np.add.reduceat(placed.weights / np.repeat(weights, counts) * rests, placed.starts[leaves])
    return error


def _candidates(nodes: Nodes, of_node: IntArray, max_terms: int) -> Iterator[tuple[int, list[int]]]:
    """Inner nodes, children before parents, with the variables that are tested in their subtree, the best first."""
    below: dict[int, dict[int, float]] = {}
    decrease = (nodes.weight * nodes.gain).tolist()
    for node in range(nodes.n_nodes - 1, -1, -1):
        variable = int(of_node[node])
        if variable < 0:
            continue
        parts = [below.pop(child) for child in nodes.children(node) if child in below]
        parts.sort(key=len)
        sums = parts.pop() if parts else {}
        for part in parts:  # the smaller into the larger
            for one, amount in part.items():
                sums[one] = sums.get(one, 0.0) + amount
        sums[variable] = sums.get(variable, 0.0) + decrease[node]
        below[node] = sums
        yield node, sorted(sums, key=lambda one: (-sums[one], one))[:max_terms]
