import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.catalog import dump_model, load_model
from learners.persist import load
from learners.rules import rules_of
from learners.table import Series
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.leaves import range_medians
from learners.trees.regressor import DecisionTreeRegressor
from service.operations.explanation.tree import tree_json
from service.operations.identity import Identity
from service.operations.served import ServedModel
from tests.learners.tables import read
from tests.learners.trees.trees import classes, grown_on, nominal


def three_leaves(**params):
    """Leaves of 3 yes; 1 yes and 2 no; 2 no; and a class 'never' without rows."""
    table = grown_on(nominal("x", list("aaabbbcc")))
    target = classes("yes", "yes", "yes", "yes", "no", "no", "no", "no")
    column = type(target.column)("y", target.column.kind, ("never", "no", "yes"))
    codes = np.array([column.encode(label) for label in ["yes"] * 4 + ["no"] * 4])
    return DecisionTreeClassifier(nominal="multiway", **params).fit(table, Series(column, codes)), table


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, [[0, 0, 1], [0, 2 / 3, 1 / 3], [0, 1, 0]]),
        ({"leaf_estimate": "laplace"}, [[1 / 6, 1 / 6, 4 / 6], [1 / 6, 3 / 6, 2 / 6], [1 / 5, 3 / 5, 1 / 5]]),
        ({"leaf_estimate": "m-estimate"}, [[0, 1 / 5, 4 / 5], [0, 3 / 5, 2 / 5], [0, 3 / 4, 1 / 4]]),
        ({"leaf_estimate": "m-estimate", "m": 8}, [[0, 4 / 11, 7 / 11], [0, 6 / 11, 5 / 11], [0, 6 / 10, 4 / 10]]),
    ],
)
def test_closed_forms(params, expected):
    model, table = three_leaves(**params)
    np.testing.assert_allclose(model.predict_proba(table.take(np.array([0, 3, 6]))), expected, rtol=1e-15)
    assert model.tree_.weight[model.tree_.leaves()].tolist() == [3, 3, 2]


def test_the_m_estimate_nears_the_training_shares_and_the_raw_ones():
    whole = three_leaves(leaf_estimate="m-estimate", m=1e12)[0]
    np.testing.assert_allclose(whole.tree_.shares(), np.tile([0, 0.5, 0.5], (4, 1)), atol=1e-11)
    raw = three_leaves(leaf_estimate="m-estimate", m=1e-12)[0]
    np.testing.assert_allclose(raw.tree_.shares(), three_leaves()[0].tree_.shares(), atol=1e-11)


def test_a_branch_without_rows_answers_as_its_parent():
    table = grown_on(nominal("x", list("aabb"), levels="abc"))
    model = DecisionTreeClassifier(nominal="multiway", leaf_estimate="laplace").fit(table, classes(*"yyny"))
    asked = grown_on(nominal("x", ["c"], levels="abc"))
    np.testing.assert_allclose(model.predict_proba(asked), [[2 / 6, 4 / 6]])


@pytest.mark.parametrize("estimate", ["raw", "laplace", "m-estimate"])
@pytest.mark.parametrize("utility", [None, {"democrat": {"republican": -3.7}, "republican": {"democrat": -1}}])
def test_every_reader_shows_the_same_numbers(estimate, utility):
    """Prediction, explanation, rules, the served answer and the tree as JSON, to the bit."""
    table, target = read("vote", "Class")
    model = DecisionTreeClassifier(
        leaf_estimate=estimate, utility=utility, min_leaf=6, criterion="gain-ratio", nominal="multiway"
    ).fit(table, target)
    shares, labels = model.predict_proba(table), model.predict(table)
    copy = load_model(load(dump_model(model)))
    np.testing.assert_array_equal(copy.predict_proba(table), shares)
    np.testing.assert_array_equal(copy.predict(table), labels)
    explained = model.explain(table)
    served = ServedModel(model, Identity("w", "votes", 1, "classification"))
    drawn = {node["id"]: node for node in tree_json(served)["nodes"]}
    rules = {rule.leaf: rule for rule in rules_of(model).rules}
    fragments = served.answers(table.values)
    for row, explanation in enumerate(explained):
        replayed = np.zeros(2)
        for branch in explanation.branches:
            own = np.array([share for _, share in branch.distribution])
            replayed += branch.weight * own
            assert [one["share"] for one in drawn[branch.leaf]["distribution"]] == own.tolist()
            assert rules[branch.leaf].distribution == tuple(own.tolist())
            assert rules[branch.leaf].answer == drawn[branch.leaf]["label"]
        np.testing.assert_array_equal(replayed, shares[row])
        if len(explanation.branches) == 1:
            assert drawn[explanation.branches[0].leaf]["label"] == labels[row]
        assert f'"label":"{labels[row]}"'.encode() in fragments[row]
    np.testing.assert_array_equal(rules_of(model).predict(table), labels)


def weighted_median(numbers, weights):
    """The definition, value by value."""
    order = np.argsort(numbers)
    numbers, sums = numbers[order], np.cumsum(weights[order])
    low = numbers[np.flatnonzero(sums >= sums[-1] / 2)[0]]
    high = numbers[np.flatnonzero(sums > sums[-1] / 2)[0]]
    return (low + high) / 2


@given(seed=st.integers(0, 10**6))
@settings(deadline=None)
def test_medians_of_ranges(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 40))
    numbers = rng.integers(-5, 6, count) / 2
    weights = rng.integers(1, 4, count).astype(float)
    ends = np.sort(rng.integers(0, count + 1, (30, 2)), axis=1)
    found = range_medians(numbers, weights, ends[:, 0], ends[:, 1])
    for (start, end), median in zip(ends.tolist(), found.tolist(), strict=True):
        own = slice(start, end)
        assert median == (weighted_median(numbers[own], weights[own]) if end > start else 0.0)


def test_leaves_hold_the_medians_of_their_rows():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(401, 3))
    y = np.exp(X[:, 0] * 2) + rng.normal(size=401)
    model = DecisionTreeRegressor(leaf="median", min_leaf=20).fit(X, y)
    means = DecisionTreeRegressor(min_leaf=20).fit(X, y)
    leaves = model.apply(X)
    for leaf in np.unique(leaves):
        assert model.predict(X[leaves == leaf])[0] == np.median(y[leaves == leaf])
    np.testing.assert_array_equal(model.tree_.threshold, means.tree_.threshold)
    np.testing.assert_array_equal(model.tree_.value[:, 1], means.tree_.value[:, 1])
    assert model.tree_.value[0, 0] == np.median(y)
    assert np.abs(y - model.predict(X)).sum() < np.abs(y - means.predict(X)).sum()


def test_half_on_either_side_is_the_middle_and_weights_are_counts():
    X, y = np.zeros((4, 1)), np.array([9.0, 1.0, 5.0, 2.0])
    assert DecisionTreeRegressor(leaf="median").fit(X, y).predict([[0.0]]) == [3.5]
    assert DecisionTreeRegressor(leaf="median").fit(X, y, [1, 3, 1, 1]).predict([[0.0]]) == [1.5]
    assert DecisionTreeRegressor(leaf="median").fit(X, y, [0, 1, 1, 1]).predict([[0.0]]) == [2.0]


def test_divided_rows_count_with_their_shares():
    """A row without x lies in both leaves, by three quarters and one quarter."""
    X = np.array([[0.0], [0.0], [0.0], [1.0], [np.nan]])
    y = np.array([0.0, 0.0, 0.0, 10.0, 4.0])
    model = DecisionTreeRegressor(leaf="median", max_depth=1).fit(X, y)
    assert model.predict([[0.0], [1.0]]).tolist() == [0.0, 10.0]
    assert model.tree_.value[0, 0] == 0.0
    explained = model.explain([[np.nan]])[0]
    assert [(branch.weight, branch.value) for branch in explained.branches] == [(0.75, 0.0), (0.25, 10.0)]
    assert model.predict([[np.nan]]).tolist() == [2.5]


def test_four_thousand_levels_of_medians():
    X = np.arange(4001, dtype=float)[:, None]
    y = 2.0 ** (np.arange(4001) / 16)
    model = DecisionTreeRegressor(leaf="median").fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.tree_.value[0, 0] == y[2000]
