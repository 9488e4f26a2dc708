"""Heartbeats of workers, by the database's clock, so that hosts need not agree on the time."""

from __future__ import annotations

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from service.store.engines import database_now, upsert
from service.store.tables import Worker


def beat(session: Session, worker_id: str, host: str, pid: int) -> None:
    """Say that a worker lives."""
    values = {"id": worker_id, "host": host, "pid": pid, "started_at": database_now(), "seen_at": database_now()}
    upsert(session, Worker, values, {"seen_at": database_now()})


def remove(session: Session, worker_id: str) -> None:
    """Take a worker that ends in order off the list."""
    session.execute(delete(Worker).where(Worker.id == worker_id))


def known(session: Session) -> list[str]:
    """Ids of all workers that did not end in order."""
    return list(session.scalars(select(Worker.id).order_by(Worker.id)))


def alive(session: Session, seconds: float = 15.0) -> list[str]:
    """Ids of the workers whose last heartbeat is younger than ``seconds``."""
    return list(session.scalars(select(Worker.id).where(Worker.seen_at > database_now() - seconds).order_by(Worker.id)))


def dead(session: Session, seconds: float = 15.0) -> list[str]:
    """Ids of the workers whose last heartbeat is at least ``seconds`` old."""
    return list(
        session.scalars(select(Worker.id).where(Worker.seen_at <= database_now() - seconds).order_by(Worker.id))
    )


def forget(session: Session, seconds: float) -> int:
    """Delete the heartbeats that are at least ``seconds`` old; returns how many."""
    gone = session.scalars(delete(Worker).where(Worker.seen_at <= database_now() - seconds).returning(Worker.id))
    return len(gone.all())
