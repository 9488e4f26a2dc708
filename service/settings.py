"""All settings, each a ``RULEWOOD_*`` variable. Whatever stands here is enforced somewhere.

A limit is written ``RULEWOOD_LIMITS_<NAME>``. The table in ``docs/settings.md`` is made from this file.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

_MIB = 1024 * 1024
_GIB = 1024 * _MIB


def _training_processes() -> int:
    """All cores but one, which stays free for answering requests."""
    return max(1, (os.cpu_count() or 1) - 1)


def _most_of_the_memory() -> int:
    """Four fifths of the machine's memory in bytes."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 0.8)


class Limits(BaseModel):
    """What is too much. Past a limit comes a 413, 414, 422, 429 or 431 that names it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    body_bytes: int = Field(
        default=64 * _MIB, ge=1024, description="largest body of a request that is not an upload, in bytes"
    )
    head_bytes: int = Field(
        default=65_536,
        ge=4096,
        description="largest head of a request (its target, names and values of its header fields), in bytes",
    )
    head_fields: int = Field(default=100, ge=20, description="most header fields of a request")
    upload_bytes: int = Field(default=4 * _GIB, ge=1024, description="largest upload of a dataset, in bytes as sent")
    rows: int = Field(default=100_000_000, ge=1, description="most rows of a dataset")
    columns: int = Field(default=10_000, ge=1, description="most columns of a dataset")
    name_length: int = Field(default=200, ge=1, description="longest name of a column or dataset, in characters")
    levels: int = Field(default=100_000, ge=2, description="most different levels of a nominal or ordinal column")
    json_depth: int = Field(default=32, ge=4, le=500, description="deepest nesting of a JSON document")
    decompression_ratio: float = Field(
        default=100.0, ge=1, description="most bytes that one compressed byte may become"
    )
    batch_rows: int = Field(default=100_000, ge=1, description="most rows of one prediction request")
    explained_tests: int = Field(
        default=500_000,
        ge=1000,
        description="most tests that the explanations of one request may go through together",
    )
    answer_seconds: float = Field(
        default=120.0,
        gt=0,
        description="most processor time that the answer to one request may take, in seconds; of one that is sent in "
        "pieces the first rows",
    )
    unsent_bytes: int = Field(
        default=256 * _MIB,
        ge=_MIB,
        description="most memory that answers hold whose clients do not take them, in bytes of each process; past it "
        "the slowest are broken off",
    )
    requests_in_flight: int = Field(default=256, ge=1, description="most requests that one process answers at a time")
    job_seconds: float = Field(default=86_400.0, gt=0, description="longest time of one part of a job, in seconds")
    job_memory_bytes: int = Field(
        default_factory=_most_of_the_memory,
        ge=256 * _MIB,
        description="most memory of one training process, in bytes",
        json_schema_extra={"shown_default": "4/5 of the machine's memory"},
    )


class Settings(BaseSettings):
    """How one process of the service is set up; immutable."""

    model_config = SettingsConfigDict(
        env_prefix="RULEWOOD_", env_nested_delimiter="_", env_nested_max_split=1, frozen=True, extra="ignore"
    )

    data: Path = Field(default=Path("rulewood-data"), description="folder of the SQLite store and the cache")
    database: str | None = Field(
        default=None,
        repr=False,
        description="store: `sqlite:///FILE` or `postgresql://USER:PASSWORD@HOST/NAME`",
        json_schema_extra={"shown_default": "`store.sqlite3` in the data folder"},
    )
    host: str = Field(default="127.0.0.1", description="address that `serve` binds; any but loopback needs a key")
    port: int = Field(default=8000, ge=0, le=65_535, description="port that `serve` binds; 0 takes a free one")
    workers: int = Field(default=1, ge=1, le=256, description="processes that answer requests")
    worker: bool = Field(default=True, description="`serve` also runs a training worker beside it")
    processes: int = Field(
        default_factory=_training_processes,
        ge=1,
        le=1024,
        description="training processes of one worker",
        json_schema_extra={"shown_default": "cores - 1"},
    )
    error_detail: Literal["full", "minimal"] = Field(
        default="full", description="`minimal` leaves values of the data out of error messages"
    )
    admin_key: SecretStr | None = Field(
        default=None,
        exclude=True,  # no process but the one that starts the service needs it, and a masked one would be refused
        description="key with every scope that `serve` makes sure of: `rk_` and at least 32 characters of your choice",
    )
    cache_bytes: int = Field(
        default=20 * _GIB, ge=0, description="size to which the cache of files on disk is kept, in bytes"
    )
    limits: Limits = Field(default_factory=Limits)

    @field_validator("database")
    @classmethod
    def _known_database(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("sqlite:///", "postgresql://", "postgresql+psycopg://")):
            raise ValueError("must begin with sqlite:/// or postgresql://")
        return value

    @field_validator("admin_key")
    @classmethod
    def _long_key(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not re.fullmatch(r"rk_[!-~]{32,200}", value.get_secret_value()):
            raise ValueError("must be rk_ and 32 to 200 printable ASCII characters without blanks")
        return value

    @property
    def store_url(self) -> str:
        """The database's address, with its default filled in."""
        return self.database or f"sqlite:///{self.data.absolute()}/store.sqlite3"

    @property
    def cache(self) -> Path:
        """Folder of the content-addressed disk cache."""
        return self.data / "cache"

    @property
    def scratch(self) -> Path:
        """Folder of temporary folders; what a killed process leaves there the next start removes."""
        return self.data / "scratch"
