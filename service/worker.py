"""The worker process: the one place where the job engine is put together with what jobs do.

``rulewood worker`` calls :func:`run_worker`. ``rulewood serve`` starts one beside itself by
:mod:`service.supervisor`, which runs :func:`main`. Heavy imports wait until a worker really starts,
so that nothing of the engine is loaded by importing this module.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from sqlalchemy import make_url

from service.settings import Settings
from service.temporary import remove_abandoned

if TYPE_CHECKING:
    from service.jobs.engine import Engine, EngineOptions
    from service.store.blobs import Blobs

log = logging.getLogger("rulewood.worker")

#: PostgreSQL schema of the workflows' tables, beside the store's own.
WORKFLOW_SCHEMA = "rulewood_jobs"
#: How long a starting worker waits for the lock of one that is just ending.
LOCK_SECONDS = 15.0
#: After so long a wait another worker is not just ending, and the log says so.
_TELL_SECONDS = 1.0
_LOCK_POLL_SECONDS = 0.1
_PARENT_POLL_SECONDS = 0.25


class AlreadyRunningError(RuntimeError):
    """Another worker holds the lock of this store."""


def run_worker(settings: Settings, *, parent_pid: int | None = None) -> None:
    """Work until SIGTERM or SIGINT, or until the parent is gone; call from the main thread.

    Does not return: the process ends here, because the workflows that it leaves must not notice.

    Args:
        settings: database, data folder, number of processes, limits.
        parent_pid: process without which this one ends too. With one, a worker that finds another on its
            SQLite store waits to take that one's place.

    Raises:
        AlreadyRunningError: on SQLite, where one worker at a time owns the store; without a parent only.
        Unavailable: the store cannot be reached.
    """
    ending = _Ending(parent_pid)
    settings.data.mkdir(parents=True, exist_ok=True)
    with exclusive_lock(settings.store_url, patience=LOCK_SECONDS if parent_pid is None else math.inf):
        remove_abandoned(settings.scratch)
        engine = _make_engine(settings)
        engine.start()
        ending.wait()
        engine.hand_over()
        logging.shutdown()
        os._exit(0)


class _Ending:
    """Knows when to end: on SIGTERM or SIGINT, or when the parent is gone.

    Before :meth:`wait` there is nothing to hand over and the process ends at once: a worker that is
    still starting holds no work, and its children die with it.
    """

    def __init__(self, parent_pid: int | None) -> None:
        self._wanted = threading.Event()
        self._orderly = False
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        if parent_pid is not None:
            threading.Thread(target=self._watch, args=(parent_pid,), name="parent-watch", daemon=True).start()

    def wait(self) -> None:
        """Wait until the end is wanted; from now on it is an orderly one."""
        self._orderly = True
        while not self._wanted.wait(_PARENT_POLL_SECONDS):
            pass  # a wait without end would keep Python from running signal handlers on some systems

    def _end(self) -> None:
        if not self._orderly:
            os._exit(0)
        self._wanted.set()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._end()

    def _watch(self, parent_pid: int) -> None:
        while os.getppid() == parent_pid:
            time.sleep(_PARENT_POLL_SECONDS)
        self._end()


def _make_engine(settings: Settings) -> Engine:
    from service.jobs.ahead import Ahead
    from service.jobs.engine import Engine
    from service.jobs.runner import Work
    from service.operations import work as tasks
    from service.store.blobs import Blobs
    from service.store.session import Store

    store = Store(settings.store_url)
    store.upgrade()
    blobs = Blobs(store, settings.cache, settings.cache_bytes)
    extra = {
        "store": settings.store_url,
        "cache": str(settings.cache.absolute()),
        "cache_bytes": settings.cache_bytes,
        "error_detail": settings.error_detail,
    }
    ahead = Ahead(tasks.compile_ahead, tasks.is_compiled, settings.scratch, tasks.marks())
    work = Work(tasks.plan, tasks.expected, tasks.finish, extra | {"compiled": str(ahead.done)})
    options = engine_options(settings)
    warm = partial(tasks.warm, ahead.done)
    return Engine(store, work, tasks.run_part, options, warm=warm, ahead=ahead, tidy=lambda: _collect(blobs))


def _collect(blobs: Blobs) -> None:
    count = blobs.collect()
    if count:
        log.info("removed %d blobs that nothing refers to", count)


def engine_options(settings: Settings) -> EngineOptions:
    """The engine's set-up for a store: on SQLite its own file beside the store's, else its own schema."""
    from service.jobs.engine import EngineOptions

    folder = sqlite_folder(settings.store_url)
    url = settings.store_url if folder is None else f"sqlite:///{folder / 'jobs.sqlite3'}"
    return EngineOptions(
        workflows_url=url,
        schema=WORKFLOW_SCHEMA,
        processes=settings.processes,
        scratch=settings.scratch,
        exclusive=folder is not None,
        limits=settings.limits,
    )


def sqlite_folder(url: str) -> Path | None:
    """The folder of a SQLite store, None for any other."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return None
    return Path(str(parsed.database)).absolute().parent


@contextlib.contextmanager
def exclusive_lock(url: str, *, patience: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock file of a SQLite store; on PostgreSQL any number of workers is welcome.

    The kernel gives the lock back when the process ends, however it ends.

    Args:
        url: the store's.
        patience: seconds to wait for the lock, perhaps infinitely many.

    Raises:
        AlreadyRunningError: another process held it all the time.
    """
    folder = sqlite_folder(url)
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "worker.lock").open("a") as file:
        _wait_for_lock(file.fileno(), folder, patience)
        yield


def _wait_for_lock(descriptor: int, folder: Path, patience: float) -> None:
    begun = time.monotonic()
    has_told = False
    while not _locked(descriptor):
        waited = time.monotonic() - begun
        if waited > patience:
            raise AlreadyRunningError(
                f"another worker already runs on {folder}; with SQLite there is one, use PostgreSQL for more"
            )
        if waited > _TELL_SECONDS and not has_told:
            has_told = True
            log.warning("another worker runs on %s and does all jobs of it; this one waits to take its place", folder)
        time.sleep(_LOCK_POLL_SECONDS)
    if has_told:
        log.info("the other worker has ended; this one does the jobs of %s now", folder)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def main() -> None:
    """Run as a child of another process: settings as JSON on standard input, the parent's id as argument."""
    from service import logs

    logs.configure()
    settings = Settings.model_validate_json(sys.stdin.read())
    run_worker(settings, parent_pid=int(sys.argv[1]))


if __name__ == "__main__":
    main()
