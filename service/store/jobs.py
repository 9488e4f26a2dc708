"""Queries on jobs. Every change of state is conditional, so that nobody's late word undoes a final state."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import and_, or_, select, update
from sqlalchemy import delete as sql_delete
from sqlalchemy.orm import Session

from service.errors import Conflict, Fault, Invalid, NotFound
from service.store.engines import affected, insert_once
from service.store.ids import new_id
from service.store.job_log import add_event, count_parts, events_after, has_part, parts, put_part
from service.store.paging import page_of
from service.store.tables import Dataset, Job

__all__ = [
    "FINAL",
    "SOURCES",
    "UNFINISHED",
    "add_event",
    "cancel_requested_ids",
    "count_parts",
    "delete",
    "events_after",
    "final_ids",
    "find",
    "find_state",
    "first_unfinished_id",
    "get",
    "has_part",
    "insert_or_get",
    "last_retry",
    "page",
    "parts",
    "put_part",
    "queued_ids",
    "request_cancel",
    "request_digest",
    "set_progress",
    "set_state",
    "set_worker",
    "unfinished",
    "unfinished_before",
    "unfinished_ids",
]

UNFINISHED = ("queued", "running")
FINAL = ("succeeded", "failed", "cancelled")
#: The states from which each state may be entered; ``service.jobs.states`` tells the same the other way round.
SOURCES: dict[str, tuple[str, ...]] = {
    "running": ("queued",),
    "succeeded": ("running",),
    "failed": UNFINISHED,
    "cancelled": UNFINISHED,
}


def request_digest(request: Mapping[str, Any]) -> str:
    """Hash of a request's meaning: the order of its keys does not matter."""
    return hashlib.sha256(json.dumps(request, sort_keys=True, allow_nan=False).encode()).hexdigest()


def insert_or_get(
    session: Session,
    workspace: str,
    kind: str,
    request: Mapping[str, Any],
    dataset_id: str,
    *,
    idempotency_key: str | None = None,
    retry_of: str | None = None,
) -> tuple[Job, bool]:
    """Queue a job, or find the one that the same request with the same key made before.

    Returns:
        The job, and whether it is new.

    Raises:
        Invalid: the dataset is not there (any more).
        Conflict: the key came before with another request.
    """
    digest = request_digest(request)
    if idempotency_key is not None:
        before = _by_key(session, workspace, idempotency_key)
        if before is not None:
            return _same(before, digest), False
    _hold_dataset(session, workspace, dataset_id)
    job_id = new_id("job")
    values = {
        "id": job_id,
        "workspace": workspace,
        "kind": kind,
        "state": "queued",
        "request": dict(request),
        "request_sha256": digest,
        "idempotency_key": idempotency_key,
        "dataset_id": dataset_id,
        "retry_of": retry_of,
        "created_at": time.time(),
    }
    if insert_once(session, Job, values):
        add_event(session, job_id, "state", {"state": "queued"})
        return get(session, workspace, job_id), True
    before = _by_key(session, workspace, idempotency_key or "")
    if before is None:
        raise Conflict("A job with the same Idempotency-Key was being deleted; try again.")
    return _same(before, digest), False


def _by_key(session: Session, workspace: str, key: str) -> Job | None:
    return session.scalar(select(Job).where(Job.workspace == workspace, Job.idempotency_key == key))


def _same(job: Job, digest: str) -> Job:
    if job.request_sha256 != digest:
        fault = Fault("take a fresh key for another request", parameter="Idempotency-Key")
        raise Conflict(f"The Idempotency-Key was used for another request, job {job.id}.", [fault], job=job.id)
    return job


def _hold_dataset(session: Session, workspace: str, dataset_id: str) -> None:
    statement = select(Dataset.id).where(Dataset.workspace == workspace, Dataset.id == dataset_id)
    if session.scalar(statement.with_for_update(read=True, key_share=True)) is None:
        fault = Fault("give the id of a dataset that exists", parameter="dataset", value=dataset_id[:64])
        raise Invalid(f"There is no dataset {dataset_id[:64]!r}.", [fault])


def find(session: Session, job_id: str) -> Job | None:
    """One job of any workspace, or None."""
    return session.get(Job, job_id, populate_existing=True)


def get(session: Session, workspace: str, job_id: str, *, hold: bool = False) -> Job:
    """One job; with ``hold`` nobody else holds it before this transaction ends.

    Raises:
        NotFound: the workspace has none with this id.
    """
    statement = select(Job).where(Job.workspace == workspace, Job.id == job_id)
    if hold:
        statement = statement.with_for_update()
    job = session.scalar(statement.execution_options(populate_existing=True))
    if job is None:
        raise NotFound(f"There is no job {job_id[:64]!r}.")
    return job


def last_retry(session: Session, job: Job) -> Job | None:
    """The last job that tries this one again, or None."""
    statement = select(Job).where(Job.workspace == job.workspace, Job.retry_of == job.id)
    return session.scalar(statement.order_by(Job.created_at.desc(), Job.id.desc()).limit(1))


def page(
    session: Session,
    workspace: str,
    *,
    state: str | None = None,
    kind: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> tuple[list[Job], str | None]:
    """A page of jobs, newest first, all or those of one state or kind."""
    statement = select(Job).where(Job.workspace == workspace)
    if state is not None:
        statement = statement.where(Job.state == state)
    if kind is not None:
        statement = statement.where(Job.kind == kind)
    return page_of(session, statement, Job.created_at, Job.id, cursor, limit)


def queued_ids(session: Session, limit: int = 100) -> list[str]:
    """Ids of the jobs that wait, longest first."""
    statement = select(Job.id).where(Job.state == "queued").order_by(Job.created_at, Job.id)
    return list(session.scalars(statement.limit(limit)))


def unfinished_ids(session: Session) -> list[str]:
    """Ids of the jobs that wait or run."""
    return list(session.scalars(select(Job.id).where(Job.state.in_(UNFINISHED)).order_by(Job.created_at, Job.id)))


def first_unfinished_id(session: Session) -> str | None:
    """Id of the job of any workspace that was submitted first of those that have not ended."""
    statement = select(Job.id).where(Job.state.in_(UNFINISHED)).order_by(Job.created_at, Job.id)
    return session.scalar(statement.limit(1))


def unfinished_before(session: Session, job: Job) -> list[Job]:
    """The jobs of any workspace that were submitted before one and wait or run, without those that are to stop."""
    is_before = or_(Job.created_at < job.created_at, and_(Job.created_at == job.created_at, Job.id < job.id))
    statement = select(Job).where(Job.state.in_(UNFINISHED), Job.cancel_requested.is_(False), is_before)
    return list(session.scalars(statement.order_by(Job.created_at, Job.id)))


def cancel_requested_ids(session: Session) -> list[str]:
    """Ids of the jobs that somebody asked to stop and that have not stopped."""
    return list(session.scalars(select(Job.id).where(Job.state.in_(UNFINISHED), Job.cancel_requested.is_(True))))


def final_ids(session: Session, job_ids: Iterable[str]) -> list[str]:
    """Those of ``job_ids`` that have ended or were deleted."""
    asked = set(job_ids)
    if not asked:
        return []
    running = session.scalars(select(Job.id).where(Job.id.in_(asked), Job.state.in_(UNFINISHED)))
    return sorted(asked - set(running))


def unfinished(session: Session, job_id: str) -> Job | None:
    """The job if it has not ended, locked until the transaction ends; else None."""
    statement = select(Job).where(Job.id == job_id, Job.state.in_(UNFINISHED)).with_for_update()
    return session.scalar(statement.execution_options(populate_existing=True))


def set_state(
    session: Session,
    job_id: str,
    state: str,
    *,
    worker: str | None = None,
    result: Mapping[str, Any] | None = None,
    error: Mapping[str, Any] | None = None,
) -> bool:
    """Move a job to a state, if it may enter that from where it stands, and add the event.

    Returns:
        Whether it moved. False: it has ended already, was there before, or does not exist.
    """
    now = time.time()
    values: dict[str, Any] = {"state": str(state)}
    if state == "running":
        values |= {"started_at": now, "worker": worker}
    else:
        values |= {"finished_at": now, "result": _plain(result), "error": _plain(error), "message": ""}
    if state == "succeeded":
        values |= {"progress": 1.0}
    statement = update(Job).where(Job.id == job_id, Job.state.in_(SOURCES[state])).values(**values)
    if affected(session.execute(statement)) != 1:
        return False
    data: dict[str, Any] = {"state": str(state)}
    add_event(session, job_id, "state", data if error is None else data | {"error": dict(error)})
    return True


def _plain(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if value is None else dict(value)


def set_worker(session: Session, job_id: str, worker: str) -> bool:
    """Note that another worker goes on with a running job; returns whether it still runs."""
    return (
        affected(session.execute(update(Job).where(Job.id == job_id, Job.state == "running").values(worker=worker)))
        == 1
    )


def request_cancel(session: Session, workspace: str, job_id: str) -> Job:
    """Ask for a job's end: one that waits is cancelled at once, one that runs is marked for its worker.

    Returns:
        The job as it now stands; one that has ended is left as it is.

    Raises:
        NotFound: the workspace has none with this id.
    """
    job = get(session, workspace, job_id)
    mark = update(Job).where(Job.id == job_id, Job.state.in_(UNFINISHED)).values(cancel_requested=True)
    if affected(session.execute(mark)) == 1 and find_state(session, job_id) == "queued":
        set_state(session, job_id, "cancelled")
    session.refresh(job)
    return job


def find_state(session: Session, job_id: str) -> str | None:
    """The state of a job, or None."""
    return session.scalar(select(Job.state).where(Job.id == job_id))


def set_progress(session: Session, job_id: str, progress: float, message: str) -> bool:
    """Note how far a running job is (0 to 1), and add the event; returns whether it still runs."""
    statement = update(Job).where(Job.id == job_id, Job.state == "running").values(progress=progress, message=message)
    if affected(session.execute(statement)) != 1:
        return False
    add_event(session, job_id, "progress", {"progress": progress, "message": message})
    return True


def delete(session: Session, workspace: str, job_id: str) -> None:
    """Delete a job that has ended, with its parts and events; a version that it registered stays.

    Raises:
        NotFound: there is none. Conflict: it has not ended.
    """
    job = get(session, workspace, job_id)
    statement = sql_delete(Job).where(Job.id == job_id, Job.state.in_(FINAL))
    if affected(session.execute(statement.execution_options(synchronize_session=False))) != 1:
        raise Conflict(f"Job {job_id} is {job.state}; cancel it first.")
