"""Small parts for tests of the engine: they are run in the pool's real processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from learners.errors import DataError, ParameterError


def perform(arguments, progress):
    """Do what ``arguments["do"]`` says."""
    return _ACTIONS[arguments["do"]](arguments, progress)


def _echo(arguments, progress):
    return {"value": arguments.get("value"), "pid": os.getpid()}


def _spin(arguments, progress):
    end = time.monotonic() + arguments["seconds"]
    while time.monotonic() < end:
        progress(1 - (end - time.monotonic()) / arguments["seconds"], "spinning")
        time.sleep(0.02)
    return {"value": arguments.get("value"), "pid": os.getpid()}


def _die(arguments, progress):
    os.kill(os.getpid(), signal.SIGKILL)


def _die_once(arguments, progress):
    marker = Path(arguments["marker"])
    if not marker.exists():
        marker.touch()
        _die(arguments, progress)
    return {"value": "survived"}


def _hog(arguments, progress):
    hoard = []
    while True:
        hoard.append(bytearray(os.urandom(1 << 20) * 10))
        time.sleep(0.005)


def _bad_column(arguments, progress):
    raise DataError("the column 'x' is all missing", field="x")


def _bad_parameter(arguments, progress):
    raise ParameterError("max_depth must be >= 1", field="max_depth")


def _surprise(arguments, progress):
    raise ZeroDivisionError("secret value 42")


_ACTIONS = {
    "echo": _echo,
    "spin": _spin,
    "die": _die,
    "die-once": _die_once,
    "hog": _hog,
    "bad-column": _bad_column,
    "bad-parameter": _bad_parameter,
    "surprise": _surprise,
}
