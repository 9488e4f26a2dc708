"""kill -9 in the middle of something: it happened whole or not at all, and others go on at once."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from service import registry
from service.errors import NotFound
from service.store import blobs as module
from service.store import jobs
from service.store.blobs import CHUNK_BYTES, Blobs
from service.store.session import Store
from service.store.tables import Alias, Blob, BlobChunk, Model, ModelVersion
from tests.service.store.making import (
    SPAWN,
    WORKSPACE,
    count,
    kill_in_the_middle,
    make_blob,
    make_dataset,
    make_job,
    register,
    stop_here,
    version_values,
)

DATA = random.Random(7).randbytes(12 * CHUNK_BYTES)
SHA256 = hashlib.sha256(DATA).hexdigest()


class _StopsAtTheFirstPause:
    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def sleep(self, _seconds: float) -> None:
        stop_here(self._pipe)


def _put_half(pipe: Connection, url: str, cache: Path, file: Path) -> None:
    module.time = _StopsAtTheFirstPause(pipe)
    Blobs(Store(url), cache).put_file(file)


def test_half_a_blob_is_no_blob(store: Store, database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(DATA)
    kill_in_the_middle(_put_half, database_url, tmp_path / "cache", file)
    blobs = Blobs(store, tmp_path / "cache")
    assert count(store, BlobChunk) == module.BATCH
    assert not blobs.exists(SHA256)
    with pytest.raises(NotFound):
        blobs.path(SHA256)
    assert blobs.put_file(file) == (SHA256, len(DATA))
    assert blobs.path(SHA256).read_bytes() == DATA
    blobs.collect()
    assert count(store, BlobChunk) == 12 + module.BATCH  # young remains could belong to a living writer
    with store.begin() as session:
        session.get(Blob, SHA256).put_at += 1000
    blobs.collect(-60.0)
    assert count(store, BlobChunk) == 12
    assert Blobs(store, tmp_path / "other").path(SHA256).read_bytes() == DATA


def _put_for_ever(pipe: Connection, url: str, cache: Path) -> None:
    store = Store(url)
    blobs = Blobs(store, cache)
    for number in range(1_000_000):
        data = number.to_bytes(4, "big") * (2 * CHUNK_BYTES)
        pipe.send(("begin", number))
        pipe.send(("put", blobs.put_bytes(data)))


def test_kills_at_random_instants_lose_no_acknowledged_blob(store: Store, database_url: str, tmp_path: Path) -> None:
    told: set[str] = set()  # in both rounds, which put the same: the second may come less far
    for round_number in range(2):
        ours, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=_put_for_ever, args=(theirs, database_url, tmp_path / "cache"))
        process.start()
        theirs.close()
        assert ours.recv() == ("begin", 0)
        time.sleep(random.Random(round_number).uniform(0.2, 0.8))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        try:
            while True:
                kind, value = ours.recv()
                told |= {value} if kind == "put" else set()
        except EOFError:
            ours.close()
        blobs = Blobs(store, tmp_path / f"fresh-{round_number}")
        for sha256 in told:
            assert hashlib.sha256(blobs.path(sha256).read_bytes()).hexdigest() == sha256
        assert count(store, Blob) - len(told) in (0, 1)  # the last may be stored and not yet told


def _register_half(pipe: Connection, url: str, job_id: str, dataset_id: str, blob: str) -> None:
    with Store(url).begin() as session:
        registry.register(session, WORKSPACE, "m", job_id, aliases=["champion"], **version_values(blob, dataset_id))
        jobs.set_state(session, job_id, "succeeded", result={"version": 1})
        session.flush()
        stop_here(pipe)


def test_half_a_registration_is_none_and_blocks_nobody(store: Store, database_url: str) -> None:
    data = make_dataset(store)
    job = make_job(store, data)
    blob = make_blob(store, b"model")
    with store.begin() as session:
        jobs.set_state(session, job.id, "running")
    kill_in_the_middle(_register_half, database_url, job.id, data.id, blob)
    assert [count(store, table) for table in (Model, ModelVersion, Alias)] == [0, 0, 0]
    with store.read() as session:
        found = jobs.get(session, WORKSPACE, job.id)
        assert (found.state, found.result) == ("running", None)
        assert [event.data for event in jobs.events_after(session, job.id)] == [
            {"state": "queued"},
            {"state": "running"},
        ]
    assert register(store, "m", job.id, data.id, aliases=["champion"]).version == 1
    assert register(store, "m", job.id, data.id).version == 1
    assert count(store, ModelVersion) == 1
