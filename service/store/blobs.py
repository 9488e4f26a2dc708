"""Bytes of any size in the store, addressed by their sha256 and read through a cache on disk.

Writing: each writer puts its chunks under a name of its own, some megabytes per transaction, and the
blob's row last. So a blob exists whole or not at all; a writer that dies leaves chunks that nobody can
see, which :meth:`Blobs.collect` removes; writers of the same bytes never mix (the first row wins, the
others take their chunks back); and on SQLite other writers get their turn all the while.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from sqlalchemy import ColumnElement, and_, delete, exists, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.errors import Conflict, NotFound, StorageFull
from service.store.cache import DiskCache, verified
from service.store.engines import affected, database_now, return_space, upsert_returning
from service.store.failures import PASSING, is_no_space, translated
from service.store.jobs import UNFINISHED
from service.store.memory_files import MemoryFiles
from service.store.session import Store
from service.store.tables import Blob, BlobChunk, Dataset, Job, JobPart, ModelVersion

log = logging.getLogger("rulewood.store")

CHUNK_BYTES = 1024 * 1024
#: Chunks per transaction: a few of them, so that the write lock of SQLite is held for some 20 ms.
BATCH = 4
#: Pause between two transactions of a writer: SQLite's waiters poll, and need a gap to get in.
PAUSE_SECONDS = 0.005
CACHE_BYTES = 20 * 1024**3
GRACE_SECONDS = 86_400.0
_BLOCK_BYTES = 256 * 1024
_SHA256 = re.compile("[0-9a-f]{64}")


class _Written(NamedTuple):
    """A blob whose chunks are written: what its row is to say."""

    sha256: str
    content: str
    size: int
    n_chunks: int


class Blobs:
    """The blobs of a store, with a cache on this host.

    Args:
        store: where they are kept.
        cache: folder of the cache; processes of a host share it.
        cache_bytes: size to which the cache is kept.
        memory_bytes: how much may be read into memory where the cache's disk has no room. 0: whoever reads then is
            refused, as is right for one who has to write too.
    """

    def __init__(self, store: Store, cache: Path, cache_bytes: int = CACHE_BYTES, *, memory_bytes: int = 0) -> None:
        self._store = store
        self._cache = DiskCache(cache, cache_bytes)
        self._memory = MemoryFiles(memory_bytes)
        self._pause = PAUSE_SECONDS if store.dialect == "sqlite" else 0.0
        self._owed: set[str] = set()

    def put_file(self, path: Path) -> tuple[str, int]:
        """Store a file's bytes; it is read in pieces and never whole in memory.

        Returns:
            Its sha256 and size. The same bytes are stored once.

        Raises:
            StorageFull: no space. Unavailable: the store is out of reach. Conflict: the file changed meanwhile.
        """
        return self.put_files([path])[0]

    def put_files(self, paths: Sequence[Path]) -> list[tuple[str, int]]:
        """Store the bytes of several files, all of them or none; what :meth:`put_file` gives, of each."""
        with ExitStack() as stack:
            return self._put([stack.enter_context(path.open("rb")) for path in paths])

    def put_bytes(self, data: bytes) -> str:
        """Store bytes; returns their sha256. Errors as of :meth:`put_file`."""
        return self._put([io.BytesIO(data)])[0][0]

    def path(self, sha256: str) -> Path:
        """A file with the blob's bytes, to open at once and never to change.

        Raises:
            NotFound: there is no such blob. DamagedBlobError: the store's bytes have another hash.
            StorageFull: there is no room for it.
        """
        if _SHA256.fullmatch(sha256) is None:
            raise NotFound("There is no such blob.")
        found = self._cache.find(sha256) or self._memory.find(sha256)
        if found is not None:
            return found
        with translated():
            try:
                return self._cache.add(sha256, self._read(sha256))
            except OSError as error:
                if not is_no_space(error):
                    raise
                found = self._memory.add(sha256, self._find(sha256).size, self._read(sha256))
                if found is None:
                    raise
                return found

    def blocks(self, sha256: str) -> tuple[int, Iterator[bytes]]:
        """The size and the bytes of a blob, piece by piece, for whoever needs no file: there is always room for that.

        Raises:
            NotFound: there is no such blob. DamagedBlobError: as of :meth:`path`; without a file, at the end.
        """
        try:
            file = self.path(sha256).open("rb")  # once open it stays whole, whatever becomes of its name
        except StorageFull:
            return self._find(sha256).size, verified(sha256, self._read(sha256))
        return os.fstat(file.fileno()).st_size, _blocks(file)

    def exists(self, sha256: str) -> bool:
        """Whether the store has the blob."""
        with self._store.read() as session:
            return session.get(Blob, sha256) is not None

    def collect(self, grace_seconds: float = GRACE_SECONDS) -> int:
        """Remove blobs that nothing refers to and the remains of writers that died.

        Args:
            grace_seconds: what was put later than this ago stays, for its writer may be about to refer to it.

        Returns:
            How many blobs were removed.
        """
        with self._store.read() as session:
            candidates = list(session.scalars(select(Blob.sha256).where(_collectable(grace_seconds))))
        removed = sum(self._remove(sha256, grace_seconds) for sha256 in candidates)
        for content in self._forsaken(grace_seconds):
            self._drop(content)
        return_space(self._store.engine)
        return removed

    def _put(self, files: Sequence[BinaryIO]) -> list[tuple[str, int]]:
        """Write the chunks of all that is new, then the rows of all in one transaction."""
        stored = []
        written: list[_Written] = []
        kept: list[str] = []
        begun: list[str] = []
        try:
            for file in files:
                sha256, size = _measure(file)
                stored.append((sha256, size))
                if not self._touch(sha256):
                    begun.append(self._new_content())
                    written.append(self._write(file, sha256, size, begun[-1]))
            kept += self._complete(written)
        finally:
            self._take_back(set(begun) - set(kept))
        return stored

    def _touch(self, sha256: str) -> bool:
        """Tell the collector that a blob is wanted again; False if there is none."""
        statement = update(Blob).where(Blob.sha256 == sha256).values(put_at=database_now())
        with self._store.begin() as session:
            return affected(session.execute(statement)) == 1

    def _write(self, file: BinaryIO, sha256: str, size: int, content: str) -> _Written:
        file.seek(0)
        n_chunks, read = self._write_chunks(file, content)
        if read != sha256:
            raise Conflict("The file changed while it was being stored.")
        return _Written(sha256, content, size, n_chunks)

    def _take_back(self, contents: Iterable[str]) -> None:
        """Delete chunks of ours; those that a full store does not let go of yet, after a later writing."""
        self._owed.update(contents)
        for content in list(self._owed):
            try:
                self._drop(content)
            except PASSING as error:
                log.warning("pieces of a writing that failed stay for now: %s", error.detail)
                return
            self._owed.discard(content)

    def _new_content(self) -> str:
        """A name for one writer's chunks. It begins with the time, by which the collector knows its age."""
        with self._store.read() as session:
            return _time_prefix(session.scalars(select(database_now())).one()) + secrets.token_hex(8)

    def _write_chunks(self, file: BinaryIO, content: str) -> tuple[int, str]:
        digest = hashlib.sha256()
        position = 0
        while batch := _next_batch(file, content, position):
            for row in batch:
                digest.update(row["data"])
            with self._store.begin() as session:
                session.execute(insert(BlobChunk), batch)
            position += len(batch)
            time.sleep(self._pause)
        return position, digest.hexdigest()

    def _complete(self, written: Sequence[_Written]) -> list[str]:
        """Write the blobs' rows; returns whose chunks they name, ours or those of a quicker writer."""
        if not written:
            return []
        with self._store.begin() as session:
            return [self._complete_one(session, one) for one in sorted(written)]  # no two writers wait for each other

    @staticmethod
    def _complete_one(session: Session, one: _Written) -> str:
        chunks = select(func.count()).select_from(BlobChunk).where(BlobChunk.content == one.content)
        if session.scalar(chunks) != one.n_chunks:
            raise Conflict("Storing took so long that its first pieces were removed; try again.")
        values = {**one._asdict(), "put_at": database_now()}
        return upsert_returning(session, Blob, values, {"put_at": database_now()}, Blob.content)

    def _find(self, sha256: str) -> Blob:
        with self._store.read() as session:
            blob = session.get(Blob, sha256)
        if blob is None:
            raise NotFound("There is no such blob.")
        return blob

    def _read(self, sha256: str) -> Iterator[bytes]:
        blob = self._find(sha256)
        for start in range(0, blob.n_chunks, BATCH):
            statement = (
                select(BlobChunk.data)
                .where(BlobChunk.content == blob.content, BlobChunk.position.between(start, start + BATCH - 1))
                .order_by(BlobChunk.position)
            )
            with self._store.read() as session:
                pieces = list(session.scalars(statement))
            yield from pieces

    def _remove(self, sha256: str, grace_seconds: float) -> bool:
        """Remove a blob's row if nothing refers to it by now; its chunks are then forsaken."""
        statement = delete(Blob).where(Blob.sha256 == sha256, _collectable(grace_seconds))
        try:
            with self._store.begin() as session:
                return affected(session.execute(statement.execution_options(synchronize_session=False))) == 1
        except IntegrityError:
            return False  # somebody refers to it since the look

    def _forsaken(self, grace_seconds: float) -> list[str]:
        """Names of chunks that belong to no blob, old enough that no writer is still at them."""
        with self._store.read() as session:
            latest = _time_prefix(session.scalars(select(database_now())).one() - grace_seconds)
            statement = (
                select(BlobChunk.content)
                .distinct()
                .where(BlobChunk.content < latest, ~exists().where(Blob.content == BlobChunk.content))
            )
            return list(session.scalars(statement))

    def _drop(self, content: str) -> None:
        """Delete chunks, a few per transaction, unless they are a blob's: the answer of a commit may be lost."""
        is_forsaken = ~exists().where(Blob.content == BlobChunk.content)
        few = select(BlobChunk.position).where(BlobChunk.content == content, is_forsaken).limit(BATCH)
        while True:
            with self._store.begin() as session:
                positions = list(session.scalars(few))
                statement = delete(BlobChunk).where(BlobChunk.content == content, BlobChunk.position.in_(positions))
                session.execute(statement.execution_options(synchronize_session=False))
            if len(positions) < BATCH:
                return
            time.sleep(self._pause)


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while block := file.read(_BLOCK_BYTES):
            yield block


def _measure(file: BinaryIO) -> tuple[str, int]:
    digest = hashlib.sha256()
    size = 0
    while piece := file.read(CHUNK_BYTES):
        digest.update(piece)
        size += len(piece)
    return digest.hexdigest(), size


def _next_batch(file: BinaryIO, content: str, position: int) -> list[dict[str, Any]]:
    batch: list[dict[str, Any]] = []
    while len(batch) < BATCH and (piece := file.read(CHUNK_BYTES)):
        batch.append({"content": content, "position": position + len(batch), "data": piece})
    return batch


def _time_prefix(seconds: float) -> str:
    """UTC seconds as text that sorts like the number."""
    return f"{max(0, int(seconds)):012d}-"


def _collectable(grace_seconds: float) -> ColumnElement[bool]:
    """Put long ago, and neither a dataset nor a version nor a part of a job that needs it refers to it."""
    used_by_dataset = exists().where(or_(Dataset.raw_sha256 == Blob.sha256, Dataset.table_sha256 == Blob.sha256))
    used_by_version = exists().where(ModelVersion.blob_sha256 == Blob.sha256)
    is_downloaded = or_(Job.kind == "predict", JobPart.part.contains("answers-"))
    used_by_job = exists().where(
        JobPart.blob_sha256 == Blob.sha256,
        Job.id == JobPart.job_id,
        or_(Job.state.in_(UNFINISHED), and_(is_downloaded, Job.state == "succeeded")),
    )
    return (Blob.put_at < database_now() - grace_seconds) & ~used_by_dataset & ~used_by_version & ~used_by_job
