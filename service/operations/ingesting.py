"""Reading of uploads in a process of its own: what a hostile file can break there is not the API.

The child loads the file parsers, which the API process never does, and may be killed.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.errors import Invalid, Unavailable
from service.settings import Limits

if TYPE_CHECKING:
    from pebble import ProcessPool

    from service.formats.ingest import Ingested

#: A reading process is replaced after so many files, so that memory it may have kept goes back.
_FILES_PER_PROCESS = 50
_PARENT_POLL_SECONDS = 0.5
_TRIES = 3


class Ingester:
    """Reads uploads one at a time in a child process, started when the first comes.

    Args:
        limits: sizes, and the time after which a reading is stopped.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._guard = threading.Lock()
        self._pool: ProcessPool | None = None

    def read(
        self, path: Path, options: dict[str, Any], out: Path, *, filename: str | None, content_type: str | None
    ) -> Ingested:
        """Turn an uploaded file into a table file.

        Args:
            path: the upload.
            options: :class:`~service.formats.options.ReadOptions` as JSON, already checked.
            out: where the table file is to be written.
            filename, content_type: what the caller said about the file.

        Raises:
            ServiceError: the file cannot be read; see :func:`service.formats.ingest.ingest`.
            Invalid: reading it took too long or broke the reading process.
        """
        ingested: Ingested = self._call(_ingest, path, options, out, self._limits, filename, content_type)
        return ingested

    def relate(self, table: Path, profile: list[dict[str, Any]], target: str) -> list[dict[str, Any]]:
        """A profile with each column's relation to the target added.

        Args:
            table: a table file.
            profile: of its columns.
            target: the name of one of them.
        """
        related: list[dict[str, Any]] = self._call(_relate, table, profile, target)
        return related

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call in the child; again if it died, for what killed it may have had nothing to do with the file."""
        from pebble import ProcessExpired

        ended = "it could not be started"
        for _ in range(_TRIES):
            pool = self._running()
            try:
                return pool.schedule(function, args=arguments, timeout=self._limits.job_seconds).result()
            except FutureTimeout:
                raise Invalid(
                    f"Reading the file took longer than {self._limits.job_seconds:g} s and was stopped"
                ) from None
            except ProcessExpired as error:
                ended = f"exit code {error.exitcode}"
            except (BrokenExecutor, RuntimeError):  # the child died while it was starting, or waiting for work
                if not self._is_broken(pool):
                    raise
                ended = "it could not be started"
        if ended == "it could not be started":
            raise Unavailable("No process could be started to read the file", headers={"Retry-After": "5"})
        raise Invalid(
            f"Reading the file broke the reading process {_TRIES} times ({ended}); "
            "it probably needs more memory than there is"
        )

    def _is_broken(self, pool: ProcessPool) -> bool:
        """Whether a pool has no future; if so it is put away, and the next call starts another."""
        if pool.active:
            return False
        with self._guard:
            if self._pool is pool:
                self._pool = None
        return True

    def _running(self) -> ProcessPool:
        from pebble import ProcessPool

        with self._guard:
            if self._pool is None or not self._pool.active:
                self._pool = ProcessPool(
                    max_workers=1,
                    max_tasks=_FILES_PER_PROCESS,
                    initializer=_end_with_parent,
                    initargs=(os.getpid(),),
                    context=multiprocessing.get_context("spawn"),
                )
            return self._pool

    def close(self) -> None:
        """Kill the child, whatever it does."""
        with self._guard:
            if self._pool is not None:
                self._pool.stop()  # type: ignore[no-untyped-call]  # pebble says nothing of it
                self._pool.join()
                self._pool = None


def _end_with_parent(parent: int) -> None:
    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _ingest(
    path: Path, options: dict[str, Any], out: Path, limits: Limits, filename: str | None, content_type: str | None
) -> Ingested:
    from service.formats.ingest import ingest
    from service.formats.options import ReadOptions

    return ingest(path, ReadOptions.from_json(options), out, limits, filename=filename, content_type=content_type)


def _relate(table: Path, profile: list[dict[str, Any]], target: str) -> list[dict[str, Any]]:
    from service.formats.columns.profile import relate
    from service.formats.table_file import open_table

    return relate(open_table(table), profile, target)
