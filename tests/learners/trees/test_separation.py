"""A threshold really separates its neighbours, however close, large or small they are."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners._accel import interpreted
from learners.table import Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.nodes import LEAF
from learners.trees.splitters.midpoint import midpoint
from tests.learners.tables import read_file
from tests.shared import trap_path

DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
AWKWARD = [
    *(0.0, -0.0, 5e-324, 1e-323, -5e-324, 2.2250738585072014e-308, 1e300, -1e300, 1.7e308, -1.7e308),
    *(1.0, math.nextafter(1.0, 2), math.nextafter(1.0, 0), 0.1, 0.2, 0.3, 0.30000000000000004),
    *(16777216.0, 16777217.0, 1e-7, 2.0**53, 2.0**53 + 2),
]


@given(DOUBLES, DOUBLES)
def test_midpoint_lies_between(one, other):
    if one == other:
        return
    lower, upper = min(one, other), max(one, other)
    assert lower <= interpreted(midpoint)(lower, upper) < upper


def test_midpoint_falls_back_to_the_lower_neighbour():
    above = math.nextafter(1.0, 2)
    assert interpreted(midpoint)(1.0, above) == 1.0
    assert interpreted(midpoint)(above, math.nextafter(above, 2)) == above
    assert interpreted(midpoint)(-1.7e308, 1.7e308) == 0
    assert interpreted(midpoint)(3.0, 4.0) == 3.5


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(AWKWARD) | DOUBLES, min_size=2, max_size=25), st.integers(0, 2**32 - 1))
def test_every_training_row_lies_in_the_leaf_that_its_prediction_reaches(values, seed):
    """Distinct values with any labels are told apart, so each row's leaf is pure and holds just its rows."""
    y = np.random.default_rng(seed).integers(0, 3, len(values))
    table = Table.from_array(np.array(values).reshape(-1, 1))
    model = DecisionTreeClassifier().fit(table, y)
    leaves, counts = np.unique(model.apply(table), return_counts=True)
    assert np.array_equal(leaves, model.tree_.leaves())
    assert np.array_equal(counts, model.tree_.rows[leaves])
    for value in set(values):
        own = y[[one == value for one in values]]
        if len(set(own)) == 1:
            cell = Table.from_array(np.array([[value]]))
            assert model.predict(cell)[0] == own[0]


@pytest.mark.parametrize(
    ("name", "leaves"),
    [("threshold_ties", 2), ("close_floats", 5), ("big_values", 3), ("tiny_scale", None), ("alternating", 4000)],
)
def test_trap_files_are_learned_exactly(name, leaves):
    table, labels = read_file(trap_path(f"{name}.csv"), "y")
    model = DecisionTreeClassifier().fit(table, labels)
    assert model.score(table, labels) == 1
    assert leaves is None or model.n_leaves_ == leaves
    inner = model.tree_.test != LEAF
    assert np.isfinite(model.tree_.threshold[inner]).all()
    again = DecisionTreeClassifier.from_state(model.get_state())
    assert np.array_equal(again.apply(table), model.apply(table))


def test_a_deep_tree_is_grown_explained_and_kept_without_recursion():
    rows = 4000
    table = Table.from_array(np.arange(rows, dtype=float).reshape(-1, 1))
    y = np.arange(rows) % 2
    model = DecisionTreeClassifier().fit(table, y)
    assert model.get_depth() >= 2000
    deepest = int(np.argmax(model.tree_.depth))
    row = np.flatnonzero(model.apply(table) == deepest)
    steps = model.explain(table.take(row))[0].branches[0].steps
    assert len(steps) == model.get_depth()


def test_integer_columns_keep_fractional_thresholds():
    table = Table.from_array(np.array([[1.0], [2], [3], [4]]))
    model = DecisionTreeClassifier().fit(table, ["a", "a", "a", "b"])
    assert model.tree_.threshold[0] == 3.5


def test_rows_on_and_beside_a_threshold_take_the_side_that_the_test_says():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = DecisionTreeClassifier().fit(X, rng.integers(0, 2, 300))
    nodes = model.tree_
    for node in np.flatnonzero(nodes.test != LEAF)[:40]:
        threshold, feature = nodes.threshold[node], nodes.feature[node]
        for cell, branch in (
            (threshold, 0),
            (np.nextafter(threshold, np.inf), 1),
            (np.nextafter(threshold, -np.inf), 0),
        ):
            row = X[:1].copy()
            row[0, feature] = cell
            steps = model.explain(row)[0].branches[0].steps
            for step in steps:
                if step.node == node:
                    assert step.child == nodes.first_child[node] + branch
