"""Counters that tell other processes that something moved; read a few times a second."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.store.engines import upsert
from service.store.tables import Change

REGISTRY = "registry"  # models, versions, aliases
KEYS = "keys"


def bump(session: Session, topic: str) -> None:
    """Raise a topic's counter within the transaction that changes the thing."""
    upsert(session, Change, {"topic": topic, "counter": 1}, {"counter": Change.counter + 1})


def counters(session: Session) -> dict[str, int]:
    """The counters of all topics that ever changed."""
    return dict(session.execute(select(Change.topic, Change.counter)).all())
