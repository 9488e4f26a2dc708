"""Stop rules, parameters, progress and cancelling."""

import numpy as np
import pytest

from learners.errors import Cancelled, DataError, ParameterError
from learners.table import Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.nodes import LEAF
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.tables import read
from tests.learners.trees.trees import classes, grown_on, nominal, numbers


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(0)
    return rng.normal(size=(500, 4)), rng.integers(0, 3, 500)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_depth(noisy, depth):
    assert DecisionTreeClassifier(max_depth=depth).fit(*noisy).get_depth() == depth


def test_least_leaf_and_split_weight(noisy):
    nodes = DecisionTreeClassifier(min_leaf=7).fit(*noisy).tree_
    assert nodes.weight[nodes.test == LEAF].min() >= 7
    nodes = DecisionTreeClassifier(min_split=50).fit(*noisy).tree_
    assert nodes.weight[nodes.test != LEAF].min() >= 50
    weight = np.full(500, 2.0)
    nodes = DecisionTreeClassifier(min_leaf=7).fit(*noisy, weight).tree_
    assert nodes.rows[nodes.test == LEAF].min() == 4


def test_two_branches_hold_the_least_weight_others_may_not():
    column = nominal("c", list("aaabbbc"))
    model = DecisionTreeClassifier(nominal="multiway", min_leaf=3).fit(grown_on(column), classes(*"nnnyyyn"))
    assert model.tree_.rows.tolist() == [7, 3, 3, 1]
    assert (
        DecisionTreeClassifier(nominal="multiway", min_leaf=4).fit(grown_on(column), classes(*"nnnyyyn")).n_leaves_ == 1
    )


def test_least_gain(noisy):
    nodes = DecisionTreeClassifier(min_gain=0.005).fit(*noisy).tree_
    assert (nodes.gain[nodes.test != LEAF] >= 0.005).all()
    assert 1 < nodes.n_leaves < 500


def levels_of_two(*counts):
    """A column with a level for each pair of counts, and the target of "a" and "b" that these count."""
    cells = [f"l{i}" for i, (first, second) in enumerate(counts) for _ in range(first + second)]
    return grown_on(nominal("c", cells)), classes(*"".join("a" * first + "b" * second for first, second in counts))


@pytest.mark.parametrize(("significance", "leaves"), [(0.05, 1), (0.1, 3), (None, 3)])
def test_significance(significance, leaves):
    """Deviation 5.833 with 2 degrees of freedom: 5.4 per cent."""
    table, labels = levels_of_two((1, 5), (2, 0), (1, 5))
    model = DecisionTreeClassifier(nominal="multiway", stop_significance=significance).fit(table, labels)
    assert model.n_leaves_ == leaves


def test_significance_asks_what_scipy_says(noisy):
    from scipy.stats import chi2_contingency

    x, y = noisy
    table, labels = np.column_stack([x[:, 0], x[:, 1] + 0.4 * y]), y
    for options in ({}, {"max_leaves": 30}, {"criterion": "entropy"}):
        nodes = DecisionTreeClassifier(stop_significance=0.01, **options).fit(table, labels).tree_
        assert 1 < nodes.n_leaves < DecisionTreeClassifier(**options).fit(table, labels).n_leaves_
        for node in np.flatnonzero(nodes.test != LEAF):
            counts = nodes.value[list(nodes.children(node))]
            assert chi2_contingency(counts[:, counts.any(axis=0)], correction=False).pvalue <= 0.01


def test_significance_and_a_least_gain_stop_at_a_parity():
    x, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]] * 5), ["a", "b", "b", "a"] * 5
    assert DecisionTreeClassifier().fit(x, y).n_leaves_ == 4
    assert DecisionTreeClassifier(stop_significance=0.5).fit(x, y).n_leaves_ == 1
    assert DecisionTreeClassifier(min_gain=1e-9).fit(x, y).n_leaves_ == 1


def test_leaf_limit_counts_every_branch():
    column = nominal("c", [f"l{i}" for i in range(20)])
    y = classes(*("yes" if i % 2 else "no" for i in range(20)))
    assert DecisionTreeClassifier(nominal="multiway", max_leaves=19).fit(grown_on(column), y).n_leaves_ == 1
    assert DecisionTreeClassifier(nominal="multiway", max_leaves=20).fit(grown_on(column), y).n_leaves_ == 20


def test_pure_targets_and_single_rows_give_one_leaf():
    assert DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "a"]).n_leaves_ == 1
    assert DecisionTreeClassifier().fit([[1.0]], ["a"]).predict([[5.0]]).tolist() == ["a"]
    assert DecisionTreeRegressor().fit([[1.0], [2.0]], [0.1, 0.1]).predict([[9.0]]).tolist() == [0.1]


@pytest.mark.parametrize("subsets", ["subset", "multiway", "one-vs-rest"])
def test_ten_thousand_categories(subsets):
    rng = np.random.default_rng(1)
    names = [f"c{i}" for i in range(10_000)]
    cells = [names[i] for i in rng.integers(0, 10_000, 20_000)]
    y = classes(*("yes" if hash_of(cell) else "no" for cell in cells))
    table = grown_on(nominal("c", cells, names))
    model = DecisionTreeClassifier(nominal=subsets, max_depth=1).fit(table, y)
    if subsets != "one-vs-rest":
        assert model.score(table, y) == 1


def hash_of(text):
    return int(text[1:]) * 2654435761 % 2**32 > 2**31


def test_subsets_of_two_classes_are_the_best_of_all():
    """The ordering theorem against brute force over all 2^6 subsets."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        codes = rng.integers(0, 7, 80)
        y = (rng.random(80) < rng.random(7)[codes]).astype(int)
        table = grown_on(nominal("c", [f"l{code}" for code in codes], [f"l{i}" for i in range(7)]))
        model = DecisionTreeClassifier(max_depth=1).fit(table, y)
        best = max(gini_gain_of(np.isin(codes, [i for i in range(7) if mask >> i & 1]), y) for mask in range(1, 64))
        assert model.tree_.gain[0] == pytest.approx(best, abs=1e-12)


def test_subsets_of_numbers_are_the_best_of_all():
    """The ordering theorem for squared errors: levels in the order of their means need one cut."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        codes = rng.integers(0, 7, 80)
        y = rng.normal(size=7)[codes] + rng.normal(size=80)
        table = grown_on(nominal("c", [f"l{code}" for code in codes], [f"l{i}" for i in range(7)]))
        model = DecisionTreeRegressor(max_depth=1).fit(table, numbers(*y))
        sides = [np.isin(codes, [i for i in range(7) if mask >> i & 1]) for mask in range(1, 64)]
        best = max(y.var() - side.mean() * y[side].var() - (~side).mean() * y[~side].var() for side in sides)
        assert model.tree_.gain[0] == pytest.approx(best, abs=1e-12)


def gini_gain_of(left, y):
    def impurity(labels):
        p = labels.mean() if len(labels) else 0.0
        return 2 * p * (1 - p)

    return impurity(y) - left.mean() * impurity(y[left]) - (1 - left.mean()) * impurity(y[~left])


def test_subsets_of_many_classes_find_a_perfect_grouping():
    letters = list("aabbccddeeff")
    table = grown_on(nominal("c", letters))
    y = classes(*("one" if c in "ad" else "two" if c in "be" else "three" for c in letters))
    model = DecisionTreeClassifier(max_depth=2).fit(table, y)
    assert model.score(table, y) == 1


def test_progress_and_cancelling(noisy):
    told = []
    DecisionTreeClassifier().fit(*noisy, progress=lambda share, text: told.append((share, text)))
    assert told[0][0] == 0
    assert told[-1][0] == 1

    def stop(share, text):
        raise Cancelled("enough")

    for params in ({}, {"threads": 2}, {"max_leaves": 50}):
        model = DecisionTreeClassifier(**params)
        with pytest.raises(Cancelled):
            model.fit(*noisy, progress=stop)
        assert not model.is_fitted


def test_bad_input_is_named():
    with pytest.raises(ParameterError, match="max_depth"):
        DecisionTreeClassifier(max_depth=-1).fit([[1.0]], ["a"])
    with pytest.raises(ParameterError, match="class_weight names 'b'"):
        DecisionTreeClassifier(class_weight={"b": 2}).fit([[1.0]], ["a"])
    with pytest.raises(DataError, match="1e\\+200"):
        DecisionTreeRegressor().fit([[1.0], [2.0]], [0.0, 1e200])


def test_regression_keeps_mean_and_variance():
    table, _ = read("iris", "class")
    y = table.values[:, 0]
    model = DecisionTreeRegressor(max_depth=2).fit(Table(table.columns[1:], table.values[:, 1:]), y)
    rows = model.apply(Table(table.columns[1:], table.values[:, 1:]))
    for leaf in np.unique(rows):
        assert model.tree_.value[leaf, 0] == pytest.approx(y[rows == leaf].mean(), rel=1e-13)
        assert model.tree_.value[leaf, 1] == pytest.approx(y[rows == leaf].var(), abs=1e-12)


def test_a_large_offset_of_the_target_does_not_blur_the_splits():
    X = np.arange(64.0).reshape(-1, 1)
    y = np.floor(X[:, 0] / 8)
    one, other = DecisionTreeRegressor().fit(X, y), DecisionTreeRegressor().fit(X, y + 1e9)
    assert np.array_equal(one.apply(X), other.apply(X))
    assert np.array_equal(other.predict(X), y + 1e9)
