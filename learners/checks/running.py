"""Checks of a fit under way: it reports, it stops when asked, and compiled it does what it says in Python."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np

from learners.checks import samples
from learners.checks.require import MakeLearner, answers, refusal, require, require_close
from learners.errors import Cancelled


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


#: Runs in a process of its own, as kernels are compiled or not when they are imported.
_SCRIPT = """
import importlib, json, sys
import numpy as np
from learners.checks import samples
from learners.checks.require import answers
module, name, params = json.loads(sys.argv[1])
learner = getattr(importlib.import_module(module), name)
sample = samples.mixed(learner.capabilities, rows=40)
model = learner.from_params(params).fit(sample.table, sample.target)
print(json.dumps(answers(model, sample.table).tolist()))
"""


def compiled_equals_interpreted(make: MakeLearner) -> None:
    """The kernels as plain Python learn and answer the same."""
    import json

    model = make()
    subject = json.dumps([type(model).__module__, type(model).__qualname__, model.get_params()])
    environment = {**os.environ, "RULEWOOD_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    found = _run([sys.executable, "-c", _SCRIPT, subject], environment)
    sample = samples.mixed(type(model).capabilities, rows=40)
    compiled = answers(model.fit(sample.table, sample.target), sample.table)
    require_close(np.array(json.loads(found)), compiled, "interpreted against compiled")


def _run(command: list[str], environment: dict[str, Any]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our own script
    require(done.returncode == 0, f"the interpreted run failed: {done.stderr[-2000:]}")
    return done.stdout
