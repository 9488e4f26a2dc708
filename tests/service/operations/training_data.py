"""Datasets in a store without HTTP: a file is ingested and its blobs are put."""

from __future__ import annotations

from pathlib import Path

from service.formats.ingest import ingest
from service.formats.options import ReadOptions
from service.settings import Limits
from service.store import datasets
from service.store.blobs import Blobs
from service.store.session import Store


def put_dataset(store: Store, blobs: Blobs, path: Path, folder: Path, **options) -> str:
    """Store a file as a dataset of the workspace ``default``; returns its id."""
    given = ReadOptions(**options)
    out = folder / f"{path.name}.table"
    found = ingest(path, given, out, Limits())
    raw_sha256, _ = blobs.put_file(path)
    table_sha256, _ = blobs.put_file(out)
    with store.begin() as session:
        return datasets.insert(
            session,
            workspace="default",
            name=path.stem,
            parent_id=None,
            format=found.format,
            options=given.to_json(),
            raw_sha256=raw_sha256,
            table_sha256=table_sha256,
            n_rows=found.n_rows,
            n_columns=len(found.columns),
            columns=found.columns,
            profile=found.profile,
            warnings=found.warnings,
        ).id


def write_csv(path: Path, header: str, *rows: str) -> Path:
    """A CSV file of these lines."""
    path.write_text("\n".join([header, *rows]) + "\n")
    return path
