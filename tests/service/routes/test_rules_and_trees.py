"""Rules and trees of a served model over HTTP."""

from __future__ import annotations

import base64
import json
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from service.operations.explanation.positions import encode_position
from service.operations.identity import Identity
from service.schemas.rules import Rules
from service.schemas.trees import Tree
from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path


@pytest.fixture(scope="module")
def iris(shared_api: Api) -> Api:
    uploaded = shared_api.upload(table_path("iris.csv").read_bytes(), name="iris").json()
    train(shared_api, uploaded["id"], target=uploaded["columns"][-1]["name"], name="iris")
    return shared_api


def test_rules_are_one_a_leaf_and_have_the_trees_node_ids(iris: Api) -> None:
    rules = iris.get("/api/v1/models/iris/rules").json()
    tree = iris.get("/api/v1/models/iris/tree").json()
    Rules.model_validate(rules)
    Tree.model_validate(tree)
    leaves = {node["id"]: node for node in tree["nodes"] if not node["children"]}
    assert {rule["leaf"] for rule in rules["rules"]} == set(leaves)
    assert len(rules["rules"]) == tree["n_leaves"] == len(leaves)
    for rule in rules["rules"]:
        leaf = leaves[rule["leaf"]]
        assert rule["answer"] == leaf["label"]
        assert rule["rows"] == leaf["rows"]
        assert rule["distribution"] == [share["share"] for share in leaf["distribution"]]
    assert (rules["model"], rules["version"]) == (tree["model"], tree["version"]) == ("iris", 1)


def test_the_nodes_hang_together(iris: Api) -> None:
    nodes = iris.get("/api/v1/models/iris:1/tree").json()["nodes"]
    assert nodes[0]["parent"] is None
    for node in nodes:
        for child in node["children"]:
            assert nodes[child]["parent"] == node["id"]
            assert nodes[child]["condition"]["column"] == node["column"]
            assert nodes[child]["condition"]["threshold"] == node["threshold"]
        if node["children"]:
            assert sum(nodes[child]["weight"] for child in node["children"]) == node["weight"]
            assert sum(way["share"] for way in node["missing"]) == pytest.approx(1, abs=1e-12)


def test_a_tree_can_be_taken_part_by_part(iris: Api) -> None:
    whole = iris.get("/api/v1/models/iris/tree").json()
    assert whole["n_nodes"] == len(whole["nodes"])
    found: dict[int, Any] = {}
    waiting = [0]
    while waiting:
        top = waiting.pop()
        part = iris.get("/api/v1/models/iris/tree", params={"node": top, "levels": 1}).json()
        Tree.model_validate(part)
        assert part["nodes"][0]["id"] == top
        assert [node["id"] for node in part["nodes"][1:]] == part["nodes"][0]["children"]
        assert {name: part[name] for name in ("n_nodes", "n_leaves", "depth")} == {
            name: whole[name] for name in ("n_nodes", "n_leaves", "depth")
        }
        found |= {node["id"]: node for node in part["nodes"]}
        waiting += part["nodes"][0]["children"]
    assert [found[node] for node in sorted(found)] == whole["nodes"]
    assert "no node 99;" in problem(iris.get("/api/v1/models/iris/tree", params={"node": 99}), 422)["detail"]


def test_more_nodes_than_are_given_at_once_are_refused(iris: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.operations.explanation.tree.MAX_NODES", 6)
    refused = problem(iris.get("/api/v1/models/iris/tree"), 422)
    (fault,) = refused["errors"]
    assert fault["parameter"] == "levels"
    assert fault["allowed"] == "at most 2 beneath node 0"
    part = iris.get("/api/v1/models/iris/tree", params={"levels": 2}).json()
    assert len(part["nodes"]) <= 6
    assert max(node["depth"] for node in part["nodes"]) == 2
    problem(iris.get("/api/v1/models/iris/tree", params={"levels": 3}), 422)


@pytest.mark.parametrize("simplify", [False, True])
@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_rules_come_page_by_page(iris: Api, limit: int, simplify: bool) -> None:
    query: dict[str, Any] = {"simplify": simplify}
    whole = iris.get("/api/v1/models/iris/rules", params=query).json()
    assert (whole["n_rules"], whole["next_cursor"]) == (len(whole["rules"]), None)
    found: list[Any] = []
    query["limit"] = limit
    while True:
        page = iris.get("/api/v1/models/iris/rules", params=query).json()
        Rules.model_validate(page)
        assert len(page["rules"]) <= limit
        found += page["rules"]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert found == whole["rules"]


def test_a_cursor_of_rules_is_of_one_version(iris: Api) -> None:
    cursor = iris.get("/api/v1/models/iris/rules", params={"limit": 1}).json()["next_cursor"]
    for broken in ("x", cursor + "x", "W10", "WzEsLTFd"):
        refused = problem(iris.get("/api/v1/models/iris/rules", params={"cursor": broken}), 400)
        assert refused["errors"][0]["parameter"] == "cursor"
    of_another = encode_position(Identity("default", "iris", 2, "classification"), 1)
    refused = problem(iris.get("/api/v1/models/iris/rules", params={"cursor": of_another}), 409)
    assert "version 2, but this is version 1" in refused["detail"]
    version, fingerprint, position = json.loads(base64.b64decode(cursor + "==", altchars="-_"))
    assert (version, position) == (1, 1)
    of_deleted = encode_position(Identity("default", "iris", 1, "classification", fingerprint[::-1]), 1)
    refused = problem(iris.get("/api/v1/models/iris/rules", params={"cursor": of_deleted}), 409)
    assert "a deleted version 1, but this is version 1" in refused["detail"]
    behind = encode_position(Identity("default", "iris", 1, "classification", fingerprint), 1000)
    assert iris.get("/api/v1/models/iris/rules", params={"cursor": behind}).json()["rules"] == []


def test_rules_as_text_markdown_and_sql(iris: Api) -> None:
    n_leaves = iris.get("/api/v1/models/iris/tree").json()["n_leaves"]
    text = iris.get("/api/v1/models/iris/rules", params={"format": "text"})
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert len(text.text.splitlines()) == n_leaves
    markdown = iris.get("/api/v1/models/iris/rules", params={"format": "markdown"})
    assert markdown.headers["content-type"] == "text/markdown; charset=utf-8"
    assert len(markdown.text.splitlines()) == n_leaves + 2


def test_the_sql_answers_as_the_route_does(iris: Api) -> None:
    columns = iris.get("/api/v1/models/iris/tree").json()["columns"]
    names = [column["name"] for column in columns]
    rows = [[5.1, 3.5, 1.4, 0.2], [6.0, 2.7, 5.1, 1.6], [6.3, 3.3, 6.0, 2.5], [None, None, None, 1.0]]
    answered = iris.post("/api/v1/models/iris/predictions", json={"columns": names, "data": rows})
    labels = [row["label"] for row in answered.json()["predictions"]]
    statement = iris.get("/api/v1/models/iris/rules", params={"format": "sql", "source": "flowers"}).text
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE flowers (" + ", ".join(f"[{name}] REAL" for name in names) + ")")
    database.executemany(f"INSERT INTO flowers VALUES ({', '.join('?' * len(names))})", rows)
    assert [row[-1] for row in database.execute(statement)] == labels
    case = iris.get("/api/v1/models/iris/rules", params={"format": "sql", "form": "case"}).text
    assert [row[0] for row in database.execute(f"SELECT {case} FROM flowers")][:3] == labels[:3]
    database.close()


def test_the_picture_is_an_svg_within_the_limits_asked_for(iris: Api) -> None:
    whole = iris.get("/api/v1/models/iris/tree", params={"format": "svg"})
    assert whole.headers["content-type"] == "image/svg+xml"
    assert "iris:1" in ElementTree.fromstring(whole.text)[0].text
    small = iris.get("/api/v1/models/iris/tree", params={"format": "svg", "max_leaves": 2})
    assert "more leaves" in small.text
    assert len(small.text) < len(whole.text)


def test_every_link_of_a_picture_leads_to_another(iris: Api) -> None:
    seen, waiting = set(), ["?format=svg&max_leaves=2"]
    while waiting:
        address = waiting.pop()
        if address in seen:
            continue
        seen.add(address)
        shown = iris.get(f"/api/v1/models/iris/tree{address}")
        assert shown.status_code == 200
        waiting += [
            one.attrib["href"] for one in ElementTree.fromstring(shown.text).iter("{http://www.w3.org/2000/svg}a")
        ]
    assert len(seen) > 3
    text = iris.get("/api/v1/models/iris/tree", params={"format": "svg", "layout": "narrow"}).text
    assert ElementTree.fromstring(text).attrib["width"] == "360"


def test_the_way_of_a_row_is_lit(iris: Api) -> None:
    row = {"sepallength": 6.1, "sepalwidth": 2.9, "petallength": 4.7, "petalwidth": 1.4}
    answer = iris.post("/api/v1/models/iris/explanations", json={"rows": [row]}).json()
    (branch,) = answer["explanations"][0]["branches"]
    shown = iris.post("/api/v1/models/iris/tree", json={"row": row})
    assert shown.headers["content-type"] == "image/svg+xml"
    titles = [one.text or "" for one in ElementTree.fromstring(shown.text).iter("{http://www.w3.org/2000/svg}title")]
    lit = {title.split(":")[0] for title in titles if "of the row comes here" in title}
    assert lit == {"node 0"} | {f"node {step['child']}" for step in branch["steps"]}


@pytest.mark.parametrize(
    ("body", "query", "named"),
    [
        ({"row": {"petalwidth": "wide"}}, {}, "petalwidth"),
        ({"row": [1, 2]}, {}, "row"),
        ({}, {}, "row"),
        ({"row": {"petalwidth": 1, "colour": 2}, "strict": True}, {}, "colour"),
        ({"row": {"petalwidth": 1}, "missing": "reject"}, {}, "sepallength"),
        ({"row": {"petalwidth": 1}}, {"node": 10_000}, "node"),
        ({"row": {"petalwidth": 1}}, {"layout": "round"}, "layout"),
    ],
)
def test_a_row_that_cannot_be_lit_is_told(iris: Api, body: Any, query: Any, named: str) -> None:
    assert named in str(problem(iris.post("/api/v1/models/iris/tree", params=query, json=body), 422))


@pytest.mark.parametrize("query", [{"format": "pdf"}, {"format": "svg", "max_leaves": 0}, {"max_depth": -1}])
def test_other_forms_are_refused(iris: Api, query: dict[str, str]) -> None:
    problem(iris.get("/api/v1/models/iris/tree", params=query), 422)


@pytest.mark.parametrize("part", ["rules", "tree"])
def test_a_model_that_is_not_there_is_told(iris: Api, part: str) -> None:
    problem(iris.get(f"/api/v1/models/nobody/{part}"), 404)


def test_metrics_are_given_as_text(iris: Api) -> None:
    iris.get("/api/v1/models/iris/tree")
    answered = iris.get("/metrics")
    assert answered.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'rulewood_requests_total{route="/api/v1/models/{ref}/tree",status="200"}' in answered.text
    assert "rulewood_models_in_memory" in answered.text


def test_an_api_process_loads_neither_compiler_nor_file_parsers_nor_job_engine() -> None:
    heavy = ("numba", "llvmlite", "pyarrow", "dbos", "sklearn", "scipy", "pebble", "pandas")
    code = f"import sys, service.app; print([name for name in {heavy} if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
