"""Rows to test with."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from sqlalchemy import func, select

from service import registry
from service.store import datasets, jobs
from service.store.engines import database_now, insert_once
from service.store.session import Store
from service.store.tables import Base, Blob, Dataset, Job, ModelVersion

WORKSPACE = "default"
SPAWN = get_context("spawn")


def make_blob(store: Store, data: bytes = b"data") -> str:
    """The row of a blob whose chunks nobody will read."""
    sha256 = hashlib.sha256(data).hexdigest()
    with store.begin() as session:
        values = {"sha256": sha256, "content": sha256, "size": len(data), "n_chunks": 1, "put_at": database_now()}
        insert_once(session, Blob, values)
    return sha256


def make_dataset(store: Store, name: str = "flowers", **values: Any) -> Dataset:
    blob = "" if {"raw_sha256", "table_sha256"} <= values.keys() else make_blob(store)
    row = {
        "workspace": WORKSPACE,
        "name": name,
        "format": "csv",
        "options": {},
        "raw_sha256": blob,
        "table_sha256": blob,
        "n_rows": 3,
        "n_columns": 1,
        "columns": [{"name": "width", "kind": "numeric"}],
        "profile": [],
        "warnings": [],
    }
    with store.begin() as session:
        return datasets.insert(session, **(row | values))


def make_job(store: Store, dataset: Dataset, **options: Any) -> Job:
    with store.begin() as session:
        return jobs.insert_or_get(session, WORKSPACE, "train", {"learner": "tree"}, dataset.id, **options)[0]


def register(store: Store, name: str, job_id: str, dataset_id: str | None = None, **options: Any) -> ModelVersion:
    blob = make_blob(store, b"model")
    with store.begin() as session:
        return registry.register(session, WORKSPACE, name, job_id, **version_values(blob, dataset_id), **options)


def version_values(blob: str, dataset_id: str | None = None) -> dict[str, Any]:
    return {
        "dataset_id": dataset_id,
        "blob_sha256": blob,
        "learner": "tree",
        "task": "classification",
        "parameters": {},
        "schema": {},
        "lineage": {"dataset": dataset_id},
        "metrics": {},
    }


def count(store: Store, table: type[Base]) -> int:
    with store.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def kill_in_the_middle(target: Callable[..., None], *arguments: Any) -> None:
    """Run ``target(pipe, *arguments)`` in a process and kill -9 it as soon as it has sent something."""
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=target, args=(theirs, *arguments))
    process.start()
    theirs.close()
    assert ours.recv() == "in the middle"
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    ours.close()


def stop_here(pipe: Connection) -> None:
    """Tell that the middle is reached, and wait for the end."""
    pipe.send("in the middle")
    pipe.recv()
