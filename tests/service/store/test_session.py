"""Transactions, and what happens when the database cannot."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url, select, text
from sqlalchemy.exc import IntegrityError

from service.errors import Invalid, StorageFull, Unavailable
from service.store import changes, workers
from service.store.engines import MAX_OVERFLOW, POOL_SIZE, database_now
from service.store.session import Store
from service.store.tables import BlobChunk, Change, Worker
from tests.postgres import Postgres
from tests.service.store.making import count, make_dataset


@pytest.fixture
def impatient(database_url: str) -> Iterator[Store]:
    store = Store(database_url, wait_seconds=0.3)
    yield store
    store.dispose()


def _bump(store: Store) -> None:
    with store.begin() as session:
        changes.bump(session, "topic")


def test_begin_commits_and_rolls_back(store: Store) -> None:
    _bump(store)
    with pytest.raises(ZeroDivisionError), store.begin() as session:
        changes.bump(session, "topic")
        raise ZeroDivisionError
    with store.read() as session:
        assert changes.counters(session) == {"topic": 1}


def test_silent_connections_to_postgresql_are_given_up(postgres: Postgres) -> None:
    """What libpq was told, as it tells it back; nothing here can silence a host."""
    address = postgres.make_database(migrated=False)
    own = make_url(address).update_query_dict({"keepalives_idle": "77"})
    store = Store(own.render_as_string(hide_password=False))
    connection = store.engine.raw_connection()
    told = connection.driver_connection.info.get_parameters()
    connection.close()
    store.dispose()
    postgres.drop_database(address)
    names = ("keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout")
    assert [told.get(name) for name in names] == ["77", "5", "3", "25000"]


def test_objects_stay_readable_after_the_transaction(store: Store) -> None:
    assert make_dataset(store).columns[0]["name"] == "width"


def test_other_errors_pass_as_they_are(store: Store) -> None:
    with pytest.raises(IntegrityError), store.begin() as session:
        session.add_all([Change(topic="a", counter=1), Change(topic="a", counter=2)])


@pytest.mark.parametrize("bad", ["a\0b", "\ud800", "x" * 50 + "\0"])
def test_text_that_postgresql_cannot_hold_is_invalid_on_both(store: Store, bad: str) -> None:
    for values in ({"name": bad}, {"options": {"k": [bad]}}, {"columns": [{bad: 1}]}, {"warnings": [bad]}):
        with pytest.raises(Invalid) as caught:
            make_dataset(store, **values)
        assert len(caught.value.faults) == 1
    with pytest.raises(Invalid), store.read() as session:
        session.scalar(select(Worker).where(Worker.id == bad))


def test_numbers_that_json_has_not_are_invalid(store: Store) -> None:
    with pytest.raises(Invalid):
        make_dataset(store, options={"x": float("nan")})


def test_json_comes_back_as_it_went_in(store: Store) -> None:
    """Key order, the sign of zero, float against int, and texts that look like an escaped NUL."""
    value = {"z": -0.0, "a": 1e22, "m": 1, "f": 1.0, "t": "\\u0000 ünï 😀", "n": None, "deep": [[{}]], "s": 5e-324}
    made = make_dataset(store, options=value)
    with store.read() as session:
        back = session.get(type(made), made.id).options
    assert repr(back) == repr(value)


def test_the_databases_clock_is_utc_and_moves(store: Store) -> None:
    with store.begin() as session:
        first = session.scalars(select(database_now())).one()
        time.sleep(0.01)
        second = session.scalars(select(database_now())).one()
    assert isinstance(first, float)
    assert abs(first - time.time()) < 60
    assert first < second < first + 60


@contextmanager
def _locked(store: Store) -> Iterator[None]:
    """Another writer that does not end."""
    with store.begin() as session:
        workers.beat(session, "lock", "host", 1)
        if store.dialect == "postgresql":
            session.execute(text("LOCK TABLE changes IN ACCESS EXCLUSIVE MODE"))
        yield


def test_a_locked_store_is_unavailable_and_heals(store: Store, impatient: Store) -> None:
    with _locked(store):
        with pytest.raises(Unavailable) as caught:
            _bump(impatient)
        assert int(caught.value.headers["Retry-After"]) > 0
        with impatient.read() as session:  # readers do not wait for the writer
            assert workers.known(session) == []
    _bump(impatient)


def test_writers_wait_for_each_other(database_url: str) -> None:
    store = Store(database_url, wait_seconds=30)

    def work() -> None:
        for _ in range(10):
            with store.begin() as session:
                seen = changes.counters(session).get("topic", 0)
                changes.bump(session, "topic")
                assert changes.counters(session)["topic"] > seen

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as session:
        assert changes.counters(session) == {"topic": 80}
    store.dispose()


def test_a_connection_that_is_in_use_is_closed_when_it_comes_back(database_url: str) -> None:
    store = Store(database_url)
    held = store.engine.connect()
    driver = held.connection.driver_connection
    store.dispose()
    assert held.scalar(text("SELECT 1")) == 1  # whoever uses it still may
    held.close()
    assert driver is not None
    with pytest.raises((sqlite3.ProgrammingError, psycopg.OperationalError), match="closed"):
        driver.execute("SELECT 1")
    with store.read() as session:  # a store that is asked again opens others
        assert changes.counters(session) == {}
    store.dispose()


def test_an_exhausted_pool_is_unavailable(impatient: Store) -> None:
    most = POOL_SIZE + MAX_OVERFLOW[impatient.dialect]
    held = [impatient.engine.connect() for _ in range(most)]
    with pytest.raises(Unavailable, match="in use"):
        _bump(impatient)
    for connection in held:
        connection.close()
    _bump(impatient)


def test_a_store_out_of_reach_is_unavailable(tmp_path: Path) -> None:
    occupied = tmp_path / "occupied.sqlite3"
    occupied.mkdir()
    for url in (f"sqlite:///{occupied}", "postgresql://nobody@127.0.0.1:1/none"):
        store = Store(url, wait_seconds=1)
        with pytest.raises(Unavailable):
            store.is_current()
        with pytest.raises(Unavailable):
            store.upgrade()
        with pytest.raises(Unavailable):
            _bump(store)
        store.dispose()


def test_a_full_disk_is_told_and_changes_nothing(store: Store) -> None:
    with pytest.raises(StorageFull) as caught, store.begin() as session:
        changes.bump(session, "topic")
        if store.dialect == "sqlite":
            pages = session.execute(text("PRAGMA page_count")).scalar_one()
            session.execute(text(f"PRAGMA max_page_count = {pages}"))
            session.add(BlobChunk(content="c", position=0, data=bytes(1_000_000)))
            session.flush()
        else:
            session.execute(text("DO $$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = 'disk_full'; END $$"))
    assert "Retry-After" in caught.value.headers
    assert count(store, Change) == 0


def test_a_read_only_store_is_unavailable(store: Store) -> None:
    with pytest.raises(Unavailable), store.begin() as session:
        if store.dialect == "sqlite":
            session.execute(text("PRAGMA query_only = ON"))
        else:
            session.execute(text("SET TRANSACTION READ ONLY"))
        changes.bump(session, "topic")


def test_lost_connections_are_replaced(postgres: Postgres) -> None:
    database_url = postgres.make_database()
    store = Store(database_url)
    _bump(store)
    other = Store(database_url)
    kill = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid()"
    )
    with other.begin() as session:
        session.execute(kill)
    _bump(store)  # the pool notices before use
    with pytest.raises(Unavailable), store.begin() as session:
        changes.bump(session, "topic")
        with other.begin() as killer:
            killer.execute(kill)
        changes.bump(session, "topic")
    with store.read() as session:
        assert changes.counters(session) == {"topic": 2}
    store.dispose()
    other.dispose()
    postgres.drop_database(database_url)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql+pymysql://h/d"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="store"):
        Store(url)


def test_sqlite_is_set_up_to_last(migrated_sqlite: Path) -> None:
    store = Store(f"sqlite:///{migrated_sqlite}")
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5000, "auto_vacuum": 2}
    with store.read() as session:
        assert {name: session.execute(text(f"PRAGMA {name}")).scalar_one() for name in wanted} == wanted
    store.dispose()


def test_a_half_read_cursor_kept_by_an_exception_leaves_no_stale_reader(store: Store) -> None:
    with store.begin() as session:
        for name in ("a", "b", "c"):
            session.add(Change(topic=name, counter=0))
    kept = []
    try:
        with store.read() as session:
            kept.append(session.execute(select(Change.topic)))
            raise ZeroDivisionError
    except ZeroDivisionError as error:
        kept.append(error)
    with store.begin() as session:
        session.get_one(Change, "a").counter = 7
    with store.read() as session:
        assert session.get_one(Change, "a").counter == 7
