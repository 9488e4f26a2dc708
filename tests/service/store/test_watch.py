"""A commit of anybody else is seen, once; where it cannot be told cheaply it is not."""

from __future__ import annotations

from service.store import changes
from service.store.session import Store
from service.store.watch import Watch


def test_a_commit_is_seen_once_and_a_look_is_none(database_url):
    store, other = Store(database_url), Store(database_url)
    watch = Watch(store)
    watch.has_changed()
    assert not watch.has_changed()
    with other.read() as session:
        changes.counters(session)
    assert not watch.has_changed()
    with other.begin() as session:
        changes.bump(session, "topic")
    assert watch.has_changed() is (store.dialect == "sqlite")
    assert not watch.has_changed()
    watch.close()
    store.dispose()
    other.dispose()


def test_where_it_cannot_be_told_it_may_be(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'store.sqlite3'}")
    watch = Watch(store)
    (tmp_path / "store.sqlite3").write_bytes(b"no database at all" * 100)
    assert watch.has_changed()
    watch.close()
    store.dispose()
