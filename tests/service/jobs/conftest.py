"""Real worker processes, datasets to hang jobs on, and waiting for states."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from service.errors import NotFound
from service.jobs.workflows import PART_RECOVERIES
from service.settings import Settings
from service.store import jobs, models
from service.store.session import Store
from service.store.tables import Blob, Dataset
from tests.conftest import DATABASES, migrated_database

#: Generous: a test that waits this long has failed for another reason than speed.
PATIENCE = 300.0
BLOB = "0" * 64


class WorkerProcess:
    """One worker of :mod:`tests.service.jobs.worker_process`."""

    def __init__(self, settings: Settings, log: Path, recoveries: int = PART_RECOVERIES) -> None:
        program = "from tests.service.jobs.worker_process import main; main()"
        with log.open("a") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", program, str(recoveries)],
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

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal and wait until the process is gone."""
        if self.is_alive:
            os.kill(self._process.pid, number)
        self._process.wait(timeout=PATIENCE)
        self._process.stdout.close()


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

    def hold(self, value=1) -> tuple[dict, Path]:
        """A part that works until the file, given with it, is touched."""
        marker = self._folder / f"marker-{secrets.token_hex(8)}"
        return {"do": "hold", "marker": str(marker), "value": value}, marker

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


class House:
    """A database, the jobs in it and the workers on it, kept from test to test of a module."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.store = Store(url)
        self.work = Jobs(self.store, folder)
        self._workers: list[tuple[dict, WorkerProcess]] = []

    def worker(self, **settings) -> WorkerProcess:
        """A live worker with these settings; any other is ended.

        Args:
            settings: of the service, or ``recoveries``: how often a part may take its worker down.
        """
        for made_with, worker in self._workers:
            if worker.is_alive and made_with == settings:
                return worker
            worker.kill(signal.SIGTERM)
        self._workers.clear()
        return self.another_worker(**settings)

    def another_worker(self, **settings) -> WorkerProcess:
        """A new worker beside those that live."""
        given = {"processes": 1} | settings
        recoveries = given.pop("recoveries", PART_RECOVERIES)
        made = Settings(data=self.folder, database=self.url, **given)
        worker = WorkerProcess(made, self.folder / "worker.log", recoveries)
        self._workers.append((settings, worker))
        return worker

    def log(self) -> str:
        return (self.folder / "worker.log").read_text()

    def close(self) -> None:
        for _, worker in self._workers:
            worker.kill()
        self.store.dispose()


@pytest.fixture(scope="module", params=DATABASES)
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house on each database."""
    folder = tmp_path_factory.mktemp("data")
    with migrated_database(request, request.param, folder) as url:
        made = House(url, folder)
        yield made
        made.close()


def versions(store: Store, name: str) -> list[int]:
    """The numbers of a model's versions; none if there is no such model."""
    with store.read() as session:
        try:
            model = models.get(session, "default", name)
        except NotFound:
            return []
        return [version.version for version in models.versions(session, model)[0]]


@pytest.fixture
def work(house: House) -> Jobs:
    return house.work
