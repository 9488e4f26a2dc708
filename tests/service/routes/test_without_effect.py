"""What would have no effect beside what else is asked is refused by its name, wherever it stands."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path


@pytest.fixture(scope="module")
def golf(shared_api: Api) -> Api:
    uploaded = shared_api.upload(table_path("weather-nominal.csv").read_bytes(), name="golf").json()
    train(shared_api, uploaded["id"], target="play", name="golf")
    shared_api.headers["x-dataset"] = uploaded["id"]
    return shared_api


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("rules?format=text&limit=3", ["limit"]),
        ("rules?format=markdown&cursor=x&limit=1000", ["cursor", "limit"]),
        ("rules?format=sql&limit=3", ["limit"]),
        ("rules?source=t", ["source"]),
        ("rules?format=text&form=case", ["form"]),
        ("rules?format=sql&form=case&source=t", ["source"]),
        ("tree?format=svg&levels=2", ["levels"]),
        ("tree?max_depth=3&max_leaves=2&layout=wide", ["max_depth", "max_leaves", "layout"]),
    ],
)
def test_parameters_of_another_format(golf: Api, query: str, names: list[str]) -> None:
    document = problem(golf.get(f"/api/v1/models/golf/{query}"), 422)
    assert [fault["parameter"] for fault in document["errors"]] == names
    assert "no effect" in document["detail"]


@pytest.mark.parametrize(
    ("evaluation", "name"),
    [
        ({"method": "hold-out", "folds": 5}, "folds"),
        ({"method": "k-fold", "fraction": 0.5}, "fraction"),
        ({"fraction": 0.5}, "fraction"),
        ({"method": "none", "folds": 5}, "folds"),
        ({"method": "none", "stratified": False}, "stratified"),
    ],
)
def test_numbers_of_another_method(golf: Api, evaluation: dict[str, Any], name: str) -> None:
    request = {
        "kind": "train",
        "dataset": golf.headers["x-dataset"],
        "target": "play",
        "learner": "decision-tree-classifier",
        "evaluation": evaluation,
    }
    (fault,) = problem(golf.post("/api/v1/jobs", json=request), 422)["errors"]
    assert fault["parameter"] == f"evaluation.{name}"


def test_folds_alone_ask_for_folds_and_a_request_as_it_was_filled_in_is_taken_again(golf: Api) -> None:
    request = {"kind": "train", "dataset": golf.headers["x-dataset"], "target": "play"}
    request["learner"] = "decision-tree-classifier"
    for evaluation, normal in (
        ({"folds": 3}, {"method": "k-fold", "folds": 3, "stratified": True}),
        ({"method": "hold-out"}, {"method": "hold-out", "fraction": 0.25, "stratified": True}),
        (None, {"method": "none"}),
    ):
        job = golf.post("/api/v1/jobs", json=request | {"evaluation": evaluation}).json()
        assert job["request"]["evaluation"] == normal
        again = golf.post("/api/v1/jobs", json=job["request"])
        assert again.status_code == 202, again.text
        assert again.json()["request"] == job["request"]


@pytest.mark.parametrize("parameter", ["directions", "costs", "allowed"])
def test_wishes_for_a_column_that_is_fixed(golf: Api, parameter: str) -> None:
    said = {"directions": "up", "costs": 2, "allowed": ["sunny"]}[parameter]
    body = {"rows": [{"outlook": "sunny"}], "wanted": "yes", "fixed": ["outlook"], parameter: {"outlook": said}}
    (fault,) = problem(golf.post("/api/v1/models/golf/counterfactuals", json=body), 422)["errors"]
    assert (fault["parameter"], fault["column"]) == (f"{parameter}.outlook", "outlook")


def test_explain_where_all_is_explained(golf: Api) -> None:
    body = {"rows": [{"outlook": "sunny"}], "explain": True}
    (fault,) = problem(golf.post("/api/v1/models/golf/explanations", json=body), 422)["errors"]
    assert fault["parameter"] == "explain"


def test_what_is_given_twice_in_an_upload(golf: Api) -> None:
    file = {"file": ("a.csv", b"a,b\n1,2\n", "text/csv")}
    for name, value in (("name", "x"), ("format", "csv"), ("options", "{}")):
        twice = golf.post("/api/v1/datasets", params={name: value}, data={name: value}, files=file)
        assert problem(twice, 422)["errors"][0]["parameter"] == name
    query = {"format": "csv", "options": '{"format":"tsv"}'}
    twice = golf.post("/api/v1/datasets", params=query, content=b"a,b\n1,2\n")
    assert problem(twice, 422)["errors"][0]["parameter"] == "format"
