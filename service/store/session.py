"""The store: transactions on SQLite or PostgreSQL, and bringing its tables up to date."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import Connection, event, inspect, text
from sqlalchemy.orm import Session

from service.errors import Unavailable
from service.store.engines import make_engine
from service.store.failures import RETRY_AFTER, translated
from service.store.migrations import HEAD

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry

#: Key of PostgreSQL's advisory lock that lets one process at a time migrate ("rulewood" in ASCII).
_MIGRATION_LOCK = 0x72756C65776F6F64


class Store:
    """One database. Threads may share it; each process makes its own.

    Args:
        url: ``sqlite:///FILE`` or ``postgresql://USER:PASSWORD@HOST/NAME``.
        wait_seconds: longest wait for a lock, a connection or a place in the pool; then
            :class:`service.errors.Unavailable`.

    Raises:
        ValueError: the URL names something else.
    """

    def __init__(self, url: str, *, wait_seconds: float = 5.0) -> None:
        self.engine = make_engine(url, wait_seconds)
        self.dialect = self.engine.dialect.name
        self._writing = self.engine.execution_options(writes=True)

    @contextmanager
    def begin(self) -> Iterator[Session]:
        """A write transaction, committed at the end, rolled back on an exception.

        Objects stay readable after it. Keep it short: on SQLite it is the only writer while it lasts.

        Raises:
            Unavailable: locked or out of reach. StorageFull: no space. Invalid: a text with a NUL.
        """
        opened = Session(self._writing, expire_on_commit=False)
        with translated(), opened as session, session.begin(), self._dropped_on_error(session):
            yield session

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A transaction that only reads and never waits for a writer; same errors as :meth:`begin`."""
        with translated(), Session(self.engine, expire_on_commit=False) as session, self._dropped_on_error(session):
            yield session

    @contextmanager
    def _dropped_on_error(self, session: Session) -> Iterator[None]:
        """Give no SQLite connection back to the pool after an exception.

        A cursor that was read half and is kept alive (by the exception's own traceback) holds the
        connection's snapshot open even after a rollback: its next user would read the past.
        """
        try:
            yield
        except BaseException:
            if self.dialect == "sqlite":
                session.invalidate()
            raise

    def is_current(self) -> bool:
        """Whether the tables are those that this version of the service uses.

        Raises:
            Unavailable: the store cannot be reached.
        """
        with translated(), self.engine.connect() as connection:
            return _revision(connection) == HEAD

    def upgrade(self) -> None:
        """Bring the tables up to date, all or nothing; several processes may do so at once.

        Raises:
            Unavailable: out of reach, or written by a newer version of the service.
        """
        if self.is_current():
            return
        with translated(), self.engine.connect().execution_options(writes=True) as connection:
            if self.dialect == "sqlite":
                _upgrade_sqlite(connection)
            else:
                _upgrade_postgresql(connection)

    def dispose(self) -> None:
        """Close all connections: at once those that wait, and each that is in use when it is given back."""
        pool = self.engine.pool
        self.engine.dispose()
        event.listen(pool, "checkin", _close)
        pool.dispose()  # what was given back meanwhile


def _close(_connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
    record.invalidate()


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return None if revision is None else str(revision)


def _upgrade_sqlite(connection: Connection) -> None:
    """Migrate under the write lock. Tables are copied to be changed, so foreign keys wait until the end."""
    driver = connection.connection.driver_connection
    if driver is None:
        raise Unavailable("The store cannot be reached.", headers=RETRY_AFTER)
    driver.execute("PRAGMA foreign_keys=OFF")
    try:
        with connection.begin():
            _migrate(connection)
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
            if broken:
                raise RuntimeError(f"the migration would break foreign keys: {broken[:5]}")
    finally:
        driver.execute("PRAGMA foreign_keys=ON")


def _upgrade_postgresql(connection: Connection) -> None:
    with connection.begin():
        connection.execute(text("SET LOCAL lock_timeout = 0"))
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
        _migrate(connection)


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.util import CommandError

    config = migration_config()
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise Unavailable(
            f"The store was written by another version of Rulewood (revision {_revision(connection)}, "
            f"this one knows up to {HEAD}): {error}"
        ) from error


def migration_config() -> Config:
    """Alembic's configuration, without a file: the scripts lie in the package."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "service.store:migrations")
    config.set_main_option("path_separator", "os")
    return config
