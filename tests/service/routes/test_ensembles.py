"""Ensembles over HTTP: trained, asked, explained by votes and by columns, and refused where only a tree will do."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from learners.ensembles import RandomForestClassifier
from learners.surrogate import surrogate_of
from service.operations.explanation import surrogates
from service.schemas.predictions import Explanations
from service.schemas.rule_support import SurrogateRules
from tests.learners.tables import read
from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path

ROW = {"sepallength": 5.0, "sepalwidth": 3.4, "petallength": 1.5, "petalwidth": 0.2}


@pytest.fixture(scope="module")
def iris(shared_api: Api) -> Api:
    uploaded = shared_api.upload(table_path("iris.csv").read_bytes(), name="iris").json()
    for name, learner in (("boosted", "adaboost-classifier"), ("forest", "random-forest-classifier")):
        train(shared_api, uploaded["id"], target="class", name=name, learner=learner, parameters={"members": 6})
    more = {"excluded": ["class"], "learner": "bagging-regressor", "parameters": {"members": 4}}
    train(shared_api, uploaded["id"], target="petalwidth", name="bag", **more)
    return shared_api


def reasons(api: Api, model: str) -> Any:
    answer = api.post(f"/api/v1/models/{model}/explanations", json={"rows": [ROW, {**ROW, "petallength": None}]})
    assert answer.status_code == 200, answer.text
    Explanations.model_validate(answer.json())
    return answer.json()["explanations"]


def test_of_boosted_stumps_the_columns_votes_add_up_to_the_probabilities(iris: Api) -> None:
    for reason in reasons(iris, "boosted"):
        assert reason["kind"] == "additive"
        sums = [sum(one["votes"][k]["share"] for one in reason["columns"]) for k in range(3)]
        assert sums == pytest.approx(reason["probabilities"])
        assert sum(one["margin"] for one in reason["columns"]) == pytest.approx(reason["margin"])


def test_of_a_forest_every_member_votes_and_three_show_their_paths(iris: Api) -> None:
    for reason in reasons(iris, "forest"):
        assert (reason["kind"], len(reason["votes"]), len(reason["paths"])) == ("votes", 6, 3)
        shares = [sum(one["weight"] * one["distribution"][k]["share"] for one in reason["votes"]) for k in range(3)]
        assert shares == pytest.approx(reason["probabilities"])
    for reason in reasons(iris, "bag"):
        assert reason["value"] == pytest.approx(sum(one["weight"] * one["value"] for one in reason["votes"]))


def test_csv_tells_their_reasons_too(iris: Api) -> None:
    for model, words in (("boosted", " by a margin of "), ("forest", "members (weight "), ("bag", "4 members say ")):
        row = {name: value for name, value in ROW.items() if model != "bag" or name != "petalwidth"}
        body = f"{','.join(row)}\n{','.join(map(str, row.values()))}\n"
        query, headers = f"/api/v1/models/{model}/predictions?explain=true", {"Content-Type": "text/csv"}
        answer = iris.post(query, content=body, headers=headers)
        assert words in next(csv.DictReader(answer.text.splitlines()))["explanation"]


def test_a_policy_for_missing_values_is_refused_for_what_it_is(iris: Api) -> None:
    answer = iris.post("/api/v1/models/forest/predictions", json={"rows": [ROW], "missing": "most-likely"})
    assert answer.status_code == 422
    assert "what random-forest-classifier does with missing values was settled in training" in answer.text


@pytest.mark.parametrize("route", ["rules", "tree"])
def test_what_only_one_tree_has_is_refused_by_name(iris: Api, route: str) -> None:
    answer = iris.get(f"/api/v1/models/forest/{route}")
    assert answer.status_code == 409
    assert "RandomForestClassifier" in answer.text or "random-forest-classifier" in answer.text


def test_importances_are_those_of_the_members(iris: Api) -> None:
    found = iris.get("/api/v1/models/forest/importances").json()
    assert found["kind"] == "impurity"
    assert sum(one["importance"] for one in found["importances"]) == pytest.approx(1)


def surrogate(api: Api, model: str, **query: Any) -> dict[str, Any]:
    answer = api.get(f"/api/v1/models/{model}/rules", params=query)
    assert answer.status_code == 200, answer.text
    SurrogateRules.model_validate(answer.json())
    found: dict[str, Any] = answer.json()
    return found


def test_a_forests_surrogate_has_few_rules_and_tells_its_fidelity(iris: Api) -> None:
    found = surrogate(iris, "forest", surrogate=3)
    assert found["n_rules"] == len(found["rules"]) == 3
    table, target = read("iris", "class")
    own = surrogate_of(RandomForestClassifier(members=6).fit(table, target), table, max_leaves=3)
    told = found["surrogate"]
    assert (told["measure"], told["fidelity"], told["judged_rows"]) == ("agreement", own.fidelity, own.rows)
    assert (told["n_rows"], told["dataset"]["learned_from"]) == (150, True)
    assert surrogate(iris, "forest", surrogate=1)["surrogate"]["fidelity"] < 0.5


def test_of_numbers_fidelity_is_r_squared_and_few_rows_do(iris: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surrogates, "MAX_CELLS", 240)
    told = surrogate(iris, "bag", surrogate=8, simplify=True)["surrogate"]
    assert (told["measure"], told["n_rows"]) == ("r_squared", 80)
    assert 0.5 < told["fidelity"] <= 1
    monkeypatch.setattr(surrogates, "MAX_CELLS", 100)
    answer = iris.get("/api/v1/models/bag/rules", params={"surrogate": 8})
    assert (answer.status_code, answer.json()["errors"][0]["allowed"]) == (413, 2)


@pytest.mark.parametrize("query", [{"format": "text"}, {"limit": 3}, {"surrogate": 0}, {"dataset": "none"}])
def test_what_a_surrogate_cannot_be_asked_is_refused_by_name(iris: Api, query: dict[str, Any]) -> None:
    answer = iris.get("/api/v1/models/forest/rules", params={"surrogate": 4} | query)
    told = problem(answer, 404 if "dataset" in query else 422)
    assert "dataset" in query or str(next(iter(query))) in str(told)


def test_a_model_without_rules_hints_at_a_surrogate(iris: Api) -> None:
    assert "surrogate=16" in iris.get("/api/v1/models/boosted/rules").text
