"""A worker as the service runs it, but with the small parts of :mod:`tests.service.jobs.tasks`."""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import sqlite3
import sys
import threading
from pathlib import Path

import psycopg
import sqlalchemy
from dbos._sys_db import SystemDatabase
from sqlalchemy import event

from service.jobs import workflows
from service.jobs.engine import Engine
from service.jobs.runner import Work
from service.settings import Settings
from service.store.session import Store
from service.worker import engine_options, exclusive_lock
from tests.service.jobs import tasks

#: While a file of this name lies in the data folder, no database of the process can be written to.
FULL = "full"
#: While this one does, the ends of workflows are not stored, by an error that nobody foresaw.
ENDLESS = "endless"
_WRITES = ("INSERT", "UPDATE", "DELETE")


def break_on_demand(folder: Path) -> None:
    """Make the databases fail while a test says so."""
    full, endless = folder / FULL, folder / ENDLESS
    end = SystemDatabase.update_workflow_outcome

    def refuse_writes(cursor, statement, *_):
        if statement.lstrip().upper().startswith(_WRITES) and full.exists():
            raise disk_full(cursor)

    def refuse_ends(*args, **options):
        if endless.exists():
            raise RuntimeError("the end cannot be stored")
        return end(*args, **options)

    event.listen(sqlalchemy.Engine, "do_execute", refuse_writes)
    event.listen(sqlalchemy.Engine, "do_executemany", refuse_writes)
    SystemDatabase.update_workflow_outcome = refuse_ends


def disk_full(cursor) -> Exception:
    """What the driver of a cursor raises where the disk of its database is full."""
    if not isinstance(cursor, sqlite3.Cursor):
        return psycopg.errors.DiskFull("could not extend file: No space left on device")
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


def main():
    settings = Settings.model_validate_json(sys.stdin.read())
    break_on_demand(settings.data)
    workflows.PART_RECOVERIES = int(sys.argv[1])
    logging.basicConfig(level=logging.INFO)
    faulthandler.register(signal.SIGUSR1)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopping.set())
    with exclusive_lock(settings.store_url):
        store = Store(settings.store_url)
        work = Work(tasks.plan, tasks.expected, tasks.finish, {})
        engine = Engine(store, work, tasks.perform_part, engine_options(settings))
        engine.start()
        sys.stdout.write(f"ready {engine.worker_id}\n")
        sys.stdout.flush()
        stopping.wait()
        engine.hand_over()
        os._exit(0)
