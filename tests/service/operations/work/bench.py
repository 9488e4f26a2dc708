"""A store with its blobs and a small dataset, on which requests are checked and their parts run."""

from __future__ import annotations

from pathlib import Path

from service.operations import work
from service.operations.submission import check_submission
from service.operations.work.part import opened
from service.store import jobs
from service.store.blobs import Blobs
from service.store.session import Store
from tests.service.jobs.conftest import wait_for
from tests.service.operations.training_data import put_dataset, write_csv

CACHE_BYTES = 1 << 30
ROWS = [f"{x},{'red' if x % 2 else 'blue'},{x % 3},{'yes' if x > 5 else 'no'}" for x in range(12)]


class Bench:
    """A store with its blobs and a small dataset: x, colour, w (weights) and y."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self.store, self.folder, self.url = Store(database_url), folder, database_url
        self.cache = str(folder / "cache")
        self.blobs = Blobs(self.store, folder / "cache")

    def put(self, path: Path, **options) -> str:
        return put_dataset(self.store, self.blobs, path, self.folder, **options)

    def small(self, rows=ROWS, **options) -> str:
        return self.put(write_csv(self.folder / "small.csv", "x,colour,w,y", *rows), **options)

    def check(self, **request):
        with self.store.read() as session:
            return check_submission(session, "default", request)

    def request(self, dataset, /, **changes):
        given = {"kind": "train", "dataset": dataset, "target": "y", "learner": "decision-tree-classifier"}
        return self.check(**(given | changes))

    def arguments(self, request, part):
        return {
            "store": self.url,
            "cache": self.cache,
            "cache_bytes": CACHE_BYTES,
            "job_id": "job_test",
            "request": request,
            "part": part,
        }

    def run(self, request, part):
        return work.run_part(self.arguments(request, part), lambda share, message: None)

    def submit(self, request) -> str:
        with self.store.begin() as session:
            return jobs.insert_or_get(session, "default", request["kind"], request, request["dataset"])[0].id

    def job(self, job_id):
        with self.store.read() as session:
            return jobs.find(session, job_id)

    def finished(self, job_id):
        return wait_for(lambda: (job := self.job(job_id)).state in ("succeeded", "failed", "cancelled") and job)

    def close(self) -> None:
        """A part opens one store for the life of its process, here the test's."""
        if opened.cache_info().currsize:
            opened(self.url, self.cache, CACHE_BYTES)[0].dispose()
            opened.cache_clear()
        self.store.dispose()
