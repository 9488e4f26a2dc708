"""From a job's request to the functions of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from learners.base import Progress
from service.operations.work import (
    bias_variance,
    comparing,
    description_length,
    learning_curve,
    predicting,
    selecting,
    training,
    version,
)
from service.operations.work.kernels import telling_of_compiling
from service.operations.work.part import Kind, Part, Request, Result, Results, opened
from service.operations.work.refusing import naming_weights
from service.store.tables import Job

KINDS: Mapping[str, Kind] = {
    "train": training.KIND,
    "cross-validate": training.KIND,
    "select": selecting.KIND,
    "learning-curve": learning_curve.KIND,
    "bias-variance": bias_variance.KIND,
    "description-length": description_length.KIND,
    "compare": comparing.KIND,
    "evaluate": version.KIND,
    "predict": predicting.KIND,
}


def _none_yet() -> Mapping[str, Mapping[str, Any]]:
    return {}


def plan(request: Request, results: Results = _none_yet) -> list[str]:
    """The names of a request's parts in order, as far as they are known.

    Args:
        results: called where the results so far tell of further parts.
    """
    return KINDS[request["kind"]].plan(request, results)


def expected(request: Request) -> int:
    """About how many parts a request has."""
    count = KINDS[request["kind"]].expected
    return len(plan(request)) if count is None else count(request)


def run_part(arguments: dict[str, Any], progress: Progress) -> Result:
    """Compute one part; runs in a process of the pool.

    Args:
        arguments: ``store`` (URL), ``cache`` (folder), ``cache_bytes``, ``job_id``, ``request`` and ``part``;
            perhaps ``compiled``, the folder of :func:`~service.operations.work.kernels.compile_ahead`.
        progress: told how far the part is.
    """
    store, blobs = opened(arguments["store"], arguments["cache"], arguments["cache_bytes"])
    request = arguments["request"]
    with telling_of_compiling(progress) as told, naming_weights(request):
        part = Part(arguments["part"], request, arguments["job_id"], store, blobs, told, arguments)
        return KINDS[request["kind"]].run(part)


def finish(session: Session, job: Job, parts: Mapping[str, Result]) -> Result:
    """The job's result from its parts; perhaps also a new version, all in the session's transaction."""
    names = plan(job.request, lambda: parts)
    absent = [name for name in names if name not in parts]
    if absent:
        raise RuntimeError(f"the parts {absent} of {job.id} have no result")
    return KINDS[job.request["kind"]].finish(session, job, parts)
