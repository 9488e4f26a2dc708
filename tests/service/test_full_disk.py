"""What a caller is told when there is no room for a file, and that nothing of it stays."""

from __future__ import annotations

import errno
import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

from learners.table import Column, Kind
from service.formats.table_file import write_table
from service.jobs.outcomes import error_record
from service.store.cache import DiskCache
from tests.service.running import Api, _ingester, problem
from tests.service.working import train
from tests.shared import table_path

#: No process of a test writes a larger file while :func:`no_room` lasts.
ROOM = 1 << 20
LARGE = "a,b\n" + "1,2\n" * 500_000
#: Little to receive, but as doubles more than there is room for.
DENSE = "a,b\n" + "1,2\n" * 100_000


@contextmanager
def no_room(pid: int = 0) -> Iterator[None]:
    """A process's files end at :data:`ROOM` bytes, as on a disk that is full then."""
    _, most = limits = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (ROOM, most))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


def check_refused(api: Api, answer: httpx.Response, before: dict[str, int]) -> None:
    document = problem(answer, 507)
    assert document["type"].endswith("/storage-full")
    assert int(answer.headers["Retry-After"]) > 0
    assert api.counts() == before
    assert list(api.settings.scratch.glob("*")) == []
    assert api.upload("a,b\n1,2\n").status_code == 201


def test_an_upload_that_the_disk_cannot_take_is_told_so(api: Api) -> None:
    before = api.counts()
    with no_room():
        answer = api.upload(LARGE)
    check_refused(api, answer, before)


def test_a_form_that_the_disk_cannot_take_is_told_so(api: Api) -> None:
    before = api.counts()
    with no_room():
        answer = api.post("/api/v1/datasets", files={"file": ("large.csv", LARGE)})
    check_refused(api, answer, before)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_table_that_the_disk_cannot_take_is_told_so(api: Api, encoding: str) -> None:
    before = api.counts()
    with no_room(_ingester._call(os.getpid)):
        answer = api.upload(DENSE.encode(encoding), format="csv", options=f'{{"encoding": "{encoding}"}}')
    check_refused(api, answer, before)


def test_a_folder_that_cannot_be_made_is_told_so(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    before = api.counts()

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    with monkeypatch.context() as patched:
        patched.setattr("service.temporary.Path.mkdir", refuse)
        answer = api.upload("a,b\n1,2\n")
    check_refused(api, answer, before)


def test_a_table_file_says_why_it_cannot_be_written(tmp_path: Path) -> None:
    with no_room(), pytest.raises(OSError, match="File too large") as caught:
        write_table(tmp_path / "table", [Column("x", Kind.NUMERIC)], ROOM, [np.zeros(ROOM)])
    assert caught.value.errno == errno.EFBIG


def test_a_job_that_the_disk_stops_says_so() -> None:
    record = error_record(OSError(errno.ENOSPC, "No space left on device"))
    assert record.type == "storage-full"


def test_what_is_read_needs_no_room_in_the_cache(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, profile, download, a model not yet asked, importances: as before the disk was full."""
    content = table_path("iris.csv").read_bytes()
    dataset = api.upload(content, name="iris").json()["id"]
    train(api, dataset, target="class", name="flowers", learner="decision-tree-classifier")
    asked = {"rows": [{"petallength": 5.0}]}

    def read() -> list[bytes]:
        answers = [
            api.get(f"/api/v1/datasets/{dataset}/rows"),
            api.get(f"/api/v1/datasets/{dataset}/profile", params={"target": "class"}),
            api.get(f"/api/v1/datasets/{dataset}/download"),
            api.post("/api/v1/models/flowers/predictions", json=asked),
            api.get("/api/v1/models/flowers/importances", params={"kind": "permutation", "dataset": dataset}),
        ]
        assert [answer.status_code for answer in answers] == [200] * 5, [answer.text[:200] for answer in answers]
        return [answer.content for answer in answers]

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    shutil.rmtree(api.settings.cache)
    with monkeypatch.context() as patched:
        patched.setattr(DiskCache, "add", refuse)
        found = read()
        assert not api.settings.cache.exists()
    assert found == read()
    assert found[2] == content


def test_a_job_that_waits_tells_that_the_disk_is_full(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = api.upload("a,b\n1,2\n2,3\n").json()["id"]
    body = {"kind": "train", "dataset": dataset, "target": "b", "learner": "linear-regressor", "model": {"name": "m"}}
    job = api.post("/api/v1/jobs", json=body).json()["id"]
    assert api.get(f"/api/v1/jobs/{job}").json()["message"] == "waiting for a worker"
    full = shutil.disk_usage(api.settings.scratch.parent)._replace(free=4096)
    monkeypatch.setattr("service.store.engines.shutil.disk_usage", lambda _: full)
    known = api.settings.store_url.startswith("sqlite")  # the disk of another server is not looked at
    wanted = "waiting for room on the store's disk" if known else "waiting for a worker"
    assert api.get(f"/api/v1/jobs/{job}").json()["message"] == wanted
