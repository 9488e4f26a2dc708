"""Model trees against closed forms, and each step done again by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.catalog import load_model
from learners.errors import ParameterError
from learners.linear_function import LARGEST
from learners.persist import dump, load
from learners.table import UNSEEN, Column, Kind, Series, Table
from learners.trees import DecisionTreeRegressor, ModelTreeRegressor
from tests.learners.trees.model_tree.tables import mixed


def linear_table(seed=0, n_rows=200, d=3):
    rng = np.random.default_rng(seed)
    return rng.integers(-500, 500, (n_rows, d)) / 50


def test_linear_data_are_one_leaf_with_their_coefficients():
    X = linear_table()
    model = ModelTreeRegressor().fit(X, X @ [1.5, -2.0, 0.25] + 7)
    assert model.n_leaves_ == 1
    function = model.function(0)
    assert [term.feature for term in function.terms] == [0, 1, 2]
    np.testing.assert_allclose([term.coefficient for term in function.terms], [1.5, -2, 0.25], rtol=1e-10)
    assert function.intercept == pytest.approx(7, abs=1e-10)
    far = np.array([[1000.0, 0, 0]])  # a function continues
    assert model.predict(far)[0] == pytest.approx(1507)


def test_a_column_that_tells_nothing_is_dropped():
    X = linear_table(1)
    model = ModelTreeRegressor().fit(X, 3 * X[:, 0] + 1)
    assert [term.feature for term in model.function(0).terms] == [0]


def test_two_lines_are_two_leaves():
    x = np.arange(-100.0, 101) / 10
    y = np.where(x <= 0, 1 - 2 * x, 80 + 3 * x)
    model = ModelTreeRegressor(smoothing=0).fit(x[:, None], y)
    assert model.n_leaves_ == 2
    assert 0 <= model.tree_.threshold[0] < 0.1
    left, right = (model.function(int(leaf)) for leaf in model.tree_.leaves())
    np.testing.assert_allclose([left.intercept, left.terms[0].coefficient], [1, -2], atol=1e-9)
    np.testing.assert_allclose([right.intercept, right.terms[0].coefficient], [80, 3], atol=1e-9)
    np.testing.assert_allclose(model.predict(x[:, None]), y, atol=1e-9)


def test_a_nominal_column_is_its_ordered_indicators():
    """k levels of any means are told exactly by k - 1 indicators, each 1 for the levels from some place on."""
    means = {"b": 1.0, "d": 2.0, "a": 10.0, "c": 50.0}
    column = Column("letter", Kind.NOMINAL, ("a", "b", "c", "d", "never"))
    letters = [letter for letter in "abcd" for _ in range(8)]
    table = Table.from_columns({"letter": letters}, (column,))
    y = np.array([means[letter] for letter in letters])
    model = ModelTreeRegressor(min_deviation=0).fit(table, y)
    np.testing.assert_allclose(model.predict(table), y, atol=1e-9)
    assert model.n_leaves_ == 1
    order = ["b", "d", "a", "c"]
    for leaf in model.tree_.leaves().tolist():
        for term in model.function(leaf).terms:
            assert sorted(term.values) == sorted(order[-len(term.values) :])
            assert set(term.ones) | set(term.zeros) == {0, 1, 2, 3}  # of the level that never came nothing is known


def test_a_chain_of_smoothing_by_hand():
    """Three leaves, two levels: every coefficient by the formula."""
    x = np.arange(60.0)
    y = np.where(x < 20, 0.0, np.where(x < 40, 100.0, 400.0))
    plain = ModelTreeRegressor(smoothing=0, pruning="none").fit(x[:, None], y)
    smooth = ModelTreeRegressor(smoothing=15, pruning="none").fit(x[:, None], y)
    assert [plain.function(leaf).terms for leaf in plain.tree_.leaves().tolist()] == [(), (), ()]
    inner = x < 40
    root, child = np.polyfit(x, y, 1), np.polyfit(x[inner], y[inner], 1)
    by_hand = (15 * np.polyval(root, x[40:]) + 20 * 400) / 35
    np.testing.assert_allclose(smooth.predict(x[40:, None]), by_hand)
    for rows, value in ((slice(0, 20), 0.0), (slice(20, 40), 100.0)):
        below = (20 * value + 15 * np.polyval(child, x[rows])) / 35
        by_hand = (40 * below + 15 * np.polyval(root, x[rows])) / 55
        np.testing.assert_allclose(smooth.predict(x[rows, None]), by_hand)


def test_pruning_compares_adjusted_errors():
    """Of a step one test and two means are right; of a line, none."""
    x = np.arange(40.0)
    step = ModelTreeRegressor().fit(x[:, None], np.where(x < 20, 0.0, 50.0))
    line = ModelTreeRegressor().fit(x[:, None], x)
    assert (step.n_leaves_, line.n_leaves_) == (2, 1)


@pytest.mark.parametrize("seed", range(4))
def test_no_pruned_subtree_has_a_greater_adjusted_error_than_its_model(seed):
    table, y = mixed(seed)
    leaves = [ModelTreeRegressor(pruning_multiplier=c).fit(table, y).n_leaves_ for c in (1, 2, 5, 100)]
    assert leaves == sorted(leaves, reverse=True)
    whole = ModelTreeRegressor(pruning="none").fit(table, y)
    assert whole.n_leaves_ >= leaves[0]


def test_growth_stops_at_the_deviation_and_at_few_rows():
    table, y = mixed(5)
    model = ModelTreeRegressor(pruning="none", min_deviation=0.3).fit(table, y)
    nodes = model.tree_
    inner = np.flatnonzero(nodes.n_children)
    deviation = np.sqrt(nodes.value[:, 1])
    assert (deviation[inner] >= 0.3 * y.cells.std()).all()
    assert (nodes.rows[inner] >= 4).all()
    assert ModelTreeRegressor(min_deviation=1.0).fit(table, y).n_leaves_ <= 2


def test_no_smoothing_and_no_terms_is_the_regression_tree():
    table, y = mixed(6)
    options = {"min_leaf": 2.0, "min_split": 4.0}
    model = ModelTreeRegressor(
        criterion="variance", pruning="none", smoothing=0, max_terms=0, min_deviation=0.0, nominal="subset", **options
    ).fit(table, y)
    peer = DecisionTreeRegressor(**options).fit(table, y)
    np.testing.assert_allclose(model.predict(table), peer.predict(table), rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.15]), st.sampled_from(["ordered", "subset"]))
def test_explanations_add_up_to_the_answers_to_the_bit(seed, missing, nominal):
    table, y = mixed(seed, missing=missing)
    model = ModelTreeRegressor(nominal=nominal).fit(table, y)
    asked = mixed(seed + 1, n_rows=30, missing=missing)[0]
    asked.values[:3, 2] = UNSEEN
    asked.values[3:5, 2] = 4.0  # the level that never came
    for row, (answer, reason) in enumerate(zip(model.predict(asked), model.explain(asked), strict=True)):
        total = 0.0
        for branch in reason.branches:
            value = branch.function.intercept
            for part in branch.contributions:
                value += part.amount
                assert part.amount == part.term.coefficient * part.value
            assert branch.value == value
            total += branch.weight * value
        assert total == answer
        assert model.predict(asked.take(np.array([row])))[0] == answer


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.2]))
def test_saved_models_answer_alike_to_the_bit(seed, missing):
    table, y = mixed(seed, missing=missing)
    model = ModelTreeRegressor(threads=2).fit(table, y)
    data = dump(model.get_state())
    copy = load_model(load(data))
    assert dump(copy.get_state()) == data
    assert np.array_equal(copy.predict(table), model.predict(table))
    assert copy.explain(table) == model.explain(table)


@pytest.mark.parametrize("seed", range(5))
def test_rows_in_another_order_give_the_same_model_but_for_rounding(seed):
    table, y = mixed(seed, missing=0.1)
    model = ModelTreeRegressor().fit(table, y)
    order = np.random.default_rng(seed).permutation(len(y))
    turned = ModelTreeRegressor().fit(table.take(order), y.take(order))
    np.testing.assert_allclose(turned.predict(table), model.predict(table), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_weight_two_is_twice(seed):
    table, y = mixed(seed)
    times = np.random.default_rng(seed).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    weighted = ModelTreeRegressor().fit(table, y, times)
    repeated = ModelTreeRegressor().fit(table.take(rows), y.take(rows))
    np.testing.assert_allclose(weighted.predict(table), repeated.predict(table), rtol=1e-7, atol=1e-7)


def test_what_is_not_known_counts_as_the_mean_of_the_leaf():
    X = linear_table(2, d=2)
    model = ModelTreeRegressor().fit(X, X @ [2.0, 1.0])
    (answer,) = model.predict(np.array([[np.nan, 0.0]]))
    assert answer == pytest.approx(2 * X[:, 0].mean())
    assert model.function(0).terms[0].default == pytest.approx(X[:, 0].mean())


def test_a_column_that_is_missing_throughout_a_leaf_counts_as_further_up():
    x = np.arange(80.0)
    z = np.where(x < 40, np.arange(80.0) % 7, np.nan)
    y = np.where(x < 40, 3 * z, 500.0)
    model = ModelTreeRegressor().fit(np.column_stack([x, z]), y)
    terms = [t for leaf in model.tree_.leaves().tolist() for t in model.function(leaf).terms if t.feature == 1]
    assert all(np.isfinite(term.default) for term in terms)
    assert np.isfinite(model.predict(np.array([[100.0, np.nan], [100.0, 3.0]]))).all()


def test_no_answer_is_infinite():
    X = linear_table(3, d=2)
    model = ModelTreeRegressor().fit(X, X @ [1e3, -1e3])
    far = np.array([[1.7e308, 1.7e308], [-1.7e308, 1.7e308], [1.7e308, np.nan]])
    answers = model.predict(far)
    assert np.isfinite(answers).all()
    assert abs(answers[1]) == pytest.approx(2 * LARGEST)
    assert [branch.value for reason in model.explain(far) for branch in reason.branches] == answers.tolist()
    (one,), _, (three,) = (reason.branches for reason in model.explain(far))
    assert [contribution.state for contribution in one.contributions] == ["bounded", "bounded"]
    assert [contribution.state for contribution in three.contributions] == ["bounded", "missing"]


def test_a_row_of_thousands_of_branches_is_told_in_part():
    """The heaviest are given, of the others number and weight; the answer is of all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    model = ModelTreeRegressor(pruning="none", min_deviation=0, min_leaf=1).fit(X, X.prod(axis=1) + X.sum(axis=1))
    row = np.full((1, 6), np.nan)
    (reason,) = model.explain(row)
    assert reason.n_tests <= 10_000
    assert reason.omitted_branches + len(reason.branches) == model.n_leaves_
    assert reason.omitted_weight + sum(branch.weight for branch in reason.branches) == pytest.approx(1)
    leaves, shares = model.packed_tree_.reach(row[0])
    wanted = sum(share * model.function(int(leaf)).value(row[0]) for leaf, share in zip(leaves, shares, strict=True))
    assert model.predict(row)[0] == pytest.approx(wanted, rel=1e-12)


def test_depth_costs_no_recursion():
    """A path of more tests than Python may recurse: grown, fitted, pruned, smoothed, stored and explained."""
    x = np.arange(2400.0)[:, None]
    y = x[:, 0] % 2
    model = ModelTreeRegressor(pruning="none", min_leaf=1, min_split=2, min_deviation=0).fit(x, y)
    assert model.get_depth() > 1000
    copy = load_model(load(dump(model.get_state())))
    assert np.array_equal(copy.predict(x), model.predict(x))
    assert model.explain(x[:1])[0].branches[0].value == model.predict(x[:1])[0]
    assert ModelTreeRegressor(min_leaf=1, min_split=2, min_deviation=0).fit(x, y).n_leaves_ < model.n_leaves_


def test_the_preset_is_the_default_but_for_nothing():
    assert ModelTreeRegressor.from_params({"preset": "m5"}).get_params() == ModelTreeRegressor().get_params()


def test_a_penalty_without_pruning_is_refused():
    table, y = mixed(0)
    with pytest.raises(ParameterError, match="pruning_multiplier"):
        ModelTreeRegressor(pruning="none", pruning_multiplier=3.0).fit(table, y)


def test_a_target_of_gaps_is_refused_and_one_level_is_no_variable():
    table = Table.from_columns({"only": ["a"] * 10, "x": list(range(10))})
    model = ModelTreeRegressor().fit(table, Series(Column("y"), np.arange(10.0)))
    assert [term.column for term in model.function(0).terms] == ["x"]


def test_a_copy_follows_missing_values_as_a_tree_that_was_trained_to():
    table, y = mixed(5, 60)
    values = table.values.copy()
    values[::3, 0] = np.nan
    gaps = Table(table.columns, values)
    model = ModelTreeRegressor().fit(table, y)
    likely = ModelTreeRegressor(missing_prediction="most-likely").fit(table, y)
    assert (model.following("most-likely").predict(gaps) == likely.predict(gaps)).all()
    assert (likely.following("fractional").predict(gaps) == model.predict(gaps)).all()
    assert (likely.predict(gaps) != model.predict(gaps)).any()
