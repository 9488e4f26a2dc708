"""The house's rules that a machine can check: layout, imports, and what may not stand in the tree."""

from __future__ import annotations

import re
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


def test_the_serving_side_does_not_load_the_job_engine_or_the_parsers() -> None:
    program = (
        "import sys, service.app, service.front\n"
        "print([name for name in ('dbos', 'pyarrow', 'scipy', 'sklearn', 'pebble') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_every_dependency_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    runtime = re.search(r"^dependencies = \[\n(.*?)^\]", text, re.S | re.M)
    assert runtime
    assert all("  # " in line for line in runtime.group(1).splitlines())
