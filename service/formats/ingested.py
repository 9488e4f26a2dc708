"""What became of a file: apart from what reads it, so that the API process, which is handed it, loads no parser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ingested:
    """What became of a file.

    Attributes:
        format: the format it was read as.
        n_rows: number of rows.
        columns: per column ``Column.to_json`` with ``evidence`` (why it has its kind) and ``missing``.
        profile: per column what :func:`service.formats.columns.profile.profile_column` tells.
        warnings: what the caller should know.
    """

    format: str
    n_rows: int
    columns: list[dict[str, Any]]
    profile: list[dict[str, Any]]
    warnings: list[str]
