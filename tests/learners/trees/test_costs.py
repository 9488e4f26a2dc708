"""Attribute costs: the published forms, against gains known by hand, and what is paid for already."""

import numpy as np
import pytest

from learners.errors import ParameterError
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.tables import read
from tests.learners.trees.trees import numbers, same_tree

#: Information gains of the weather data at the root (Quinlan 1986).
GAINS = {"outlook": 0.246750, "temperature": 0.029223, "humidity": 0.151836, "windy": 0.048127}
ID3 = {"criterion": "entropy", "nominal": "multiway"}


@pytest.fixture(scope="module")
def weather():
    return read("weather-nominal", "play")


def root(table, labels, **params):
    model = DecisionTreeClassifier(**ID3, **params).fit(table, labels)
    return table.names[model.tree_.feature[0]]


def columns_of(table, model):
    return {table.names[feature] for feature in model.tree_.feature if feature >= 0}


def worth(form, name, costs, exponent=1.0):
    gain, cost = GAINS[name], costs.get(name, 1.0)
    if form == "eg2":
        return (2**gain - 1) / (cost + 1) ** exponent
    return (gain if form == "idx" else gain**2) / cost


@pytest.mark.parametrize("form", ["idx", "cs-id3", "eg2"])
def test_the_root_is_what_the_formula_says(weather, form):
    for cost in (0.2, 1.0, 1.5, 1.7, 2.2, 2.6, 2.7, 6.0, 30.0, 80.0):
        for other in (1.0, 3.0):
            costs = {"outlook": cost, "humidity": other}
            expected = max(GAINS, key=lambda name: worth(form, name, costs))
            assert root(*weather, cost_form=form, costs=costs) == expected, costs


@pytest.mark.parametrize("exponent", [0.0, 0.3, 1.0])
def test_the_exponent_weighs_costs(weather, exponent):
    costs = {"outlook": 3.0}
    expected = max(GAINS, key=lambda name: worth("eg2", name, costs, exponent))
    assert root(*weather, cost_form="eg2", costs=costs, cost_exponent=exponent) == expected


def test_equal_costs_change_nothing(weather):
    for options in ({}, {"criterion": "gain-ratio"}, {"criterion": "gini"}, {"max_leaves": 4}):
        plain = DecisionTreeClassifier(**ID3 | options).fit(*weather)
        for form in ("idx", "cs-id3"):
            assert same_tree(plain, DecisionTreeClassifier(**ID3 | options, cost_form=form).fit(*weather))


@pytest.mark.parametrize("form", ["idx", "cs-id3", "eg2"])
def test_a_dear_column_is_driven_out(form):
    """Iris can be learned from the petals alone, either of them."""
    table, labels = read("iris", "class")
    assert "petallength" in columns_of(table, DecisionTreeClassifier().fit(table, labels))
    costs = {"petallength": 1e6, "sepallength": 1e6, "sepalwidth": 1.0}
    model = DecisionTreeClassifier(cost_form=form, costs=costs, max_depth=3).fit(table, labels)
    assert columns_of(table, model) <= {"petalwidth", "sepalwidth"}
    assert model.score(table, labels) > 0.9


@pytest.mark.parametrize(("form", "cheaper"), [("idx", 2.0), ("cs-id3", 2.0), ("eg2", 0.5)])
def test_a_column_is_paid_for_once(form, cheaper):
    """Two thresholds on x are needed; after the first, the second beats the equally good, cheaper z.

    By eg2 also a z that costs less than 1: then x costs nothing, so 1 / (0 + 1) is more than 1 / (0.5 + 1).
    """
    x = np.array([0.0, 1, 2, 3, 4, 5] * 4)
    labels = np.where((x == 3) | (x == 4), "in", "out")
    z = (x > 4.5).astype(float)  # as good as x in the second node, worth less at the root
    rows = np.column_stack([z, x])
    assert DecisionTreeClassifier(**ID3).fit(rows, labels).tree_.feature.tolist() == [1, -1, 0, -1, -1]
    priced = DecisionTreeClassifier(**ID3, cost_form=form, costs={"x0": cheaper, "x1": 2.1})
    assert priced.fit(rows, labels).tree_.feature.tolist() == [1, -1, 1, -1, -1]


def test_threads_and_growing_best_first_pay_alike():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(260_000, 4))
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(int)
    options = {"cost_form": "idx", "costs": {"x0": 3.0, "x1": 0.5}, "max_depth": 5}
    one = DecisionTreeClassifier(**options).fit(x, y)
    assert same_tree(one, DecisionTreeClassifier(**options, threads=2).fit(x, y))


def test_numbers_are_learned_by_costs_too():
    x = np.array([[0.0, 0], [0, 0], [1, 1], [1, 0]])
    target = numbers(0, 0, 4, 4)
    assert DecisionTreeRegressor().fit(x, target).tree_.feature[0] == 0
    dear = DecisionTreeRegressor(cost_form="idx", costs={"x0": 4.0}, max_depth=1).fit(x, target)
    assert dear.tree_.feature[0] == 1
    with pytest.raises(ParameterError, match="cost_form must be one of none, idx, cs-id3"):
        DecisionTreeRegressor(cost_form="eg2").fit(x, target)


def test_costs_that_have_no_sense_are_refused(weather):
    with pytest.raises(ParameterError, match=r"costs names 'wind', which is no attribute; .* 'outlook', 'temp"):
        DecisionTreeClassifier(cost_form="idx", costs={"wind": 2}).fit(*weather)
    with pytest.raises(ParameterError, match="parameter costs must be an object of finite numbers > 0"):
        DecisionTreeClassifier(cost_form="idx", costs={"windy": 0}).fit(*weather)
    with pytest.raises(ParameterError, match="costs are 1e-100 to 1e"):
        DecisionTreeClassifier(cost_form="idx", costs={"windy": 1e101}).fit(*weather)
    with pytest.raises(ParameterError, match=r"parameter costs = .* has no effect with cost_form = 'none'"):
        DecisionTreeClassifier(costs={"windy": 2}).fit(*weather)
