"""Jobs over HTTP."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

import anyio
from fastapi import Header, Path, Query, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from service import strict_json
from service.deps import Cursor, PageSize, ServicesHere, Trainer
from service.errors import Unavailable
from service.operations import jobs as operations
from service.schemas.base import Page, timestamp, timestamp_or_none
from service.schemas.jobs import Job, JobKind, JobRequest, StateName
from service.services import Services
from service.web.openapi import content, created, errors
from service.web.strict_routes import make_router

router = make_router(prefix="/api/v1/jobs", tags=["jobs"])

JobId = Annotated[str, Path(max_length=64, examples=["job_0a1b2c3d4e5f6g7h8i9j0k1l2m"])]
#: Seconds between two looks at a job's events.
_EVENT_POLL = 0.3
#: Seconds after which a silent stream sends a comment, so that nothing between takes it for dead.
_HEARTBEAT = 10.0
_BINARY = {"type": "string", "format": "binary"}
_STREAM = "server-sent events `state`, `progress`, `part` and `log`; the stream ends with the job"
_EXAMPLES = {
    "train": {
        "summary": "Train a tree and register it",
        "value": {
            "kind": "train",
            "dataset": "ds_0a1b2c3d4e5f6g7h8i9j0k1l2m",
            "target": "class",
            "learner": "decision-tree-classifier",
            "parameters": {},
            "seed": 7,
            "evaluation": {"method": "hold-out", "fraction": 0.25},
            "model": {"name": "credit", "aliases": ["champion"]},
        },
    },
    "cross-validate": {
        "summary": "10-fold cross-validation",
        "value": {
            "kind": "cross-validate",
            "dataset": "ds_0a1b2c3d4e5f6g7h8i9j0k1l2m",
            "target": "class",
            "learner": "decision-tree-classifier",
            "evaluation": {"method": "k-fold", "folds": 10},
        },
    },
    "select": {
        "summary": "Grid search with a nested estimate",
        "value": {
            "kind": "select",
            "dataset": "ds_0a1b2c3d4e5f6g7h8i9j0k1l2m",
            "target": "class",
            "learner": "decision-tree-classifier",
            "evaluation": {"method": "k-fold", "folds": 5},
            "selection": {"grid": {"max_depth": [2, 4, 8], "min_leaf": [1, 10]}, "nested": 5},
            "model": {"name": "credit"},
        },
    },
    "size": {
        "summary": "Raise the size until the training error converges; judge on locked rows",
        "value": {
            "kind": "select",
            "dataset": "ds_0a1b2c3d4e5f6g7h8i9j0k1l2m",
            "target": "class",
            "learner": "decision-tree-classifier",
            "selection": {"method": "size", "size": "max_leaves", "test_fraction": 0.25},
            "model": {"name": "credit"},
        },
    },
    "learning-curve": {
        "summary": "How the error falls with more rows",
        "value": {
            "kind": "learning-curve",
            "dataset": "ds_0a1b2c3d4e5f6g7h8i9j0k1l2m",
            "target": "class",
            "learner": "decision-tree-classifier",
            "shares": [0.1, 0.3, 1.0],
        },
    },
    "bias-variance": {
        "summary": "How much of the error is bias, and how much varies with the rows learned from",
        "value": {
            "kind": "bias-variance",
            "dataset": "ds_0a1b2c3d4e5f6g7h8i9j0k1l2m",
            "target": "class",
            "learner": "decision-tree-classifier",
            "evaluation": {"method": "hold-out", "fraction": 0.3},
            "rounds": 50,
        },
    },
    "description-length": {
        "summary": "In how many bits the classes can be told with a learner's help (MDL)",
        "value": {
            "kind": "description-length",
            "dataset": "ds_0a1b2c3d4e5f6g7h8i9j0k1l2m",
            "target": "class",
            "learner": "decision-tree-classifier",
        },
    },
    "compare": {
        "summary": "Three learners on the same folds, against the first",
        "value": {
            "kind": "compare",
            "dataset": "ds_0a1b2c3d4e5f6g7h8i9j0k1l2m",
            "target": "class",
            "learners": [
                {"name": "tree", "learner": "decision-tree-classifier", "parameters": {"max_depth": 4}},
                {"name": "forest", "learner": "random-forest-classifier"},
                {"name": "neighbours", "learner": "nearest-neighbors-classifier", "parameters": {"k": 5}},
            ],
            "reference": "tree",
            "evaluation": {"method": "k-fold", "folds": 10},
            "output": {"format": "csv"},
        },
    },
    "evaluate": {
        "summary": "Judge a version on a dataset, against another",
        "value": {
            "kind": "evaluate",
            "dataset": "ds_0a1b2c3d4e5f6g7h8i9j0k1l2m",
            "version": "credit@champion",
            "against": "credit:1",
        },
    },
    "predict": {
        "summary": "Answer a whole dataset",
        "value": {
            "kind": "predict",
            "dataset": "ds_0a1b2c3d4e5f6g7h8i9j0k1l2m",
            "version": "credit@champion",
            "output": {"format": "csv"},
        },
    },
}


@router.post(
    "",
    summary="Submit a job",
    status_code=202,
    response_model=Job,
    responses=created(202) | errors(409, 413, 415, 422),
    operation_id="submitJob",
    openapi_extra={"requestBody": {"content": {"application/json": {"examples": _EXAMPLES}}}},
)
def submit_job(
    response: Response,
    services: ServicesHere,
    who: Trainer,
    body: JobRequest,
    idempotency_key: Annotated[
        str | None,
        Header(max_length=operations.KEY_LENGTH, description="the same key with the same request finds the same job"),
    ] = None,
) -> dict[str, Any]:
    """Queue a training, an evaluation of any kind, a selection, a comparison or a prediction. Once this has answered
    202 the job is kept and will be done.
    """
    request = body.model_dump(exclude_unset=True)
    return _accepted(response, operations.submit(services.store, who.workspace, request, idempotency_key))


@router.get("", summary="List jobs", response_model=Page[Job], responses=errors(422), operation_id="listJobs")
def list_jobs(
    services: ServicesHere,
    who: Trainer,
    state: Annotated[StateName | None, Query(description="only jobs in this state")] = None,
    kind: Annotated[JobKind | None, Query(description="only jobs of this kind")] = None,
    cursor: Cursor = None,
    limit: PageSize = 50,
) -> dict[str, Any]:
    """The jobs of the workspace, the newest first."""
    found, next_cursor = operations.page(
        services.store, who.workspace, state=state, kind=kind, cursor=cursor, limit=limit
    )
    services.serving.catch_up()
    return {"items": [_to_wire(detail) for detail in found], "next_cursor": next_cursor}


@router.get("/{job_id}", summary="Get a job", response_model=Job, responses=errors(404), operation_id="getJob")
def get_job(services: ServicesHere, who: Trainer, job_id: JobId) -> dict[str, Any]:
    """A job as it stands: state, progress, the results of its parts so far, its result or error."""
    detail = operations.get(services.store, who.workspace, job_id)
    services.serving.catch_up()
    return _to_wire(detail)


@router.get(
    "/{job_id}/events",
    summary="Follow a job",
    response_class=StreamingResponse,
    responses=content(_STREAM, "text/event-stream", {"type": "string"}) | errors(404, 422),
    operation_id="followJob",
)
async def follow_job(
    services: ServicesHere,
    who: Trainer,
    job_id: JobId,
    last_event_id: Annotated[
        int | None, Header(ge=0, le=2**53, description="go on after this event; browsers send it by themselves")
    ] = None,
) -> Response:
    """What happens in a job, as it happens."""
    await run_in_threadpool(operations.get, services.store, who.workspace, job_id)
    return StreamingResponse(_events(services, job_id, last_event_id or 0), media_type="text/event-stream")


async def _events(services: Services, job_id: str, position: int) -> AsyncIterator[bytes]:
    spoken = time.monotonic()
    yield b"retry: 1000\n\n"
    while True:
        try:
            events, is_last = await run_in_threadpool(operations.events_after, services.store, job_id, position)
            if is_last:
                await run_in_threadpool(services.serving.catch_up)
        except Unavailable:  # the stream outlives a restart of the database
            events, is_last = [], False
        for event in events:
            position = event.position
            data = strict_json.encode({**event.data, "at": timestamp(event.created_at)})
            yield b"id: %d\nevent: %s\ndata: %s\n\n" % (position, event.kind.encode(), data)
            spoken = time.monotonic()
        if is_last:
            return
        if time.monotonic() - spoken > _HEARTBEAT:
            spoken = time.monotonic()
            yield b": still here\n\n"
        await anyio.sleep(_EVENT_POLL)


@router.get(
    "/{job_id}/download",
    summary="Download predictions",
    response_class=StreamingResponse,
    responses=content("the answers to all rows, in the format asked for", "application/octet-stream", _BINARY)
    | errors(404, 409),
    operation_id="downloadPredictions",
)
def download(services: ServicesHere, who: Trainer, job_id: JobId) -> Response:
    """The answers that a job `predict` has given, or those out of fold of a job `cross-validate` or `compare` with
    `output`, as one file. They are kept as long as the job."""
    found = operations.download(services.store, services.blobs, who.workspace, job_id)
    headers = {
        "Content-Length": str(found.size),
        "Content-Disposition": f"attachment; filename={job_id}.{found.extension}",
    }
    return StreamingResponse(found.blocks, media_type=found.media_type, headers=headers)


@router.post(
    "/{job_id}/cancel",
    summary="Cancel a job",
    status_code=202,
    response_model=Job,
    responses=errors(404, 409) | {200: {"model": Job, "description": "it was cancelled before; nothing changes"}},
    operation_id="cancelJob",
)
def cancel_job(response: Response, services: ServicesHere, who: Trainer, job_id: JobId) -> dict[str, Any]:
    """Ask a job to stop. One that waits is cancelled at once, one that runs within a second; no half model is left.

    Asking again does no harm: 202 as long as the job is to be stopped, 200 once it was cancelled before. A job that
    succeeded or failed is not cancelled (409).
    """
    detail, was_cancelled = operations.cancel(services.store, who.workspace, job_id)
    if was_cancelled:
        response.status_code = 200
    return _to_wire(detail)


@router.post(
    "/{job_id}/retry",
    summary="Try a job again",
    status_code=202,
    response_model=Job,
    responses=created(202) | errors(404, 409, 422),
    operation_id="retryJob",
)
def retry_job(response: Response, services: ServicesHere, who: Trainer, job_id: JobId) -> dict[str, Any]:
    """Queue the request of a job that failed or was cancelled once more, as a new job.

    Asked twice, it gives the job that was queued the first time, unless that failed or was cancelled too.
    A job that waits, runs or has succeeded is not tried again (409): submit its request to do it once more.
    """
    return _accepted(response, operations.retry(services.store, who.workspace, job_id))


@router.delete(
    "/{job_id}",
    summary="Delete a job",
    status_code=204,
    response_class=Response,
    responses=errors(404, 409),
    operation_id="deleteJob",
)
def delete_job(services: ServicesHere, who: Trainer, job_id: JobId) -> Response:
    """Delete a job that has ended. A version that it registered stays."""
    operations.delete(services.store, who.workspace, job_id)
    return Response(status_code=204)


def _accepted(response: Response, detail: operations.JobDetail) -> dict[str, Any]:
    response.headers["Location"] = f"/api/v1/jobs/{detail.job.id}"
    return _to_wire(detail)


def _to_wire(detail: operations.JobDetail) -> dict[str, Any]:
    job = detail.job
    return {
        "id": job.id,
        "kind": job.kind,
        "state": job.state,
        "progress": job.progress,
        "message": detail.message,
        "request": job.request,
        "result": job.result,
        "error": job.error,
        "parts": [{"part": part, "result": _shown(result)} for part, result in detail.parts.items()],
        "retry_of": job.retry_of,
        "created_at": timestamp(job.created_at),
        "started_at": timestamp_or_none(job.started_at),
        "finished_at": timestamp_or_none(job.finished_at),
        "links": _links(job.id, job.request, job.result),
    }


def _links(job_id: str, request: dict[str, Any], result: dict[str, Any] | None) -> dict[str, str]:
    links = {
        "self": f"/api/v1/jobs/{job_id}",
        "events": f"/api/v1/jobs/{job_id}/events",
        "dataset": f"/api/v1/datasets/{request['dataset']}",
    }
    model = (result or {}).get("model")
    if model:
        links["model"] = f"/api/v1/models/{model['name']}:{model['version']}"
    if (result or {}).get("predictions"):
        links["download"] = f"/api/v1/jobs/{job_id}/download"
    return links


def _shown(result: dict[str, Any]) -> dict[str, Any]:
    """A part's result as it is shown: its rules are kept for the summary of all parts, and are long."""
    return {name: value for name, value in result.items() if name != "rules"}
