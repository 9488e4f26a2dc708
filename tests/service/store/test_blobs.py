"""Blobs: whole or not at all, once, whatever the size and whoever writes."""

from __future__ import annotations

import errno
import hashlib
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, update

from service import registry
from service.errors import Conflict, NotFound, StorageFull, Unavailable
from service.store import blobs as module
from service.store import jobs, memory_files, workers
from service.store.blobs import CHUNK_BYTES, Blobs
from service.store.cache import DamagedBlobError
from service.store.session import Store
from service.store.tables import Blob, BlobChunk
from tests.service.store.making import SPAWN, WORKSPACE, count, make_dataset, make_job, version_values

OLD = -60.0  # a grace that even what was put just now has outlived


@pytest.fixture
def blobs(store: Store, tmp_path: Path) -> Blobs:
    return Blobs(store, tmp_path / "cache")


def _data(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


@pytest.mark.parametrize("size", [0, CHUNK_BYTES, 9 * CHUNK_BYTES + 5])
def test_bytes_come_back(blobs: Blobs, store: Store, tmp_path: Path, size: int) -> None:
    data = _data(size)
    file = tmp_path / "file"
    file.write_bytes(data)
    sha256 = hashlib.sha256(data).hexdigest()
    assert blobs.put_file(file) == (sha256, size)
    assert blobs.put_bytes(data) == sha256
    assert blobs.path(sha256).read_bytes() == data
    assert blobs.path(sha256) == blobs.path(sha256)
    assert blobs.exists(sha256)
    assert count(store, BlobChunk) == -(-size // CHUNK_BYTES)


def test_what_was_never_put_is_not_found(blobs: Blobs) -> None:
    for name in ("0" * 64, "", "../../etc/passwd", "\0"):
        with pytest.raises(NotFound):
            blobs.path(name)


def test_damage_in_the_store_is_noticed(blobs: Blobs, store: Store) -> None:
    sha256 = blobs.put_bytes(b"hello")
    with store.begin() as session:
        session.execute(update(BlobChunk).values(data=b"jello"))
    with pytest.raises(DamagedBlobError):
        blobs.path(sha256)


def test_a_file_that_changes_while_it_is_read_is_refused(
    blobs: Blobs, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")
    measure = module._measure

    def measure_and_change(opened: object) -> tuple[str, int]:
        found = measure(opened)
        file.write_bytes(b"after!")
        return found

    monkeypatch.setattr(module, "_measure", measure_and_change)
    with pytest.raises(Conflict):
        blobs.put_file(file)
    assert (count(store, Blob), count(store, BlobChunk)) == (0, 0)


def test_a_full_disk_takes_its_chunks_back(blobs: Blobs, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> str:
        raise StorageFull("no space")

    monkeypatch.setattr(blobs, "_complete", no_space)
    with pytest.raises(StorageFull):
        blobs.put_bytes(_data(9 * CHUNK_BYTES))
    assert (count(store, Blob), count(store, BlobChunk)) == (0, 0)


def test_of_several_files_all_are_stored_or_none(
    blobs: Blobs, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / "first", tmp_path / "second"]
    for seed, path in enumerate(paths):
        path.write_bytes(_data(5 * CHUNK_BYTES, seed))
    write, results = blobs._write_chunks, [None, StorageFull("no space")]

    def full_at_the_second(*arguments: Any) -> Any:
        written = write(*arguments)
        if error := results.pop(0):
            raise error
        return written

    with monkeypatch.context() as patched, pytest.raises(StorageFull):
        patched.setattr(blobs, "_write_chunks", full_at_the_second)
        blobs.put_files(paths)
    assert (count(store, Blob), count(store, BlobChunk)) == (0, 0)
    stored = blobs.put_files(paths)
    assert stored == [blobs.put_file(path) for path in paths]
    assert (count(store, Blob), count(store, BlobChunk)) == (2, 10)


def test_chunks_that_a_full_disk_holds_back_go_with_the_next_writing(
    blobs: Blobs, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> str:
        raise StorageFull("no space")

    with monkeypatch.context() as patched, pytest.raises(StorageFull):
        patched.setattr(blobs, "_complete", no_space)
        patched.setattr(blobs, "_drop", no_space)
        blobs.put_bytes(_data(3 * CHUNK_BYTES))
    assert (count(store, Blob), count(store, BlobChunk)) == (0, 3)
    blobs.put_bytes(b"small")
    assert (count(store, Blob), count(store, BlobChunk)) == (1, 1)


def test_a_blob_stays_whole_though_the_answer_to_its_commit_is_lost(
    blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = blobs._complete

    def lose_the_answer(*arguments: Any) -> None:
        complete(*arguments)
        raise Unavailable("the connection is lost")

    data = _data(5 * CHUNK_BYTES)
    with monkeypatch.context() as patched, pytest.raises(Unavailable):
        patched.setattr(blobs, "_complete", lose_the_answer)
        blobs.put_bytes(data)
    assert blobs.path(hashlib.sha256(data).hexdigest()).read_bytes() == data


def test_a_full_cache_disk_is_told(blobs: Blobs, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    sha256 = blobs.put_bytes(b"hello")
    monkeypatch.setattr("service.store.cache.os.fsync", no_space)
    with pytest.raises(StorageFull):
        blobs.path(sha256)
    monkeypatch.undo()
    assert blobs.path(sha256).read_bytes() == b"hello"


def _put(url: str, cache: Path, seeds: list[int]) -> list[str]:
    store = Store(url, wait_seconds=60)
    blobs = Blobs(store, cache)
    found = [blobs.put_bytes(_data(6 * CHUNK_BYTES, seed)) for seed in seeds]
    assert [blobs.path(sha256).read_bytes() for sha256 in found] == [_data(6 * CHUNK_BYTES, seed) for seed in seeds]
    store.dispose()
    return found


def test_processes_and_threads_put_the_same_bytes(store: Store, database_url: str, tmp_path: Path) -> None:
    arguments = (database_url, tmp_path / "cache", [1, 2])
    with SPAWN.Pool(2) as processes, ThreadPoolExecutor(2) as threads:
        others = processes.starmap_async(_put, [arguments] * 2)
        mine = [threads.submit(_put, *arguments) for _ in range(2)]
        answers = others.get(120) + [future.result() for future in mine]
    assert answers == [answers[0]] * 4
    assert (count(store, Blob), count(store, BlobChunk)) == (2, 12)


def test_other_writers_get_their_turn_during_a_large_put(blobs: Blobs, store: Store) -> None:
    with ThreadPoolExecutor(1) as pool:
        putting = pool.submit(blobs.put_bytes, _data(40 * CHUNK_BYTES))
        turns = 0
        while not putting.done():
            with store.begin() as session:
                workers.beat(session, "w", "host", 1)
            turns += 1
        putting.result()
    assert turns >= 3


def test_collecting(blobs: Blobs, store: Store, tmp_path: Path) -> None:
    raw, table, model, fitted, ended, free = (blobs.put_bytes(name) for name in (b"r", b"t", b"m", b"f", b"e", b"x"))
    data = make_dataset(store, raw_sha256=raw, table_sha256=table)
    running, failed = make_job(store, data).id, make_job(store, data).id
    with store.begin() as session:
        jobs.put_part(session, running, "fit", {"blob_sha256": fitted})
        jobs.put_part(session, failed, "fit", {"blob_sha256": ended})
        jobs.set_state(session, failed, "failed", error={"type": "x"})
        registry.register(session, WORKSPACE, "m", "job_1", **version_values(model, data.id))
    assert blobs.collect() == 0  # all are young
    assert blobs.collect(OLD) == 2
    assert [blobs.exists(sha256) for sha256 in (raw, table, model, fitted)] == [True] * 4
    assert [blobs.exists(sha256) for sha256 in (ended, free)] == [False] * 2
    with store.read() as session:
        known = set(session.scalars(select(Blob.content)))
        assert set(session.scalars(select(BlobChunk.content))) <= known
        assert set(jobs.parts(session, failed)) == {"fit"}
    assert blobs.put_bytes(b"x") == free
    assert Blobs(store, tmp_path / "other").path(free).read_bytes() == b"x"


def test_putting_again_keeps_an_old_blob_from_being_collected(blobs: Blobs, store: Store) -> None:
    sha256 = blobs.put_bytes(b"x")
    with store.begin() as session:
        session.execute(update(Blob).values(put_at=Blob.put_at - 100_000))
    blobs.put_bytes(b"x")
    assert blobs.collect() == 0
    assert blobs.exists(sha256)


def test_sqlite_returns_the_room_of_what_was_collected(blobs: Blobs, store: Store, data_dir: Path) -> None:
    blobs.put_bytes(_data(20 * CHUNK_BYTES))
    assert blobs.collect(OLD) == 1
    assert count(store, BlobChunk) == 0
    store.dispose()  # the last connection writes the log back
    if store.dialect == "sqlite":
        assert (data_dir / "store.sqlite3").stat().st_size < 2 * CHUNK_BYTES


def refuse_room(*_: object) -> Path:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_where_the_cache_has_no_room_memory_takes_its_place(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = Blobs(store, tmp_path / "cache", memory_bytes=3 * CHUNK_BYTES)
    data = [_data(2 * CHUNK_BYTES, seed) for seed in range(2)]
    first, second = (blobs.put_bytes(one) for one in data)
    monkeypatch.setattr(blobs._cache, "add", refuse_room)
    assert blobs.path(first).read_bytes() == data[0]
    assert blobs.path(first) == blobs.path(first)
    with pytest.raises(StorageFull):  # the first may be about to be opened
        blobs.path(second)
    mapped = np.memmap(blobs.path(first), mode="r")
    monkeypatch.setattr(memory_files, "KEEP_SECONDS", -1.0)
    assert blobs.path(second).read_bytes() == data[1]
    assert mapped.tobytes() == data[0]
    assert blobs.path(first).read_bytes() == data[0]
    who_writes = Blobs(store, tmp_path / "cache")
    monkeypatch.setattr(who_writes._cache, "add", refuse_room)
    with pytest.raises(StorageFull):
        who_writes.path(first)


def test_blocks_need_no_room(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs, data = Blobs(store, tmp_path / "cache"), _data(9 * CHUNK_BYTES + 5)
    sha256 = blobs.put_bytes(data)
    for refused in (False, True):
        if refused:
            blobs = Blobs(store, tmp_path / "other")
            monkeypatch.setattr(blobs._cache, "add", refuse_room)
        size, pieces = blobs.blocks(sha256)
        found = list(pieces)
        assert (size, b"".join(found)) == (len(data), data)
        assert max(map(len, found)) <= CHUNK_BYTES
    with pytest.raises(NotFound):
        blobs.blocks("0" * 64)
    with store.begin() as session:
        session.execute(update(BlobChunk).values(data=b"jello").where(BlobChunk.position == 3))
    with pytest.raises(DamagedBlobError):
        list(blobs.blocks(sha256)[1])


def test_damage_is_noticed_in_memory_too(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = Blobs(store, tmp_path / "cache", memory_bytes=CHUNK_BYTES)
    monkeypatch.setattr(blobs._cache, "add", refuse_room)
    sha256 = blobs.put_bytes(b"hello")
    with store.begin() as session:
        session.execute(update(BlobChunk).values(data=b"jello"))
    with pytest.raises(DamagedBlobError):
        blobs.path(sha256)
    assert blobs._memory.find(sha256) is None
