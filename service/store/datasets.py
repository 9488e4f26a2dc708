"""Queries on datasets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, defer

from service.errors import Conflict, Fault, Invalid, NotFound
from service.store import jobs
from service.store.ids import new_id
from service.store.paging import page_of
from service.store.tables import Blob, Dataset, Job, Model, ModelVersion

#: Most references that a refusal names.
_SHOWN = 10


@dataclass(frozen=True)
class References:
    """What needs a dataset: versions as ``name:3`` and ids of unfinished jobs."""

    versions: list[str]
    jobs: list[str]

    def __bool__(self) -> bool:
        return bool(self.versions or self.jobs)


def insert(session: Session, **values: Any) -> Dataset:
    """Add a dataset whose blobs are stored; ``values`` are the columns of the table but id and created_at.

    Raises:
        Conflict: a blob of it was removed meanwhile.
    """
    wanted = {values["raw_sha256"], values["table_sha256"]}
    held = session.scalars(
        select(Blob.sha256).where(Blob.sha256.in_(wanted)).with_for_update(read=True, key_share=True)
    )
    if set(held) != wanted:
        raise Conflict("The data was removed while the dataset was being made; upload it again.")
    dataset = Dataset(id=new_id("ds"), created_at=time.time(), **values)
    session.add(dataset)
    session.flush()
    return dataset


def get(session: Session, workspace: str, dataset_id: str) -> Dataset:
    """One dataset.

    Raises:
        NotFound: the workspace has none with this id.
    """
    dataset = session.scalar(select(Dataset).where(Dataset.workspace == workspace, Dataset.id == dataset_id))
    if dataset is None:
        raise NotFound(f"There is no dataset {dataset_id[:64]!r}.")
    return dataset


def hold(session: Session, dataset_id: str) -> bool:
    """Whether the dataset is there, and then keep it from being deleted until the transaction ends."""
    statement = select(Dataset.id).where(Dataset.id == dataset_id).with_for_update(read=True, key_share=True)
    return session.scalar(statement) is not None


def page(
    session: Session, workspace: str, *, name: str | None = None, cursor: str | None = None, limit: int = 50
) -> tuple[list[Dataset], str | None]:
    """A page of datasets, newest first, all or those of one name. Their profiles are not loaded."""
    statement = select(Dataset).where(Dataset.workspace == workspace).options(defer(Dataset.profile))
    if name is not None:
        statement = statement.where(Dataset.name == name)
    return page_of(session, statement, Dataset.created_at, Dataset.id, cursor, limit)


def references(session: Session, dataset_id: str) -> References:
    """What needs the dataset now."""
    versions = session.execute(
        select(Model.name, ModelVersion.version)
        .join(Model, Model.id == ModelVersion.model_id)
        .where(ModelVersion.dataset_id == dataset_id)
        .order_by(Model.name, ModelVersion.version)
    )
    unfinished = select(Job.id).where(Job.dataset_id == dataset_id, Job.state.in_(jobs.UNFINISHED)).order_by(Job.id)
    return References([f"{name}:{version}" for name, version in versions], list(session.scalars(unfinished)))


def delete(session: Session, workspace: str, dataset_id: str, *, force: str | None = None) -> None:
    """Delete a dataset that nothing needs or, where ``force`` is its name, one that something needs.

    Forced, its unfinished jobs are cancelled, and the versions made from it stay: their lineage keeps
    its id and hash, only the link is emptied.

    Raises:
        NotFound: there is none. Conflict: something needs it. Invalid: ``force`` is not its name.
    """
    dataset = get(session, workspace, dataset_id)
    session.refresh(dataset, with_for_update=True)
    if force is not None and force != dataset.name:
        fault = Fault("give the dataset's own name", parameter="force", allowed=dataset.name, value=force[:64])
        raise Invalid("A forced deletion must name the dataset.", [fault])
    needed_by = references(session, dataset_id)
    if needed_by and force is None:
        raise _refusal(dataset, needed_by)
    for job_id in needed_by.jobs:
        jobs.request_cancel(session, workspace, job_id)
    session.delete(dataset)
    session.flush()


def _refusal(dataset: Dataset, needed_by: References) -> Conflict:
    faults = [Fault(f"model version {version} was made from it") for version in needed_by.versions]
    faults += [Fault(f"job {job_id} has not ended") for job_id in needed_by.jobs]
    return Conflict(
        f"Dataset {dataset.id} is needed by {len(needed_by.versions)} model versions and {len(needed_by.jobs)} "
        "unfinished jobs; give its name as `force` to delete it all the same.",
        faults[:_SHOWN],
        needed_by=len(faults),
    )
