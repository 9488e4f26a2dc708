"""Real worker processes, datasets to hang jobs on, and waiting for states."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from service.settings import Settings
from service.store import jobs
from service.store.session import Store
from service.store.tables import Blob, Dataset

#: Generous: a test that waits this long has failed for another reason than speed.
PATIENCE = 120.0
BLOB = "0" * 64


class WorkerProcess:
    """One worker of :mod:`tests.service.jobs.worker_process`."""

    def __init__(self, settings: Settings, log: Path) -> None:
        program = "from tests.service.jobs.worker_process import main; main()"
        with log.open("a") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=Path(__file__).parents[3],
            )
        self._process.stdin.write(settings.model_dump_json())
        self._process.stdin.close()
        line = self._process.stdout.readline()
        assert line.startswith("ready"), log.read_text()
        self.id = line.split()[1]

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal and wait until the process is gone."""
        if self._process.poll() is None:
            os.kill(self._process.pid, number)
        self._process.wait(timeout=PATIENCE)
        self._process.stdout.close()


@pytest.fixture
def start_worker(database_url: str, data_dir: Path) -> Iterator[Callable[[], WorkerProcess]]:
    """Starts workers on the test's database; whatever is left of them is killed at the end."""
    started: list[WorkerProcess] = []

    def start(**settings) -> WorkerProcess:
        made = Settings(data=data_dir, database=database_url, **({"processes": 1} | settings))
        worker = WorkerProcess(made, data_dir / "worker.log")
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.kill()


class Jobs:
    """Submitting jobs made of small parts, and looking at them."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._count = 0
        with store.begin() as session:
            session.add(Blob(sha256=BLOB, content="none", size=0, n_chunks=0, put_at=time.time()))
            session.flush()
            empty = {"options": {}, "columns": [], "profile": [], "warnings": []}
            session.add(
                Dataset(
                    id="ds_test",
                    workspace="default",
                    name="test",
                    format="csv",
                    raw_sha256=BLOB,
                    table_sha256=BLOB,
                    n_rows=0,
                    n_columns=0,
                    created_at=time.time(),
                    **empty,
                )
            )

    def submit(self, parts: dict, **extra) -> str:
        self._count += 1
        request = {"diary": str(self._folder / f"diary-{self._count}"), "parts": parts, "blob": BLOB, **extra}
        with self._store.begin() as session:
            return jobs.insert_or_get(session, "default", "train", request, "ds_test")[0].id

    def get(self, job_id: str):
        with self._store.read() as session:
            return jobs.find(session, job_id)

    def cancel(self, job_id: str) -> None:
        with self._store.begin() as session:
            jobs.request_cancel(session, "default", job_id)

    def wait(self, job_id: str, *states: str):
        """Wait until the job is in one of the states (default: has ended) and return it."""
        wanted = states or ("succeeded", "failed", "cancelled")
        return wait_for(lambda: (job := self.get(job_id)).state in wanted and job)

    def diary(self, job_id: str) -> list[tuple[str, int]]:
        """The starts of parts, with the process of each."""
        path = Path(self.get(job_id).request["diary"])
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return [(line.split()[0], int(line.split()[1])) for line in lines]

    def wait_for_start(self, job_id: str, part: str) -> int:
        """Wait until a part has started and return its process id."""
        return wait_for(lambda: dict(self.diary(job_id)).get(part))

    def parts(self, job_id: str) -> dict:
        with self._store.read() as session:
            return jobs.parts(session, job_id)

    def events(self, job_id: str) -> list:
        with self._store.read() as session:
            return jobs.events_after(session, job_id)


def wait_for(look: Callable):
    """Look until there is something to see."""
    give_up_at = time.monotonic() + PATIENCE
    while time.monotonic() < give_up_at:
        seen = look()
        if seen:
            return seen
        time.sleep(0.05)
    raise AssertionError(f"nothing came within {PATIENCE} s")


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def work(store: Store, data_dir: Path) -> Jobs:
    return Jobs(store, data_dir)
