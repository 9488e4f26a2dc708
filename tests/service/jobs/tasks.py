"""Small parts for tests of the engine: they are run in the pool's real processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from learners.errors import DataError, ParameterError
from service import registry


def perform(arguments, progress):
    """Do what ``arguments["do"]`` says."""
    return _ACTIONS[arguments["do"]](arguments, progress)


def perform_part(arguments, progress):
    """Do what the job's request says of this part, and leave a line in its diary."""
    request, part = arguments["request"], arguments["part"]
    with Path(request["diary"]).open("a") as diary:
        diary.write(f"{part} {os.getpid()}\n")
    return perform(request["parts"][part], progress)


def soon_ready(done):
    """A preparation that is soon done."""
    (done / "first").touch()
    time.sleep(0.2)
    (done / "second").touch()


def never_ready(done):
    """A preparation that has no end."""
    while True:
        time.sleep(1.0)


def plan(request, results):
    """The request's parts; a part that found others is followed by these."""
    names = [name for name in request["parts"] if not name.startswith("later")]
    if len(names) < len(request["parts"]):
        names += [name for found in results().values() for name in found.get("then", ())]
    return names


def expected(request):
    return len(request["parts"])


def finish(session, job, parts):
    """Sum the parts' values; as a training does, register a version where the request names a model."""
    result = {"sum": sum(part["value"] for part in parts.values())}
    if "model" in job.request:
        version = registry.register(
            session,
            job.workspace,
            job.request["model"],
            job.id,
            dataset_id=job.dataset_id,
            blob_sha256=job.request["blob"],
            learner="fake",
            task="classification",
            parameters={},
            schema={},
            lineage={},
            metrics={},
            aliases=job.request.get("aliases", ()),
            submitted_at=job.created_at,
        )
        result["version"] = version.version
    return result


def _echo(arguments, progress):
    found = {"value": arguments.get("value"), "pid": os.getpid()}
    return found | ({"then": arguments["then"]} if "then" in arguments else {})


def _spin(arguments, progress):
    end = time.monotonic() + arguments["seconds"]
    while time.monotonic() < end:
        progress(1 - (end - time.monotonic()) / arguments["seconds"], "spinning")
        time.sleep(0.02)
    return {"value": arguments.get("value"), "pid": os.getpid()}


def _hold(arguments, progress):
    """Work until the marker's file is there."""
    while not Path(arguments["marker"]).exists():
        progress(0.5, "holding")
        time.sleep(0.02)
    return {"value": arguments["value"]}


def _die(arguments, progress):
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_worker(arguments, progress):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


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
    "hold": _hold,
    "die": _die,
    "kill-worker": _kill_worker,
    "die-once": _die_once,
    "hog": _hog,
    "bad-column": _bad_column,
    "bad-parameter": _bad_parameter,
    "surprise": _surprise,
}


def fails_to_warm():
    """A warm-up that raises."""
    raise RuntimeError("no kernels")


def dies_while_warming():
    """A warm-up that takes its process down."""
    os._exit(3)
