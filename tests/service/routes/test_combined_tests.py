"""Trees with tests of several values over HTTP: offered, trained, asked, explained, written as rules, drawn."""

from __future__ import annotations

import sqlite3
import xml.etree.ElementTree as ElementTree
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from service.schemas.predictions import Explanations, Predictions
from service.schemas.reasons import Counterfactuals
from service.schemas.rule_support import RulesOnDataset
from service.schemas.rules import Rules
from service.schemas.trees import Tree
from tests.service.running import Api, problem
from tests.service.working import train

OPTIONS: dict[str, dict[str, Any]] = {
    "interval": {"interval_tests": True},
    "boolean": {"formula_tests": "boolean"},
    "counts": {"formula_tests": "m-of-n", "max_terms": 4},
    "sums": {"oblique_tests": True},
}
COLOURS = ("red", "green", "blue")


def made_rows() -> list[dict[str, Any]]:
    """Rows with a concept of intervals, of counts and of sums, a few values missing."""
    rng = np.random.default_rng(2)
    rows: list[dict[str, Any]] = [
        {"size": size, "width": width, "colour": COLOURS[colour]}
        for size, width, colour in zip(
            rng.integers(0, 100, 160).tolist(),
            rng.integers(0, 100, 160).tolist(),
            rng.integers(0, 3, 160).tolist(),
            strict=True,
        )
    ]
    for row in rows[::25]:
        row["width"] = None
    return rows


def label(row: dict[str, Any]) -> str:
    held = (row["size"] > 40) + ((row["width"] or 0) > 60) + (row["colour"] == "red")
    return "yes" if held >= 2 and 20 < row["size"] <= 90 else "no"


ROWS = made_rows()


@pytest.fixture(scope="module")
def api(shared_api: Api) -> Api:
    """A service with one model for each of the options."""
    lines = ["size,width,colour,class"]
    for row in ROWS:
        width = "" if row["width"] is None else row["width"]
        lines.append(f"{row['size']},{width},{row['colour']},{label(row)}")
    dataset = shared_api.upload("\n".join(lines).encode(), name="made").json()["id"]
    for name, parameters in OPTIONS.items():
        train(shared_api, dataset, target="class", name=name, parameters=parameters | {"max_leaves": 12})
    return shared_api


ASKED = [*ROWS[:30], {"size": 50.5}, {"colour": "pink", "size": 60, "width": 80}, {"width": 10, "colour": "red"}, {}]


@pytest.mark.parametrize("name", OPTIONS)
def test_answers_and_reasons_alone_and_together(api: Api, name: str) -> None:
    body = {"rows": ASKED, "explain": True}
    together = api.post(f"/api/v1/models/{name}/predictions", json=body).json()
    Predictions.model_validate(together)
    told = api.post(f"/api/v1/models/{name}/explanations", json={"rows": ASKED}).json()
    Explanations.model_validate(told)
    several = 0
    for row, answer, reason in zip(ASKED, together["predictions"], told["explanations"], strict=True):
        one = api.post(f"/api/v1/models/{name}/predictions", json={"rows": [row], "explain": True}).json()
        (alone,) = one["predictions"]
        assert alone["probabilities"] == answer["probabilities"]
        assert alone["explanation"] == answer["explanation"]
        assert reason["branches"] == answer["explanation"]["branches"]
        steps = [step for branch in reason["branches"] for step in branch["steps"]]
        several += sum("column" not in step["condition"] for step in steps)
        assert all(step["state"] != "known" or step["observed"] is not None for step in steps)
    assert several > 0


@pytest.mark.parametrize("name", OPTIONS)
def test_rules_tree_and_picture(api: Api, name: str) -> None:
    rules = api.get(f"/api/v1/models/{name}/rules").json()
    Rules.model_validate(rules)
    assert [column["name"] for column in rules["columns"]] == ["size", "width", "colour"]
    tree = api.get(f"/api/v1/models/{name}/tree").json()
    Tree.model_validate(tree)
    asking = [node["test"]["text"] for node in tree["nodes"] if "test" in node]
    assert asking
    assert all("column" not in node for node in tree["nodes"] if "test" in node)
    svg = api.get(f"/api/v1/models/{name}/tree", params={"format": "svg"}).text
    narrow = api.get(f"/api/v1/models/{name}/tree", params={"format": "svg", "layout": "narrow"}).text
    for picture in (svg, narrow):
        titles = [title.text for title in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}title")]
        assert set(asking) <= set(titles)  # exactly, in the tooltips
    lit = api.post(f"/api/v1/models/{name}/tree", json={"row": ASKED[0]})
    assert lit.status_code == 200, lit.text
    text = api.get(f"/api/v1/models/{name}/rules", params={"format": "text"}).text
    conditions = {condition["text"] for rule in rules["rules"] for condition in rule["conditions"]}
    assert all(condition in text for condition in conditions)
    markdown = api.get(f"/api/v1/models/{name}/rules", params={"format": "markdown"}).text
    assert markdown.count("\n") == len(rules["rules"]) + 2
    dataset = api.get(f"/api/v1/models/{name}:1").json()["lineage"]["dataset"]
    judged = api.get(f"/api/v1/models/{name}/rules", params={"dataset": dataset}).json()
    RulesOnDataset.model_validate(judged)
    assert sum(rule["on_dataset"]["weight"] for rule in judged["rules"]) == pytest.approx(len(ROWS))


@pytest.mark.parametrize("name", OPTIONS)
def test_sql_gives_the_answers_of_the_service(api: Api, name: str) -> None:
    statement = api.get(f"/api/v1/models/{name}/rules", params={"format": "sql"}).text
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE rows (size REAL, width REAL, colour TEXT)")
        values = [[row.get(column) for column in ("size", "width", "colour")] for row in ASKED]
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", values)
        found = [line[-1] for line in connection.execute(statement)]
    answers = api.post(f"/api/v1/models/{name}/predictions", json={"rows": ASKED}).json()["predictions"]
    assert found == [answer["label"] for answer in answers]


@pytest.mark.parametrize("name", OPTIONS)
def test_counterfactuals_are_answered_as_wanted(api: Api, name: str) -> None:
    for wanted in ("yes", "no"):
        body = {"rows": ASKED, "wanted": wanted, "count": 2}
        answer = api.post(f"/api/v1/models/{name}/counterfactuals", json=body)
        assert answer.status_code == 200, answer.text
        Counterfactuals.model_validate(answer.json())
        assert {one["status"] for one in answer.json()["rows"]} <= {"found", "already"}
        for row, found in zip(ASKED, answer.json()["rows"], strict=True):
            assert (found["label"] == wanted) == (found["status"] == "already")
            for one in found["counterfactuals"]:
                changed = row | {change["column"]: change["after"] for change in one["changes"]}
                told = api.post(f"/api/v1/models/{name}/predictions", json={"rows": [changed]}).json()
                assert told["predictions"][0]["label"] == wanted == one["label"]


def test_the_next_question_needs_boxes_and_is_refused_by_name(api: Api) -> None:
    answer = problem(api.post("/api/v1/models/sums/question", json={"rows": [ASKED[0]]}), 409)
    assert "tests of several values" in answer["detail"]


def test_importances_are_told(api: Api) -> None:
    told = api.get("/api/v1/models/sums/importances").json()
    assert sum(one["importance"] for one in told["importances"]) == pytest.approx(1)


def test_the_catalogue_offers_them_and_senseless_pairs_are_refused(api: Api) -> None:
    for learner in ("decision-tree-classifier", "decision-tree-regressor"):
        offered = api.get(f"/api/v1/learners/{learner}").json()["parameters"]["properties"]
        assert {"interval_tests", "formula_tests", "max_terms", "oblique_tests", "oblique_l2"} <= set(offered)
    dataset = api.get("/api/v1/models/sums:1").json()["lineage"]["dataset"]
    for parameters, named in (
        ({"oblique_l2": 3.0}, "it is only for oblique_tests = true"),
        ({"oblique_tests": True, "discretise": "mdl"}, "it is only for discretise = none"),
        ({"max_terms": 3}, "it is only for formula_tests = boolean or m-of-n"),
        ({"formula_tests": "m-of-n", "max_terms": 1}, ">= 2"),
    ):
        request = {
            "kind": "train",
            "dataset": dataset,
            "target": "class",
            "learner": "decision-tree-classifier",
            "parameters": parameters,
            "model": {"name": "refused"},
        }
        assert named in problem(api.post("/api/v1/jobs", json=request), 422)["detail"]
