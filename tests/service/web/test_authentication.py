"""A caller without a valid key learns nothing but that, whatever the request is like."""

from __future__ import annotations

import http.client
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from service.settings import Settings
from service.web.authentication import needs_key
from tests.service.running import Api, problem, running

Request = dict[str, Any]
#: What is wrong with a request besides its key.
FLAWS: dict[str, Request] = {
    "nothing": {},
    "an unknown query parameter": {"params": {"nothing": "1"}},
    "a query parameter twice": {"params": [("limit", "1"), ("limit", "2")]},
    "no page size": {"params": {"limit": "no"}},
    "no JSON": {"content": b"{", "headers": {"Content-Type": "application/json"}},
    "an empty JSON body": {"headers": {"Content-Type": "application/json"}},
    "a foreign media type": {"content": b"x", "headers": {"Content-Type": "text/plain"}},
    "a multipart body without a boundary": {"content": b"x", "headers": {"Content-Type": "multipart/form-data"}},
    "an encoding": {"content": b"x", "headers": {"Content-Encoding": "gzip"}},
    "bytes that are no UTF-8": {"params": b"name=%ff"},
    "a NUL": {"params": b"name=%00"},
}
UNKNOWN = [("GET", "/api/v1/nothing"), ("GET", "/api/"), ("PUT", "/api/v1/jobs"), ("GET", "/api/v1/models/x/y/z")]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> Iterator[tuple[Api, dict[str, str]]]:
    """A service that has keys, and a key of each scope."""
    folder = tmp_path_factory.mktemp("keys")
    shutil.copy(migrated_sqlite, folder / "store.sqlite3")
    with running(Settings(data=folder)) as api:
        admin = api.post("/api/v1/keys", json={"name": "a", "scopes": ["admin"]}).json()["key"]
        made = {"admin": admin}
        for scope in ("predict", "train"):
            answer = api.post(
                "/api/v1/keys", json={"name": scope, "scopes": [scope]}, headers={"X-API-Key": made["admin"]}
            )
            made[scope] = answer.json()["key"]
        yield api, made


def addresses(api: Api) -> list[tuple[str, str]]:
    paths = api.get("/openapi.json").json()["paths"]
    known = [(method.upper(), path) for path, methods in paths.items() for method in methods if needs_key(path)]
    return [*((method, path.replace("{ref}", "m").replace("{", "").replace("}", "")) for method, path in known)]


@pytest.mark.parametrize("flaw", FLAWS)
@pytest.mark.parametrize("header", [{}, {"X-API-Key": "rk_wrong"}])
def test_without_a_valid_key_every_request_is_answered_alike(
    keys: tuple[Api, dict[str, str]], flaw: str, header: dict[str, str]
) -> None:
    api, _ = keys
    asked = FLAWS[flaw]
    details = set()
    for method, path in [*addresses(api), *UNKNOWN]:
        answer = api.request(method, path, **asked | {"headers": asked.get("headers", {}) | header})
        refused = problem(answer, 401)
        assert "errors" not in refused, (method, path)
        details.add(refused["detail"])
    assert len(details) == 1


def test_a_body_over_the_limit_says_so_only_to_those_with_a_key(keys: tuple[Api, dict[str, str]]) -> None:
    api, made = keys
    for key, status in (("rk_wrong", 401), (made["admin"], 413)):
        connection = http.client.HTTPConnection(urlsplit(api.address).netloc, timeout=30)
        headers = {"Content-Length": "999999999999", "Content-Type": "application/json", "X-API-Key": key}
        connection.request("POST", "/api/v1/jobs", headers=headers)
        assert connection.getresponse().status == status
        connection.close()


@pytest.mark.parametrize(
    "flaw", ["an unknown query parameter", "no JSON", "a foreign media type", "an empty JSON body"]
)
def test_a_key_without_the_scope_learns_only_which_is_needed(keys: tuple[Api, dict[str, str]], flaw: str) -> None:
    api, made = keys
    asked = FLAWS[flaw]
    for method, path in (("POST", "/api/v1/jobs"), ("POST", "/api/v1/keys"), ("PATCH", "/api/v1/models/m")):
        headers = asked.get("headers", {}) | {"X-API-Key": made["predict"]}
        refused = problem(api.request(method, path, **asked | {"headers": headers}), 403)
        assert "scope" in refused["detail"]


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/metrics"])
def test_probes_take_query_parameters_of_load_balancers(keys: tuple[Api, dict[str, str]], path: str) -> None:
    api, made = keys
    headers = {"X-API-Key": made["predict"]} if needs_key(path) else {}
    for query in ("?_=1700000000", "?a=1&a=2", "?probe", "?a=%C3%A9"):
        assert api.get(path + query, headers=headers).status_code == 200
