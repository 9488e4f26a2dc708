"""Where SQLite and PostgreSQL differ: connecting, beginning, the clock, and inserting once.

SQLite: write-ahead log, so that readers never wait; ``synchronous=FULL``, because an acknowledged upload
or job must also outlive a power cut, which NORMAL does not promise (it may lose the last commits), and
one fsync per commit is cheap beside what a request or a fold costs. Write transactions begin IMMEDIATE:
a transaction that reads first and writes later would fail at once when another one wrote in between.
"""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import URL, Connection, CursorResult, Engine, Float, Result, create_engine, event, inspect, make_url
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.sql.functions import FunctionElement

from service.store.checked import dump_json
from service.store.tables import Base

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

#: Most connections of one process: a request thread holds one only while its query runs.
POOL_SIZE = 5
MAX_OVERFLOW = {"sqlite": 35, "postgresql": 5}  # SQLite's are open files, PostgreSQL's are server processes
_STATEMENT_SECONDS = 60
_VACUUM_PAGES = 1024
#: By which libpq gives a connection up whose other end is silent for some 25 s: a host that is gone closes none, and by
#: default that is found out after two hours.
_SILENCE = {"keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3", "tcp_user_timeout": "25000"}

Value = TypeVar("Value")


#: With less than this on its disk SQLite cannot take a result.
_LEAST_ROOM = 1 << 20


def make_engine(address: str, wait_seconds: float) -> Engine:
    """An engine for ``sqlite:///FILE`` or ``postgresql://...``; nothing is connected yet.

    Args:
        address: the database's URL.
        wait_seconds: how long to wait for a lock, a connection or a place in the pool.

    Raises:
        ValueError: another kind of database, or SQLite in memory (processes could not share it).
    """
    url = make_url(address)
    backend = url.get_backend_name()
    if backend == "sqlite":
        return _sqlite_engine(url, wait_seconds)
    if backend == "postgresql":
        return _postgresql_engine(url, wait_seconds)
    raise ValueError(f"the store is sqlite:///FILE or postgresql://..., not {backend!r}")


def without_silence(url: URL) -> URL:
    """A PostgreSQL URL by which no silent connection is waited for; parameters that it has itself stay."""
    return url.update_query_dict({name: value for name, value in _SILENCE.items() if name not in url.query})


def _sqlite_engine(url: URL, wait_seconds: float) -> Engine:
    if not url.database or url.database == ":memory:":
        raise ValueError("the store needs a file: sqlite:///FILE; one in memory cannot be shared by processes")
    Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        url.set(drivername="sqlite+pysqlite"),
        connect_args={"timeout": wait_seconds},
        pool_size=POOL_SIZE,
        max_overflow=MAX_OVERFLOW["sqlite"],
        pool_timeout=wait_seconds,
        json_serializer=dump_json,
    )
    event.listen(engine, "connect", lambda connection, _record: _prepare_sqlite(connection, wait_seconds))
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, wait_seconds: float) -> None:
    connection.isolation_level = None  # BEGIN is sent by _begin_sqlite and not by the driver
    if connection.execute("PRAGMA page_count").fetchone() == (0,):
        # A new file. Let room of deleted blobs be returned to the disk; in an old file this would wait for writers.
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    _enter_wal(connection, wait_seconds)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA secure_delete=FAST")  # ON (some builds' default) rewrites every page of a deleted blob
    connection.execute("PRAGMA journal_size_limit=67108864")


def _enter_wal(connection: sqlite3.Connection, wait_seconds: float) -> None:
    """Switch the file to the write-ahead log; SQLite's own waiting does not cover this switch."""
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            busy = (error.sqlite_errorcode & 0xFF) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not busy or time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    kind = "IMMEDIATE" if connection.get_execution_options().get("writes") else "DEFERRED"
    connection.exec_driver_sql(f"BEGIN {kind}")


def _postgresql_engine(url: URL, wait_seconds: float) -> Engine:
    timeouts = {
        "statement_timeout": _STATEMENT_SECONDS,
        "lock_timeout": wait_seconds,
        "idle_in_transaction_session_timeout": _STATEMENT_SECONDS,
    }
    options = " ".join(f"-c {name}={round(seconds * 1000)}" for name, seconds in timeouts.items())
    return create_engine(
        without_silence(url.set(drivername="postgresql+psycopg")),
        connect_args={
            "connect_timeout": max(2, round(wait_seconds)),
            "application_name": "rulewood",
            "options": options,
        },
        pool_size=POOL_SIZE,
        max_overflow=MAX_OVERFLOW["postgresql"],
        pool_timeout=wait_seconds,
        pool_pre_ping=True,
        json_serializer=dump_json,
    )


class database_now(FunctionElement[float]):  # noqa: N801 - reads like the SQL function that it is
    """The database's clock in UTC seconds: one clock for all hosts. Moves on within a transaction."""

    type = Float()
    inherit_cache = True


@compiles(database_now, "sqlite")
def _sqlite_now(_element: Any, _compiler: Any, **_options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(database_now, "postgresql")
def _postgresql_now(_element: Any, _compiler: Any, **_options: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


def _insert(session: Session, table: type[Base], values: Mapping[str, Any]) -> postgresql.Insert | sqlite.Insert:
    if session.get_bind().dialect.name == "sqlite":
        return sqlite.insert(table).values(**values)
    from sqlalchemy.dialects import postgresql  # a service on SQLite starts without it

    return postgresql.insert(table).values(**values)


def insert_once(session: Session, table: type[Base], values: Mapping[str, Any]) -> bool:
    """Insert a row unless one with a key of it is there; tell whether it was inserted."""
    statement = _insert(session, table, values).on_conflict_do_nothing().returning(*inspect(table).primary_key)
    return session.execute(statement).first() is not None


def upsert(session: Session, table: type[Base], values: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Insert a row or, where one with its primary key is there, change that one; never a race."""
    session.execute(_upsert(session, table, values, changes))


def upsert_returning(
    session: Session,
    table: type[Base],
    values: Mapping[str, Any],
    changes: Mapping[str, Any],
    column: InstrumentedAttribute[Value],
) -> Value:
    """The same, and a column of the row that is there in the end."""
    return session.scalars(_upsert(session, table, values, changes).returning(column)).one()


def _upsert(
    session: Session, table: type[Base], values: Mapping[str, Any], changes: Mapping[str, Any]
) -> postgresql.Insert | sqlite.Insert:
    statement = _insert(session, table, values)
    return statement.on_conflict_do_update(index_elements=list(inspect(table).primary_key), set_=dict(changes))


def return_space(engine: Engine) -> None:
    """Give the room of deleted rows back to the disk: a few pages at a time, so that writers get their turn.

    PostgreSQL does so by itself (autovacuum).
    """
    if engine.dialect.name != "sqlite":
        return
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        if driver is None:
            return
        before = -1
        while (free := driver.execute("PRAGMA freelist_count").fetchone()[0]) not in (0, before):
            before = free
            # A script, because execute() takes only the first of the pragma's steps: one page.
            driver.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
            time.sleep(0.005)


def has_room(session: Session) -> bool:
    """Whether the disk of the store takes something; of PostgreSQL's nothing is known before it is tried."""
    url = session.get_bind().engine.url
    if url.get_backend_name() != "sqlite" or not url.database:
        return True
    try:
        return shutil.disk_usage(Path(url.database).parent).free >= _LEAST_ROOM
    except OSError:
        return True


def affected(result: Result[Any]) -> int:
    """How many rows a statement changed."""
    return result.rowcount if isinstance(result, CursorResult) else 0
