"""The OpenAPI document: valid, complete, and what the service really does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.settings import Settings
from tests.service.running import Api, running

FUZZING = Path(__file__).parent / "fuzzing"
METHODS = {"get", "put", "post", "patch", "delete"}
#: May come from any operation beneath /api: a malformed address, no key, the wrong key, a query parameter that
#: is not known, too much at once, no database.
ANYWHERE = {"400", "401", "403", "422", "429", "503"}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("openapi")
    shutil.copy(migrated_sqlite, folder / "store.sqlite3")
    with running(Settings(data=folder)) as found:
        yield found


@pytest.fixture(scope="module")
def document(api: Api) -> dict[str, Any]:
    return api.get("/openapi.json").json()


@pytest.fixture(scope="module")
def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, found) for path, item in document["paths"].items() for method, found in item.items()]


def test_it_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    import schemathesis

    assert document["openapi"].startswith("3.1")
    schemathesis.openapi.from_dict(document).validate()
    assert [name for name in document["components"]["schemas"] if "__" in name] == []  # two classes of one name


def test_every_operation_is_described(operations: list[tuple[str, str, dict[str, Any]]]) -> None:
    names = [operation["operationId"] for _, _, operation in operations]
    assert len(names) == len(set(names))
    for path, method, operation in operations:
        where = f"{method} {path}"
        assert method in METHODS, where
        assert re.fullmatch(r"[a-z][A-Za-z]+", operation["operationId"]), where
        assert operation["summary"], where
        assert operation["description"], where
        assert len(operation["tags"]) == 1, where


def test_every_error_is_a_problem_document(operations: list[tuple[str, str, dict[str, Any]]]) -> None:
    for path, method, operation in operations:
        responses = operation["responses"]
        where = f"{method} {path}"
        if path.startswith("/api/"):
            assert set(responses) >= ANYWHERE, where
        if "{" in path:
            assert {"404", "422"} <= set(responses), where
        if "requestBody" in operation:
            assert {"413", "415", "422"} <= set(responses), where
        for status, response in responses.items():
            if int(status) >= 400:
                schema = response["content"]["application/problem+json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Problem"}, where
                assert response["description"], where
        assert any(int(status) < 300 for status in responses), where


def test_what_is_made_tells_where_it_is(operations: list[tuple[str, str, dict[str, Any]]]) -> None:
    for path, method, operation in operations:
        if "201" in operation["responses"]:
            assert "Location" in operation["responses"]["201"]["headers"], f"{method} {path}"


def test_bodies_and_path_parameters_carry_examples(
    document: dict[str, Any], operations: list[tuple[str, str, dict[str, Any]]]
) -> None:
    for path, method, operation in operations:
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "path":
                assert {"example", "examples"} & {*parameter, *parameter["schema"]}, f"{method} {path}"
    assert document["components"]["schemas"]["Problem"]["examples"]


def test_no_default_or_example_is_no_json(api: Api) -> None:
    json.loads(api.get("/openapi.json").text, parse_constant=pytest.fail)


def test_both_ways_to_send_a_key_are_declared(
    document: dict[str, Any], operations: list[tuple[str, str, dict[str, Any]]]
) -> None:
    assert set(document["components"]["securitySchemes"]) == {"bearer", "header"}
    for path, method, operation in operations:
        if path.startswith("/api/"):
            assert operation["security"] == [{"bearer": []}, {"header": []}, {}], f"{method} {path}"
        elif path.startswith("/health"):
            assert "security" not in operation


def test_a_short_schemathesis_run_finds_nothing(api: Api) -> None:
    """Examples and coverage of every operation with all checks; the long run is ``benchmarks/fuzz.py``."""
    key = api.post("/api/v1/keys", json={"name": "fuzz", "scopes": ["admin"]}).json()["key"]
    done = subprocess.run(
        [
            Path(sys.executable).parent / "schemathesis",
            f"--config-file={FUZZING / 'schemathesis.toml'}",
            "run",
            f"{api.address}/openapi.json",
            "--phases=examples,coverage",
            "--seed=1",
            "--no-color",
            f"--header=Authorization:Bearer {key}",
        ],
        capture_output=True,
        text=True,
        cwd=api.settings.data,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(FUZZING / "hooks.py")},
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
