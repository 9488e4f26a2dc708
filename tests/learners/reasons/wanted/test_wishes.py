"""What may be changed at what price: the order of counterfactuals, and what is refused."""

import numpy as np
import pytest

from learners.catalog import make
from learners.errors import LearnerError, ParameterError
from learners.reasons import Search, Wishes, counterfactuals
from learners.table import Column, Kind, Series
from learners.trees.regressor import DecisionTreeRegressor
from tests.learners.examples import Majority
from tests.learners.reasons.models import random_model, row_of
from tests.learners.tables import read
from tests.learners.trees.random_trees import COLUMNS


@pytest.fixture(scope="module")
def credit():
    table, target = read("credit-g", "class")
    model = make("decision-tree-classifier", {"pruning": "error-based", "min_leaf": 5}).fit(table, target)
    return model, table.take(np.array([*range(60), 226, 666]))


def with_costs(credit, costs, order="changes"):
    """Five counterfactuals of each row under these costs."""
    model, rows = credit
    wishes = Wishes.of(model.columns_, costs=costs)
    return counterfactuals(model, rows, "bad", Search(wishes, count=5, order=order))


def test_a_forbidding_cost_of_one_column_leaves_the_others_in_their_order(credit):
    n_compared = 0
    for plain, dear in zip(with_costs(credit, {}), with_costs(credit, {"num_dependents": 1e15}), strict=True):
        if not any(change.column == "num_dependents" for one in plain for change in one.changes):
            assert [one.leaf for one in dear] == [one.leaf for one in plain]
            assert [one.cost for one in dear] == [len(one.changes) for one in dear]
            n_compared += len(plain)
    assert n_compared > 100


def test_equal_sums_of_costs_go_by_distance(credit):
    """One column at 3 in place of three at 1, of the last two rows."""
    every = with_costs(credit, {"savings_status": 3})
    for found in every:
        keys = [(one.cost, one.distance) for one in found]
        assert keys == sorted(keys)
    for found in every[-2:]:
        assert [(one.cost, len(one.changes)) for one in found[3:]] == [(3, 1), (3, 3)]
        assert found[3].distance == 1 < found[4].distance


@pytest.mark.parametrize("order", ["changes", "distance"])
@pytest.mark.parametrize("cost", [0.1, 1 / 3, 1e-20, 1e20])
def test_the_order_is_that_of_the_costs_in_any_unit(credit, cost, order):
    """Half the columns at one price, half at its double."""
    names = [column.name for column in credit[0].columns_]
    costs = {name: cost * (1 + place % 2) for place, name in enumerate(names)}
    whole = {name: 1 + place % 2 for place, name in enumerate(names)}
    for found, expected in zip(with_costs(credit, costs, order), with_costs(credit, whole, order), strict=True):
        assert [one.leaf for one in found] == [one.leaf for one in expected]
        np.testing.assert_allclose([one.cost for one in found], [one.cost * cost for one in expected], rtol=1e-12)


@pytest.mark.parametrize(
    ("wishes", "field"),
    [
        ({"fixed": ["shape"]}, "fixed"),
        ({"directions": {"colour": "up"}}, "directions.colour"),
        ({"directions": {"size": "sideways"}}, "directions.size"),
        ({"directions": {"shape": "up"}}, "directions"),
        ({"costs": {"size": -1}}, "costs.size"),
        ({"costs": {"size": float("nan")}}, "costs.size"),
        ({"costs": {"size": True}}, "costs.size"),
        ({"costs": {"size": 1e200}}, "costs.size"),
        ({"allowed": {"size": (3, 1)}}, "allowed.size"),
        ({"allowed": {"size": ["a"]}}, "allowed.size"),
        ({"allowed": {"size": ("many", None)}}, "allowed.size"),
        ({"allowed": {"colour": ["mauve"]}}, "allowed.colour"),
        ({"allowed": {"colour": []}}, "allowed.colour"),
        ({"allowed": {"grade": ("low", "best")}}, "allowed.grade"),
        ({"allowed": {"grade": ("top", "low")}}, "allowed.grade"),
    ],
)
def test_bad_wishes_are_refused_by_name(wishes, field):
    with pytest.raises(ParameterError) as refusal:
        Wishes.of(COLUMNS, **wishes)
    assert refusal.value.field == field


def test_bad_questions_are_refused_by_name():
    model, rng = random_model(1)
    row = row_of(rng)
    for wanted in ("perhaps", None, (1, 2), float("inf")):
        with pytest.raises(ParameterError, match="class"):
            counterfactuals(model, row, wanted)
    regression = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    for wanted in ("a", 3.0, (None, None), (2.0, 1.0), ("x", None)):
        with pytest.raises(ParameterError):
            counterfactuals(regression, [[0.0]], wanted)
    for search in (Search(count=0), Search(order="best")):
        with pytest.raises(ParameterError):
            counterfactuals(model, row, "no", search)
    constant = Majority().fit([[0.0]], Series(Column("y", Kind.NOMINAL, ("a",)), np.zeros(1)))
    with pytest.raises(LearnerError, match="no tree"):
        counterfactuals(constant, [[0.0]], "a")
