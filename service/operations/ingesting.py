"""Reading of uploads in processes of their own: what a hostile file can break there is not the API.

The children load the file parsers, which the API process never does, and may be killed. Large files are read one
at a time, so that their memory is that of one, and small ones one at a time beside them, so that none waits for a
large one. The next process is started before it is needed: nobody waits for that either.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from service.errors import Invalid, Unavailable
from service.formats.ingested import Ingested
from service.operations.reading_process import ProcessDied, ReadingProcess
from service.settings import Limits

#: After so many files a reading process is replaced as soon as its successor is ready, so that memory it may have kept
#: goes back.
_FILES_PER_PROCESS = 50
#: Files beyond this size are large. To read so many bytes takes some tenths of a second.
_SMALL_BYTES = 4 << 20
_TRIES = 3
_PARSERS = "service.formats.ingest"


class Ingester:
    """Reads uploads in child processes, one large file and one small one at a time, in the order of their coming.

    Args:
        limits: sizes, and the time after which a reading is stopped.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._guard = threading.Lock()
        #: Those without work; the last is taken first.
        self._idle: list[ReadingProcess] = []
        self._busy: set[ReadingProcess] = set()
        self._closed = False
        self._large = ThreadPoolExecutor(1, thread_name_prefix="reading-large")
        self._small = ThreadPoolExecutor(1, thread_name_prefix="reading-small")

    def start(self) -> None:
        """Start the first process, unless there is one; its end is not waited for."""
        with self._guard:
            self._start_ahead()

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
        size = path.stat().st_size
        ingested: Ingested = self._call(
            _ingest, path, options, out, self._limits, filename, content_type, is_large=size > _SMALL_BYTES
        )
        return ingested

    def relate(self, table: Path, profile: list[dict[str, Any]], target: str) -> list[dict[str, Any]]:
        """A profile with each column's relation to the target added.

        Args:
            table: a table file.
            profile: of its columns.
            target: the name of one of them.
        """
        size = table.stat().st_size
        related: list[dict[str, Any]] = self._call(_relate, table, profile, target, is_large=size > _SMALL_BYTES)
        return related

    def _call(self, function: Callable[..., Any], *arguments: Any, is_large: bool = False) -> Any:
        """Call in a child when its turn has come."""
        lane = self._large if is_large else self._small
        return lane.submit(self._try, function, arguments, is_large=is_large).result()

    def _try(self, function: Callable[..., Any], arguments: tuple[Any, ...], *, is_large: bool) -> Any:
        """Call in a child; again if it died, for what killed it may have had nothing to do with the file."""
        ended = ""
        for _ in range(_TRIES):
            process = self._take(with_spare=is_large)
            try:
                return process.call(function, arguments, self._limits.job_seconds)
            except TimeoutError:
                raise Invalid(
                    f"Reading the file took longer than {self._limits.job_seconds:g} s and was stopped"
                ) from None
            except ProcessDied as death:
                ended = str(death) if death.was_ready else ""
            finally:
                self._give_back(process)
        if not ended:
            raise _unavailable()
        raise Invalid(
            f"Reading the file broke the reading process {_TRIES} times ({ended}); "
            "it probably needs more memory than there is"
        )

    def _take(self, *, with_spare: bool) -> ReadingProcess:
        """A process for one call, while a spare starts for whoever comes meanwhile."""
        with self._guard:
            if self._closed:
                raise _unavailable()
            self._drop_dead()
            try:
                process = self._idle.pop() if self._idle else ReadingProcess(_PARSERS)
            except OSError:
                raise _unavailable() from None
            self._busy.add(process)
            if with_spare and len(self._busy) == 1 and not self._idle:
                self._start_idle()
            return process

    def _give_back(self, process: ReadingProcess) -> None:
        with self._guard:
            self._busy.discard(process)
            self._start_ahead()
            is_due = process.n_calls >= _FILES_PER_PROCESS and any(one.is_ready for one in self._idle)
            is_kept = process.is_alive and not is_due and not self._closed
            if is_kept:
                self._idle.append(process)
        if not is_kept:
            process.kill()

    def _start_ahead(self) -> None:
        """Start a process where there is none that is not due to be replaced."""
        self._drop_dead()
        if all(process.n_calls >= _FILES_PER_PROCESS for process in (*self._idle, *self._busy)):
            self._start_idle()

    def _start_idle(self) -> None:
        if not self._closed:
            with contextlib.suppress(OSError):  # whoever needs it tries again
                self._idle.insert(0, ReadingProcess(_PARSERS))

    def _drop_dead(self) -> None:
        self._idle = [process for process in self._idle if process.is_alive]

    def close(self) -> None:
        """Kill the children, whatever they do."""
        with self._guard:
            self._closed = True
            processes = [*self._idle, *self._busy]
            self._idle = []
        for process in processes:
            process.kill()
        for lane in (self._large, self._small):
            lane.shutdown(wait=False, cancel_futures=True)


def _unavailable() -> Unavailable:
    return Unavailable("No process could be started to read the file", headers={"Retry-After": "5"})


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
