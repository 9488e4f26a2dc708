"""Preparing in a process beside the pool what takes long once on a machine, so that no part waits for it.

Parts are told of a folder in which the preparation leaves word of what is done; until then they do
without it or wait. Where the folder lasts, a later worker of the machine has nothing to prepare; else it takes
some seconds again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from service.jobs.pool import Pool
from service.temporary import TemporaryFolder

log = logging.getLogger("rulewood.jobs")

#: After so long the process is given up.
_PATIENCE_SECONDS = 900.0
_TICK_SECONDS = 0.2


class Ahead:
    """Runs one function in a process of its own, once.

    Args:
        prepare: what is to be done, a function at the top of a module that is given a folder in which to
            leave word; it may take minutes.
        is_prepared: whether word of all of it is in a folder.
        scratch: where the process keeps its own files.
        lasting: a folder for the word that outlasts the worker, if there is one.
    """

    def __init__(
        self,
        prepare: Callable[[Path], None],
        is_prepared: Callable[[Path], bool],
        scratch: Path,
        lasting: Path | None = None,
    ) -> None:
        self._folder = TemporaryFolder(scratch, "ahead")
        #: Where the preparation leaves word; gone with the worker, unless it lasts.
        self.done = lasting if lasting is not None else self._folder.path / "done"
        self.done.mkdir(exist_ok=True)
        self._is_prepared = is_prepared
        self._prepare = partial(prepare, self.done)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ahead", daemon=True)

    def start(self) -> None:
        """Begin, unless all is done; the end is not waited for."""
        if not self._is_prepared(self.done):
            self._thread.start()

    def close(self) -> None:
        """Kill the process if it is still at work."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()
        self._folder.close()

    def _run(self) -> None:
        pool = Pool(1, _nothing, self._folder.path, warm=self._prepare)
        give_up_at = time.monotonic() + _PATIENCE_SECONDS
        done = False
        while not done and not self._closing.is_set() and time.monotonic() < give_up_at:
            done = pool.wait_until_warm(_TICK_SECONDS)
        pool.close()
        if not done and not self._closing.is_set():
            log.warning("preparing took longer than %g s and was given up", _PATIENCE_SECONDS)


def _nothing(arguments: dict[str, Any], progress: Callable[[float, str], None]) -> dict[str, Any]:
    """The pool's function; it is given no parts."""
    return {}
