"""Heartbeats go by the database's clock; counters move with what they tell of."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from service.store import changes, workers
from service.store.session import Store
from service.store.tables import Worker


def test_heartbeats(store: Store) -> None:
    with store.begin() as session:
        for name in ("a", "b"):
            workers.beat(session, name, "host", 1)
        session.execute(update(Worker).where(Worker.id == "b").values(seen_at=Worker.seen_at - 20))
    with store.begin() as session:
        assert workers.known(session) == ["a", "b"]
        assert (workers.alive(session, 15), workers.dead(session, 15)) == (["a"], ["b"])
        workers.beat(session, "b", "host", 1)
        assert workers.dead(session, 15) == []
        started, seen = session.execute(Worker.__table__.select().where(Worker.id == "b")).one()[3:5]
        assert started <= seen
        workers.remove(session, "a")
        assert workers.known(session) == ["b"]
        assert workers.forget(session, 3600) == 0
        session.execute(update(Worker).values(seen_at=0.0))
        assert workers.forget(session, 3600) == 1


def test_counters_move_only_with_their_transaction(store: Store) -> None:
    with store.begin() as session:
        assert changes.counters(session) == {}
        changes.bump(session, changes.KEYS)
        changes.bump(session, changes.KEYS)
        changes.bump(session, changes.REGISTRY)
    with pytest.raises(RuntimeError), store.begin() as session:
        changes.bump(session, changes.KEYS)
        raise RuntimeError
    with store.read() as session:
        assert changes.counters(session) == {"keys": 2, "registry": 1}
