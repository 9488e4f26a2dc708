"""The typed dataset on disk: one float64 array and the columns, in the safetensors container.

Layout: 8 bytes little-endian length of a JSON header, the header padded with blanks so that the array
begins on a multiple of 64 bytes, then ``values`` of shape (d, n) in C order. Its transpose is the
column-major (n, d) matrix of a :class:`~learners.table.Table`, so a file is opened by mapping it.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from learners.errors import DataError
from learners.table import Column, Table
from learners.types import FloatArray, Value

FORMAT = 1
_ALIGNMENT = 64
_MAX_HEADER = 1 << 30


class TableFileError(Exception):
    """A file offered as a table file is damaged, foreign or of a newer format."""


def write_table(path: Path, columns: Sequence[Column], n_rows: int, cells: Iterable[FloatArray]) -> None:
    """Write a table file column by column; memory holds one column.

    Args:
        path: the file; replaced if it exists.
        columns: d columns.
        n_rows: n.
        cells: d arrays of shape (n,), in the columns' order.
    """
    with path.open("wb") as file:
        file.write(_header(columns, n_rows))
        for column, values in zip(columns, cells, strict=True):
            if values.shape != (n_rows,):
                raise ValueError(f"column {column.name!r} has shape {values.shape}, not ({n_rows},)")
            file.write(np.ascontiguousarray(values, dtype="<f8").data)  # tofile() would not say why it fails


def open_table(path: Path) -> Table:
    """The table of a file, mapped read-only: nothing is copied, and processes share its pages.

    Raises:
        TableFileError: the file is not a table file, or its size does not fit its header.
    """
    with path.open("rb") as file:
        columns, n_rows, start = _read_header(file, path.stat().st_size)
        shape = (len(columns), n_rows)
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    values = np.frombuffer(mapped, dtype="<f8", offset=start, count=shape[0] * shape[1]).reshape(shape)
    return Table(columns, values.T)


def rows(table: Table, offset: int, limit: int) -> list[dict[str, Value | None]]:
    """Rows ``offset`` to ``offset + limit`` as JSON-able objects; None is missing. Past the end: fewer, or none."""
    piece = table.values[offset : offset + limit]
    by_column = [
        [column.decode(cell) for cell in piece[:, index].tolist()] for index, column in enumerate(table.columns)
    ]
    names = table.names
    return [dict(zip(names, row, strict=True)) for row in zip(*by_column, strict=True)]


def column_record(column: Column) -> dict[str, Any]:
    """What a person is told of a column: of one of texts or sequences how many there are, not which."""
    record = column.to_json()
    return (
        {"name": column.name, "kind": column.kind.value, "n_values": len(column.levels)} if column.is_open else record
    )


def _header(columns: Sequence[Column], n_rows: int) -> bytes:
    size = 8 * len(columns) * n_rows
    described = json.dumps([column.to_json() for column in columns], ensure_ascii=False, allow_nan=False)
    record = {
        "__metadata__": {"rulewood_table": described, "format": str(FORMAT)},
        "values": {"dtype": "F64", "shape": [len(columns), n_rows], "data_offsets": [0, size]},
    }
    text = json.dumps(record, ensure_ascii=False).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def _read_header(file: BinaryIO, size: int) -> tuple[tuple[Column, ...], int, int]:
    """The columns, the number of rows and where the array begins."""
    length = int.from_bytes(file.read(8), "little")
    if not 0 < length <= min(size - 8, _MAX_HEADER):
        raise TableFileError("not a table file: it has no header")
    columns, shape = _parse_header(file.read(length))
    start = 8 + length
    if shape[0] != len(columns) or start + 8 * shape[0] * shape[1] != size:
        raise TableFileError(
            f"the table file is damaged: {size} bytes do not hold {shape[0]} columns of {shape[1]} rows"
        )
    return columns, shape[1], start


def _parse_header(text: bytes) -> tuple[tuple[Column, ...], tuple[int, int]]:
    try:
        record: dict[str, Any] = json.loads(text)
        metadata, entry = record["__metadata__"], record["values"]
        if int(metadata["format"]) != FORMAT or entry["dtype"] != "F64":
            raise TableFileError(f"the table file has format {metadata['format']}; this version reads {FORMAT}")
        columns = tuple(Column.from_json(one) for one in json.loads(metadata["rulewood_table"]))
        d, n = entry["shape"]
        return columns, (int(d), int(n))
    except (DataError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise TableFileError("not a table file: its header cannot be read") from error
