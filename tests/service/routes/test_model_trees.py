"""Model trees over HTTP: trained, registered, asked, explained, written as rules, drawn."""

from __future__ import annotations

import math
import sqlite3
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from learners.base import Learner
from learners.catalog import load_model
from learners.persist import load_file
from learners.table import Table
from service.schemas.predictions import Explanations, Predictions
from service.schemas.rule_support import RulesOnDataset
from service.schemas.rules import Rules
from service.schemas.trees import Tree
from service.store import models
from service.store.blobs import Blobs
from service.store.session import Store
from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path

FULL = {"motor": "A", "screw": "B", "pgain": "3", "vgain": "1"}


@pytest.fixture(scope="module")
def api(shared_api: Api) -> Api:
    """A service with the models ``servo`` (all columns nominal) and ``cpu`` (numbers and names)."""
    kinds = '{"kinds": {"pgain": "nominal", "vgain": "nominal"}}'
    uploaded = shared_api.upload(table_path("servo.csv").read_bytes(), name="servo", options=kinds).json()
    train(shared_api, uploaded["id"], target="class", name="servo", learner="model-tree-regressor")
    uploaded = shared_api.upload(table_path("machine-cpu.csv").read_bytes(), name="cpu").json()
    preset = {"preset": "m5"}
    train(shared_api, uploaded["id"], target="class", name="cpu", learner="model-tree-regressor", parameters=preset)
    return shared_api


def ask(api: Api, name: str, rows: list[dict[str, Any]], **options: Any) -> list[dict[str, Any]]:
    response = api.post(f"/api/v1/models/{name}/predictions", json={"rows": rows} | options)
    assert response.status_code == 200, response.text
    Predictions.model_validate(response.json())
    found: list[dict[str, Any]] = response.json()["predictions"]
    return found


def fitted(api: Api, name: str) -> Learner:
    """The stored model, read as the service reads it."""
    store = Store(api.settings.store_url)
    try:
        with store.read() as session:
            sha256 = models.version(session, models.get(session, "default", name), 1).blob_sha256
        return load_model(load_file(Blobs(store, api.settings.cache).path(sha256)))
    finally:
        store.dispose()


def rows_of(name: str) -> list[dict[str, Any]]:
    head, *lines = table_path(f"{name}.csv").read_text().splitlines()
    names = head.split(",")[:-1]
    return [dict(zip(names, _values(name, line.split(",")), strict=False)) for line in lines]


def _values(name: str, cells: list[str]) -> list[Any]:
    return [cell if name == "servo" or not _is_number(cell) else float(cell) for cell in cells[:-1]]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(("name", "table"), [("servo", "servo"), ("cpu", "machine-cpu")])
def test_answers_alone_together_and_as_csv_are_the_librarys(api: Api, name: str, table: str) -> None:
    rows = rows_of(table)
    learner = fitted(api, name)
    data = {column.name: [row[column.name] for row in rows] for column in learner.columns_}
    wanted = learner.predict(Table.from_columns(data, learner.columns_)).tolist()
    assert [answer["value"] for answer in ask(api, name, rows)] == wanted
    singles = [ask(api, name, [row])[0]["value"] for row in rows[::9]]
    assert singles == wanted[::9]
    head, *lines = (
        api.post(
            f"/api/v1/models/{name}/predictions",
            content=table_path(f"{table}.csv").read_bytes(),
            headers={"content-type": "text/csv"},
        )
        .text.strip()
        .splitlines()
    )
    place = head.split(",").index("value")
    assert [float(line.split(",")[place]) for line in lines] == wanted


def test_reasons_add_up_to_the_answer(api: Api) -> None:
    rows = [FULL, FULL | {"pgain": None}, FULL | {"motor": "never seen"}, {}]
    answers = ask(api, "servo", rows, explain=True)
    told = api.post("/api/v1/models/servo/explanations", json={"rows": rows}).json()
    Explanations.model_validate(told)
    for row, answer, reason in zip(rows, answers, told["explanations"], strict=True):
        assert ask(api, "servo", [row])[0]["value"] == answer["value"]
        assert answer["explanation"]["branches"] == reason["branches"]
        total = 0.0
        for branch in reason["branches"]:
            value = branch["linear"]["intercept"]
            for term in branch["linear"]["terms"]:
                value += term["contribution"]
                assert term["state"] == "known" or term["value"] == term["default"]
            assert value == branch["value"]
            total += branch["weight"] * value
        assert total == answer["value"]


def test_rules_tree_and_picture_say_the_functions(api: Api) -> None:
    rules = api.get("/api/v1/models/servo/rules").json()
    tree = api.get("/api/v1/models/servo/tree").json()
    Rules.model_validate(rules)
    Tree.model_validate(tree)
    functions = {node["id"]: node["linear"] for node in tree["nodes"] if not node["children"]}
    assert {rule["leaf"]: rule["linear"] for rule in rules["rules"]} == functions
    assert all("linear" not in node for node in tree["nodes"] if node["children"])
    text = api.get("/api/v1/models/servo/rules", params={"format": "text"}).text
    markdown = api.get("/api/v1/models/servo/rules", params={"format": "markdown"}).text
    svg = api.get("/api/v1/models/servo/tree", params={"format": "svg"}).text
    ElementTree.fromstring(svg)
    for function in functions.values():
        assert f"class = {function['text']}" in text
        assert function["text"] in svg  # in the tooltip, exactly
    assert markdown.count("\n") == len(functions) + 2
    lit = api.post("/api/v1/models/servo/tree", json={"row": FULL})
    assert lit.status_code == 200, lit.text


def test_sql_gives_the_answers_of_the_service(api: Api) -> None:
    rows = [*rows_of("machine-cpu"), {"MMAX": 5000.0}, {"vendor": "nobody", "MMAX": 70000.0, "CACH": 3.0}]
    statement = api.get("/api/v1/models/cpu/rules", params={"format": "sql"}).text
    names = ["vendor", "MYCT", "MMIN", "MMAX", "CACH", "CHMIN", "CHMAX"]
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE rows (vendor TEXT, {', '.join(f'{name} REAL' for name in names[1:])})")
    values = [[row.get(name) for name in names] for row in rows]
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    found = [line[-1] for line in connection.execute(statement)]
    connection.close()
    wanted = [answer["value"] for answer in ask(api, "cpu", rows)]
    assert found[:-2] == wanted[:-2]
    assert all(math.isclose(one, other, rel_tol=1e-13) for one, other in zip(found, wanted, strict=True))


def test_far_values_have_finite_answers(api: Api) -> None:
    far = {"vendor": "amdahl", **dict.fromkeys(["MYCT", "MMIN", "MMAX", "CACH", "CHMIN", "CHMAX"], 1e308)}
    (answer,) = ask(api, "cpu", [far])
    assert math.isfinite(answer["value"])


def test_support_on_a_dataset_is_about_the_functions(api: Api) -> None:
    dataset = api.get("/api/v1/models/cpu:1").json()["lineage"]["dataset"]
    judged = api.get("/api/v1/models/cpu/rules", params={"dataset": dataset}).json()
    RulesOnDataset.model_validate(judged)
    rows = rows_of("machine-cpu")
    targets = [float(line.split(",")[-1]) for line in table_path("machine-cpu.csv").read_text().splitlines()[1:]]
    told = api.post("/api/v1/models/cpu/explanations", json={"rows": rows}).json()["explanations"]
    for rule in judged["rules"]:
        gaps = [
            target - reason["branches"][0]["value"]
            for target, reason in zip(targets, told, strict=True)
            if reason["branches"][0]["leaf"] == rule["leaf"]
        ]
        assert rule["on_dataset"]["rows"] == len(gaps)
        assert rule["on_dataset"]["deviation"] == pytest.approx(math.sqrt(sum(gap**2 for gap in gaps) / len(gaps)))


@pytest.mark.parametrize("what", ["counterfactuals", "question"])
def test_what_needs_one_answer_a_leaf_is_refused_by_name(api: Api, what: str) -> None:
    body: dict[str, Any] = {"rows": [FULL]} | ({"wanted": {"minimum": 3}} if what == "counterfactuals" else {})
    answer = problem(api.post(f"/api/v1/models/servo/{what}", json=body), 409)
    assert "linear function" in answer["detail"]


def test_the_preset_and_a_senseless_pair_of_parameters(api: Api) -> None:
    described = api.get("/api/v1/learners/model-tree-regressor").json()
    assert list(described["presets"]) == ["m5"]
    dataset = api.get("/api/v1/models/servo:1").json()["lineage"]["dataset"]
    request = {
        "kind": "train",
        "dataset": dataset,
        "target": "class",
        "learner": "model-tree-regressor",
        "parameters": {"pruning": "none", "pruning_multiplier": 3},
        "model": {"name": "refused"},
    }
    answer = problem(api.post("/api/v1/jobs", json=request), 422)
    assert "pruning_multiplier" in answer["detail"]


def test_no_deviation_of_the_target_stands_beside_a_function(api: Api) -> None:
    """That of the answers is smaller: the deviation of the target would say too little of the model."""
    for name in ("servo", "cpu"):
        text = api.get(f"/api/v1/models/{name}/rules", params={"format": "text"}).text
        assert " rows" in text
        assert "deviation" not in text
        table = api.get(f"/api/v1/models/{name}/rules", params={"format": "markdown"}).text
        assert "Deviation" not in table
        widths = {line.replace("\\|", "").count("|") for line in table.strip().splitlines()}
        assert widths == {6}
        assert "±" not in api.get(f"/api/v1/models/{name}/tree", params={"format": "svg"}).text
