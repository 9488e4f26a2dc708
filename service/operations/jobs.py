"""Jobs: accepted, shown, cancelled, tried again, deleted. Workers find them in the store and do them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from service.errors import Conflict, Fault, Invalid
from service.jobs.states import JobState
from service.operations.answering import MEDIA_TYPES
from service.operations.submission import check_submission
from service.store import jobs as queries
from service.store import workers
from service.store.blobs import Blobs
from service.store.engines import has_room
from service.store.session import Store
from service.store.tables import Job, JobEvent

#: Longest Idempotency-Key.
KEY_LENGTH = 200
#: States of the jobs that may be tried again.
RETRIED = (JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True)
class JobDetail:
    """A job with the results of its parts so far, and what is being done or waited for."""

    job: Job
    parts: dict[str, dict[str, Any]]
    message: str


def submit(store: Store, workspace: str, request: Mapping[str, Any], idempotency_key: str | None) -> JobDetail:
    """Check and queue a job; the same request with the same key finds the job made before.

    Raises:
        Invalid: the request cannot be carried out; every fault is named.
        Conflict: the key was used for another request.
    """
    key = _check_key(idempotency_key)
    with store.read() as session:
        normal = check_submission(session, workspace, request)
    with store.begin() as session:
        job, _ = queries.insert_or_get(
            session, workspace, normal["kind"], normal, normal["dataset"], idempotency_key=key
        )
        return _detail(session, job)


def _detail(session: Session, job: Job) -> JobDetail:
    return _details(session, [job], queries.parts(session, job.id))[0]


def _details(session: Session, found: list[Job], parts: dict[str, dict[str, Any]]) -> list[JobDetail]:
    """Jobs with the message of their worker or, of those that are queued, with what they wait for."""
    waits = any(job.state == JobState.QUEUED for job in found)
    has_worker = waits and bool(workers.alive(session))
    first = queries.first_unfinished_id(session) if has_worker else None
    is_full = waits and not has_room(session)

    def message(job: Job) -> str:
        if job.state != JobState.QUEUED:
            return job.message
        if is_full:
            return "waiting for room on the store's disk"
        if not has_worker:
            return "waiting for a worker"
        return "about to start" if job.id == first else "waiting for other jobs"

    return [JobDetail(job, parts, message(job)) for job in found]


def _check_key(key: str | None) -> str | None:
    if key is None or (0 < len(key) <= KEY_LENGTH and key.isascii() and key.isprintable()):
        return key
    allowed = f"1 to {KEY_LENGTH} printable ASCII characters"
    raise Invalid(
        f"An Idempotency-Key has {allowed}", [Fault("not a key", parameter="Idempotency-Key", allowed=allowed)]
    )


def get(store: Store, workspace: str, job_id: str) -> JobDetail:
    """One job with its parts.

    Raises:
        NotFound: there is none.
    """
    with store.read() as session:
        return _detail(session, queries.get(session, workspace, job_id))


def page(
    store: Store, workspace: str, *, state: str | None, kind: str | None, cursor: str | None, limit: int
) -> tuple[list[JobDetail], str | None]:
    """A page of jobs, newest first, without their parts, and the cursor of the next."""
    with store.read() as session:
        found, next_cursor = queries.page(session, workspace, state=state, kind=kind, cursor=cursor, limit=limit)
        return _details(session, found, {}), next_cursor


def cancel(store: Store, workspace: str, job_id: str) -> tuple[JobDetail, bool]:
    """Ask a job to stop; one that waits is cancelled at once, one that was cancelled stays as it is.

    Returns:
        The job, and whether it was cancelled before.

    Raises:
        NotFound: there is none. Conflict: it succeeded or failed.
    """
    with store.begin() as session:
        before = queries.get(session, workspace, job_id).state
        job = queries.request_cancel(session, workspace, job_id)
        if job.state in ("succeeded", "failed"):
            allowed = ["queued", "running", "cancelled"]
            raise Conflict(
                f"The state of job {job.id} is {job.state}; only a job that has not ended can be cancelled",
                [Fault("not in this state", parameter="job_id", allowed=allowed, value=job.state)],
            )
        return _detail(session, job), before == JobState.CANCELLED


def retry(store: Store, workspace: str, job_id: str) -> JobDetail:
    """Queue the request of a job that failed or was cancelled once more, as a new job.

    A job that is being tried again already, or was with success, is not queued twice: that job is given. The request
    is checked anew, since it may have been stored by an earlier version of the service.

    Raises:
        NotFound: there is none. Conflict: it has not ended, or it succeeded. Invalid: its dataset is gone, or what it
            asks for is no longer allowed; every fault is named.
    """
    with store.begin() as session:
        job = queries.get(session, workspace, job_id, hold=True)
        if job.state not in RETRIED:
            raise Conflict(
                f"The state of job {job.id} is {job.state}; only a job that failed or was cancelled can be tried "
                "again. To do a job once more, submit its request",
                [Fault("not in this state", parameter="job_id", allowed=list(RETRIED), value=job.state)],
            )
        before = queries.last_retry(session, job)
        if before is not None and before.state not in RETRIED:
            return _detail(session, before)
        normal = check_submission(session, workspace, job.request)
        again, _ = queries.insert_or_get(session, workspace, normal["kind"], normal, normal["dataset"], retry_of=job.id)
        return _detail(session, again)


def delete(store: Store, workspace: str, job_id: str) -> None:
    """Delete a job that has ended; a version that it registered stays.

    Raises:
        NotFound: there is none. Conflict: it has not ended.
    """
    with store.begin() as session:
        queries.delete(session, workspace, job_id)


@dataclass(frozen=True)
class Download:
    """A file of answers: its size, type and bytes."""

    size: int
    media_type: str
    extension: str
    blocks: Iterator[bytes]


def download(store: Store, blobs: Blobs, workspace: str, job_id: str) -> Download:
    """The answers that a prediction, or an evaluation that was to keep them, has given to all rows.

    Raises:
        NotFound: there is no such job. Conflict: it keeps no answers, or has not succeeded.
    """
    with store.read() as session:
        job = queries.get(session, workspace, job_id)
        output = job.request.get("output")
        if output is None or job.state != JobState.SUCCEEDED or job.result is None:
            said = f"is a job {job.kind} without output" if output is None else f"is {job.state}"
            message = "only what was asked for output and succeeded has a download"
            fault = Fault(message, parameter="job_id", value=job.kind)
            raise Conflict(f"Job {job.id} {said}, so there is nothing to download", [fault])
        found = queries.parts(session, job.id)
        size = job.result["predictions"]["size"]
    word = "rows-" if job.kind == "predict" else "answers-"
    names = sorted((name for name in found if word in name), key=_numbers)
    row_format = output["format"]
    extension = "arrows" if row_format == "arrow" else row_format
    return Download(
        size, MEDIA_TYPES[row_format], extension, _blocks(blobs, [found[name]["blob_sha256"] for name in names])
    )


def _numbers(part: str) -> list[int]:
    """Those in the name of a part, by which pieces are in order."""
    return [int(number) for number in re.findall(r"\d+", part)]


def _blocks(blobs: Blobs, pieces: Sequence[str]) -> Iterator[bytes]:
    for sha256 in pieces:
        yield from blobs.blocks(sha256)[1]


def events_after(store: Store, job_id: str, position: int) -> tuple[list[JobEvent], bool]:
    """A job's events after a position, and whether these are the last there will be.

    The state is read first: what a job did before it ended is in the list by then.
    """
    with store.read() as session:
        state = queries.find_state(session, job_id)
        events = queries.events_after(session, job_id, position)
    return events, state is None or JobState(state).is_final
