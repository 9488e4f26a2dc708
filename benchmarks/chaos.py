"""Kill -9 at random instants during uploads, trainings, cross-validations and registrations.

    python benchmarks/chaos.py --store sqlite --kills 50
    python benchmarks/chaos.py --store postgresql --kills 50

The service runs as users run it (`rulewood serve` with its worker on SQLite; `serve --no-worker` and two
workers on PostgreSQL) and is started again whenever it was killed. Clients go on all the while. In the end:

* every upload that was acknowledged is there, with the bytes that were sent;
* every job that was acknowledged has succeeded, with the result of an undisturbed run to the bit;
* no job is there twice, and every training has exactly one version: numbers 1..n, nothing doubled;
* no answer was a 5xx other than 503.

Prints a summary as JSON; the exit status is 1 if anything of this does not hold.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import platform
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from service.client import Rulewood, RulewoodError  # noqa: E402 - the repository's root is put on the path first

RULEWOOD = [sys.executable, "-c", "from service.cli import main; main()"]
TARGETS = ("part", "part", "worker", "worker", "api", "everything")
UNFINISHED_AT_MOST = 6


class Fleet:
    """The service's processes, each started again when it has died."""

    def __init__(self, database: str | None, folder: Path) -> None:
        self._stopping = threading.Event()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.port = _free_port()
        serve = [*RULEWOOD, "serve", "--port", str(self.port)]
        if database is None:
            commands = {"api": [*serve, "--data", str(folder / "api")]}
        else:
            shared = ["--database", database]
            commands = {"api": [*serve, "--no-worker", "--data", str(folder / "api"), *shared]}
            for number in (1, 2):
                commands[f"worker-{number}"] = [*RULEWOOD, "worker", "--data", str(folder / f"w{number}"), *shared]
        self._log = (folder / "service.log").open("ab")
        self._threads = [
            threading.Thread(target=self._keep, args=(name, command), daemon=True) for name, command in commands.items()
        ]
        for thread in self._threads:
            thread.start()

    def _keep(self, name: str, command: list[str]) -> None:
        while not self._stopping.is_set():
            process = subprocess.Popen(command, cwd=ROOT, stdout=self._log, stderr=self._log)
            self._processes[name] = process
            process.wait()

    def processes(self, target: str) -> list[psutil.Process]:
        """The live processes of a kind: part (pool children), worker, api, everything."""
        found: dict[str, list[psutil.Process]] = {"part": [], "worker": [], "api": [], "everything": []}
        for name, process in self._processes.items():
            with contextlib.suppress(psutil.Error):
                root = psutil.Process(process.pid)
                for one in [root, *root.children(recursive=True)]:
                    found[_kind(one, name, root)].append(one)
                    found["everything"].append(one)
        return found[target]

    def stop(self) -> None:
        self._stopping.set()
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        for thread in self._threads:
            thread.join(timeout=30)
        self._log.close()


def _kind(process: psutil.Process, name: str, root: psutil.Process) -> str:
    command = " ".join(process.cmdline())
    if "spawn_main" in command:
        return "part"
    if process == root:
        return "api" if name == "api" else "worker"
    return "worker" if "service.worker" in command else "everything"


@dataclass
class Record:
    """What was acknowledged, and what must be the same in the end."""

    uploads: dict[str, str] = field(default_factory=dict)  # dataset id -> sha256 of what was sent
    jobs: dict[str, str] = field(default_factory=dict)  # job id -> variant
    keys: set[str] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)
    retries: int = 0


class Client(threading.Thread):
    """One caller: uploads or submits until it is told to stop, repeating what was not acknowledged."""

    def __init__(self, port: int, variants: dict[str, dict], record: Record, seed: int, *, uploads: bool) -> None:
        super().__init__(daemon=True)
        self._rulewood = Rulewood(f"http://127.0.0.1:{port}", timeout=30.0)
        self._variants = variants
        self._record = record
        self._random = random.Random(seed)
        self._uploads = uploads
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            if self._uploads:
                self._upload()
                time.sleep(0.5)
            else:
                self._submit()

    def _upload(self) -> None:
        rows = [f"{self._random.random()},{self._random.choice('abc')}" for _ in range(self._random.randint(50, 3000))]
        content = "\n".join(["x,y", *rows]).encode()
        dataset = self._insist(lambda: self._rulewood.upload(content, name="chaos.csv"))
        if dataset is not None:
            self._record.uploads[dataset["id"]] = hashlib.sha256(content).hexdigest()

    def _submit(self) -> None:
        variant = self._random.choice(sorted(self._variants))
        key = secrets.token_hex(16)
        self._record.keys.add(key)
        job = self._insist(lambda: self._rulewood.submit(self._variants[variant], idempotency_key=key), forever=True)
        self._record.jobs[job["id"]] = variant
        while not self.stopping.is_set() and self._unfinished() >= UNFINISHED_AT_MOST:
            time.sleep(0.2)

    def _unfinished(self) -> int:
        states = ("queued", "running")
        found = self._insist(lambda: sum(1 for state in states for _ in self._rulewood.jobs(state=state)))
        return found or 0

    def _insist(self, call, *, forever: bool = False):
        while forever or not self.stopping.is_set():
            try:
                return call()
            except httpx.TransportError:
                self._record.retries += 1
            except RulewoodError as error:
                # The process that reads an upload may be hit too: the upload is refused, and so not acknowledged.
                if error.status != 503 and "reading process" not in str(error):
                    self._record.violations.append(f"an answer was {error}")
                    return None
            time.sleep(0.1)
        return None


def prepare(rulewood: Rulewood) -> dict[str, dict]:
    """Upload the tables and name the jobs that are submitted again and again."""
    from tests.shared import table_path

    iris, credit = rulewood.upload(table_path("iris.csv")), rulewood.upload(table_path("credit-g.csv"))
    tree = {"target": "class", "learner": "decision-tree-classifier"}
    folds = {"method": "k-fold", "folds": 5}
    train = {"kind": "train", **tree, "evaluation": folds}
    return {
        "train-iris": {**train, "dataset": iris["id"], "model": {"name": "iris", "aliases": ["champion"]}},
        "train-credit": {**train, "dataset": credit["id"], "model": {"name": "credit"}, "seed": 7},
        "cross-validate-iris": {"kind": "cross-validate", **tree, "dataset": iris["id"], "evaluation": folds},
        "cross-validate-credit": {
            "kind": "cross-validate",
            **tree,
            "dataset": credit["id"],
            "evaluation": {"method": "k-fold", "folds": 10},
            "parameters": {"pruning": "error-based"},
        },
        "compare-iris": {
            "kind": "compare",
            "dataset": iris["id"],
            "target": "class",
            "learners": [{"learner": tree["learner"]}, {"learner": "nearest-neighbors-classifier"}],
            "evaluation": folds,
            "output": {"format": "csv"},
        },
    }


def comparable(job: dict) -> str:
    """All of a job's result but the number and id of its version."""
    result = dict(job["result"])
    if "model" in result:
        result["model"] = result["model"]["sha256"]
    return json.dumps(result, sort_keys=True)


def kill(fleet: Fleet, rulewood: Rulewood, kills: int, pace: float, chance: random.Random) -> Counter:
    """Kill until enough were killed; after the API was hit, wait until it is back."""
    done: Counter = Counter()
    while done.total() < kills:
        time.sleep(chance.uniform(0.05, pace))
        target = chance.choice(TARGETS)
        victims = fleet.processes(target)
        if not victims:
            continue
        for victim in victims if target == "everything" else [chance.choice(victims)]:
            with contextlib.suppress(psutil.Error):
                victim.kill()
        done[target] += 1
        print(f"kill {done.total()}: {target}", file=sys.stderr, flush=True)
        if target in ("api", "everything"):
            wait_until_ready(rulewood)
    return done


def wait_until_ready(rulewood: Rulewood) -> None:
    while not rulewood.is_ready():
        time.sleep(0.05)


def verify(rulewood: Rulewood, record: Record, variants: dict[str, dict], expected: dict[str, str]) -> None:
    """Compare what is there with what was acknowledged."""
    wrong = record.violations.append
    for dataset_id, sha256 in record.uploads.items():
        answer = rulewood._http.get(f"/api/v1/datasets/{dataset_id}/download")
        if answer.status_code != 200 or hashlib.sha256(answer.content).hexdigest() != sha256:
            wrong(f"the upload {dataset_id} is lost or changed ({answer.status_code})")
    trained: dict[str, list[int]] = {"iris": [1], "credit": [1]}  # the undisturbed runs
    for job_id, variant in record.jobs.items():
        job = rulewood.wait(job_id, check=False)
        if job["state"] != "succeeded":
            wrong(f"the job {job_id} ({variant}) {job['state']}: {job['error']}")
            continue
        if comparable(job) != expected[variant]:
            wrong(f"the result of {job_id} ({variant}) differs from the undisturbed one")
        if "model" in variants[variant]:
            trained[variants[variant]["model"]["name"]].append(job["result"]["model"]["version"])
    for name, versions in trained.items():
        there = sorted(version["version"] for version in rulewood.versions(name))
        if there != sorted(versions) or there != list(range(1, len(there) + 1)):
            wrong(f"the versions of {name} are {there}, but the jobs made {sorted(versions)}")
    count = sum(1 for _ in rulewood.jobs())
    if count != len(record.jobs) + len(variants) or len(record.jobs) != len(record.keys):
        wrong(f"there are {count} jobs of {len(record.keys)} submissions and {len(variants)} undisturbed runs")


def run(database: str | None, kills: int, pace: float, seed: int, folder: Path) -> dict:
    """One round of chaos; returns the summary."""
    fleet = Fleet(database, folder)
    record = Record()
    began = time.monotonic()
    try:
        rulewood = Rulewood(f"http://127.0.0.1:{fleet.port}", timeout=60.0)
        wait_until_ready(rulewood)
        variants = prepare(rulewood)
        expected = {name: comparable(rulewood.wait(rulewood.submit(variants[name]))) for name in variants}
        clients = [Client(fleet.port, variants, record, seed + number, uploads=number == 0) for number in range(3)]
        for client in clients:
            client.start()
        done = kill(fleet, rulewood, kills, pace, random.Random(seed))
        for client in clients:
            client.stopping.set()
        for client in clients:
            client.join()
        wait_until_ready(rulewood)
        verify(rulewood, record, variants, expected)
    finally:
        fleet.stop()
    return {
        "store": "sqlite" if database is None else "postgresql",
        "python": platform.python_version(),
        "kills": dict(done),
        "uploads": len(record.uploads),
        "jobs": dict(Counter(record.jobs.values())),
        "repeated_requests": record.retries,
        "seconds": round(time.monotonic() - began, 1),
        "violations": record.violations,
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--database", help="a PostgreSQL URL; by default a server is started for the run")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--pace", type=float, default=4.0, help="longest pause between two kills, in seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for data and log; by default a temporary one")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        database = options.database
        if options.store == "postgresql" and database is None:
            from tests.postgres import running_postgres

            server = stack.enter_context(running_postgres(f"chaos{secrets.token_hex(3)}"))
            database = server.make_database()
            stack.callback(server.drop_database, database)
        summary = run(database, options.kills, options.pace, options.seed, folder)
    print(json.dumps(summary, indent=2))
    sys.exit(1 if summary["violations"] else 0)


if __name__ == "__main__":
    main()
