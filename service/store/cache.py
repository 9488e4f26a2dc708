"""Blobs as files on this host's disk: content-addressed, shared by its processes, bounded in size.

A file appears under its name only whole and verified (written aside, synced, renamed). Whoever has
opened or mapped a file keeps it although its name is removed, so the bound never hurts a reader.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

#: A file is safe from removal this long after it was asked for, so that the asker can open it.
KEEP_SECONDS = 60.0
_ABANDONED_SECONDS = 3600.0


class DamagedBlobError(RuntimeError):
    """The store's bytes do not have the hash that they are named by."""


def verified(sha256: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a blob.

    Raises:
        DamagedBlobError: at the end, where they were not what the hash names.
    """
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
        yield piece
    if digest.hexdigest() != sha256:
        raise DamagedBlobError(f"blob {sha256} has other bytes in the store; restore it from a backup")


class DiskCache:
    """A folder of files named by their sha256.

    Args:
        folder: where; made at the first use.
        max_bytes: the size to which it is kept, by removing what was not asked for the longest.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._aside = folder / "aside"
        self._max_bytes = max_bytes

    def find(self, sha256: str) -> Path | None:
        """The file of a hash if it is here; counts as a use."""
        path = self._path(sha256)
        try:
            os.utime(path)
        except FileNotFoundError:
            return None
        return path

    def add(self, sha256: str, pieces: Iterable[bytes]) -> Path:
        """Write the file of a hash; several processes may do so at once.

        Raises:
            DamagedBlobError: the pieces are not what the hash names; nothing is kept.
            OSError: no space, or no right to write.
        """
        self._aside.mkdir(parents=True, exist_ok=True)
        path = self._path(sha256)
        path.parent.mkdir(exist_ok=True)
        aside = self._aside / f"{sha256[:16]}-{secrets.token_hex(8)}"
        try:
            self._write(aside, sha256, pieces)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
        self.trim()
        return path

    @staticmethod
    def _write(aside: Path, sha256: str, pieces: Iterable[bytes]) -> None:
        with aside.open("xb") as file:
            file.writelines(verified(sha256, pieces))
            file.flush()
            os.fsync(file.fileno())  # else a power cut could leave the name with other bytes

    def trim(self) -> None:
        """Remove files, the longest unused first, until the folder is within its bound."""
        now = time.time()
        for path in self._aside.iterdir():
            self._remove_older(path, now - _ABANDONED_SECONDS)
        files = sorted(self._files(), reverse=True)
        total = 0
        for used_at, size, path in files:
            total += size
            if total > self._max_bytes and used_at < now - KEEP_SECONDS:
                path.unlink(missing_ok=True)

    def _files(self) -> list[tuple[float, int, Path]]:
        found = []
        for path in self._folder.glob("??/*"):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue  # another process removed it just now
            found.append((status.st_mtime, status.st_size, path))
        return found

    @staticmethod
    def _remove_older(path: Path, before: float) -> None:
        try:
            if path.stat().st_mtime < before:
                path.unlink()
        except FileNotFoundError:
            return  # another process finished or removed it

    def _path(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256
