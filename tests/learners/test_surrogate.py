"""A tree in place of a model: exact where a tree can be, and as faithful as it says."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

from learners.ensembles import AdaBoostClassifier, RandomForestRegressor
from learners.errors import DataError, NotFittedError
from learners.evaluation.folds import hold_out
from learners.neural import RecurrentNetworkRegressor
from learners.rules import rules_of
from learners.surrogate import surrogate_of
from learners.table import Table
from learners.trees import DecisionTreeClassifier, DecisionTreeRegressor
from tests.learners.tables import read


def test_of_a_small_tree_it_is_that_tree():
    table, target = read("iris", "class")
    model = DecisionTreeClassifier(max_leaves=3).fit(table, target)
    found = surrogate_of(model, table)
    assert found.fidelity == 1
    assert len(rules_of(found.tree).rules) == 3


def test_fidelity_is_the_share_of_equal_decisions_on_rows_that_were_not_learned_from():
    table, target = read("pima", "class")
    model = AdaBoostClassifier(members=20).fit(table, target)
    found = surrogate_of(model, table, max_leaves=8, seed=4)
    assert found.rows == 192
    assert found.tree.n_leaves_ <= 8
    agreeing = np.mean(found.tree.predict(table) == model.predict(table))
    assert 0.85 < found.fidelity <= 1
    assert found.fidelity == pytest.approx(agreeing, abs=0.1)
    assert surrogate_of(model, table, max_leaves=60).fidelity >= surrogate_of(model, table, max_leaves=2).fidelity


def test_of_numbers_it_is_r_squared():
    values = np.random.default_rng(0).normal(size=(200, 2))
    model = RandomForestRegressor(members=10).fit(values, np.where(values[:, 0] > 0, 1.0, 3.0))
    assert surrogate_of(model, Table.from_array(values)).fidelity > 0.9


@pytest.mark.parametrize("of_numbers", [False, True])
def test_what_only_chance_decides_is_told_as_badly_as_the_rows_held_out_say(of_numbers: bool):
    """A tree that has noise by heart, and a surrogate that has three rows of four of its answers by heart."""
    rng = np.random.default_rng(2)
    table = Table.from_array(rng.normal(size=(400, 3)))
    if of_numbers:
        model = DecisionTreeRegressor(max_leaves=400).fit(table, rng.normal(size=400))
        split, _ = hold_out(400, 0.25, 5, None)
    else:
        model = DecisionTreeClassifier().fit(table, rng.integers(0, 2, 400))
        split, _ = hold_out(400, 0.25, 5, np.searchsorted(model.classes_, model.predict(table)))
    found = surrogate_of(model, table, max_leaves=400, seed=5)
    judge = r2_score if of_numbers else accuracy_score
    learned, held = (
        judge(model.predict(table.take(rows)), found.tree.predict(table.take(rows)))
        for rows in (split.train, split.test)
    )
    assert learned > 0.95
    assert held < 0.65
    assert found.fidelity == pytest.approx(held, rel=1e-12)


def test_it_is_learned_from_decisions_by_the_models_utility():
    """Where a false alarm costs nothing the model always decides for it, so the surrogate is one leaf."""
    table, target = read("pima", "class")
    costs = {"tested_negative": {"tested_positive": -100.0}, "tested_positive": {"tested_negative": -0.001}}
    model = DecisionTreeClassifier(max_leaves=4, utility=costs).fit(table, target)
    assert set(model.predict(table)) == {"tested_positive"}
    found = surrogate_of(model, table, fraction=0.4)
    assert (found.fidelity, found.rows, found.tree.n_leaves_) == (1, 307, 1)
    assert surrogate_of(DecisionTreeClassifier().fit(table, target), table).tree.n_leaves_ == 16


def test_of_numbers_that_are_equal_on_the_rows_held_out_it_is_right_or_not():
    split, _ = hold_out(40, 0.25, 3, None)
    numbers = np.arange(40.0)
    numbers[split.test] = 7.5
    table = Table.from_array(np.arange(40.0)[:, None])
    model = DecisionTreeRegressor(max_leaves=40).fit(table, numbers)
    assert surrogate_of(model, table, seed=3).fidelity == 0  # it answers what it learned from the others
    equal = DecisionTreeRegressor().fit(table, np.full(40, 7.5))
    assert surrogate_of(equal, table).fidelity == 1


def test_one_row_and_an_unfitted_model_are_refused():
    table, target = read("iris", "class")
    with pytest.raises(NotFittedError):
        surrogate_of(DecisionTreeClassifier(), table)
    model = DecisionTreeClassifier().fit(table, target)
    with pytest.raises(DataError, match="at least 2 rows"):
        surrogate_of(model, table.take(np.array([0])))


def test_in_place_of_a_model_of_sequences_rules_speak_of_their_facts():
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 4, rng.integers(2, 7)).tolist() for _ in range(120)]
    table = Table.from_columns({"series": rows})
    model = RecurrentNetworkRegressor(epochs=150).fit(table, np.array([float(row[-1]) for row in rows]))
    found = surrogate_of(model, table, max_leaves=4)
    assert found.fidelity > 0.9
    assert "series, last" in str(rules_of(found.tree).to_json())
