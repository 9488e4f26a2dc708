"""Keeps the embedded worker of ``rulewood serve`` alive: a child process, restarted when it dies."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time

from service.settings import Settings

log = logging.getLogger("rulewood.supervisor")

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 5.0
#: A worker that lived this long is started again without delay.
_HEALTHY_SECONDS = 30.0
_STOP_SECONDS = 10.0
#: No module stands behind ``-c``, so the worker's own children do not load one again.
_PROGRAM = "from service.worker import main; main()"


class WorkerSupervisor:
    """One worker process for these settings, from :meth:`start` to :meth:`stop`.

    The worker watches this process and ends when it is gone, so nothing is left behind by kill -9.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stopping = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self._keep_running, name="worker-supervisor", daemon=True)

    @property
    def pid(self) -> int | None:
        """Process id of the worker that runs now."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def start(self) -> None:
        """Start the worker and watch it from a thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the worker: asked first, then killed."""
        with self._guard:
            self._stopping.set()
            process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(timeout=_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._thread.is_alive():
            self._thread.join(timeout=_STOP_SECONDS)

    def _keep_running(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while True:
            began = time.monotonic()
            process = self._spawn()
            if process is None:
                return
            status = process.wait()
            if self._stopping.is_set():
                return
            pause = _FIRST_PAUSE_SECONDS if time.monotonic() - began > _HEALTHY_SECONDS else pause * 2
            pause = min(pause, _LONGEST_PAUSE_SECONDS)
            log.error("the worker ended with status %s; starting it again in %.1f s", status, pause)
            if self._stopping.wait(pause):
                return

    def _spawn(self) -> subprocess.Popen[str] | None:
        with self._guard:
            if self._stopping.is_set():
                return None
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
                [sys.executable, "-c", _PROGRAM, str(os.getpid())], stdin=subprocess.PIPE, text=True
            )
        if self._process.stdin is not None:
            try:
                self._process.stdin.write(self._settings.model_dump_json(exclude={"admin_key"}))
                self._process.stdin.close()
            except BrokenPipeError:
                log.exception("the worker ended before it read its settings")
        return self._process
