"""The whole road against real processes: ``rulewood serve`` with its worker, on both databases."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from learners import catalog
from learners.evaluation import Plan
from learners.evaluation.search import grid_search, select
from service.client import Rulewood, RulewoodError
from tests.learners.tables import read
from tests.shared import table_path

PROGRAM = "from service.cli import main; main()"


@contextmanager
def served(data: Path, database: str, *options: str) -> Iterator[tuple[Rulewood, subprocess.Popen[str]]]:
    command = [sys.executable, "-c", PROGRAM, "serve", "--port", "0", "--data", str(data), "--database", database]
    log = data / "service.log"
    with log.open("a") as errors:
        process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    try:
        address = process.stdout.readline().split()[3]
        with Rulewood(address, timeout=120) as client:
            while not client.is_ready():
                assert process.poll() is None, log.read_text()[-3000:]
                time.sleep(0.05)
            yield client, process
    finally:
        children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.terminate()
        code = process.wait(timeout=60)
        process.stdout.close()
        _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == [], "processes outlived the service"
    assert code in (0, -signal.SIGTERM, -signal.SIGKILL)
    assert '"unhandled"' not in log.read_text(), log.read_text()[-5000:]


def test_from_table_to_reason_and_again_after_a_restart(database_url: str, data_dir: Path) -> None:
    with served(data_dir, database_url) as (client, _):
        dataset = client.upload(table_path("vote.csv"), name="vote")
        target = "Class"
        learning = {
            "dataset": dataset["id"],
            "target": target,
            "learner": "decision-tree-classifier",
            "parameters": {"pruning": "error-based"},
        }
        crossed = client.wait(client.cross_validate(folds=5, **learning), timeout=600)
        assert sorted(part["part"] for part in crossed["parts"]) == [f"fold-{number}" for number in range(1, 6)]
        assert crossed["result"]["evaluation"]["metrics"]["accuracy"]["mean"] > 0.9
        job = client.train(model="vote", aliases=["champion"], idempotency_key="one", **learning)
        assert client.train(model="vote", aliases=["champion"], idempotency_key="one", **learning)["id"] == job["id"]
        ended = client.wait(job, timeout=600)
        assert ended["result"]["model"]["version"] == 1
        rows = client.rows(dataset["id"], limit=50)
        for row in rows:
            row.pop(target)
        answer = client.predict("vote@champion", rows, explain=True)
        assert len(answer["predictions"]) == 50
        reasons = [prediction["explanation"] for prediction in answer["predictions"]]
        explained = client.explain("vote:1", rows)["explanations"]
        assert all(reason.items() <= one.items() for reason, one in zip(reasons, explained, strict=True))
        assert client.rules("vote")["rules"]
        assert "republican" in client.rules_text("vote", "text")
        assert client.tree("vote")["nodes"]
        assert ElementTree.fromstring(client.tree_svg("vote")).tag.endswith("svg")
        client.wait(client.train(model="vote", seed=1, **learning), timeout=600)
        client.set_alias("vote", "champion", 2)
        until = time.monotonic() + 10
        while client.predict("vote@champion", rows[:1])["version"] != 2:
            assert time.monotonic() < until, "the move of the alias was not seen"
            time.sleep(0.05)
    with served(data_dir, database_url, "--no-worker") as (client, _):
        assert client.predict("vote:1", rows, explain=True)["predictions"] == answer["predictions"]
        assert client.job(job["id"]) == ended
        assert client.model("vote")["aliases"] == {"champion": 2}


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # SQLite: test_whole_jobs
def test_a_worker_that_is_killed_is_replaced_and_the_job_ends_as_if_nothing_had_been(
    database_url: str, data_dir: Path
) -> None:
    table, target = read("iris", "class")
    grid = {"decay": [1000.0, 0.01], "epochs": [60, 62, 64, 66]}  # with so large a decay learning diverges
    parameters = {"optimizer": "sgd", "rate": 1, "hidden_units": [2], "batch": None}
    learner = catalog.make("neural-network-classifier", parameters | {"seed": 4})
    own = select(learner, grid_search(learner, grid, Plan(folds=5), 4), table, target)
    with served(data_dir, database_url) as (client, process):
        dataset = client.upload(table_path("iris.csv"), name="iris")
        job = client.select(
            dataset["id"],
            target="class",
            learner=learner.name,
            parameters=parameters,
            evaluation={"folds": 5},
            selection={"grid": grid},
            model="iris",
            seed=4,
        )
        while not any("failure" in part["result"] for part in client.job(job["id"])["parts"]):
            time.sleep(0.02)
        for child in psutil.Process(process.pid).children():
            if any("service.worker" in word for word in child.cmdline()):
                os.kill(child.pid, signal.SIGKILL)
        found = client.wait(job, timeout=600)["result"]["selection"]
        assert (found["chosen"], found["failed"]) == (own.search.chosen, 4)
        for told, candidate in zip(found["candidates"], own.search.candidates, strict=True):
            assert told.get("metrics", {}) == candidate.summary.get("metrics", {})
            assert ("failure" in told) is (candidate.failed is not None)
        assert [one["version"] for one in client.versions("iris")] == [1]


def test_a_second_service_on_the_same_folder_uses_the_worker_of_the_first_and_then_its_own(data_dir: Path) -> None:
    database = f"sqlite:///{data_dir}/store.sqlite3"
    learning = {"target": "y", "learner": "decision-tree-classifier", "model": "m"}
    with contextlib.ExitStack() as second_stack:
        with served(data_dir, database) as (first, _):
            dataset = first.upload(b"x,y\n1,a\n2,b\n3,a\n", name="d")["id"]
            assert first.wait(first.train(dataset, **learning), timeout=600)["state"] == "succeeded"
            second, _ = second_stack.enter_context(served(data_dir, database))
            until = time.monotonic() + 60
            while "this one waits to take its place" not in (log := (data_dir / "service.log").read_text()):
                assert time.monotonic() < until, log[-3000:]
                time.sleep(0.1)
            assert second.wait(second.train(dataset, **learning), timeout=600)["result"]["model"]["version"] == 2
        assert second.wait(second.train(dataset, **learning), timeout=600)["result"]["model"]["version"] == 3
    log = (data_dir / "service.log").read_text()
    assert "the other worker has ended" in log
    assert "starting it again" not in log


def test_several_api_processes_agree(data_dir: Path) -> None:
    database = f"sqlite:///{data_dir}/store.sqlite3"
    with served(data_dir, database, "--workers", "2", "--no-worker") as (client, _):
        made = [client.upload(f"x,y\n{n},a\n2,b\n".encode(), name=f"d{n}")["id"] for n in range(4)]
        assert [dataset["id"] for dataset in client.datasets()] == made[::-1]
        with pytest.raises(RulewoodError) as caught:
            client.model("none")
        assert caught.value.status == 404
        assert caught.value.problem["type"].endswith("not-found")


def test_the_service_does_not_start_open_to_the_world(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "serve", "--host", "0.0.0.0", "--port", "0", "--data", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "rulewood keys create" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_demo_ends_well_and_leaves_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    before = {process.pid for process in psutil.process_iter()}
    done = subprocess.run([sys.executable, "-c", PROGRAM, "demo"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    for word in (
        "credit-g.csv",
        "cross-validation",
        "accuracy",
        "credit@champion",
        "because",
        "/api/v1/models/credit:1",
    ):
        assert word in done.stdout, done.stdout
    counted = re.search(r"as (\d+) rules", done.stdout)
    assert counted is not None
    assert 5 <= int(counted[1]) <= 40, "a tree that is shown is one that can be read"
    assert list(tmp_path.iterdir()) == []
    left = [p for p in psutil.process_iter(["cmdline"]) if p.pid not in before and "service." in str(p.info["cmdline"])]
    assert [p for p in left if str(tmp_path) in str(p.environ())] == []
