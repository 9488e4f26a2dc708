"""Models over HTTP: versions, aliases, schema, notes, archiving, deletion."""

from __future__ import annotations

import json

import pytest

from tests.service.running import Api, problem
from tests.service.working import train
from tests.shared import table_path


@pytest.fixture
def trained(api: Api) -> Api:
    """A service with three versions of ``iris``."""
    dataset = api.upload(table_path("iris.csv").read_bytes(), name="iris").json()["id"]
    for seed in range(3):
        train(api, dataset, target="class", name="iris", seed=seed)
    return api


def test_versions_aliases_and_lineage(trained: Api) -> None:
    model = trained.get("/api/v1/models/iris").json()
    assert (model["object"], model["latest"], model["aliases"]) == ("model", 3, {})
    versions = trained.get("/api/v1/models/iris/versions").json()["items"]
    assert [version["version"] for version in versions] == [3, 2, 1]
    first = trained.get("/api/v1/models/iris:1").json()
    assert first["object"] == "model-version"
    assert list(first["links"]) == ["self", "schema", "predictions", "explanations", "rules", "tree"]
    problem(trained.get("/api/v1/models/iris:01"), 404)
    problem(trained.post("/api/v1/models/iris:01/predictions", json={"rows": [{}]}), 404)
    assert first == versions[-1]
    dataset = trained.get(f"/api/v1/datasets/{first['lineage']['dataset']}").json()
    assert first["lineage"]["dataset_sha256"] == dataset["sha256"]
    assert first["lineage"]["seed"] == 0
    job = trained.get(f"/api/v1/jobs/{first['lineage']['job']}").json()
    assert job["links"]["model"] == "/api/v1/models/iris:1"

    moved = trained.put("/api/v1/models/iris/aliases/champion", json={"version": 2})
    assert moved.json() == {"model": "iris", "alias": "champion", "version": 2}
    assert trained.get("/api/v1/models/iris@champion").json()["version"] == 2
    assert trained.get("/api/v1/models/iris:2").json()["aliases"] == ["champion"]
    trained.put("/api/v1/models/iris/aliases/champion", json={"version": 3})
    assert trained.get("/api/v1/models/iris@champion").json()["version"] == 3
    assert trained.get("/api/v1/models").json()["items"][0]["aliases"] == {"champion": 3}
    assert trained.delete("/api/v1/models/iris/aliases/champion").status_code == 204
    problem(trained.delete("/api/v1/models/iris/aliases/champion"), 404)
    problem(trained.get("/api/v1/models/iris@champion"), 404)


def test_an_archived_version_is_no_longer_the_latest_but_answers_by_number(trained: Api) -> None:
    trained.put("/api/v1/models/iris/aliases/champion", json={"version": 3})
    problem(trained.post("/api/v1/models/iris:3/archive"), 409)
    trained.put("/api/v1/models/iris/aliases/champion", json={"version": 1})
    archived = trained.post("/api/v1/models/iris:3/archive")
    assert archived.status_code == 200
    assert archived.json()["archived_at"]
    assert trained.get("/api/v1/models/iris").json()["latest"] == 2
    assert trained.get("/api/v1/models/iris:3").json()["version"] == 3
    problem(trained.put("/api/v1/models/iris/aliases/x", json={"version": 3}), 409)
    for ref in ("iris", "iris@champion"):
        problem(trained.post(f"/api/v1/models/{ref}/archive"), 422)


def test_numbers_are_never_given_again(trained: Api) -> None:
    assert trained.delete("/api/v1/models/iris:3").status_code == 204
    problem(trained.get("/api/v1/models/iris:3"), 404)
    dataset = trained.get("/api/v1/datasets").json()["items"][0]["id"]
    ended = train(trained, dataset, target="class", name="iris", seed=9)
    assert ended["result"]["model"]["version"] == 4


def test_a_whole_model_is_deleted_with_its_versions(trained: Api) -> None:
    trained.put("/api/v1/models/iris/aliases/champion", json={"version": 3})
    problem(trained.delete("/api/v1/models/iris:3"), 409)
    problem(trained.delete("/api/v1/models/iris@champion"), 422)
    refused = problem(trained.delete("/api/v1/models/iris"), 409)
    assert [fault["message"] for fault in refused["errors"]] == ["alias champion names version 3"]
    for path, force in (("iris", "wrong"), ("iris:2", "iris")):
        refused = problem(trained.delete(f"/api/v1/models/{path}", params={"force": force}), 422)
        assert refused["errors"][0]["parameter"] == "force"
    assert trained.get("/api/v1/models/iris").json()["latest"] == 3
    assert trained.delete("/api/v1/models/iris", params={"force": "iris"}).status_code == 204
    for path in ("iris", "iris:1", "iris@champion", "iris/versions", "iris/schema"):
        problem(trained.get(f"/api/v1/models/{path}"), 404)


def test_notes_and_tags_change_and_versions_do_not(trained: Api) -> None:
    before = trained.get("/api/v1/models/iris:1").json()
    changed = trained.patch("/api/v1/models/iris", json={"notes": "for the garden", "tags": ["flowers", "größe"]})
    assert (changed.json()["notes"], changed.json()["tags"]) == ("for the garden", ["flowers", "größe"])
    assert trained.patch("/api/v1/models/iris", json={}).json() == changed.json()
    assert trained.patch("/api/v1/models/iris", json={"tags": []}).json()["notes"] == "for the garden"
    assert trained.get("/api/v1/models/iris:1").json() == before
    problem(trained.patch("/api/v1/models/iris", json={"name": "other"}), 422)
    problem(trained.patch("/api/v1/models/iris", json={"notes": "x" * 10_001}), 422)
    problem(trained.patch("/api/v1/models/none", json={"notes": "x"}), 404)
    refused = problem(trained.patch("/api/v1/models/iris:1", json={"notes": "x"}), 404)
    assert "here a model is named without version and alias: 'iris'" in refused["detail"]
    assert refused["errors"][0]["parameter"] == "name"


def test_the_schema_tells_inputs_and_a_row_that_can_be_sent(trained: Api) -> None:
    schema = trained.get("/api/v1/models/iris/schema").json()
    assert (schema["model"], schema["version"]) == ("iris", 3)
    assert [column["name"] for column in schema["inputs"]] == ["sepallength", "sepalwidth", "petallength", "petalwidth"]
    assert schema["inputs"][2]["minimum"] == 1.0
    assert schema["inputs"][2]["maximum"] == 6.9
    assert schema["target"]["levels"] == ["Iris-setosa", "Iris-versicolor", "Iris-virginica"]
    assert schema["example"] == {"sepallength": 5.1, "sepalwidth": 3.5, "petallength": 1.4, "petalwidth": 0.2}
    number, missing = schema["json_schema"]["properties"]["petalwidth"]["anyOf"]
    assert (number["type"], missing) == ("number", {"enum": [None, ""]})


@pytest.mark.parametrize(
    "ref",
    [
        "none",
        "none:1",
        "none@x",
        "a b",
        "a:",
        "a:x",
        "a@",
        ":1",
        "a:1:2",
        "a:01",
        "a:0",
        "%2e%2e",
        "a" * 129,
        "a:99999999999",
    ],
)
def test_what_names_nothing_is_not_found(shared_api: Api, ref: str) -> None:
    for method, path in [("GET", ""), ("GET", "/schema"), ("POST", "/archive"), ("DELETE", "")]:
        answer = shared_api.request(method, f"/api/v1/models/{ref}{path}")
        assert answer.status_code in (404, 422), (method, path, answer.text)
        problem(answer, answer.status_code)


@pytest.mark.parametrize("body", [{"version": 0}, {"version": "1"}, {"version": 1.0}, {"version": True}, {}, [], "1"])
def test_an_alias_wants_a_number(shared_api: Api, body: object) -> None:
    problem(shared_api.put("/api/v1/models/none/aliases/x", json=body), 422)


def test_an_alias_is_a_name_that_means_nothing_yet(trained: Api) -> None:
    for alias in ("a b", "é", "-x", "a" * 129, "1", "0012", "latest", "Latest"):
        answer = trained.put(f"/api/v1/models/iris/aliases/{alias}", json={"version": 1})
        problem(answer, 422)
        assert trained.get("/api/v1/models/iris").json()["aliases"] == {}, alias


def test_learners_carry_the_schema_of_their_parameters(shared_api: Api) -> None:
    listed = shared_api.get("/api/v1/learners").json()["items"]
    assert "decision-tree-classifier" in [learner["name"] for learner in listed]
    for learner in listed:
        one = shared_api.get(f"/api/v1/learners/{learner['name']}")
        assert one.json() == learner
        properties = learner["parameters"]["properties"]
        assert properties
        for schema in properties.values():
            assert {"type", "default", "description"} <= set(schema)
        json.loads(one.text, parse_constant=pytest.fail)
    problem(shared_api.get("/api/v1/learners/none"), 404)


def test_predictions_follow_what_this_process_has_told(trained: Api) -> None:
    row = {"sepallength": 5.1, "sepalwidth": 3.5, "petallength": 1.4, "petalwidth": 0.2}

    def answering(ref: str) -> int:
        answer = trained.post(f"/api/v1/models/{ref}/predictions", json={"rows": [row]})
        return answer.json()["version"] if answer.status_code == 200 else answer.status_code

    alias = "/api/v1/models/iris/aliases/champion"
    for version in (1, 3, 2, 1):
        trained.put(alias, json={"version": version})
        assert answering("iris@champion") == version
    trained.delete(alias)
    assert answering("iris@champion") == 404
    assert answering("iris") == 3
    dataset = trained.get("/api/v1/models/iris:3").json()["lineage"]["dataset"]
    for version in (4, 5):
        job = train(trained, dataset, target="class", name="iris", seed=version)
        assert trained.get(f"/api/v1/jobs/{job['id']}").json()["state"] == "succeeded"
        assert answering("iris") == version
    assert answering("iris:5") == 5
    trained.post("/api/v1/models/iris:5/archive")
    assert answering("iris") == 4
    trained.delete("/api/v1/models/iris:5")
    assert answering("iris:5") == 404
