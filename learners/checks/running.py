"""Checks of a fit under way: it reports, it stops when asked, and compiled it does what it says in Python."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from typing import IO, Any, cast

import numpy as np

from learners.checks import samples
from learners.checks.require import MakeLearner, answers, refusal, require, require_close
from learners.errors import Cancelled
from learners.types import Array


def progress_is_reported(make: MakeLearner) -> None:
    """Shares from 0 to 1 that never fall and end at 1."""
    sample = samples.mixed(type(make()).capabilities)
    told: list[tuple[float, str]] = []
    make().fit(sample.table, sample.target, progress=lambda share, message: told.append((share, message)))
    shares = [share for share, _ in told]
    require(shares, "fit reports no progress")
    require(all(0 <= share <= 1 for share in shares), f"a share is outside 0 to 1: {shares}")
    require(shares == sorted(shares), f"the shares fall: {shares}")
    require(shares[-1] == 1, f"the last share is {shares[-1]}, not 1")


def cancelling_stops_the_fit(make: MakeLearner) -> None:
    """``Cancelled`` comes out as it was raised, and no half model is left."""
    sample = samples.mixed(type(make()).capabilities)
    asked = Cancelled("asked to stop")

    def stop(share: float, message: str) -> None:
        raise asked

    model = make()
    error = refusal(Cancelled, lambda: model.fit(sample.table, sample.target, progress=stop), "a cancelled fit")
    require(error is asked, "another Cancelled came out than the one raised")
    require(not model.is_fitted, "a cancelled fit leaves a fitted learner")


#: Runs in a process of its own, as kernels are compiled or not when they are imported: one subject a line.
_SCRIPT = """
import importlib, json, sys, traceback
from learners.checks import samples
from learners.checks.require import answers

def answer(module, name, params):
    learner = getattr(importlib.import_module(module), name)
    sample = samples.mixed(learner.capabilities, rows=40)
    return answers(learner.from_params(params).fit(sample.table, sample.target), sample.table).tolist()

for line in sys.stdin:
    try:
        told = [answer(*json.loads(line)), ""]
    except Exception:
        told = [None, traceback.format_exc()]
    print(json.dumps(told), flush=True)
"""


def compiled_equals_interpreted(make: MakeLearner) -> None:
    """The kernels as plain Python learn and answer the same."""
    model = make()
    found = _interpreted([type(model).__module__, type(model).__qualname__, model.get_params()])
    sample = samples.mixed(type(model).capabilities, rows=40)
    compiled = answers(model.fit(sample.table, sample.target), sample.table)
    require_close(found, compiled, "interpreted against compiled")


def _interpreted(subject: list[Any]) -> Array:
    """What a learner answers where kernels are plain Python."""
    to, told = _interpreter()
    to.write(json.dumps(subject) + "\n")
    to.flush()
    line = told.readline()
    require(line, "the interpreted run ended its process")
    found, failure = json.loads(line)
    require(not failure, f"the interpreted run failed: {failure[-2000:]}")
    return np.array(found)


@cache
def _interpreter() -> tuple[IO[str], IO[str]]:
    """Where subjects are sent and answers come from: one process for all checks, as it takes longest to start it."""
    process = subprocess.Popen(  # noqa: S603 - our own script
        [sys.executable, "-c", _SCRIPT],
        env={**os.environ, "RULEWOOD_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)  # closes its input, at which it ends
    return cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
