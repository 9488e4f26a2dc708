"""The app as a whole: errors that no route makes, keys, quiet mode, methods, defects."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from pathlib import Path
from typing import Any

import pytest

from service.settings import Settings
from service.store.session import Store
from tests.service.jobs.conftest import wait_for
from tests.service.running import Api, problem, running
from tests.shared import trap_path

JSON_TRAPS = ["nan_body", "deep", "digits", "dup_keys", "big_int", "wrong_types"]


def operations(api: Api) -> list[tuple[str, str, dict[str, Any]]]:
    document = api.get("/openapi.json").json()
    return [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def takes_json(operation: dict[str, Any]) -> bool:
    return "application/json" in operation.get("requestBody", {}).get("content", {})


def filled(path: str) -> str:
    return path.replace("{ref}", "nothing").replace("{name}", "nothing").replace("{", "").replace("}", "")


@pytest.mark.parametrize("trap", JSON_TRAPS)
def test_every_route_that_takes_json_refuses_the_traps(shared_api: Api, trap: str) -> None:
    body = trap_path(f"{trap}.json").read_bytes()
    before = shared_api.counts()
    asked = 0
    for method, path, operation in operations(shared_api):
        if takes_json(operation) and path != "/api/v1/datasets":
            answer = shared_api.request(
                method, filled(path), content=body, headers={"Content-Type": "application/json"}
            )
            assert answer.status_code in (404, 422), (method, path, answer.text)
            problem(answer, answer.status_code)
            asked += 1
    assert asked >= 5
    assert shared_api.counts() == before


def test_nan_is_answered_with_422_that_names_the_place(shared_api: Api) -> None:
    body = trap_path("nan_body.json").read_bytes()
    answer = shared_api.post("/api/v1/jobs", content=body, headers={"Content-Type": "application/json"})
    fault = problem(answer, 422)["errors"][0]
    assert (fault["row"], fault["column"]) == (0, "x")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e400", '"NaN"', "true", '"5"', "1.5", "-1", "1e30"])
def test_no_numeric_field_takes_what_is_no_number_of_its_kind(shared_api: Api, word: str) -> None:
    body = f'{{"kind":"train","dataset":"ds_x","target":"y","learner":"l","seed":{word},"model":{{"name":"m"}}}}'
    answer = shared_api.post("/api/v1/jobs", content=body, headers={"Content-Type": "application/json"})
    problem(answer, 422)


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
def test_json_must_be_called_json(shared_api: Api, content_type: str | None) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    problem(shared_api.post("/api/v1/jobs", content=b"{}", headers=headers), 415)


def test_json_may_name_its_charset(shared_api: Api) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    problem(shared_api.post("/api/v1/jobs", content=b"{}", headers=headers), 422)


def test_json_is_utf_8(shared_api: Api) -> None:
    headers = {"Content-Type": "application/json; charset=iso-8859-1"}
    refusal = problem(shared_api.post("/api/v1/jobs", content=b"{}", headers=headers), 415)
    assert refusal["errors"][0]["parameter"] == "Content-Type"
    assert refusal["errors"][0]["allowed"] == ["utf-8"]


@pytest.mark.parametrize("path", ["/", "/nothing", "/api", "/api/v1", "/api/v1/nothing", "/api/v1/jobs/", "/docs/x.js"])
def test_an_unknown_address_is_a_problem_document(shared_api: Api, path: str) -> None:
    answer = shared_api.get(path)
    if path == "/":
        assert answer.headers["location"] == "docs"
    else:
        problem(answer, 404)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/v1/datasets", {"GET", "HEAD", "POST"}),
        ("PATCH", "/api/v1/jobs/job_x", {"GET", "HEAD", "DELETE"}),
        ("POST", "/api/v1/models/m", {"GET", "HEAD", "PATCH", "DELETE"}),
        ("TRACE", "/health/live", {"GET", "HEAD"}),
        ("OPTIONS", "/api/v1/jobs", {"GET", "HEAD", "POST"}),
        ("GET", "/api/v1/models/m/predictions", {"POST"}),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(shared_api: Api, method: str, path: str, allowed: set[str]) -> None:
    answer = shared_api.request(method, path)
    assert "what is: " in problem(answer, 405)["detail"]
    assert set(answer.headers["allow"].split(", ")) == allowed


@pytest.mark.parametrize(
    "path",
    ["/", "/docs", "/openapi.json", "/health/live", "/health/ready", "/metrics", "/api/v1/models", "/api/v1/learners"],
)
def test_head_is_get_without_the_body(shared_api: Api, path: str) -> None:
    got, asked = shared_api.get(path), shared_api.head(path)
    assert asked.status_code == got.status_code
    assert asked.content == b""
    changing = {"x-request-id", "date"} | ({"content-length"} if path == "/metrics" else set())
    assert {n: v for n, v in asked.headers.items() if n not in changing} == {
        n: v for n, v in got.headers.items() if n not in changing
    }


def test_head_is_refused_as_get_is_and_ends_where_get_would_stream(shared_api: Api) -> None:
    for path, status in (("/nothing", 404), ("/api/v1/jobs/job_x", 404), ("/api/v1/jobs?x=1", 422)):
        refused = shared_api.head(path)
        assert (refused.status_code, refused.content) == (status, b"")
        assert refused.headers["content-type"] == "application/problem+json"
    refused = shared_api.head("/api/v1/models/m/predictions")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    dataset = shared_api.upload("a,b\n1,x\n2,y\n3,x\n").json()
    request = {"kind": "train", "dataset": dataset["id"], "target": "b", "learner": "decision-tree-classifier"}
    job = shared_api.post("/api/v1/jobs", json=request).json()
    stream = shared_api.head(job["links"]["events"])
    assert (stream.status_code, stream.content) == (200, b"")
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert shared_api.post(f"/api/v1/jobs/{job['id']}/cancel").status_code == 202


def test_no_page_of_another_origin_is_let_in(shared_api: Api) -> None:
    answer = shared_api.get("/api/v1/models", headers={"Origin": "https://evil.example"})
    problem(answer, 403)
    assert not [name for name in answer.headers if name.startswith("access-control")]
    problem(shared_api.get("/api/v1/models", headers={"Host": "evil.example"}), 403)
    problem(shared_api.get("/api/v1/models", headers={"Sec-Fetch-Site": "cross-site"}), 403)
    assert shared_api.get("/api/v1/models", headers={"Origin": shared_api.address}).status_code == 200


def test_the_first_key_closes_the_door(api: Api) -> None:
    from service.operations import keys

    first = problem(api.post("/api/v1/keys", json={"name": "me", "scopes": ["predict"]}), 422)
    assert first["errors"][0]["parameter"] == "scopes"
    assert api.get("/api/v1/keys").json() == {"items": []}
    made = api.post("/api/v1/keys", json={"name": "me", "scopes": ["admin"]})
    assert made.status_code == 201
    admin = {"Authorization": f"Bearer {made.json()['key']}"}
    problem(api.get("/api/v1/models"), 401)
    problem(api.get("/api/v1/models", headers={"Authorization": "Bearer rk_wrong"}), 401)
    problem(api.get("/api/v1/models", headers={"Authorization": "Basic abc"}), 401)
    assert api.get("/api/v1/models", headers=admin).status_code == 200
    assert api.get("/api/v1/models", headers={"X-API-Key": made.json()["key"]}).status_code == 200
    assert api.get("/health/ready").status_code == 200
    listed = api.get("/api/v1/keys", headers=admin).json()["items"]
    assert [key["name"] for key in listed] == ["me"]
    assert made.json()["key"] not in json.dumps(listed)
    refused = problem(api.delete(f"/api/v1/keys/{made.json()['id']}", headers=admin), 409)
    assert "make another first" in refused["detail"]
    store = Store(api.settings.store_url)
    keys.revoke(store, "default", made.json()["id"])  # as the command line does
    store.dispose()
    wait_for(lambda: api.get("/api/v1/models", headers=admin).status_code == 401)
    problem(api.get("/api/v1/models", headers=admin), 401)
    problem(api.get("/api/v1/models"), 401)  # revoking the last key opens nothing


def test_a_scope_allows_its_own_and_no_more(api: Api) -> None:
    admin = {"X-API-Key": api.post("/api/v1/keys", json={"name": "a", "scopes": ["admin"]}).json()["key"]}
    keys = {
        scope: {
            "X-API-Key": api.post("/api/v1/keys", json={"name": scope, "scopes": [scope]}, headers=admin).json()["key"]
        }
        for scope in ("predict", "train")
    }
    for path in ("/api/v1/models", "/api/v1/learners"):
        assert all(api.get(path, headers=keys[scope]).status_code == 200 for scope in keys)
    for path in ("/api/v1/datasets", "/api/v1/jobs"):
        assert api.get(path, headers=keys["train"]).status_code == 200
        refused = problem(api.get(path, headers=keys["predict"]), 403)
        assert "train" in refused["detail"]
    for path in ("comparison?with=m", "rules/r/rows"):  # which tell of single rows of a dataset
        problem(api.get(f"/api/v1/models/m/{path}", headers=keys["predict"]), 403)
        problem(api.get(f"/api/v1/models/m/{path}", headers=keys["train"]), 404)
    for key in keys.values():
        problem(api.get("/api/v1/keys", headers=key), 403)
        problem(api.delete("/api/v1/models/m", headers=key), 403)
    problem(api.post("/api/v1/keys", json={"name": "x", "scopes": ["root"]}, headers=admin), 422)
    problem(api.post("/api/v1/keys", json={"name": "x", "scopes": []}, headers=admin), 422)


def test_workspaces_never_see_each_other(api: Api) -> None:
    from service.operations import keys

    store = Store(api.settings.store_url)
    tokens = {name: keys.create(store, name, "k", ["admin"])[1] for name in ("one", "two")}
    store.dispose()
    one, two = ({"X-API-Key": tokens[name]} for name in ("one", "two"))
    for _ in range(100):
        if api.get("/api/v1/models", headers=one).status_code == 200:
            break
        asyncio.run(asyncio.sleep(0.02))
    made = api.post("/api/v1/datasets", content=b"x,y\n1,a\n2,b\n", headers=one).json()["id"]
    assert api.get(f"/api/v1/datasets/{made}", headers=one).status_code == 200
    mine = problem(api.get(f"/api/v1/datasets/{made}", headers=two), 404)
    none = problem(api.get("/api/v1/datasets/ds_none", headers=two), 404)
    assert mine["detail"].replace(made, "") == none["detail"].replace("ds_none", "")
    assert api.get("/api/v1/datasets", headers=two).json()["items"] == []


def test_quiet_mode_repeats_no_value(tmp_path: Path, migrated_sqlite: Path) -> None:
    shutil.copy(migrated_sqlite, tmp_path / "store.sqlite3")
    with running(Settings(data=tmp_path, error_detail="minimal")) as api:
        secret = "patient-4711"
        refused = api.post("/api/v1/jobs", json={"kind": secret, "dataset": "d", "target": "t", "learner": "l"})
        assert secret not in refused.text
        assert "kind" in json.dumps(problem(refused, 422)["errors"])
        refused = api.upload(f"x,y\n1,a\n{secret},b,c\n")
        assert secret not in refused.text
        assert problem(refused, 422)["errors"][0]["line"] == 3


def test_requests_are_logged_as_json(shared_api: Api, caplog: pytest.LogCaptureFixture) -> None:
    from service.logs import JsonFormatter

    def seen() -> dict[str, Any] | None:
        lines = [json.loads(JsonFormatter().format(one)) for one in caplog.records if one.getMessage() == "request"]
        return next((line for line in lines if line["request_id"] == "seen-in-the-log"), None)

    with caplog.at_level(logging.INFO, logger="rulewood"):
        shared_api.get("/api/v1/models", headers={"X-Request-ID": "seen-in-the-log"})
        line = wait_for(seen)  # a request's line is written when its answer has been sent
    assert (line["method"], line["path"], line["status"], line["level"]) == ("GET", "/api/v1/models", 200, "info")
    assert line["milliseconds"] > 0


def test_nothing_tells_what_serves(shared_api: Api) -> None:
    headers = shared_api.get("/health/live").headers
    assert "server" not in headers
    assert headers["x-content-type-options"] == "nosniff"


def test_the_process_that_reads_the_first_file_is_started_with_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from service import app

    monkeypatch.setattr("service.app.gc.freeze", lambda: None)  # of a whole test run it would be for ever
    services = app.make_services(Settings(data=tmp_path))
    try:
        app._load_api(services, app._keep_start)
        assert [process.is_alive for process in services.ingester._idle] == [True]
    finally:
        services.ingester.close()
        services.store.dispose()
