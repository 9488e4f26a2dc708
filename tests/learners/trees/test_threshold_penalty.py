"""C4.5 Release 8's correction of numeric gains: Quinlan's effect (JAIR 4, 1996), and what it is by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from learners.catalog import make
from learners.evaluation import cross_validate
from learners.table import Table
from learners.trees.classifier import DecisionTreeClassifier
from tests.learners.tables import read
from tests.learners.trees.trees import classes

LEARNER = "decision-tree-classifier"


def test_trees_on_numeric_data_become_smaller_at_no_loss():
    """Leaves of the tree on all rows, and errors by stratified 10-fold cross-validation, over four data sets."""
    leaves, errors, n_rows = [0, 0], [0.0, 0.0], 0
    for name, target in (("glass", "Type"), ("pima", "class"), ("sonar", "Class"), ("vehicle", "Class")):
        table, labels = read(name, target)
        n_rows += len(table)
        for at, penalty in enumerate((False, True)):
            learner = make(LEARNER, {"preset": "c45", "threshold_penalty": penalty})
            leaves[at] += len(make(LEARNER, learner.get_params()).fit(table, labels).tree_.leaves())
            shares = cross_validate(learner, table, labels, seed=1).summary["metrics"]["accuracy"]
            errors[at] += len(table) * (1 - shares["mean"])
    assert leaves[1] < 0.95 * leaves[0]
    share = errors[0] / n_rows
    assert errors[1] / n_rows < share + math.sqrt(share * (1 - share) / n_rows)


@pytest.mark.parametrize("n_values", [4, 8, 16])
def test_a_numeric_gain_loses_the_bits_that_name_one_of_its_thresholds(n_values):
    """Two classes divided in the middle of n values: a gain of 1 bit less log2(candidates) / n."""
    column = np.arange(n_values, dtype=float)
    labels = classes(*"a" * (n_values // 2), *"b" * (n_values // 2))
    params = {"criterion": "entropy", "threshold_penalty": True}
    tree = DecisionTreeClassifier(**params).fit(Table.from_array(column[:, None]), labels).tree_
    assert tree.gain[0] == pytest.approx(1 - math.log2(n_values - 1) / n_values, abs=1e-12)
    assert tree.threshold[0] == (n_values - 1) / 2


def test_a_gain_that_does_not_pay_for_its_threshold_is_none():
    """One among sixteen: the best cut gains 0.0931 bits, and to name one of fifteen costs log2(15) / 16 = 0.2442."""
    table = Table.from_array(np.arange(16, dtype=float)[:, None])
    labels = classes(*"aaaaaaabaaaaaaaa")
    plain, dear = (
        DecisionTreeClassifier(criterion="entropy", threshold_penalty=penalty).fit(table, labels)
        for penalty in (False, True)
    )
    assert plain.tree_.n_nodes > 1
    assert dear.tree_.n_nodes == 1
