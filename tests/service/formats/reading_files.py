"""How the tests read a file: through the one entry, into a table."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from learners.table import Table
from learners.types import Scalar
from service.errors import ServiceError
from service.formats.ingest import ingest
from service.formats.ingested import Ingested
from service.formats.options import ReadOptions
from service.formats.table_file import open_table, rows
from service.settings import Limits


@dataclass(frozen=True)
class Read:
    """What became of a file."""

    ingested: Ingested
    table: Table

    @cached_property
    def cells(self) -> dict[str, list[Scalar | None]]:
        """The values by column."""
        page = rows(self.table, 0, self.table.n_rows)
        return {column: [row[column] for row in page] for column in self.table.names}

    @property
    def columns(self) -> dict[str, dict[str, Any]]:
        return {column["name"]: column for column in self.ingested.columns}

    def kinds(self) -> dict[str, str]:
        return {name: column["kind"] for name, column in self.columns.items()}

    def missing(self) -> dict[str, int]:
        return {name: column["missing"] for name, column in self.columns.items()}


def read(source: Path | bytes | str, *, limits: Limits | None = None, name: str | None = None, **options: Any) -> Read:
    """Ingest a file or a text."""
    with tempfile.TemporaryDirectory() as folder:
        path = _path(source, Path(folder), name)
        out = Path(folder) / "out"
        ingested = ingest(path, ReadOptions.from_json(options), out, limits or Limits(), filename=name or path.name)
        table = open_table(out)
        assert set(Path(folder).iterdir()) <= {path, out}, "scratch files are left"
    return Read(ingested, table)  # its mapping outlives the file's name


def refused(
    kind: type[ServiceError],
    source: Path | bytes | str,
    *,
    limits: Limits | None = None,
    name: str | None = None,
    **options: Any,
) -> ServiceError:
    """The error with which a file is refused; nothing is written then."""
    with tempfile.TemporaryDirectory() as folder:
        path = _path(source, Path(folder), name)
        out = Path(folder) / "out"
        with pytest.raises(kind) as caught:
            ingest(path, ReadOptions.from_json(options), out, limits or Limits(), filename=name or path.name)
        assert set(Path(folder).iterdir()) <= {path}, "files are left"
    error = caught.value
    assert isinstance(error, ServiceError)
    assert 400 <= error.status < 500
    assert len(error.detail) < 700
    assert all(len(fault.message) < 500 for fault in error.faults)
    return error


def _path(source: Path | bytes | str, folder: Path, name: str | None) -> Path:
    if isinstance(source, Path):
        return source
    path = folder / (name or "data.csv")
    path.write_bytes(source.encode() if isinstance(source, str) else source)
    return path
