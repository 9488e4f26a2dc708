"""An ordered rule set over HTTP: trained, asked, explained, listed, and refused where only a tree will do."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from service.schemas.predictions import Explanations, Predictions
from service.schemas.rules import Rules
from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path

ROWS = [
    {"outlook": "sunny", "temperature": "hot", "humidity": "high", "windy": "FALSE"},
    {"outlook": "rainy", "temperature": "cool", "humidity": "normal", "windy": "TRUE"},
    {"outlook": "overcast", "temperature": "cool", "humidity": "normal", "windy": "TRUE"},
    {"outlook": None, "temperature": "cool", "humidity": "high", "windy": "TRUE"},
    {"outlook": "foggy", "temperature": "cool", "humidity": "high", "windy": "TRUE"},
]
LABELS = ["no", "no", "yes", "yes", "yes"]
RANKS = [1, 2, 3, 3, 3]


@pytest.fixture(scope="module")
def golf(shared_api: Api) -> Api:
    uploaded = shared_api.upload(table_path("weather-nominal.csv").read_bytes(), name="golf").json()
    train(shared_api, uploaded["id"], target="play", name="golf", learner="rule-set-classifier")
    return shared_api


def ask(api: Api, route: str, **query: Any) -> Any:
    response = api.post(f"/api/v1/models/golf/{route}", json={"rows": ROWS}, params=query)
    assert response.status_code == 200, response.text
    return response.json()


def test_the_first_rule_that_covers_a_row_answers(golf: Api) -> None:
    answer = ask(golf, "predictions")
    Predictions.model_validate(answer)
    assert [row["label"] for row in answer["predictions"]] == LABELS
    assert answer["predictions"][0]["probabilities"] == pytest.approx([0.8, 0.2])  # 3 of 3 rows, Laplace
    kinds = [[one["kind"] for one in row.get("warnings", ())] for row in answer["predictions"]]
    assert kinds == [[], [], [], ["missing"], ["unseen"]]


def test_one_row_is_answered_alike_at_both_doors(golf: Api) -> None:
    for row, label in zip(ROWS, LABELS, strict=True):
        for query in ({}, {"explain": True}):
            answer = golf.post("/api/v1/models/golf/predictions", json={"rows": [row]}, params=query).json()
            assert answer["predictions"][0]["label"] == label
        body = {"rows": [row], "explain": True}
        explained = golf.post("/api/v1/models/golf/predictions", json=body).json()["predictions"][0]
        assert explained["explanation"] == answer["predictions"][0]["explanation"]


def test_the_reason_is_the_rule(golf: Api) -> None:
    answer = ask(golf, "explanations")
    Explanations.model_validate(answer)
    reasons = answer["explanations"]
    rules = golf.get("/api/v1/models/golf/rules").json()["rules"]
    assert [one["kind"] for one in reasons] == ["rule"] * 5
    assert [one["rank"] for one in reasons] == RANKS
    assert [one["rule"] for one in reasons] == [rules[rank - 1]["id"] for rank in RANKS]
    assert [one["default"] for one in reasons] == [False, False, True, True, True]
    assert [(one["condition"]["text"], one["observed"]) for one in reasons[0]["conditions"]] == [
        ("outlook = sunny", "sunny"),
        ("humidity = high", "high"),
    ]
    assert [one["failed"]["state"] for one in reasons[3]["failed"]] == ["missing", "missing"]
    assert [one["failed"]["state"] for one in reasons[4]["failed"]] == ["unseen", "unseen"]
    assert (reasons[0]["rows"], reasons[0]["confidence"]) == (3, 0.8)


def test_reasons_in_csv(golf: Api) -> None:
    body = "outlook,temperature,humidity,windy\nsunny,hot,high,FALSE\n,hot,high,FALSE\n"
    response = golf.post("/api/v1/models/golf/explanations", content=body, headers={"content-type": "text/csv"})
    lines = response.text.splitlines()
    assert "rule 1: outlook = sunny and humidity = high" in lines[1]
    assert "rule 3: no rule covers the row" in lines[2]


def test_rules_in_their_order(golf: Api) -> None:
    answer = golf.get("/api/v1/models/golf/rules").json()
    Rules.model_validate(answer)
    assert answer["ordered"] is True
    assert [rule["answer"] for rule in answer["rules"]] == ["no", "no", "yes"]
    assert answer["rules"][-1]["conditions"] == []
    assert "leaf" not in answer["rules"][0]
    text = golf.get("/api/v1/models/golf/rules", params={"format": "text"}).text.splitlines()
    assert text[0].startswith("IF outlook = sunny AND humidity = high THEN play = no")
    assert text[-1].startswith("ELSE play = yes")


@pytest.mark.parametrize("form", ["select", "case"])
def test_the_sql_answers_every_row(golf: Api, form: str) -> None:
    database = sqlite3.connect(":memory:")
    names = list(ROWS[0])
    database.execute(f"CREATE TABLE golf ({', '.join(f'{name} TEXT' for name in names)})")
    database.executemany("INSERT INTO golf VALUES (?, ?, ?, ?)", [[row[name] for name in names] for row in ROWS])
    query = {"format": "sql", "form": form} | ({"source": "golf"} if form == "select" else {})
    statement = golf.get("/api/v1/models/golf/rules", params=query).text
    statement = f"SELECT {statement} FROM golf" if form == "case" else statement
    assert [row[-1] for row in database.execute(statement)] == LABELS
    database.close()


def test_there_is_no_tree_to_show(golf: Api) -> None:
    for query in ({}, {"format": "svg"}):
        said = problem(golf.get("/api/v1/models/golf/tree", params=query), 409)
        assert "no tree" in said["detail"]


def test_a_parameter_without_effect_is_named(golf: Api) -> None:
    uploaded = golf.upload(table_path("weather-nominal.csv").read_bytes(), name="again").json()
    request = {
        "kind": "train",
        "dataset": uploaded["id"],
        "target": "play",
        "learner": "rule-set-classifier",
        "model": {"name": "other"},
    }
    for parameters, name in (
        ({"confidence": 0.9}, "confidence"),
        ({"validation_fraction": 0.5}, "validation_fraction"),
    ):
        answer = golf.post("/api/v1/jobs", json={**request, "parameters": parameters})
        said = problem(answer, 422)
        assert name in str(said["errors"])


def test_simplified_rules_decide_alike(golf: Api) -> None:
    plain = golf.get("/api/v1/models/golf/rules", params={"simplify": False}).json()
    fewer = golf.get("/api/v1/models/golf/rules", params={"simplify": True}).json()
    Rules.model_validate(fewer)
    assert fewer["rules"] == plain["rules"]  # there is nothing to merge
    uploaded = golf.upload(table_path("vote.csv").read_bytes(), name="vote").json()
    train(golf, uploaded["id"], target="Class", name="vote", parameters={"nominal": "multiway"})
    plain = golf.get("/api/v1/models/vote/rules").json()
    fewer = golf.get("/api/v1/models/vote/rules", params={"simplify": True}).json()
    Rules.model_validate(fewer)
    assert len(fewer["rules"]) < len(plain["rules"])
    leaves = [leaf for rule in fewer["rules"] for leaf in (rule.get("leaves") or [rule["leaf"]])]
    assert set(leaves) <= {rule["leaf"] for rule in plain["rules"]}
