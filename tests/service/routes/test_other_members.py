"""Ensembles of other learners over HTTP: submitted, searched, judged, trained, asked, and refused by name."""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
import pytest

from learners.catalog import make
from learners.table import Table
from service.schemas.predictions import Explanations
from tests.learners.tables import read
from tests.service.running import Api, problem
from tests.service.working import do_job, train
from tests.shared import table_path

ROW = {"sepallength": 5.9, "sepalwidth": 3.0, "petallength": 4.9, "petalwidth": 1.7}
#: By the model's name: the learner, and the kind of its members' reasons.
MODELS: dict[str, tuple[str, dict[str, Any], str]] = {
    "logistic": ("adaboost-classifier", {"learner": "logistic-classifier"}, "contributions"),
    "rules": ("adaboost-classifier", {"learner": "rule-set-classifier", "parameters": {"max_rules": 2}}, "rule"),
    "nearest": (
        "adaboost-classifier",
        {"learner": "nearest-neighbors-classifier", "parameters": {"k": 9, "kernel": "inverse"}},
        "neighbours",
    ),
    "network": (
        "bagging-classifier",
        {"learner": "neural-network-classifier", "parameters": {"epochs": 20, "hidden_units": [2]}},
        "attributions",
    ),
    "trees": (
        "bagging-classifier",
        {"learner": "decision-tree-classifier", "parameters": {"oblique_tests": True, "max_depth": 2}},
        "path",
    ),
}


@pytest.fixture(scope="module")
def dataset(shared_api: Api) -> str:
    made: str = shared_api.upload(table_path("iris.csv").read_bytes(), name="iris").json()["id"]
    return made


@pytest.fixture(scope="module")
def iris(shared_api: Api, dataset: str) -> Api:
    for name, (learner, member, _) in MODELS.items():
        parameters = {"members": 4, "member": member}
        train(shared_api, dataset, target="class", name=name, learner=learner, parameters=parameters)
    return shared_api


@pytest.mark.parametrize("name", MODELS)
def test_rows_are_answered_as_by_the_library_alone_and_together(iris: Api, name: str) -> None:
    learner, member, _ = MODELS[name]
    table, target = read("iris", "class")
    parameters = {"members": 4, "member": member} | ({"seed": 0} if learner.startswith("bagging") else {})
    own: Any = make(learner, parameters).fit(table, target)
    rows = [dict(zip(table.names, row, strict=True)) for row in table.values[::10].tolist()] + [
        {**ROW, "petalwidth": None}
    ]
    answer = iris.post(f"/api/v1/models/{name}/predictions", json={"rows": rows})
    assert answer.status_code == 200, answer.text
    together = [one["probabilities"] for one in answer.json()["predictions"]]
    asked = Table(table.columns, np.array([[np.nan if x is None else x for x in row.values()] for row in rows]))
    assert together == own.predict_proba(asked).tolist()
    for row, shares in zip(rows, together, strict=True):
        alone = iris.post(f"/api/v1/models/{name}/predictions", json={"rows": [row]}).json()["predictions"][0]
        assert alone["probabilities"] == shares


@pytest.mark.parametrize("name", MODELS)
def test_every_member_votes_and_three_give_their_own_reasons(iris: Api, name: str) -> None:
    answer = iris.post(f"/api/v1/models/{name}/explanations", json={"rows": [ROW, {**ROW, "petallength": None}]})
    assert answer.status_code == 200, answer.text
    Explanations.model_validate(answer.json())
    for reason in answer.json()["explanations"]:
        assert reason["kind"] == "votes"
        assert "paths" not in reason
        assert len(reason["reasons"]) == min(3, len(reason["votes"]))
        assert {one["kind"] for one in reason["reasons"]} == {MODELS[name][2]}
        assert {one["member"] for one in reason["reasons"]} <= {one["member"] for one in reason["votes"]}
        assert {one["leaf"] for one in reason["votes"]} == {None}


def test_csv_tells_the_votes(iris: Api) -> None:
    body = f"{','.join(ROW)}\n{','.join(map(str, ROW.values()))}\n"
    query, headers = "/api/v1/models/rules/predictions?explain=true", {"Content-Type": "text/csv"}
    answer = iris.post(query, content=body, headers=headers)
    assert "members (weight " in next(csv.DictReader(answer.text.splitlines()))["explanation"]


@pytest.mark.parametrize("route", ["rules", "tree", "coefficients", "importances"])
def test_what_members_have_and_the_whole_has_not_is_refused(iris: Api, route: str) -> None:
    told = problem(iris.get(f"/api/v1/models/logistic/{route}"), 409)
    assert "adaboost-classifier" in str(told)


def test_importances_are_those_of_members_that_have_them(iris: Api, dataset: str) -> None:
    found = iris.get("/api/v1/models/trees/importances").json()
    assert sum(one["importance"] for one in found["importances"]) == pytest.approx(1)
    asked = {"kind": "permutation", "dataset": dataset}
    shuffled = iris.get("/api/v1/models/logistic/importances", params=asked)
    assert shuffled.status_code == 200, shuffled.text


def test_a_surrogate_has_rules(iris: Api) -> None:
    found = iris.get("/api/v1/models/logistic/rules", params={"surrogate": 4}).json()
    assert found["surrogate"]["fidelity"] > 0.8


def submitted(api: Api, dataset: str, **more: Any) -> Any:
    body = {"kind": "train", "dataset": dataset, "target": "class", "learner": "adaboost-classifier"}
    return api.post("/api/v1/jobs", json=body | more)


@pytest.mark.parametrize(
    ("member", "place", "allowed"),
    [
        ({"learner": "linear-regressor"}, "member.learner", "logistic-classifier"),
        ({"learner": "recurrent-network-classifier"}, "member.learner", "logistic-classifier"),
        ("logistic-classifier", "member", "an object of learner"),
        ({"learner": "logistic-classifier", "parameters": {"penalty": "both"}}, "member.parameters.penalty", "ridge"),
        ({"learner": "logistic-classifier", "parameters": {"depth": 2}}, "member.parameters.depth", "penalty"),
        ({"learner": "nearest-neighbors-classifier", "parameters": {"k": 151}}, "member.parameters.k", "150"),
        (
            {
                "learner": "nearest-neighbors-classifier",
                "parameters": {"weighting": "given", "column_weights": {"width": 1}},
            },
            "member.parameters.column_weights",
            "petalwidth",
        ),
        (
            {"learner": "neural-network-classifier", "parameters": {"hidden_units": [100000, 100000]}},
            "member.parameters.hidden_units",
            "",
        ),
    ],
)
def test_a_bad_member_is_named_where_it_stands_with_what_is_allowed(
    shared_api: Api, dataset: str, member: Any, place: str, allowed: str
) -> None:
    (fault,) = problem(submitted(shared_api, dataset, parameters={"member": member}), 422)["errors"]
    assert fault["parameter"] == f"parameters.{place}"
    assert allowed in str(fault)
    grid = {"grid": {"member": [{"learner": "logistic-classifier"}, member]}}
    answer = submitted(shared_api, dataset, kind="select", selection=grid)
    if place != "member.parameters.hidden_units":  # which depends on the columns, and fails that candidate alone
        (fault,) = problem(answer, 422)["errors"]
        assert fault["parameter"] == f"selection.grid.{place}"
        assert allowed in str(fault)


def test_parameters_of_trees_are_refused_beside_it(shared_api: Api, dataset: str) -> None:
    parameters = {"member": {"learner": "logistic-classifier"}, "max_depth": 2}
    (fault,) = problem(submitted(shared_api, dataset, parameters=parameters), 422)["errors"]
    assert fault["parameter"] == "parameters.max_depth"
    assert "member.parameters" in fault["message"]


def test_a_grid_searches_among_members_and_folds_judge_them(shared_api: Api, dataset: str) -> None:
    members = [
        None,
        {"learner": "logistic-classifier"},
        {"learner": "rule-set-classifier", "parameters": {"max_rules": 1}},
    ]
    common = {"learner": "adaboost-classifier", "parameters": {"members": 3}, "evaluation": {"folds": 3}}
    made = submitted(
        shared_api, dataset, kind="select", selection={"grid": {"member": members}}, model={"name": "chosen"}, **common
    )
    assert made.status_code == 202, made.text
    do_job(shared_api, made.json()["id"])
    ended = shared_api.get(made.headers["location"]).json()
    assert ended["state"] == "succeeded", ended
    found = ended["result"]["selection"]["candidates"]
    assert [one["parameters"]["member"] for one in found] == members
    assert ended["result"]["selection"]["parameters"]["member"] == members[ended["result"]["selection"]["chosen"]]
    common["parameters"] = {"members": 3, "member": members[1]}
    made = submitted(shared_api, dataset, kind="cross-validate", **common)
    do_job(shared_api, made.json()["id"])
    judged = shared_api.get(made.headers["location"]).json()["result"]
    assert judged["evaluation"]["metrics"]["accuracy"]["mean"] > 0.9
