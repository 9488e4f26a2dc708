"""A child process that calls functions one after another, and may be killed or die.

It is made for little in the process that has it: no threads, no pool, no library. What is called travels through a pipe
between two processes of ours; nothing is read from it that a file or a caller wrote as it is.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from typing import Any

_PARENT_POLL_SECONDS = 0.5
#: A child that is not ready after so long is given up; what it is called for has its own time.
_START_SECONDS = 300.0
_END_SECONDS = 10.0
#: No module stands behind ``-c``, so the child loads no program a second time.
_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[3])
from service.operations.reading_process import serve
serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[4])
"""


class ProcessDied(Exception):
    """The child ended before it answered.

    Attributes:
        exitcode: of the child, negative for a signal.
        was_ready: whether it had begun to take calls.
    """

    def __init__(self, exitcode: int, *, was_ready: bool) -> None:
        super().__init__(f"exit code {exitcode}")
        self.exitcode = exitcode
        self.was_ready = was_ready


class ReadingProcess:
    """One child, started by this and not waited for.

    Args:
        warm: a module that the child loads before the first call.

    Raises:
        OSError: no process can be started.

    Attributes:
        n_calls: how many calls it was given.
    """

    def __init__(self, warm: str) -> None:
        self._pipe, theirs = Pipe()
        with theirs:
            arguments = [str(theirs.fileno()), str(os.getpid()), json.dumps(sys.path), warm]
            try:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and program
                    [sys.executable, "-c", _PROGRAM, *arguments],
                    stdin=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                )
            except BaseException:
                self._pipe.close()
                raise
        self._is_ready = False
        self.n_calls = 0

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def is_ready(self) -> bool:
        """Whether it has loaded what it needs."""
        return self._is_ready or (self._pipe.poll() and self.is_alive)

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> Any:
        """What a function at the top of a module returns in the child; one call at a time.

        Raises:
            TimeoutError: it took longer than ``seconds``; the child is killed.
            ProcessDied: the child ended meanwhile, or before.
            Exception: what the function raised.
        """
        self.n_calls += 1
        try:
            self._await_ready()
            self._pipe.send((function, arguments))
            result, error, trace = self._answer(seconds)
        except (EOFError, ConnectionError):
            raise ProcessDied(self._process.wait(), was_ready=self._is_ready) from None
        if error is not None:
            error.add_note(trace)
            raise error
        return result

    def _await_ready(self) -> None:
        if self._is_ready:
            return
        if not self._pipe.poll(_START_SECONDS):
            self.kill()
        self._is_ready = self._pipe.recv()

    def _answer(self, seconds: float) -> Any:
        if not self._pipe.poll(seconds):
            self.kill()
            raise TimeoutError(f"no answer within {seconds:g} s")
        return self._pipe.recv()

    def kill(self) -> None:
        """End the child, whatever it does; a call in work then raises :class:`ProcessDied`."""
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # of a disk that does not answer; it goes when it can
            self._process.wait(_END_SECONDS)


def serve(handle: int, parent: int, warm: str) -> None:
    """What the child does until the other end of its pipe is closed or its parent is gone.

    Args:
        handle: file descriptor of its end of the pipe.
        parent: process id of the parent.
        warm: see :class:`ReadingProcess`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's goes to the parent too, which ends this
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    with contextlib.suppress(Exception):  # the call tells what cannot be loaded
        __import__(warm)
    with Connection(handle) as pipe, contextlib.suppress(EOFError, ConnectionError):
        pipe.send(True)
        while True:
            function, arguments = pipe.recv()
            _send(pipe, *_called(function, arguments))


def _called(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, Exception | None, str]:
    try:
        return function(*arguments), None, ""
    except Exception as error:
        return None, error, traceback.format_exc()


def _send(pipe: Connection, result: Any, error: Exception | None, trace: str) -> None:
    try:
        pipe.send((result, error, trace))
    except ConnectionError:
        raise
    except Exception as unsendable:
        told = RuntimeError(f"{type(unsendable).__name__}: {unsendable}")
        pipe.send((None, told, trace or traceback.format_exc()))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_POLL_SECONDS)
    os._exit(1)
