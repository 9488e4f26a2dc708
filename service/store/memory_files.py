"""Blobs as files in memory, for readers on a host whose disk has no room for them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from service.store.cache import KEEP_SECONDS, verified


class MemoryFiles:
    """Files without a place on any disk, of bounded size together; whoever has opened or mapped one keeps it.

    Args:
        max_bytes: what they take together at most; 0: there are none.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._files: dict[str, tuple[float, int, int]] = {}  # by hash: last use, size, descriptor
        self._lock = threading.Lock()

    def find(self, sha256: str) -> Path | None:
        """The file of a hash if it is here; counts as a use."""
        with self._lock:
            if sha256 not in self._files:
                return None
            _, size, descriptor = self._files[sha256]
            self._files[sha256] = (time.monotonic(), size, descriptor)
            return _path(descriptor)

    def add(self, sha256: str, size: int, pieces: Iterable[bytes]) -> Path | None:
        """Write the file of a hash, to be opened within :data:`~service.store.cache.KEEP_SECONDS`.

        Returns:
            ``None`` where it and what others may be about to open are too large.

        Raises:
            DamagedBlobError: the pieces are not what the hash names.
        """
        with self._lock:
            if sha256 in self._files:  # by another thread just now
                return _path(self._files[sha256][2])
            if not self._make_room(size):
                return None
            descriptor = os.memfd_create(sha256)
            try:
                with open(descriptor, "wb", closefd=False) as file:
                    file.writelines(verified(sha256, pieces))
            except BaseException:
                os.close(descriptor)
                raise
            self._files[sha256] = (time.monotonic(), size, descriptor)
            return _path(descriptor)

    def _make_room(self, size: int) -> bool:
        """Give up the longest unused, but none that somebody may be about to open."""
        taken = sum(held for _, held, _ in self._files.values())
        for sha256, (used_at, held, descriptor) in sorted(self._files.items(), key=lambda item: item[1]):
            if taken + size <= self._max_bytes or used_at > time.monotonic() - KEEP_SECONDS:
                break
            os.close(descriptor)
            del self._files[sha256]
            taken -= held
        return taken + size <= self._max_bytes


def _path(descriptor: int) -> Path:
    """Where this process and its children find an open file."""
    return Path(f"/proc/{os.getpid()}/fd/{descriptor}")
