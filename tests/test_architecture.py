"""The house's rules that a machine can check: layout, imports, and what may not stand in the tree."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


def test_top_level_is_as_given() -> None:
    for name in [
        "pyproject.toml",
        "Dockerfile",
        "docker-compose.yml",
        "service",
        "learners",
        "tests",
        "Makefile",
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/decisions",
        "benchmarks",
        ".ci/run",
        "requirements.lock",
    ]:
        assert (ROOT / name).exists(), name


def test_import_contracts_are_kept() -> None:
    done = subprocess.run([Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_no_registry_host_and_no_path_of_a_machine() -> None:
    forbidden = re.compile(rb"--(extra-)?index-url|--find-links|/simple/|(?<![\w.])/(work|farm)/|(?<![\w.])/root/")
    for path in tracked():
        if path != Path(__file__) and path.suffix != ".csv":
            assert not forbidden.search(path.read_bytes()), path


def test_nothing_loads_code_from_files() -> None:
    forbidden = re.compile(r"^\s*(import|from) (pickle|joblib|dill|cloudpickle|marshal|shelve)\b|\b(eval|exec)\(", re.M)
    for path in tracked():
        if path.suffix == ".py" and path.parts[len(ROOT.parts)] in ("learners", "service"):
            assert not forbidden.search(path.read_text()), path


def test_names_tell_what_is_inside() -> None:
    assert not [path for path in tracked() if path.stem in ("utils", "util", "common", "helpers", "misc")]


#: The job engine, the parsers, the compiler, and what only some requests, stores or commands need.
NOT_TO_START = [
    *("dbos", "pebble", "pyarrow", "scipy", "sklearn", "pandas", "numba", "llvmlite"),
    *("alembic", "mako", "psycopg", "sqlalchemy.dialects.postgresql", "sqlalchemy.ext.asyncio"),
    *("prometheus_client", "httpx", "email_validator", "opentelemetry.sdk", "jinja2", "yaml", "rich"),
]
READY = """
import asyncio, json, sys
from pathlib import Path
from service.app import create_app
from service.settings import Settings

async def main():
    app, sent = create_app(Settings(data=Path(sys.argv[1]))), []
    come, gone = asyncio.Queue(), asyncio.Event()
    async def send(message):
        sent.append(message)
        gone.set()
    living = asyncio.create_task(app({"type": "lifespan", "state": {}}, come.get, send))
    await come.put({"type": "lifespan.startup"})
    await gone.wait()
    scope = {"type": "http", "http_version": "1.1", "method": "GET", "query_string": b"", "headers": []}
    scope |= {"root_path": "", "scheme": "http"}
    async def body():
        return {"type": "http.request", "body": b""}
    for path in ("/health/ready", "/nowhere"):  # the second is for the app that is loaded beside
        await app(scope | {"path": path, "raw_path": path.encode()}, body, send)
    statuses = [message["status"] for message in sent if "status" in message]
    print(json.dumps([statuses, [name for name in sys.argv[2:] if name in sys.modules]]))
    await come.put({"type": "lifespan.shutdown"})
    await living

asyncio.run(main())
"""


def test_a_started_service_has_loaded_only_what_every_service_needs(tmp_path: Path, migrated_sqlite: Path) -> None:
    shutil.copy(migrated_sqlite, tmp_path / "store.sqlite3")
    command = [sys.executable, "-c", READY, str(tmp_path), *NOT_TO_START]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [[200, 404], []]


def test_every_dependency_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    runtime = re.search(r"^dependencies = \[\n(.*?)^\]", text, re.S | re.M)
    assert runtime
    assert all("  # " in line for line in runtime.group(1).splitlines())
