"""The tables of the store, the same on SQLite and PostgreSQL. Changed only together with a migration.

Every resource carries its workspace. Times are UTC seconds as float64 (one type on both databases,
no time-zone loss); JSON columns hold strict JSON. Ids are texts with a prefix that tells their kind.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

JsonColumn = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
BigInt = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Blob(Base):
    """Content-addressed bytes, stored in chunks; complete once its row exists (written last)."""

    __tablename__ = "blobs"
    sha256: Mapped[str] = mapped_column(Text, primary_key=True)
    size: Mapped[int] = mapped_column(BigInt)
    n_chunks: Mapped[int]
    created_at: Mapped[float] = mapped_column(Float)


class BlobChunk(Base):
    __tablename__ = "blob_chunks"
    sha256: Mapped[str] = mapped_column(Text, primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary)


class Dataset(Base):
    """An immutable table. ``raw_sha256`` is the upload as it came, ``table_sha256`` its typed form."""

    __tablename__ = "datasets"
    __table_args__ = (Index("ix_datasets_workspace_created", "workspace", "created_at"),)
    id: Mapped[str] = mapped_column(Text, primary_key=True)
    workspace: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    parent_id: Mapped[str | None] = mapped_column(Text)
    format: Mapped[str] = mapped_column(Text)
    options: Mapped[dict[str, Any]] = mapped_column(JsonColumn)
    raw_sha256: Mapped[str] = mapped_column(ForeignKey("blobs.sha256"))
    table_sha256: Mapped[str] = mapped_column(ForeignKey("blobs.sha256"))
    n_rows: Mapped[int] = mapped_column(BigInt)
    n_columns: Mapped[int]
    columns: Mapped[list[dict[str, Any]]] = mapped_column(JsonColumn)  # Column.to_json + evidence
    profile: Mapped[list[dict[str, Any]]] = mapped_column(JsonColumn)
    warnings: Mapped[list[str]] = mapped_column(JsonColumn)
    created_at: Mapped[float] = mapped_column(Float)


class Job(Base):
    """A piece of work and what became of it. The API writes the row; workers find it by its state."""

    __tablename__ = "jobs"
    __table_args__ = (
        UniqueConstraint("workspace", "idempotency_key"),
        Index("ix_jobs_workspace_created", "workspace", "created_at"),
        Index("ix_jobs_state", "state"),
    )
    id: Mapped[str] = mapped_column(Text, primary_key=True)
    workspace: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(Text)  # train, cross-validate
    state: Mapped[str] = mapped_column(Text)  # see service.jobs.states
    request: Mapped[dict[str, Any]] = mapped_column(JsonColumn)
    request_sha256: Mapped[str] = mapped_column(Text)
    idempotency_key: Mapped[str | None] = mapped_column(Text)
    dataset_id: Mapped[str] = mapped_column(ForeignKey("datasets.id"))
    retry_of: Mapped[str | None] = mapped_column(Text)
    progress: Mapped[float] = mapped_column(Float, default=0.0)
    message: Mapped[str] = mapped_column(Text, default="")
    cancel_requested: Mapped[bool] = mapped_column(default=False)
    worker: Mapped[str | None] = mapped_column(Text)
    result: Mapped[dict[str, Any] | None] = mapped_column(JsonColumn)
    error: Mapped[dict[str, Any] | None] = mapped_column(JsonColumn)
    created_at: Mapped[float] = mapped_column(Float)
    started_at: Mapped[float | None] = mapped_column(Float)
    finished_at: Mapped[float | None] = mapped_column(Float)


class JobPart(Base):
    """The result of one part of a job (a fold, the final fit); written once, kept over crashes."""

    __tablename__ = "job_parts"
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    part: Mapped[str] = mapped_column(Text, primary_key=True)  # "fold-3", "fit"
    result: Mapped[dict[str, Any]] = mapped_column(JsonColumn)
    created_at: Mapped[float] = mapped_column(Float)


class JobEvent(Base):
    """What happened in a job, in order: what the event stream sends. kind: state, progress, part, log."""

    __tablename__ = "job_events"
    __table_args__ = (Index("ix_job_events_job", "job_id", "id"),)
    id: Mapped[int] = mapped_column(BigInt, primary_key=True, autoincrement=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(Text)
    data: Mapped[dict[str, Any]] = mapped_column(JsonColumn)
    created_at: Mapped[float] = mapped_column(Float)


class Model(Base):
    __tablename__ = "models"
    __table_args__ = (UniqueConstraint("workspace", "name"),)
    id: Mapped[str] = mapped_column(Text, primary_key=True)
    workspace: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    notes: Mapped[str] = mapped_column(Text, default="")
    tags: Mapped[list[str]] = mapped_column(JsonColumn)
    created_at: Mapped[float] = mapped_column(Float)


class ModelVersion(Base):
    """An immutable version. ``job_id`` is unique, so that a repeated registration finds the first."""

    __tablename__ = "model_versions"
    __table_args__ = (UniqueConstraint("model_id", "version"), UniqueConstraint("job_id"))
    id: Mapped[str] = mapped_column(Text, primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id"))
    version: Mapped[int]
    blob_sha256: Mapped[str] = mapped_column(ForeignKey("blobs.sha256"))
    learner: Mapped[str] = mapped_column(Text)
    task: Mapped[str] = mapped_column(Text)
    parameters: Mapped[dict[str, Any]] = mapped_column(JsonColumn)
    schema: Mapped[dict[str, Any]] = mapped_column(JsonColumn)  # inputs, target, missing tokens, example
    lineage: Mapped[dict[str, Any]] = mapped_column(JsonColumn)  # dataset id and hash, seed, library version, job
    metrics: Mapped[dict[str, Any]] = mapped_column(JsonColumn)
    dataset_id: Mapped[str] = mapped_column(ForeignKey("datasets.id"))
    job_id: Mapped[str] = mapped_column(Text)
    notes: Mapped[str] = mapped_column(Text, default="")
    archived_at: Mapped[float | None] = mapped_column(Float)
    created_at: Mapped[float] = mapped_column(Float)


class Alias(Base):
    __tablename__ = "aliases"
    model_id: Mapped[str] = mapped_column(ForeignKey("models.id", ondelete="CASCADE"), primary_key=True)
    alias: Mapped[str] = mapped_column(Text, primary_key=True)
    version: Mapped[int]
    updated_at: Mapped[float] = mapped_column(Float)


class Key(Base):
    """An API key; only its sha256 is kept. Scopes: predict, train, admin."""

    __tablename__ = "keys"
    id: Mapped[str] = mapped_column(Text, primary_key=True)
    workspace: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    sha256: Mapped[str] = mapped_column(Text, unique=True)
    scopes: Mapped[list[str]] = mapped_column(JsonColumn)
    created_at: Mapped[float] = mapped_column(Float)
    revoked_at: Mapped[float | None] = mapped_column(Float)


class Worker(Base):
    """A live worker's heartbeat, by the database's clock."""

    __tablename__ = "workers"
    id: Mapped[str] = mapped_column(Text, primary_key=True)
    host: Mapped[str] = mapped_column(Text)
    pid: Mapped[int]
    started_at: Mapped[float] = mapped_column(Float)
    seen_at: Mapped[float] = mapped_column(Float)


class Change(Base):
    """A counter per topic (``registry``, ``keys``), raised in the transaction that changes it.

    Serving processes read it a few times a second and drop what they remember when it moved.
    """

    __tablename__ = "changes"
    topic: Mapped[str] = mapped_column(Text, primary_key=True)
    counter: Mapped[int] = mapped_column(BigInt, default=0)
