"""What a running job leaves behind: its events, in order, and the results of its parts, each once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from service.store.engines import insert_once
from service.store.tables import Job, JobEvent, JobPart


def add_event(session: Session, job_id: str, kind: str, data: Mapping[str, Any]) -> int | None:
    """Append an event to a job's list; kind is state, progress, part or log.

    The job's counter gives the position. Its row stays locked until the transaction ends, so whoever has
    seen position k has seen all before it.

    Returns:
        The position, from 1 on, or None if there is no such job.
    """
    raise_counter = update(Job).where(Job.id == job_id).values(n_events=Job.n_events + 1).returning(Job.n_events)
    position = session.scalar(raise_counter.execution_options(synchronize_session=False))
    if position is not None:
        session.add(JobEvent(job_id=job_id, position=position, kind=kind, data=dict(data), created_at=time.time()))
        session.flush()
    return position


def events_after(session: Session, job_id: str, position: int = 0, limit: int = 1000) -> list[JobEvent]:
    """A job's events after a position, in order."""
    statement = select(JobEvent).where(JobEvent.job_id == job_id, JobEvent.position > position)
    return list(session.scalars(statement.order_by(JobEvent.position).limit(limit)))


def put_part(session: Session, job_id: str, part: str, result: Mapping[str, Any]) -> bool:
    """Store the result of a part, once, and add the event without the result's bulk, but with its ``failure``.

    A result with a ``blob_sha256`` keeps that blob stored as long as the job has not ended, and one of a
    prediction or of answers out of fold, which are to be downloaded, as long as the job is there.

    Returns:
        Whether it was stored. False: the part has a result (which stays) or the job was deleted.
    """
    if session.scalar(select(Job.id).where(Job.id == job_id).with_for_update()) is None:
        return False
    values = {
        "job_id": job_id,
        "part": part,
        "result": dict(result),
        "blob_sha256": result.get("blob_sha256"),
        "created_at": time.time(),
    }
    if not insert_once(session, JobPart, values):
        return False
    add_event(session, job_id, "part", {"part": part} | {name: result[name] for name in ("failure",) if name in result})
    return True


def has_part(session: Session, job_id: str, part: str) -> bool:
    """Whether the part has a result."""
    return session.scalar(select(JobPart.part).where(JobPart.job_id == job_id, JobPart.part == part)) is not None


def parts(session: Session, job_id: str) -> dict[str, dict[str, Any]]:
    """The results of a job's parts so far, in the order in which they came."""
    statement = select(JobPart.part, JobPart.result).where(JobPart.job_id == job_id)
    rows = session.execute(statement.order_by(JobPart.created_at, JobPart.part))
    return dict(rows.all())


def count_parts(session: Session, job_id: str) -> int:
    """How many parts of a job have a result."""
    return session.scalar(select(func.count()).select_from(JobPart).where(JobPart.job_id == job_id)) or 0
