"""Numeric columns cut into intervals before growth: gains, shapes, and how they read."""

import numpy as np
import pytest

from learners.errors import ParameterError
from learners.persist import dump, load
from learners.rules.access import rules_of
from learners.rules.render import to_text
from learners.table import Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.criteria import information_gain
from learners.trees.nodes import INTERVALS, LEAF, Nodes
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.tables import read
from tests.learners.trees.trees import classes, numbers


def test_a_branch_for_each_interval_and_conditions_as_intervals():
    x = np.repeat([1.0, 2, 3, 4], 5)[:, None]
    labels = classes(*"aaaaabbbbbaaaaaccccc")
    model = DecisionTreeClassifier(criterion="entropy", discretise="equal-width", bins=3).fit(x, labels)
    nodes = model.tree_
    assert nodes.test.tolist() == [INTERVALS, LEAF, LEAF, LEAF]
    assert nodes.upper[1:].tolist() == [2, 3, np.inf]
    assert nodes.weight.tolist() == [20, 10, 5, 5]
    assert nodes.gain[0] == pytest.approx(information_gain([[5, 5, 0], [5, 0, 0], [0, 0, 5]]))
    assert to_text(rules_of(model)).splitlines()[1].startswith("IF 2 < x0 <= 3 THEN y = a")
    texts = [one.branches[0].steps[0].condition.text() for one in model.explain([[2.0], [2.5], [9.0]])]
    assert texts == ["x0 <= 2", "2 < x0 <= 3", "x0 > 3"]
    assert model.predict([[np.nextafter(2, 3)], [2.0], [-1e300]]).tolist() == ["a", "a", "a"]


def test_an_interval_without_rows_answers_as_its_node():
    x = np.array([[0.0], [0], [10], [10], [4]])
    labels = classes(*"aabbb")
    model = DecisionTreeClassifier(discretise="equal-width", bins=5).fit(x, labels)
    assert model.tree_.weight.tolist() == [5, 2, 1, 0, 2]
    assert model.tree_.upper[1:].tolist() == [2, 4, 8, np.inf]
    assert model.predict_proba([[7.0]])[0] == pytest.approx([0.4, 0.6])


def test_iris_by_the_cuts_of_fayyad_and_irani():
    table, labels = read("iris", "class")
    model = DecisionTreeClassifier(criterion="entropy", discretise="mdl", min_leaf=2).fit(table, labels)
    assert table.names[model.tree_.feature[0]] == "petalwidth"
    assert model.tree_.upper[1:4].tolist() == pytest.approx([0.8, 1.75, np.inf])
    assert model.score(table, labels) > 0.95


def test_a_column_is_cut_by_the_rows_that_are_learned_from():
    x = np.array([[0.0], [1], [2], [3], [1000]])
    model = DecisionTreeRegressor(discretise="equal-width", bins=2).fit(x, numbers(0, 0, 1, 1, 9), [1, 1, 1, 1, 0])
    assert model.tree_.upper[1] == 1.5


def test_models_from_before_there_were_intervals_load():
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "b"])
    arrays = model.tree_.to_arrays()
    del arrays["upper"]
    assert np.isnan(Nodes.from_arrays(arrays).upper).all()
    again = DecisionTreeClassifier.from_state(load(dump(model.get_state())))
    assert again.predict([[0.2]]).tolist() == ["a"]


@pytest.mark.parametrize("rule", ["equal-width", "equal-frequency", "mdl"])
def test_columns_of_one_value_or_none_hold_no_test(rule):
    table = Table.from_array(np.array([[np.nan, 3.0], [np.nan, 3.0], [np.nan, np.nan]]))
    assert DecisionTreeClassifier(discretise=rule).fit(table, classes(*"aab")).n_leaves_ == 1


def test_what_has_no_sense_is_refused():
    with pytest.raises(ParameterError, match="parameter bins = 4 has no effect with discretise = 'mdl'"):
        DecisionTreeClassifier(discretise="mdl", bins=4).fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ParameterError, match="discretise must be one of none, equal-width, equal-frequency"):
        DecisionTreeRegressor(discretise="mdl").fit([[0.0], [1.0]], [0.0, 1.0])
