"""Datasets: taking an upload in, reading it anew, showing it, deleting it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from service import strict_json
from service.errors import BadRequest, Fault, Invalid, UnsupportedMediaType
from service.formats.options import ENCODINGS, FORMATS, OF_FORMATS, ReadOptions
from service.operations.ingesting import Ingester
from service.operations.media_types import charset_of, codec_of, media_type_of
from service.settings import Settings
from service.store import datasets as queries
from service.store.blobs import Blobs
from service.store.session import Store
from service.store.tables import Dataset
from service.temporary import temporary_folder

#: Types whose bytes are no text, whatever charset they name.
_BINARY = (
    "application/octet-stream",
    "application/vnd.apache.parquet",
    "application/x-parquet",
    "application/vnd.apache.arrow.file",
    "application/vnd.apache.arrow.stream",
)


@dataclass(frozen=True)
class Received:
    """An uploaded file and what its sender said about it."""

    path: Path
    filename: str | None
    content_type: str | None
    name: str
    options: ReadOptions


@dataclass(frozen=True)
class Shelf:
    """Where datasets are kept and how they are read."""

    settings: Settings
    store: Store
    blobs: Blobs
    ingester: Ingester


def parse_options(text: str | None, format_name: str | None, max_depth: int) -> ReadOptions:
    """Reading options from the query or form.

    Args:
        text: a JSON object, or None.
        format_name: the format, given on its own.
        max_depth: deepest nesting of the JSON.

    Raises:
        Invalid: the text is not a JSON object, or an option is not allowed.
    """
    record = _decode_options(text, max_depth) if text else {}
    if format_name:
        if format_name not in FORMATS:
            raise Invalid(
                f"format must be one of {', '.join(FORMATS)}",
                [Fault("unknown format", parameter="format", allowed=list(FORMATS), value=format_name)],
            )
        if record.get("format") not in (None, format_name):
            message = "format is given twice, by itself and in options, as two different ones"
            raise Invalid(f"The request is not valid: {message}", [Fault(message, parameter="format")])
        record["format"] = format_name
    return ReadOptions.from_json(record)


def _decode_options(text: str, max_depth: int) -> dict[str, Any]:
    try:
        record = strict_json.decode(text.encode(), max_depth, "the text of options")
    except BadRequest as error:
        fault = Fault("options must be a JSON object", parameter="options", value=text)
        raise Invalid(f"The options are not valid: {error.detail}", [fault]) from None
    if not isinstance(record, dict):
        raise Invalid("The options must be a JSON object", [Fault("options must be an object", parameter="options")])
    return record


def with_charset(options: ReadOptions, content_type: str | None) -> ReadOptions:
    """Options with the encoding that a ``Content-Type`` declares, where they say none themselves.

    Raises:
        UnsupportedMediaType: it declares one that is not read. Invalid: it contradicts the options.
    """
    charset = charset_of(content_type or "")
    if charset is None or media_type_of(content_type or "") in _BINARY:
        return options
    codec = codec_of(charset)
    if codec not in ENCODINGS:
        message = f"the charset {strict_json.quoted(charset)} of Content-Type is not one that is supported"
        fault = Fault(message, parameter="Content-Type", allowed=ENCODINGS, value=charset)
        raise UnsupportedMediaType(f"The file cannot be read: {message}", [fault])
    if options.encoding is None:
        return options if codec == options.codec else replace(options, encoding=codec)
    if codec != options.codec:
        message = (
            f"Content-Type declares the charset {strict_json.quoted(charset)} and the option encoding is "
            f"{strict_json.quoted(options.encoding)}; give one of them"
        )
        faults = [Fault(message, parameter=parameter) for parameter in ("options.encoding", "Content-Type")]
        raise Invalid(f"The request is not valid: {message}", faults)
    return options


def check_name(name: str, limit: int) -> str:
    """A dataset's name, if it is one.

    Raises:
        Invalid: empty, too long, or with control characters.
    """
    if 0 < len(name) <= limit and name.isprintable():
        return name
    raise Invalid(
        f"A dataset's name has 1 to {limit} printable characters",
        [Fault("not a name", parameter="name", allowed=f"1 to {limit} printable characters", value=name)],
    )


def create(shelf: Shelf, workspace: str, received: Received, parent: Dataset | None = None) -> Dataset:
    """Read a file and store it; nothing is kept unless all of it is.

    Raises:
        ServiceError: the file cannot be read or a limit is exceeded.
    """
    check_name(received.name, shelf.settings.limits.name_length)
    options = received.options.to_json()
    with temporary_folder(shelf.settings.scratch, "reading") as folder:
        out = folder / "table"
        ingested = shelf.ingester.read(
            received.path, options, out, filename=received.filename, content_type=received.content_type
        )
        stored = shelf.blobs.put_files([out] if parent else [received.path, out])
        raw_sha256, table_sha256 = parent.raw_sha256 if parent else stored[0][0], stored[-1][0]
    with shelf.store.begin() as session:
        return queries.insert(
            session,
            workspace=workspace,
            name=received.name,
            parent_id=parent.id if parent else None,
            format=ingested.format,
            options=options,
            raw_sha256=raw_sha256,
            table_sha256=table_sha256,
            n_rows=ingested.n_rows,
            n_columns=len(ingested.columns),
            columns=ingested.columns,
            profile=ingested.profile,
            warnings=ingested.warnings,
        )


def revise(shelf: Shelf, workspace: str, dataset_id: str, changes: dict[str, Any]) -> Dataset:
    """A new dataset from the same file, read with other options.

    Args:
        changes: reading options to replace; ``kinds`` and ``orders`` are merged; ``name`` renames.
    """
    parent = get(shelf.store, workspace, dataset_id)
    name = changes.pop("name", None) or parent.name
    record = {name: value for name, value in parent.options.items() if parent.format in OF_FORMATS.get(name, FORMATS)}
    record["format"] = parent.format
    for option, value in changes.items():
        record[option] = {**record.get(option, {}), **value} if option in ("kinds", "orders") else value
    received = Received(shelf.blobs.path(parent.raw_sha256), None, None, name, ReadOptions.from_json(record))
    return create(shelf, workspace, received, parent)


def get(store: Store, workspace: str, dataset_id: str) -> Dataset:
    """One dataset.

    Raises:
        NotFound: there is none of this id in the workspace.
    """
    with store.read() as session:
        return queries.get(session, workspace, dataset_id)


def page(
    store: Store, workspace: str, *, name: str | None, cursor: str | None, limit: int
) -> tuple[list[Dataset], str | None]:
    """A page of datasets, newest first, and the cursor of the next."""
    with store.read() as session:
        return queries.page(session, workspace, name=name, cursor=cursor, limit=limit)


def rows(shelf: Shelf, workspace: str, dataset_id: str, *, offset: int, limit: int) -> dict[str, Any]:
    """Some rows of a dataset as JSON values."""
    from service.formats.table_file import open_table
    from service.formats.table_file import rows as table_rows

    dataset = get(shelf.store, workspace, dataset_id)
    table = open_table(shelf.blobs.path(dataset.table_sha256))
    return {
        "dataset": dataset.id,
        "offset": offset,
        "n_rows": dataset.n_rows,
        "rows": table_rows(table, offset, limit),
    }


def profile(shelf: Shelf, workspace: str, dataset_id: str, *, target: str | None) -> dict[str, Any]:
    """What each column holds; with ``target`` also how it is related to that column.

    Raises:
        NotFound: there is no such dataset. Invalid: ``target`` is none of its columns.
    """
    dataset = get(shelf.store, workspace, dataset_id)
    columns = dataset.profile
    target = target if target is not None else dataset.options.get("target")
    names = [column["name"] for column in dataset.columns]
    if target is not None and target not in names:
        raise Invalid(
            f"The dataset has no column {strict_json.quoted(target)}",
            [Fault("no such column", parameter="target", column=target, allowed=names)],
        )
    if target is not None and target != dataset.options.get("target"):
        columns = shelf.ingester.relate(shelf.blobs.path(dataset.table_sha256), columns, target)
    return {"dataset": dataset.id, "n_rows": dataset.n_rows, "target": target, "columns": columns}


def download(shelf: Shelf, workspace: str, dataset_id: str) -> tuple[str, int, Iterator[bytes]]:
    """A dataset's name, and the size and bytes of the file as it was uploaded.

    Raises:
        NotFound: there is no such dataset.
    """
    dataset = get(shelf.store, workspace, dataset_id)
    return dataset.name, *shelf.blobs.blocks(dataset.raw_sha256)


def delete(store: Store, workspace: str, dataset_id: str, *, force: str | None) -> None:
    """Delete a dataset, with ``force`` (its name) even if something needs it.

    Raises:
        NotFound: there is none. Conflict: something needs it. Invalid: ``force`` is not its name.
    """
    with store.begin() as session:
        queries.delete(session, workspace, dataset_id, force=force)
