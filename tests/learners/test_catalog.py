"""The catalogue: complete, describable in JSON, and the one way from a file back to a learner."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import learners
from learners import catalog
from learners.base import Learner, ModelState
from learners.checks import samples
from learners.checks.require import require_json
from learners.errors import ModelFormatError, ParameterError
from learners.params import PRESET
from learners.persist import load, load_file


def test_every_public_learner_is_listed() -> None:
    for module in pkgutil.walk_packages(learners.__path__, "learners."):
        importlib.import_module(module.name)
    found, parents = set(), [Learner]
    while parents:
        children = parents.pop().__subclasses__()
        parents += children
        found |= {child for child in children if _is_offered(child)}
    assert found == set(catalog.LEARNERS)


def _is_offered(learner: type[Learner]) -> bool:
    ours = learner.__module__.startswith("learners.")
    return ours and not inspect.isabstract(learner) and not learner.__name__.startswith("_")


def test_names_are_unique_and_fit_into_a_url() -> None:
    names = [learner.name for learner in catalog.LEARNERS]
    assert len(set(names)) == len(names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for name in names)
    assert {"decision-tree-classifier", "decision-tree-regressor"} <= set(names)


@pytest.mark.parametrize("learner", catalog.LEARNERS, ids=lambda one: one.name)
def test_a_description_is_json_that_says_all(learner: type[Learner]) -> None:
    described = catalog.describe(learner.name)
    require_json(described, "a description")
    assert described["name"] == learner.name
    assert described["task"] in ("classification", "regression")
    assert described["summary"].endswith(".")
    assert set(described["capabilities"]) >= {"missing", "categories", "weights", "column_order_matters"}
    properties = described["parameters"]["properties"]
    names = [parameter.name for parameter in learner.parameters()]
    assert list(properties) == ([PRESET] if learner.presets else []) + names
    assert list(described["presets"]) == list(learner.presets)
    for schema in properties.values():
        assert schema["description"]
        assert "default" in schema
        assert "type" in schema


def test_all_are_described_in_order() -> None:
    assert [one["name"] for one in catalog.describe_all()] == [learner.name for learner in catalog.LEARNERS]


@pytest.mark.parametrize("name", ["decision-tree", "", None, ["a"]])
def test_an_unknown_learner_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(ParameterError, match="there are decision-tree-classifier") as caught:
        catalog.get(name)
    assert caught.value.field == "learner"


def test_learners_are_made_with_checked_parameters() -> None:
    learner = catalog.LEARNERS[0]
    assert catalog.make(learner.name).get_params() == learner().get_params()
    with pytest.raises(ParameterError, match="no parameter 'no_such'"):
        catalog.make(learner.name, {"no_such": 1})


@cache
def fitted(learner: type[Learner]) -> tuple[Learner, samples.Sample]:
    sample = samples.mixed(learner.capabilities)
    few = {"members": 4} if any(parameter.name == "members" for parameter in learner.parameters()) else {}
    return learner.from_params(few).fit(sample.table, sample.target), sample


@pytest.mark.parametrize("learner", catalog.LEARNERS, ids=lambda one: one.name)
def test_a_model_comes_back_from_its_file(learner: type[Learner], tmp_path: Path) -> None:
    model, sample = fitted(learner)
    path = tmp_path / "model"
    path.write_bytes(catalog.dump_model(model))
    copy = catalog.load_model(load_file(path))
    assert type(copy) is learner
    assert np.array_equal(copy.predict(sample.table), model.predict(sample.table))
    assert catalog.dump_model(copy) == path.read_bytes()


@pytest.mark.parametrize("header", [{}, {"learner": "oracle"}, {"learner": None}, {"learner": ["a"]}])
def test_a_model_of_an_unknown_learner_is_refused(header: dict) -> None:
    with pytest.raises(ModelFormatError, match=r"the model was made by .*; this version has decision-tree-classifier"):
        catalog.load_model(ModelState(header))


@pytest.mark.parametrize("learner", catalog.LEARNERS, ids=lambda one: one.name)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_state_that_lacks_something_is_refused_or_loads(learner: type[Learner], data: st.DataObject) -> None:
    state = load(catalog.dump_model(fitted(learner)[0]))
    header, arrays = dict(state.header), dict(state.arrays)
    gone = data.draw(st.sampled_from(sorted({*header, *arrays} - {"learner"})))
    header.pop(gone, None)
    arrays.pop(gone, None)
    refusal = None
    try:
        catalog.load_model(ModelState(header, arrays))
    except ModelFormatError as error:
        refusal = str(error)
    assert refusal is None or learner.name in refusal
