"""How long the reasons of rows will be, told before the first is written.

A limit that showed itself only in the middle of an answer would break off what is being sent already, and
come after all the work. Which leaves a row reaches is told by the walk that predicts, for many rows at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from learners._accel import uncompiled
from learners.base import Learner
from learners.ensembles.fitted import FittedEnsemble
from learners.linear.fitted import FittedLinear
from learners.neighbors.estimator import NeighborsEstimator
from learners.neural.attributing import NODES
from learners.neural.fitted import LEAST_PARTS, FittedNetwork
from learners.neural.recurrent.estimator import StepwiseEstimator
from learners.neural.recurrent.inputs import row_steps
from learners.rules.fitted import FittedRules
from learners.table import Column, Table
from learners.trees.estimator import FittedTree
from learners.trees.model_tree.fitted import FittedModelTree
from learners.trees.paths import MAX_TESTS
from learners.types import FloatArray, IntArray
from service.errors import Fault, TooLarge
from service.operations.rows import Encoded
from service.operations.served import ServedModel
from service.operations.step_limits import most_explained_steps, step_tests

#: Products of a network that take as long as a test: some microseconds.
_PRODUCTS_A_TEST = 4_000
#: Rows at a time, and leaves that these may reach together.
_ROWS, _LEAVES = 10_000, 1_000_000


def check_reasons(model: ServedModel, batches: Iterable[Encoded], most: int) -> None:
    """Refuse rows whose reasons go through more than so many tests together.

    Args:
        model: which answers.
        batches: all rows; those with a fault have no reason.
        most: the limit.

    Raises:
        TooLarge: names the limit, and how many of the rows reach it.
    """
    n_tests = n_rows = 0
    for encoded in batches:
        for sizes in reason_sizes(model.learner, encoded.answered, encoded.columns):
            totals = n_tests + np.cumsum(sizes)
            over = int(np.searchsorted(totals, most, side="right"))
            if over < len(sizes):
                raise _too_many(model.learner, most, n_rows + over, int(sizes[over]))
            n_tests, n_rows = n_tests + int(sizes.sum()), n_rows + len(sizes)


def _too_many(learner: Learner, most: int, n_fitting: int, of_next: int) -> TooLarge:
    """The error of rows of which the first stay below the limit, and of the tests of the next one."""
    if n_fitting:
        beyond = f"These go through more: the first {n_fitting} rows stay below it, so send fewer rows at once"
    else:
        beyond = f"That of the first row alone goes through {of_next}"
    if isinstance(learner, StepwiseEstimator):
        beyond += (
            f". Of this network the explanation of a row of {most_explained_steps(learner, most)} steps fits alone"
        )
    return TooLarge(
        f"The explanations of one request go through at most {most} tests together. {beyond}",
        [Fault("too many tests to explain", parameter="explain", allowed=most)],
    )


def reason_sizes(learner: Learner, values: FloatArray, columns: tuple[Column, ...] | None = None) -> Iterator[IntArray]:
    """Of some rows at a time, the number of tests that the reason of each goes through.

    In a tree these are the tests on all branches that are told, in a model tree the terms of their functions too;
    in a rule set the conditions of the rule that answers and one of each rule before it; in a linear model or a
    network the contributions, and by steps the work at its most; by neighbours the most rows and columns that may
    be told; in an ensemble the votes, and the tests of the members that are told, or these members' own
    reasons. Of a row that one tree divides among so many branches that not all are told, the number is the most that
    can be.

    Args:
        learner: fitted.
        values: shape (n, d), coded as in :mod:`learners.table`.
        columns: by which they are coded, if not the learner's own.
    """
    sizes = _branch_sizes(learner) if isinstance(learner, FittedTree) else None
    for first in range(0, len(values), _ROWS):
        part = np.asfortranarray(values[first : first + _ROWS])
        if isinstance(learner, FittedTree) and sizes is not None:
            yield from _of_tree(learner, sizes, part)
        elif isinstance(learner, FittedRules):
            with uncompiled():
                fired = learner.apply(Table(learner.columns_, part))
            yield fired.astype(np.int64) + np.diff(learner.ordered_rules_.start)[fired]
        elif isinstance(learner, FittedEnsemble):
            yield from _of_ensemble(learner, part)
        elif isinstance(learner, NeighborsEstimator):
            yield learner.reason_sizes(len(part))
        elif isinstance(learner, FittedLinear):
            functions = learner.functions_
            yield np.full(len(part), len(functions.parts) * len(functions.intercepts), np.int64)
        elif isinstance(learner, StepwiseEstimator):
            yield step_tests(learner, row_steps(Table(columns or learner.columns_, part)).tolist())
        elif isinstance(learner, FittedNetwork):
            yield np.full(len(part), _of_network(learner), np.int64)
        else:
            yield np.zeros(len(part), np.int64)


def _of_network(learner: FittedNetwork) -> int:
    """Its contributions, and its weights at the points of the way that are always looked at."""
    products = learner.outputs_.n_outputs * LEAST_PARTS * NODES * learner.n_weights
    return learner.reason_size + products // _PRODUCTS_A_TEST


def _branch_sizes(learner: FittedTree) -> IntArray:
    """By node, the tests from the root to it, with the terms of its function in a model tree."""
    depths = learner.tree_.depth.astype(np.int64)
    return depths + np.diff(learner.linear_.first) if isinstance(learner, FittedModelTree) else depths


def _of_tree(learner: FittedTree, sizes: IntArray, values: FloatArray) -> Iterator[IntArray]:
    tree = learner.packed_tree_
    cells = values.T
    with uncompiled():
        leaves, divided = tree.descended(cells)
    found = sizes[leaves]
    most = max(MAX_TESTS, int(sizes.max()))
    at_once = max(1, _LEAVES // learner.tree_.n_nodes)
    done = 0
    for first in range(0, len(divided), at_once):
        rows = divided[first : first + at_once]
        with uncompiled():
            reached, owners, _ = tree.placed(cells, rows)
        together = np.bincount(np.searchsorted(rows, owners), weights=sizes[reached], minlength=len(rows))
        found[rows] = np.minimum(together.astype(np.int64), most)
        yield found[done : rows[-1] + 1]
        done = int(rows[-1]) + 1
    yield found[done:]


def _of_ensemble(learner: FittedEnsemble, values: FloatArray) -> Iterator[IntArray]:
    counted = learner.reason_sizes(values, reason_sizes)
    while True:
        with uncompiled():
            sizes = next(counted, None)
        if sizes is None:
            return
        yield sizes
