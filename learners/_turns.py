"""Taking turns among processes: who comes second to a piece of work waits until the first has done it.

One file in a folder stands for all pieces of work there: each locks one byte of it, chosen by the piece's
name. The operating system gives a lock back when its process ends, however it ends.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - where there are no such locks, work may be done twice
    fcntl = None  # type: ignore[assignment]

_FILE = "turns.lock"
#: Bytes of the file that can be locked.
_PLACES = 1 << 62
#: The file of each folder, open as long as the process: closing it would give back all of its locks.
_open_files: dict[Path, int] = {}
_held: set[tuple[Path, str]] = set()
#: Functions to call, the last one only. Of the whole process: a learner compiles in threads of its own too.
_told: list[Callable[[], None]] = []


@contextmanager
def telling(when_waiting: Callable[[], None]) -> Iterator[None]:
    """Call a function each time when a kernel is compiled, in this process or in one that it waits for."""
    _told.append(when_waiting)
    try:
        yield
    finally:
        _told.remove(when_waiting)


def tell_waiting() -> None:
    """Call the function of :func:`telling`, if there is one."""
    for told in _told[-1:]:
        told()


@contextmanager
def turn(folder: Path, work: str) -> Iterator[None]:
    """Keep other processes that ask for the same turn waiting meanwhile.

    Threads of one process do not wait for each other. Where no file can be locked, nobody waits.

    Args:
        folder: where the processes meet; made if need be.
        work: names what is done.
    """
    if fcntl is None or (folder, work) in _held:
        yield
        return
    place = int.from_bytes(hashlib.sha256(work.encode()).digest()[:8], "big") % _PLACES
    try:
        file = _file_of(folder)
        _lock(file, place)
    except OSError:  # a folder of others, or a file system without locks
        yield
        return
    _held.add((folder, work))
    try:
        yield
    finally:
        _held.discard((folder, work))
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


def _lock(file: int, place: int) -> None:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except BlockingIOError:
        tell_waiting()
        fcntl.lockf(file, fcntl.LOCK_EX, 1, place)


def _file_of(folder: Path) -> int:
    if folder not in _open_files:
        folder.mkdir(parents=True, exist_ok=True)
        _open_files[folder] = os.open(folder / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        with suppress(OSError):  # it is another user's
            os.fchmod(_open_files[folder], folder.stat().st_mode & 0o666)  # open to those to whom the folder is
    return _open_files[folder]
