"""What may not change a tree: order of rows, names, copies, constants, scale, threads."""

import numpy as np
import pytest

from learners.table import Column, Series, Table
from learners.trees import build
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.tables import read
from tests.learners.trees.trees import classes, same_tree

VARIANTS = [
    {},
    {"criterion": "entropy", "nominal": "multiway"},
    {"criterion": "gain-ratio", "nominal": "one-vs-rest", "min_leaf": 2},
]


@pytest.fixture(scope="module")
def credit():
    """Numeric and nominal columns, missing cells."""
    return read("credit-a", "class")


@pytest.mark.parametrize("params", VARIANTS)
def test_row_order(credit, params):
    """Rows with missing values are divided, and sums of fractions round by order: so up to that."""
    table, labels = credit
    order = np.random.default_rng(0).permutation(len(table))
    one = DecisionTreeClassifier(**params).fit(table, labels)
    other = DecisionTreeClassifier(**params).fit(table.take(order), labels.take(order))
    for name in ("feature", "threshold", "test", "rows", "level_codes", "level_branch"):
        assert np.array_equal(getattr(one.tree_, name), getattr(other.tree_, name), equal_nan=name == "threshold")
    assert np.allclose(one.tree_.value, other.tree_.value, atol=1e-9)


def test_row_order_to_the_bit_where_nothing_is_missing():
    table, labels = read("credit-g", "class")
    order = np.random.default_rng(1).permutation(len(table))
    one = DecisionTreeClassifier().fit(table, labels)
    assert same_tree(one, DecisionTreeClassifier().fit(table.take(order), labels.take(order)))


def test_column_order_without_ties():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 5))
    y = (X @ [3, -2, 1, 0, 0] + rng.normal(size=2000) > 0).astype(int)
    order = np.array([3, 1, 4, 0, 2])
    one = DecisionTreeClassifier(min_leaf=100).fit(X, y)
    other = DecisionTreeClassifier(min_leaf=100).fit(X[:, order], y)
    inner = one.tree_.feature >= 0
    assert np.array_equal(one.tree_.feature[inner], order[other.tree_.feature[inner]])
    assert same_tree(one, other, apart=("feature",))


def test_of_equal_columns_the_first_is_taken():
    X = np.random.default_rng(3).normal(size=(100, 1))
    y = (X[:, 0] > 0.2).astype(int)
    for _ in range(3):
        assert DecisionTreeClassifier().fit(np.hstack([X, X, X]), y).tree_.feature[0] == 0


def test_of_equal_thresholds_the_lowest_is_taken():
    table = Table.from_array(np.arange(5.0).reshape(-1, 1))
    assert DecisionTreeClassifier().fit(table, classes(*"abbba")).tree_.threshold[0] == 0.5


def test_names_of_columns_and_classes(credit):
    table, labels = credit
    renamed = Table(
        tuple(Column(f"other {i}", c.kind, c.levels, c.level_type) for i, c in enumerate(table.columns)), table.values
    )
    swapped = Column("y", labels.column.kind, ("negative", "positive"))
    one = DecisionTreeClassifier().fit(table, labels)
    other = DecisionTreeClassifier().fit(renamed, Series(swapped, 1 - labels.cells))
    assert np.allclose(one.tree_.value, other.tree_.value[:, ::-1], atol=1e-9)
    assert same_tree(one, other, apart=("value", "gain", "impurity", "fraction", "weight"))


def test_a_constant_or_wholly_missing_column_changes_nothing(credit):
    table, labels = credit
    n = len(table)
    more = Table(
        (*table.columns, Column("constant"), Column("void")),
        np.asfortranarray(np.column_stack([table.values, np.full(n, 7.0), np.full(n, np.nan)])),
    )
    assert same_tree(DecisionTreeClassifier().fit(table, labels), DecisionTreeClassifier().fit(more, labels))


def test_scale_and_shift():
    X = np.random.default_rng(4).integers(-50, 50, size=(400, 4)).astype(float)
    y = np.random.default_rng(5).integers(0, 3, 400)
    one, other = DecisionTreeClassifier().fit(X, y), DecisionTreeClassifier().fit(2 * X + 1, y)
    assert same_tree(one, other, apart=("threshold",))
    assert np.array_equal(2 * one.tree_.threshold + 1, other.tree_.threshold, equal_nan=True)


@pytest.mark.parametrize("params", VARIANTS)
def test_weight_two_is_twice_and_weight_zero_is_absent(params):
    table, labels = read("credit-g", "class")
    rng = np.random.default_rng(6)
    weight = rng.integers(0, 3, len(table)).astype(float)
    repeated = np.repeat(np.arange(len(table)), weight.astype(int))
    one = DecisionTreeClassifier(**params).fit(table, labels, weight)
    other = DecisionTreeClassifier(**params).fit(table.take(repeated), labels.take(repeated))
    assert same_tree(one, other, apart=("rows", "gain", "impurity"))
    assert np.allclose(one.tree_.gain, other.tree_.gain, atol=1e-12)


def test_weight_two_is_twice_for_regression():
    table, labels = read("machine-cpu", "class")
    target = Series(Column("y"), np.array([float(x) for x in labels.column.levels])[labels.cells.astype(int)])
    weight = np.random.default_rng(7).integers(0, 4, len(table)).astype(float)
    repeated = np.repeat(np.arange(len(table)), weight.astype(int))
    one = DecisionTreeRegressor(min_leaf=4).fit(table, target, weight)
    other = DecisionTreeRegressor(min_leaf=4).fit(table.take(repeated), target.take(repeated))
    assert np.allclose(one.predict(table), other.predict(table))


def test_class_weights_are_row_weights():
    table, labels = read("credit-g", "class")
    factors = {"good": 1.0, "bad": 5.0}
    weight = np.array([factors[level] for level in labels.column.levels])[labels.cells.astype(int)]
    assert same_tree(
        DecisionTreeClassifier(class_weight={"bad": 5}, max_depth=4).fit(table, labels),
        DecisionTreeClassifier(max_depth=4).fit(table, labels, weight),
    )


def test_weights_that_sum_to_one_do_not_stop_growth():
    table, labels = read("credit-g", "class")
    weight = np.random.default_rng(8).random(len(table))
    model = DecisionTreeClassifier().fit(table, labels, weight / weight.sum())
    assert model.score(table, labels) == 1


@pytest.mark.parametrize("missing", [False, True])
def test_threads_and_best_first_give_the_same_tree(missing, monkeypatch):
    monkeypatch.setattr(build, "LEAST_CELLS_FOR_THREADS", 0)
    rng = np.random.default_rng(9)
    X = rng.normal(size=(12000, 5))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=12000) > 0).astype(int)
    X[:, 1] = np.round(X[:, 1], 1)  # few values: this column has codes
    if missing:
        X[rng.random(X.shape) < 0.02] = np.nan
    params = {"min_leaf": 20}
    one = DecisionTreeClassifier(**params).fit(X, y)
    for threads in (2, 3):
        assert same_tree(one, DecisionTreeClassifier(**params, threads=threads).fit(X, y))
    assert same_tree(one, DecisionTreeClassifier(**params, max_leaves=10**6).fit(X, y))
