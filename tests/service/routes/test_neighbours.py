"""Nearest neighbours over HTTP: trained, asked, explained, and refused where only a tree will do."""

from __future__ import annotations

from typing import Any

import pytest

from service.schemas.predictions import Explanations, Predictions
from tests.service.running import Api, problem
from tests.service.working import do_job, train
from tests.shared import table_path

ROW = {"sepallength": 5.0, "sepalwidth": 3.4, "petallength": 1.5, "petalwidth": 0.2}


@pytest.fixture(scope="module")
def iris(shared_api: Api) -> Api:
    uploaded = shared_api.upload(table_path("iris.csv").read_bytes(), name="iris").json()
    shared_api.dataset = uploaded["id"]
    train(shared_api, uploaded["id"], target="class", name="iris", learner="nearest-neighbors-classifier")
    more = {"excluded": ["class"], "learner": "nearest-neighbors-regressor", "parameters": {"kernel": "gaussian"}}
    train(shared_api, uploaded["id"], target="petalwidth", name="width", **more)
    return shared_api


def ask(api: Api, model: str, route: str, rows: list[dict[str, Any]]) -> Any:
    response = api.post(f"/api/v1/models/{model}/{route}", json={"rows": rows})
    assert response.status_code == 200, response.text
    return response.json()


def test_the_rows_that_voted_are_told(iris: Api) -> None:
    answer = ask(iris, "iris", "explanations", [ROW, {**ROW, "petalwidth": None}])
    Explanations.model_validate(answer)
    for reason in answer["explanations"]:
        assert (reason["kind"], reason["by"], len(reason["neighbours"])) == ("neighbours", "share", 5)
        assert sum(one["vote"] for one in reason["neighbours"]) == pytest.approx(1)
        for one in reason["neighbours"]:
            assert sum(share["share"] for share in one["shares"]) == pytest.approx(1 if one["distance"] else 0)
        assert reason["probabilities"][0] == 1
        assert reason["interval"]["method"] == "wilson"
    told = Predictions.model_validate(ask(iris, "iris", "predictions", [ROW]))
    assert told.predictions[0].probabilities == [1, 0, 0]


def test_a_number_comes_with_its_rows_and_an_interval(iris: Api) -> None:
    (reason,) = ask(iris, "width", "explanations", [ROW])["explanations"]
    assert reason["value"] == pytest.approx(sum(one["vote"] * one["answer"] for one in reason["neighbours"]))
    assert reason["interval"]["low"] < reason["value"] < reason["interval"]["high"]
    lines = iris.post(
        "/api/v1/models/width/explanations",
        content="sepallength,sepalwidth,petallength\n5,3.4,1.5\n",
        headers={"content-type": "text/csv", "accept": "text/csv"},
    ).text.splitlines()
    assert "(vote" in lines[1]


def test_one_row_is_answered_as_many_are(iris: Api) -> None:
    rows = [{**ROW, "sepallength": 4.4 + step / 10, "petallength": 1.1 + step / 8} for step in range(40)]
    for model in ("iris", "width"):
        many = ask(iris, model, "predictions", rows)["predictions"]
        for row, wanted in zip(rows, many, strict=True):
            (alone,) = ask(iris, model, "predictions", [row])["predictions"]
            assert {**alone, "row": 0} == {**wanted, "row": 0}


def test_texts_and_sequences_that_training_did_not_know_are_compared(shared_api: Api) -> None:
    lines = ["name,curve,kind", 'meier,"[1,2,3]",m', 'meyer,"[1,1,2,3]",m', 'schmidt,"[3,2,1]",s', 'schmitt,"[3,2]",s']
    uploaded = shared_api.upload("\n".join(lines), options='{"kinds": {"name": "text", "curve": "sequence"}}').json()
    options = {"learner": "nearest-neighbors-classifier", "parameters": {"k": 1}}
    train(shared_api, uploaded["id"], target="kind", name="elastic", **options)
    rows = [{"name": "mayer", "curve": [1, 2, 2, 3]}, {"name": "smith", "curve": [3, 3, 1]}]
    answer = ask(shared_api, "elastic", "explanations", rows)["explanations"]
    assert [one["label"] for one in answer] == ["m", "s"]
    assert {share["column"] for share in answer[1]["neighbours"][0]["shares"]} == {"name", "curve"}


@pytest.mark.parametrize("learner", ["nearest-neighbors-classifier", "local-linear-regressor"])
def test_huge_numbers_in_a_sequence_fail_no_row(shared_api: Api, learner: str) -> None:
    lines = ["curve,kind,number", '"[1,2,3]",m,1', '"[1,1,2,3]",m,2', '"[3,2,1]",s,3', '"[3,2]",s,4']
    uploaded = shared_api.upload("\n".join(lines), options='{"kinds": {"curve": "sequence"}}').json()
    target = "kind" if learner.endswith("classifier") else "number"
    options = {"learner": learner, "features": ["curve"], "parameters": {"k": 3, "kernel": "inverse"}}
    train(shared_api, uploaded["id"], target=target, name=f"huge-{target}", **options)
    rows = [{"curve": [1e200]}, {"curve": [1, 2, 2]}, {"curve": [1e308, -1e308]}]
    answers = ask(shared_api, f"huge-{target}", "predictions", rows)["predictions"]
    (alone,) = ask(shared_api, f"huge-{target}", "predictions", rows[1:2])["predictions"]
    assert {**alone, "row": 1} == answers[1]
    told = ask(shared_api, f"huge-{target}", "explanations", rows)["explanations"]
    assert all(one["distance"] >= 0 for reason in told for one in reason["neighbours"])


@pytest.mark.parametrize("route", ["rules", "tree"])
def test_what_is_told_of_trees_is_refused_by_name(iris: Api, route: str) -> None:
    refused = problem(iris.get(f"/api/v1/models/iris/{route}"), 409)
    assert ": nearest-neighbors-classifier is " in refused["detail"]
    assert route not in iris.get("/api/v1/models/iris:1").json()["links"]


@pytest.mark.parametrize(
    ("parameters", "where"),
    [
        ({"k": 0}, "parameters.k"),
        ({"k": 151}, "parameters.k"),
        ({"k": 1.5}, "parameters.k"),
        ({"p": 0.5, "metric": "minkowski"}, "parameters.p"),
        ({"metric": "manhattan", "search": "hashing"}, "parameters.search"),
        ({"weighting": "given", "column_weights": {"petal": 1}}, "parameters.column_weights"),
    ],
)
def test_what_cannot_be_is_refused_at_submission(iris: Api, parameters: dict[str, Any], where: str) -> None:
    request = {"kind": "train", "dataset": iris.dataset, "target": "class", "parameters": parameters}
    response = iris.post("/api/v1/jobs", json=request | {"learner": "nearest-neighbors-classifier"})
    refused = problem(response, 422)
    assert where in [fault["parameter"] for fault in refused["errors"]]


def test_more_neighbours_than_rows_are_refused_in_a_grid_and_told_of_folds(iris: Api) -> None:
    search = {"kind": "select", "dataset": iris.dataset, "target": "class", "learner": "nearest-neighbors-classifier"}
    refused = problem(iris.post("/api/v1/jobs", json=search | {"selection": {"grid": {"k": [5, 200]}}}), 422)
    assert [fault["parameter"] for fault in refused["errors"]] == ["selection.grid.k"]
    judged = search | {"kind": "cross-validate", "parameters": {"k": 150}, "evaluation": {"folds": 2}}
    job = iris.post("/api/v1/jobs", json=judged).json()["id"]
    do_job(iris, job)
    warnings = iris.get(f"/api/v1/jobs/{job}").json()["result"]["evaluation"]["warnings"]
    assert warnings[0] == "fold 1: 75 rows, fewer than k = 150, so all vote"
