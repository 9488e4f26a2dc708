"""Learners named by parameters: what is allowed is told, and what is wrong is named where it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from learners import catalog
from learners.base import Learner
from learners.ensembles.member_learners import CLASSIFIERS, REGRESSORS
from learners.ensembles.parameters import nesting_of
from learners.errors import ParameterError
from learners.nesting import plain

TREE, NEAREST = "decision-tree-classifier", "nearest-neighbors-classifier"


def boosted(**member: Any) -> Any:
    return catalog.make("adaboost-classifier", {"member": member})


@pytest.mark.parametrize(("offered", "task"), [(CLASSIFIERS, "classification"), (REGRESSORS, "regression")])
def test_members_may_be_all_learners_that_take_weights_and_rows(offered: tuple[type[Learner], ...], task: str) -> None:
    """Ensembles, and networks that go through sequences, are the only ones left out."""
    wanted = {
        learner.name
        for learner in catalog.LEARNERS
        if learner.capabilities.task == task
        and learner.capabilities.weights
        and learner.capabilities.supervised
        and not learner.capabilities.steps
        and "members" not in {parameter.name for parameter in learner.parameters()}
        and not learner.name.startswith(("recurrent", "time-delay"))
    }
    assert {learner.name for learner in offered} == wanted


@pytest.mark.parametrize(
    ("member", "field", "told"),
    [
        ({"learner": "linear-regressor"}, "member.learner", "one of decision-tree-classifier, rule-set-classifier"),
        ({"learner": "random-forest-classifier"}, "member.learner", "it is 'random-forest-classifier'"),
        ({"parameters": {}}, "member.learner", "it is null"),
        ({"learner": 3}, "member.learner", "it is 3"),
        ({"learner": TREE, "depth": 3}, "member", "an object of learner"),
        ({"learner": TREE, "parameters": 3}, "member.parameters", "an object of parameters"),
        ({"learner": TREE, "parameters": None}, "member.parameters", "an object of parameters"),
        ({"learner": TREE, "parameters": {"depth": 3}}, "member.parameters.depth", "it takes preset, "),
        ({"learner": TREE, "parameters": {"utility": {}}}, "member.parameters.utility", "takes no 'utility'"),
        ({"learner": TREE, "parameters": {"class_weight": {}}}, "member.parameters.class_weight", "takes no"),
        ({"learner": TREE, "parameters": {"max_depth": -1}}, "member.parameters.max_depth", "whole number >= 0"),
        ({"learner": TREE, "parameters": {"preset": "c5"}}, "member.parameters.preset", "one of id3, c45"),
        ({"learner": TREE, "parameters": {"alpha": 0.1}}, "member.parameters.alpha", "has no effect"),
        ({"learner": NEAREST, "parameters": {"k": 0}}, "member.parameters.k", "whole number >= 1"),
    ],
)
def test_what_is_wrong_is_named_where_it_stands(member: dict[str, Any], field: str, told: str) -> None:
    with pytest.raises(ParameterError) as caught:
        boosted(**member)
    assert caught.value.field == field
    assert told in str(caught.value)


def test_what_is_allowed_is_told_of_the_inner_parameter() -> None:
    def allowed(**member: Any) -> Any:
        with pytest.raises(ParameterError) as caught:
            boosted(**member)
        return caught.value.allowed

    assert allowed(learner=NEAREST, parameters={"k": 0}).startswith("a whole number >= 1")
    assert allowed(learner="none") == [learner.name for learner in CLASSIFIERS]
    assert "max_depth" in allowed(learner=TREE, parameters={"depth": 1})
    assert allowed(learner=TREE, parameters={"alpha": 0.1}) is None  # no other value of it would do


@pytest.mark.parametrize("name", ["adaboost-classifier", "bagging-classifier"])
def test_parameters_of_trees_have_no_effect_beside_other_members(name: str) -> None:
    with pytest.raises(ParameterError, match=r"max_depth = 3 .*members are logistic-classifier.*member.parameters"):
        catalog.make(name, {"member": {"learner": "logistic-classifier"}, "max_depth": 3})
    catalog.make(name, {"member": {"learner": "logistic-classifier"}, "class_weight": {"a": 2}, "members": 3})


def test_a_forest_is_of_trees() -> None:
    with pytest.raises(ParameterError, match="member"):
        catalog.make("random-forest-classifier", {"member": {"learner": TREE}})
    with pytest.raises(TypeError):
        nesting_of(catalog.get("random-forest-classifier"))


def test_the_schema_has_each_learners_own_but_what_is_the_ensembles() -> None:
    schema = catalog.describe("adaboost-classifier")["parameters"]["properties"]["member"]
    nothing, *objects = schema["anyOf"]
    assert nothing == {"type": "null"}
    assert schema["default"] is None
    assert [one["properties"]["learner"]["const"] for one in objects] == [learner.name for learner in CLASSIFIERS]
    own = {one["properties"]["learner"]["const"]: one["properties"]["parameters"]["properties"] for one in objects}
    wanted = catalog.describe(NEAREST)["parameters"]["properties"]
    assert own[NEAREST] == {
        name: declared for name, declared in wanted.items() if name not in ("class_weight", "utility")
    }
    assert "preset" in own[TREE]


def test_presets_are_the_inner_learners() -> None:
    made = boosted(learner=TREE, parameters={"preset": "c45", "min_leaf": 5})
    inner = made._new_member(0)
    assert (inner.criterion, inner.pruning, inner.min_leaf) == ("gain-ratio", "error-based", 5)


def test_seeds_move_on_where_something_is_drawn() -> None:
    networks = boosted(learner="neural-network-classifier", parameters={"seed": 7})
    assert [networks._new_member(number).seed for number in (0, 1, 4)] == [7, 8, 11]
    neighbours = boosted(learner=NEAREST, parameters={"k": 3})
    assert neighbours._new_member(4).seed == neighbours._new_member(0).seed


def test_the_value_is_plain_json_in_the_model() -> None:
    made = catalog.make("adaboost-classifier", {"members": 1})
    made.set_params(
        member={"learner": "neural-network-classifier", "parameters": {"hidden_units": (3, 2), "epochs": 1}}
    )
    made.fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    stored = made.get_state().header["parameters"]["member"]
    assert stored == json.loads(json.dumps(stored))
    assert stored["parameters"]["hidden_units"] == [3, 2]
    assert plain({1: (2, [3])}) == {"1": [2, [3]]}
