"""Factors by class: what they do to row weights, and which are refused in whose name."""

from __future__ import annotations

import numpy as np
import pytest

from learners.base import Learner
from learners.catalog import dump_model, load_model
from learners.class_weights import class_factors, weigh
from learners.columns import Column, Kind
from learners.decisions import utility_matrix
from learners.errors import ParameterError
from learners.rules.classifier import RuleSetClassifier
from learners.table import Series, Table
from learners.trees.classifier import DecisionTreeClassifier

LETTERS = Column("y", Kind.NOMINAL, ("a", "b", "c"))
X, Y = [[1.0], [2.0], [3.0]], ["a", "b", "a"]


def test_factors_are_one_unless_named() -> None:
    assert class_factors({"c": 2.5, "a": 0}, LETTERS).tolist() == [0.0, 1.0, 2.5]
    assert class_factors(None, LETTERS).tolist() == [1.0, 1.0, 1.0]
    assert class_factors({"1.0": 3}, Column("y", Kind.NOMINAL, ("1", "2"), "number")).tolist() == [3.0, 1.0]


def test_one_class_is_named_once() -> None:
    numbers, flags = Column("y", Kind.NOMINAL, ("1", "2"), "number"), Column("y", Kind.BOOLEAN, ("false", "true"))
    for target, factors in ((numbers, {"1": 2.0, "1.0": 3.0}), (flags, {"True": 2.0, "true": 3.0})):
        first, second = factors
        with pytest.raises(ParameterError, match=f"names '{first}' and '{second}', which are the same class"):
            class_factors(factors, target)
        for utility in ({first: {second: 1}, second: {}}, {second: factors}):
            with pytest.raises(ParameterError, match=r"utility names .*, which are the same class"):
                utility_matrix(utility, target)


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ({"d": 1}, "names 'd', which is no class; the classes are 'a', 'b', 'c'"),
        ({"a": 0, "b": 0, "c": 0}, "every class the factor 0"),
        ({"a": 1e308}, "factors are 0 or 1e-100 to 2"),
        ({"a": 1e-101}, "factors are 0 or 1e-100 to 2"),
    ],
)
def test_what_is_refused_names_the_parameter(factors: dict[str, float], said: str) -> None:
    with pytest.raises(ParameterError, match=said) as caught:
        class_factors(factors, LETTERS)
    assert caught.value.field == "class_weight"


@pytest.mark.parametrize(
    ("factors", "weights"),
    [
        ({"a": 0, "b": 0}, None),
        ({"a": 0}, [1, 0, 1]),
        ({"a": 2.0**53}, None),
        ({"a": 2.0**53, "b": 2.0**53}, [1, 1, 1]),
        ({"a": 1e-60}, [1e-60, 1, 1]),
        ({"a": 1e308, "b": 1e308}, None),
    ],
)
def test_products_that_are_no_weights_are_told_of_the_parameter(
    factors: dict[str, float], weights: list[float] | None
) -> None:
    with pytest.raises(ParameterError, match="class_weight") as caught:
        DecisionTreeClassifier(class_weight=factors).fit(X, Y, weights)
    assert caught.value.field == "class_weight"


def test_a_factor_does_what_the_same_row_weights_do() -> None:
    by_class = DecisionTreeClassifier(class_weight={"a": 4}).fit(X, Y)
    by_row = DecisionTreeClassifier().fit(X, Y, [4.0, 1.0, 4.0])
    assert by_class.predict_proba([[np.nan]]).tolist() == by_row.predict_proba([[np.nan]]).tolist()
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), np.array([0.0, 1.0]))
    assert weigh(np.array([1.0, 2.0]), {"a": 3.0, "b": 0.0}, target).tolist() == [3.0, 0.0]
    assert weigh(np.array([1.0, 2.0]), None, target).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("learner", [DecisionTreeClassifier, RuleSetClassifier])
def test_factors_of_boolean_classes_mean_the_same_after_loading(learner: type[Learner]) -> None:
    target = Series(Column("y", Kind.BOOLEAN, ("no", "yes")), np.array([0.0, 1.0, 0.0, 1.0]))
    table = Table.from_array(np.array([[1.0], [2.0], [3.0], [4.0]]))
    fitted = learner.from_params({}).set_params(class_weight={True: 3.0}).fit(table, target)
    loaded = load_model(fitted.get_state())
    assert loaded.class_weight == {"yes": 3.0}
    again = loaded.fit(table, target)
    assert dump_model(again) == dump_model(load_model(fitted.get_state()))
