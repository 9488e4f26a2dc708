"""Permutation importance: closed forms, scikit-learn's, and what must not matter."""

import numpy as np
import pytest
from sklearn.inspection import permutation_importance as peer

from learners.errors import DataError, ParameterError
from learners.neural import RecurrentNetworkRegressor
from learners.reasons import permutation_importance
from learners.table import Column, Kind, Series, Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.examples import Mean


def test_a_perfect_attribute_costs_what_chance_does_not_get_right():
    """Shuffled, a value is its own with probability sum of squared shares: of 30, 50 and 20 % that is 0.38."""
    random = np.random.default_rng(0)
    codes = np.repeat([0.0, 1.0, 2.0], [300, 500, 200])
    columns = (Column("mark", Kind.NOMINAL, ("a", "b", "c")), Column("noise"))
    table = Table(columns, np.asfortranarray(np.column_stack((codes, random.normal(size=1000)))))
    target = Series(Column("y", Kind.NOMINAL, ("x", "y", "z")), codes)
    model = DecisionTreeClassifier().fit(table, target)
    mark, noise = permutation_importance(model, table, target, repeats=30)
    assert abs(mark.mean - 0.62) < 4 * mark.standard_error
    assert 0 < mark.standard_error < 0.01
    assert (noise.mean, noise.standard_error) == (0, 0)
    assert len(mark.values) == 30
    (error, _) = permutation_importance(model, table, target, repeats=30, metric="error")
    assert error.mean == pytest.approx(mark.mean)


def test_it_is_scikit_learns_within_its_error():
    X, y = iris()
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    ours = permutation_importance(model, X, y, repeats=50)
    theirs = peer(model, X.values, y, n_repeats=50, random_state=0)
    for one, mean, spread in zip(ours, theirs.importances_mean, theirs.importances_std, strict=True):
        error = np.hypot(one.standard_error, spread / np.sqrt(50))
        assert abs(one.mean - mean) <= 4 * error + 1e-12


def iris():
    from sklearn.datasets import load_iris

    data = load_iris()
    return Table.from_array(data.data), data.target


def test_the_seed_decides_and_the_batches_do_not(monkeypatch):
    X, y = iris()
    model = DecisionTreeClassifier().fit(X, y)
    first = permutation_importance(model, X, y, seed=3)
    monkeypatch.setattr("learners.reasons.permutation._ROWS_AT_ONCE", 1)
    assert permutation_importance(model, X, y, seed=3) == first
    assert permutation_importance(model, X, y, seed=4) != first


def test_rows_without_weight_do_not_count():
    X, y = iris()
    model = DecisionTreeRegressor(max_depth=2).fit(X, y.astype(float))
    weights = np.ones(len(y))
    weights[:50] = 0
    found = permutation_importance(model, X, y.astype(float), weights, metric="mean_absolute_error", repeats=3)
    assert max(one.mean for one in found) > 0


def test_any_learner_will_do():
    model = Mean().fit([[0.0], [1.0]], [0.0, 2.0])
    (only,) = permutation_importance(model, [[0.0], [1.0]], [0.0, 2.0])
    assert only.mean == 0


def test_bad_arguments_are_refused_by_name():
    model = Mean().fit([[0.0], [1.0]], [0.0, 2.0])
    for arguments in ({"metric": "accuracy"}, {"metric": "beauty"}, {"repeats": 0}):
        with pytest.raises(ParameterError) as refusal:
            permutation_importance(model, [[0.0], [1.0]], [0.0, 2.0], **arguments)
        assert refusal.value.field in arguments
    with pytest.raises(DataError, match="undefined"):
        permutation_importance(model, [[0.0], [1.0]], [1.0, 1.0])
    X, y = iris()
    tree = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(DataError, match="no class"):
        permutation_importance(tree, X, y + 1)


def test_sequences_that_are_equally_long_in_a_row_change_places_among_rows_of_one_length():
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 2, length).tolist() for length in (2, 3) * 30]
    other = [rng.integers(0, 2, len(row)).tolist() for row in rows]
    table = Table.from_columns({"told": rows, "idle": other})
    target = np.array([float(row[-1]) for row in rows])
    model = RecurrentNetworkRegressor(hidden_units=(3,), epochs=60).fit(table, target)
    told, idle = permutation_importance(model, table, target, repeats=3)
    assert told.mean > 0.5
    assert abs(idle.mean) < 0.1 * told.mean


def test_rows_may_be_answered_in_any_parts():
    X, y = iris()
    model, sizes = DecisionTreeClassifier().fit(X, y), []
    whole = permutation_importance(model, X, y, repeats=2)

    def division(rows):
        sizes.append(rows)
        yield from (slice(first, first + 7) for first in range(0, rows, 7))

    assert permutation_importance(model, X, y, repeats=2, division=division) == whole
    assert sizes == [150, *[300] * 4]
