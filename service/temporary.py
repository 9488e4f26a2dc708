"""Temporary folders that outlive a killed process only until the next start.

Whoever makes one holds a lock on it (``flock``), which the kernel takes back when the process ends,
however it ends: so a folder without a lock has no owner, in whatever container its owner ran and
whoever has its process id now. The name tells what the folder is for and which process made it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path


class TemporaryFolder:
    """A new folder of this process's own, until :meth:`close`.

    Args:
        parent: where it is made; made too if need be.
        purpose: what its name begins with.
    """

    def __init__(self, parent: Path, purpose: str) -> None:
        parent.mkdir(parents=True, exist_ok=True)
        while True:
            self.path = parent / f"{purpose}-{os.getpid()}-{secrets.token_hex(4)}"
            self.path.mkdir(mode=0o700)
            try:
                lock = _lock(self.path, wait=True)
            except OSError:
                with contextlib.suppress(OSError):
                    self.path.rmdir()
                raise
            if lock is not None and self.path.exists():
                self._lock: int | None = lock
                return
            _release(lock)  # somebody who found it not yet locked has removed it

    def close(self) -> None:
        """Remove it and all that is in it; a second time does nothing."""
        lock, self._lock = self._lock, None
        if lock is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            _release(lock)


@contextlib.contextmanager
def temporary_folder(parent: Path, purpose: str) -> Iterator[Path]:
    """A :class:`TemporaryFolder` for as long as the context lasts."""
    folder = TemporaryFolder(parent, purpose)
    try:
        yield folder.path
    finally:
        folder.close()


def remove_abandoned(parent: Path, purpose: str = "") -> int:
    """Remove the temporary folders whose owner is gone; those of living processes stay.

    Args:
        parent: where they lie; it may not exist.
        purpose: only folders made for this.

    Returns:
        How many were removed.
    """
    removed = 0
    for path in parent.glob(f"{purpose or '*'}-*-*"):
        lock = _lock(path, wait=False)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            removed += not path.exists()
            _release(lock)
    return removed


def _lock(path: Path, *, wait: bool) -> int | None:
    """The descriptor that holds the lock of a folder; None if another holds it, or the folder is gone.

    Raises:
        OSError: with ``wait``, there is no lock to be had, as when all descriptors are in use.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if wait and error.errno != errno.ENOENT:
            raise
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        if wait:
            raise
        return None
    return descriptor


def _release(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)
