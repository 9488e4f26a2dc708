"""Linear models over HTTP: trained, asked, explained, their coefficients, and what they have not."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from learners.linear import LinearRegressor
from service.client import Rulewood
from service.schemas.contributions import Coefficients
from service.schemas.predictions import Explanations, Predictions
from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path


@pytest.fixture(scope="module")
def api(shared_api: Api) -> Api:
    """A service with linear models of every penalty and link, and a tree beside them."""
    uploaded = shared_api.upload(table_path("longley.csv").read_bytes(), name="longley").json()
    train(shared_api, uploaded["id"], target="employed", name="jobs", learner="linear-regressor")
    path = {"penalty": "lasso", "n_alphas": 8, "selection": "one-standard-error"}
    train(shared_api, uploaded["id"], target="employed", name="path", learner="linear-regressor", parameters=path)
    uploaded = shared_api.upload(table_path("servo.csv").read_bytes(), name="servo").json()
    train(shared_api, uploaded["id"], target="class", name="servo", learner="linear-regressor")
    uploaded = shared_api.upload(table_path("iris.csv").read_bytes(), name="iris").json()
    train(shared_api, uploaded["id"], target="class", name="flowers", learner="logistic-classifier")
    free = {"penalty": "none"}
    train(shared_api, uploaded["id"], target="class", name="parted", learner="logistic-classifier", parameters=free)
    uploaded = shared_api.upload(table_path("weather-numeric.csv").read_bytes(), name="golf").json()
    train(shared_api, uploaded["id"], target="play", name="golf", learner="logistic-classifier")
    train(shared_api, uploaded["id"], target="play", name="golf-tree", learner="decision-tree-classifier")
    return shared_api


def ask(api: Api, name: str, rows: list[dict[str, Any]], **options: Any) -> list[dict[str, Any]]:
    response = api.post(f"/api/v1/models/{name}/predictions", json={"rows": rows} | options)
    assert response.status_code == 200, response.text
    Predictions.model_validate(response.json())
    found: list[dict[str, Any]] = response.json()["predictions"]
    return found


def coefficients(api: Api, name: str, **query: Any) -> dict[str, Any]:
    response = api.get(f"/api/v1/models/{name}/coefficients", params=query)
    assert response.status_code == 200, response.text
    Coefficients.model_validate(response.json())
    found: dict[str, Any] = response.json()
    return found


def test_longleys_coefficients_come_with_every_digit(api: Api) -> None:
    answer = coefficients(api, "jobs")
    assert (answer["model"], answer["link"], answer["alpha"], answer["degree"]) == ("jobs", "identity", 0, 1)
    rows = {row["variable"]: row for row in answer["coefficients"]}
    assert next(iter(rows)) == "intercept"
    assert rows["intercept"]["estimate"] == pytest.approx(-3482258.6346, rel=1e-10)
    assert rows["year"]["estimate"] == pytest.approx(1829.15146461, rel=1e-10)
    assert rows["year"]["low"] < rows["year"]["estimate"] < rows["year"]["high"]
    assert rows["year"]["t"] == pytest.approx(rows["year"]["estimate"] / rows["year"]["standard_error"])
    assert answer["without_intervals"] is None
    assert answer["statistics"]["r_squared"] == pytest.approx(0.995479004577296, rel=1e-12)
    assert answer["formula"].startswith("-3482258.6345")
    wider = {row["variable"]: row for row in coefficients(api, "jobs", level=0.99)["coefficients"]}
    assert wider["year"]["low"] < rows["year"]["low"]
    with Rulewood(api.address) as client:
        assert client.coefficients("jobs", level=0.99)["level"] == 0.99
    text = api.get("/api/v1/models/jobs/coefficients", params={"format": "text"})
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert text.text == answer["formula"] + "\n"


def test_a_penalty_leaves_no_p_value_and_says_so(api: Api) -> None:
    answer = coefficients(api, "golf")
    assert "the penalty (ridge, alpha = 0.001)" in answer["without_intervals"]
    assert {(row["t"], row["p_value"], row["low"], row["high"]) for row in answer["coefficients"]} == {(None,) * 4}
    assert all(row["standard_error"] > 0 for row in answer["coefficients"])
    assert "separable" in coefficients(api, "parted")["without_intervals"]


def test_what_was_tried_is_told(api: Api) -> None:
    answer = coefficients(api, "path")
    assert len(answer["tried"]) == 8
    (chosen,) = [one for one in answer["tried"] if one["chosen"]]
    assert chosen["alpha"] == answer["alpha"]
    least = min(answer["tried"], key=lambda one: one["loss"])
    assert chosen["loss"] <= least["loss"] + least["standard_error"]
    assert {row["standard_error"] for row in answer["coefficients"]} == {None}
    assert any(row["estimate"] == 0 for row in answer["coefficients"])


def test_levels_are_told_against_their_reference(api: Api) -> None:
    rows = [row for row in coefficients(api, "servo")["coefficients"] if row["kind"] == "level"]
    assert {row["reference"] for row in rows if row["column"] == "motor"} == {"A"}
    assert [row["level"] for row in rows if row["column"] == "screw"] == ["B", "C", "D", "E"]


def test_separable_classes_are_warned_of(api: Api) -> None:
    assert "separable" in coefficients(api, "parted")["warnings"][0]
    assert coefficients(api, "flowers")["warnings"] == []
    assert {row["label"] for row in coefficients(api, "flowers")["coefficients"]} == {
        "Iris-setosa",
        "Iris-versicolor",
        "Iris-virginica",
    }


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"level": "1"}, "level"),
        ({"level": "nan"}, "level"),
        ({"format": "xml"}, "format"),
        ({"format": "text", "level": "0.9"}, "level"),
    ],
)
def test_bad_queries_are_named(api: Api, query: dict[str, str], parameter: str) -> None:
    refused = problem(api.get("/api/v1/models/jobs/coefficients", params=query), 422)
    assert refused["errors"][0]["parameter"] == parameter


def test_a_tree_has_no_coefficients_and_a_linear_model_no_rules(api: Api) -> None:
    problem(api.get("/api/v1/models/golf-tree/coefficients"), 409)
    problem(api.get("/api/v1/models/nobody/coefficients"), 404)
    for what in ("rules", "tree", "importances"):
        problem(api.get(f"/api/v1/models/golf/{what}"), 409)
    row = {"outlook": "sunny", "temperature": 85, "humidity": 85, "windy": "FALSE"}
    problem(api.post("/api/v1/models/golf/counterfactuals", json={"rows": [row], "wanted": "yes"}), 409)


def test_a_formula_is_sql_too(api: Api) -> None:
    response = api.get("/api/v1/models/servo/coefficients", params={"format": "sql", "source": "asked"})
    assert response.headers["content-type"].startswith("application/sql")
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE asked (motor TEXT, screw TEXT, pgain DOUBLE PRECISION, vgain DOUBLE PRECISION)")
        database.executemany("INSERT INTO asked VALUES (:motor, :screw, :pgain, :vgain)", ROWS["servo"])
        found = [row[-1] for row in database.execute(response.text)]
    told = api.post("/api/v1/models/servo/predictions", json={"rows": ROWS["servo"]}).json()["predictions"]
    assert found == [one["value"] for one in told]
    problem(api.get("/api/v1/models/servo/coefficients", params={"source": "asked"}), 422)
    problem(api.get("/api/v1/models/golf-tree/coefficients", params={"format": "sql"}), 409)


ROWS = {
    "servo": [
        {"motor": "A", "screw": "B", "pgain": 3, "vgain": 1},
        {"motor": "never", "screw": None, "pgain": 5, "vgain": 4},
    ],
    "flowers": [
        {"sepallength": 5.1, "sepalwidth": 3.5, "petallength": 1.4, "petalwidth": 0.2},
        {"sepallength": None, "sepalwidth": 3.0, "petallength": 5.5, "petalwidth": 2.1},
    ],
    "golf": [
        {"outlook": "sunny", "temperature": 85, "humidity": 85, "windy": "FALSE"},
        {"outlook": "foggy", "temperature": None, "humidity": 70, "windy": None},
    ],
}


@pytest.mark.parametrize("name", ROWS)
def test_contributions_and_link_are_the_answer(api: Api, name: str) -> None:
    response = api.post(f"/api/v1/models/{name}/explanations", json={"rows": ROWS[name]})
    assert response.status_code == 200, response.text
    Explanations.model_validate(response.json())
    for told, row in zip(response.json()["explanations"], ROWS[name], strict=True):
        assert told["kind"] == "contributions"
        sums = []
        for predictor in told["predictors"]:
            total = predictor["intercept"]
            for part in predictor["contributions"]:
                total += part["contribution"]
                assert part["observed"] == row[part["column"]]  # an unseen level as it was sent
            assert total == predictor["sum"]
            sums.append(total)
        if told["link"] == "identity":
            assert told["value"] == sums[0]
        else:
            scores = [0.0, *sums] if told["link"] == "logistic" else sums
            shares = [math.exp(score - max(scores)) for score in scores]
            assert told["probabilities"] == pytest.approx([share / sum(shares) for share in shares], rel=1e-12)


@pytest.mark.parametrize("name", ROWS)
def test_one_row_many_rows_and_other_formats_answer_alike(api: Api, name: str) -> None:
    full = ROWS[name][0]
    (one,) = ask(api, name, [full])
    many = ask(api, name, [full] * 50)
    assert {str({**answer, "row": 0}) for answer in many} == {str(one)}
    (explained,) = ask(api, name, [full], explain=True)
    told = api.post(f"/api/v1/models/{name}/explanations", json={"rows": [full]}).json()["explanations"][0]
    assert explained["explanation"] == {key: told[key] for key in ("kind", "link", "predictors")}
    text = ",".join(full) + "\n" + ",".join(map(str, full.values())) + "\n"
    headers = {"Content-Type": "text/csv"}
    lines = api.post(f"/api/v1/models/{name}/explanations", content=text, headers=headers).text.splitlines()
    assert len(lines) == 2
    assert " = " in lines[1]


def test_the_request_may_decide_otherwise(api: Api) -> None:
    (plain,) = ask(api, "golf", ROWS["golf"][:1])
    at = {"threshold": {"class": plain["label"], "at": 1.0}}
    (moved,) = ask(api, "golf", ROWS["golf"][:1], decision=at)
    assert moved["probabilities"] == plain["probabilities"]
    assert moved["label"] != plain["label"] == moved["model_label"]


def test_the_catalogue_tells_what_linear_models_can(api: Api) -> None:
    described = api.get("/api/v1/learners/linear-regressor").json()
    assert described["explanations"] == ["contributions"]
    assert described["exports"] == ["coefficients"]
    assert described["parameters"]["properties"]["penalty"]["enum"] == ["none", "ridge", "lasso", "elastic-net"]
    assert described["name"] == LinearRegressor.name
    body = {
        "dataset": api.get("/api/v1/datasets").json()["items"][0]["id"],
        "target": "play",
        "learner": "linear-regressor",
        "parameters": {"alpha": 1},
        "model": {"name": "x"},
        "kind": "train",
    }
    refused = problem(api.post("/api/v1/jobs", json=body), 422)
    assert any("penalty" in fault["message"] for fault in refused["errors"])
