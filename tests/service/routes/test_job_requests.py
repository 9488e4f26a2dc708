"""What a request for a job may ask: all that is wrong with it is named, with what is allowed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from learners.errors import DataError
from learners.validation import check_weights
from tests.service.routes.test_jobs import request, uploaded
from tests.service.running import Api, problem

ZERO = {"Iris-setosa": 0, "Iris-versicolor": 0, "Iris-virginica": 0}


@pytest.fixture(scope="module")
def shared_dataset(shared_api: Api) -> str:
    return uploaded(shared_api)


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"target": "nowhere"}, "target"),
        ({"target": "petalwidth"}, "target"),
        ({"learner": "no-such"}, "learner"),
        ({"learner": "decision-tree-regressor"}, "target"),
        ({"parameters": {"depth": 3}}, "parameters.depth"),
        ({"parameters": {"max_depth": -1}}, "parameters.max_depth"),
        ({"parameters": {"max_depth": "3"}}, "parameters.max_depth"),
        ({"parameters": {"criterion": "nonsense"}}, "parameters.criterion"),
        ({"features": ["class"]}, "features"),
        ({"features": []}, "features"),
        ({"features": ["petalwidth", "petalwidth"]}, "features"),
        ({"features": ["petalwidth"], "excluded": ["petallength"]}, "features"),
        ({"weights": "class"}, "weights"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**53}, "seed"),
        ({"evaluation": {"method": "k-fold", "folds": 151}}, "evaluation.folds"),
        ({"evaluation": {"method": "k-fold", "folds": 1}}, "evaluation.folds"),
        ({"evaluation": {"method": "hold-out", "fraction": 0}}, "evaluation.fraction"),
        ({"evaluation": {"method": "bootstrap"}}, "evaluation.method"),
        ({"model": {"name": "a b"}}, "model.name"),
        ({"model": {"name": "../x"}}, "model.name"),
        ({"model": {"name": "iris", "aliases": ["latest"]}}, "model.aliases"),
        ({"model": {"name": "iris", "aliases": ["champion", "12"]}}, "model.aliases"),
        ({"parameters": {"class_weight": {"Iris-sentosa": 2}}}, "parameters.class_weight"),
        ({"parameters": {"class_weight": ZERO}}, "parameters.class_weight"),
        ({"parameters": {"class_weight": {"Iris-setosa": 1e308}}}, "parameters.class_weight"),
        ({"parameters": {"cost_form": "idx", "costs": {"petal": 2}}}, "parameters.costs"),
        ({"parameters": {"cost_form": "idx", "costs": {"class": 2}}}, "parameters.costs"),
        ({"parameters": {"cost_form": "idx", "costs": {"petalwidth": 0}}}, "parameters.costs"),
        ({"parameters": {"costs": {"petalwidth": 2}}}, "parameters.costs"),
        ({"kind": "cross-validate"}, "model"),
        ({"kind": "guess"}, "kind"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_request_that_cannot_be_done_names_its_parameter(
    shared_api: Api, shared_dataset: str, changes: dict[str, Any], parameter: str
) -> None:
    before = shared_api.counts()
    refused = problem(shared_api.post("/api/v1/jobs", json=request(shared_dataset, **changes)), 422)
    assert parameter in [fault.get("parameter") for fault in refused["errors"]], refused
    assert shared_api.counts() == before


def test_what_is_wrong_is_said_with_what_is_allowed(shared_api: Api, shared_dataset: str) -> None:
    def message(**changes: Any) -> str:
        refused = problem(shared_api.post("/api/v1/jobs", json=request(shared_dataset, **changes)), 422)
        return str(refused["errors"][0]["message"])

    surprise = message(surprise=1)
    assert surprise.startswith("there is no member 'surprise'; allowed are kind, dataset, target, learner, ")
    assert message(evaluation={"k": 3}) == (
        "there is no member 'k' in evaluation; allowed are method, folds, stratified, fraction, repeats, groups, time, "
        "utility"
    )
    assert message(model={"name": "x", "alias": "y"}).endswith("in model; allowed are name, aliases, notes, tags")
    assert message(kind=1).startswith(
        "kind must be 'train', 'cross-validate', 'select', 'learning-curve', 'bias-variance', "
    )
    assert message(model={"name": "x", "aliases": ["1"]}).startswith("an alias is not a number and not 'latest'")
    assert message(model={"name": "a b"}).startswith("a name has 1 to 128 of A-Z a-z 0-9")
    assert "the classes are 'Iris-setosa', " in message(parameters={"class_weight": {"sentosa": 1}})
    empty = problem(shared_api.post("/api/v1/jobs", content=b"", headers={"Content-Type": "application/json"}), 400)
    assert empty["detail"] == "The body is empty; JSON is expected"


@pytest.mark.parametrize("huge", ["2e150", "-2e150"])
def test_a_target_too_large_to_be_squared_is_refused(shared_api: Api, huge: str) -> None:
    dataset = shared_api.upload(f"x,y\n1,2\n2,{huge}\n3,1e140\n4,1", name="huge.csv").json()["id"]
    for changes, status in (({"target": "y"}, 422), ({"target": "x"}, 202)):
        body = {"kind": "train", "dataset": dataset, "learner": "linear-regressor", **changes}
        answer = shared_api.post("/api/v1/jobs", json=body)
        assert answer.status_code == status, answer.text
        if status == 422:
            (fault,) = answer.json()["errors"]
            assert (fault["parameter"], fault["column"]) == ("target", "y")
            assert f"is {float(huge):g} in row 1" in fault["message"]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ((1, -2, 1), "are -2 in row 1"),
        ((0, 0, 0), "are all zero"),
        ((1, 1e-120, 1), "are 1e-120 in row 1; weights are 0 or at least 1e-100"),
        ((5e15, 5e15, 1), "sum to more than 2^53 = 9007199254740992"),
        ((1e308, 1e308, 1e308), "sum to more than 2^53"),
        ((4e15, 5e15, 0), None),
        ((0, 1e-100, 3), None),
    ],
)
def test_weights_that_no_learner_takes_are_refused(
    shared_api: Api, weights: tuple[float, ...], words: str | None
) -> None:
    """Those that the library's own check refuses, and no others."""
    lines = ["x,y,w", *(f"{row},{'ab'[row % 2]},{weight}" for row, weight in enumerate(weights))]
    dataset = shared_api.upload("\n".join(lines), name="weighted.csv").json()["id"]
    body = {"kind": "train", "dataset": dataset, "target": "y", "learner": "decision-tree-classifier", "weights": "w"}
    answer = shared_api.post("/api/v1/jobs", json=body)
    if words is None:
        assert answer.status_code == 202, answer.text
        check_weights(np.array(weights, dtype=float), 3)
        return
    (fault,) = problem(answer, 422)["errors"]
    assert (fault["parameter"], fault["column"]) == ("weights", "w")
    assert words in fault["message"]
    with pytest.raises(DataError):
        check_weights(np.array(weights, dtype=float), 3)


def test_a_dataset_that_is_not_there_is_named(shared_api: Api) -> None:
    refused = problem(shared_api.post("/api/v1/jobs", json=request("ds_none")), 422)
    assert [fault["parameter"] for fault in refused["errors"]] == ["dataset"]


def test_everything_wrong_is_told_at_once(shared_api: Api, shared_dataset: str) -> None:
    body = request(shared_dataset, target="nowhere", parameters={"max_depth": -1, "depth": 1})
    refused = problem(shared_api.post("/api/v1/jobs", json=body), 422)
    named = {fault["parameter"] for fault in refused["errors"]}
    assert {"target", "parameters.max_depth", "parameters.depth"} <= named
    assert refused["errors_total"] >= 3


@pytest.mark.parametrize("key", ["", "k" * 201, "\x07"])
def test_a_key_that_is_none_is_refused(shared_api: Api, shared_dataset: str, key: str) -> None:
    answer = shared_api.post("/api/v1/jobs", json=request(shared_dataset), headers={"Idempotency-Key": key})
    assert answer.status_code in (400, 422)


def test_a_column_of_a_kind_that_the_learner_does_not_compare_is_named(shared_api: Api) -> None:
    rows = [{"pulse": [1, 2], "x": 1, "y": "a"}, {"pulse": [3], "x": 2, "y": "b"}]
    dataset = shared_api.upload(json.dumps(rows).encode(), name="pulses", format="json").json()
    assert [column["kind"] for column in dataset["columns"]] == ["sequence", "numeric", "nominal"]
    asked = request(dataset["id"], target="y")
    refused = problem(shared_api.post("/api/v1/jobs", json=asked), 422)
    assert [(fault["parameter"], fault["column"]) for fault in refused["errors"]] == [("features", "pulse")]
    refused = problem(shared_api.post("/api/v1/jobs", json=request(dataset["id"], target="pulse")), 422)
    assert {fault["parameter"] for fault in refused["errors"]} == {"target"}
    assert shared_api.post("/api/v1/jobs", json={**asked, "excluded": ["pulse"]}).status_code == 202
    shown = shared_api.get(f"/api/v1/datasets/{dataset['id']}/rows").json()["rows"]
    assert shown == rows
