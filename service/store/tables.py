"""The tables of the store, the same on SQLite and PostgreSQL. Changed only together with a migration.

Every resource carries its workspace. Times are UTC seconds as float64 (one type on both databases,
no time-zone loss); JSON columns hold strict JSON. Ids are texts with a prefix that tells their kind.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from service.store.checked import CheckedJson, CheckedText

BigInt = BigInteger().with_variant(Integer, "sqlite")


#: Every resource belongs to a workspace; this is the one there is as long as nobody makes others.
DEFAULT_WORKSPACE = "default"


class Base(DeclarativeBase):
    """The tables' registry. Constraints are named alike on both databases, so that migrations can name them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Blob(Base):
    """Content-addressed bytes, stored in chunks; complete once its row exists (written last).

    ``content`` names the chunks of the writer that came first; ``put_at`` is when somebody last put it.
    """

    __tablename__ = "blobs"
    sha256: Mapped[str] = mapped_column(CheckedText, primary_key=True)
    content: Mapped[str] = mapped_column(CheckedText, unique=True)
    size: Mapped[int] = mapped_column(BigInt)
    n_chunks: Mapped[int]
    put_at: Mapped[float] = mapped_column(Float)


class BlobChunk(Base):
    """A piece of a blob. Each writer has a ``content`` of its own, so that writers never mix."""

    __tablename__ = "blob_chunks"
    content: Mapped[str] = mapped_column(CheckedText, primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary)


class Dataset(Base):
    """An immutable table. ``raw_sha256`` is the upload as it came, ``table_sha256`` its typed form."""

    __tablename__ = "datasets"
    __table_args__ = (Index("ix_datasets_workspace_created", "workspace", "created_at"),)
    id: Mapped[str] = mapped_column(CheckedText, primary_key=True)
    workspace: Mapped[str] = mapped_column(CheckedText)
    name: Mapped[str] = mapped_column(CheckedText)
    parent_id: Mapped[str | None] = mapped_column(CheckedText)
    format: Mapped[str] = mapped_column(CheckedText)
    options: Mapped[dict[str, Any]] = mapped_column(CheckedJson)
    raw_sha256: Mapped[str] = mapped_column(ForeignKey("blobs.sha256"))
    table_sha256: Mapped[str] = mapped_column(ForeignKey("blobs.sha256"))
    n_rows: Mapped[int] = mapped_column(BigInt)
    n_columns: Mapped[int]
    columns: Mapped[list[dict[str, Any]]] = mapped_column(CheckedJson)  # Column.to_json + evidence
    profile: Mapped[list[dict[str, Any]]] = mapped_column(CheckedJson)
    warnings: Mapped[list[str]] = mapped_column(CheckedJson)
    created_at: Mapped[float] = mapped_column(Float)


class Job(Base):
    """A piece of work and what became of it. The API writes the row; workers find it by its state."""

    __tablename__ = "jobs"
    __table_args__ = (
        UniqueConstraint("workspace", "idempotency_key"),
        Index("ix_jobs_workspace_created", "workspace", "created_at"),
        Index("ix_jobs_state", "state"),
        Index("ix_jobs_dataset", "dataset_id"),
    )
    id: Mapped[str] = mapped_column(CheckedText, primary_key=True)
    workspace: Mapped[str] = mapped_column(CheckedText)
    kind: Mapped[str] = mapped_column(CheckedText)  # see service.schemas.jobs.JobKind
    state: Mapped[str] = mapped_column(CheckedText)  # see service.jobs.states
    request: Mapped[dict[str, Any]] = mapped_column(CheckedJson)
    request_sha256: Mapped[str] = mapped_column(CheckedText)
    idempotency_key: Mapped[str | None] = mapped_column(CheckedText)
    dataset_id: Mapped[str | None] = mapped_column(ForeignKey("datasets.id", ondelete="SET NULL"))  # None: deleted
    retry_of: Mapped[str | None] = mapped_column(CheckedText)
    progress: Mapped[float] = mapped_column(Float, default=0.0)
    message: Mapped[str] = mapped_column(CheckedText, default="")
    cancel_requested: Mapped[bool] = mapped_column(default=False)
    worker: Mapped[str | None] = mapped_column(CheckedText)
    n_events: Mapped[int] = mapped_column(default=0)
    result: Mapped[dict[str, Any] | None] = mapped_column(CheckedJson)
    error: Mapped[dict[str, Any] | None] = mapped_column(CheckedJson)
    created_at: Mapped[float] = mapped_column(Float)
    started_at: Mapped[float | None] = mapped_column(Float)
    finished_at: Mapped[float | None] = mapped_column(Float)


class JobPart(Base):
    """The result of one part of a job (a fold, the final fit); written once, kept over crashes."""

    __tablename__ = "job_parts"
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    part: Mapped[str] = mapped_column(CheckedText, primary_key=True)  # "fold-3", "fit"
    result: Mapped[dict[str, Any]] = mapped_column(CheckedJson)
    blob_sha256: Mapped[str | None] = mapped_column(ForeignKey("blobs.sha256", ondelete="SET NULL"))  # a fitted model
    created_at: Mapped[float] = mapped_column(Float)


class JobEvent(Base):
    """What happened in a job, in order: what the event stream sends. kind: state, progress, part, log.

    Positions count 1, 2, 3... within the job and become visible in that order.
    """

    __tablename__ = "job_events"
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(CheckedText)
    data: Mapped[dict[str, Any]] = mapped_column(CheckedJson)
    created_at: Mapped[float] = mapped_column(Float)


class Model(Base):
    """A name under which versions are counted. ``last_version`` only grows: no number is given twice."""

    __tablename__ = "models"
    __table_args__ = (UniqueConstraint("workspace", "name"),)
    id: Mapped[str] = mapped_column(CheckedText, primary_key=True)
    workspace: Mapped[str] = mapped_column(CheckedText)
    name: Mapped[str] = mapped_column(CheckedText)
    notes: Mapped[str] = mapped_column(CheckedText, default="")
    tags: Mapped[list[str]] = mapped_column(CheckedJson)
    last_version: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[float] = mapped_column(Float)


class ModelVersion(Base):
    """An immutable version. ``job_id`` is unique, so that a repeated registration finds the first."""

    __tablename__ = "model_versions"
    __table_args__ = (
        UniqueConstraint("model_id", "version"),
        UniqueConstraint("job_id"),
        Index("ix_model_versions_dataset", "dataset_id"),
    )
    id: Mapped[str] = mapped_column(CheckedText, primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id"))
    version: Mapped[int]
    blob_sha256: Mapped[str] = mapped_column(ForeignKey("blobs.sha256"))
    learner: Mapped[str] = mapped_column(CheckedText)
    task: Mapped[str] = mapped_column(CheckedText)
    parameters: Mapped[dict[str, Any]] = mapped_column(CheckedJson)
    schema: Mapped[dict[str, Any]] = mapped_column(CheckedJson)  # inputs, target, missing tokens, example
    lineage: Mapped[dict[str, Any]] = mapped_column(CheckedJson)  # dataset id and hash, seed, library version, job
    metrics: Mapped[dict[str, Any]] = mapped_column(CheckedJson)
    dataset_id: Mapped[str | None] = mapped_column(ForeignKey("datasets.id", ondelete="SET NULL"))  # None: deleted
    job_id: Mapped[str] = mapped_column(CheckedText)
    notes: Mapped[str] = mapped_column(CheckedText, default="")
    archived_at: Mapped[float | None] = mapped_column(Float)
    created_at: Mapped[float] = mapped_column(Float)


class Alias(Base):
    """A movable name of a version; it never points at a version that does not exist."""

    __tablename__ = "aliases"
    __table_args__ = (
        ForeignKeyConstraint(["model_id", "version"], ["model_versions.model_id", "model_versions.version"]),
    )
    model_id: Mapped[str] = mapped_column(CheckedText, primary_key=True)
    alias: Mapped[str] = mapped_column(CheckedText, primary_key=True)
    version: Mapped[int]
    #: When the move was asked for: by a person just then, by a training with its submission.
    updated_at: Mapped[float] = mapped_column(Float)


class Key(Base):
    """An API key; only its sha256 is kept. Scopes: predict, train, admin."""

    __tablename__ = "keys"
    id: Mapped[str] = mapped_column(CheckedText, primary_key=True)
    workspace: Mapped[str] = mapped_column(CheckedText)
    name: Mapped[str] = mapped_column(CheckedText)
    sha256: Mapped[str] = mapped_column(CheckedText, unique=True)
    scopes: Mapped[list[str]] = mapped_column(CheckedJson)
    created_at: Mapped[float] = mapped_column(Float)
    revoked_at: Mapped[float | None] = mapped_column(Float)


class Worker(Base):
    """A live worker's heartbeat, by the database's clock."""

    __tablename__ = "workers"
    id: Mapped[str] = mapped_column(CheckedText, primary_key=True)
    host: Mapped[str] = mapped_column(CheckedText)
    pid: Mapped[int]
    started_at: Mapped[float] = mapped_column(Float)
    seen_at: Mapped[float] = mapped_column(Float)


class Change(Base):
    """A counter per topic (``registry``, ``keys``), raised in the transaction that changes it.

    Serving processes read it a few times a second and drop what they remember when it moved.
    """

    __tablename__ = "changes"
    topic: Mapped[str] = mapped_column(CheckedText, primary_key=True)
    counter: Mapped[int] = mapped_column(BigInt, default=0)
