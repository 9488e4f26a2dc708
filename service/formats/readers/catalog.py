"""The list of formats, each with its reader."""

from __future__ import annotations

from pathlib import Path

from service.formats.options import ReadOptions
from service.formats.readers.reading import Reader
from service.settings import Limits


def open_reader(path: Path, format_name: str, options: ReadOptions, limits: Limits, folder: Path) -> Reader:
    """A reader of the file.

    Args:
        path: the file.
        format_name: one of :data:`~service.formats.options.FORMATS`.
        options: how to read it.
        limits: what is too much.
        folder: for temporary files; removed by the caller.

    Raises:
        ServiceError: the head of the file shows already that it cannot be read.
    """
    if format_name in ("json", "ndjson"):
        from service.formats.readers.json_reader import JsonReader

        return JsonReader(path, options, folder, format_name)
    if format_name in ("parquet", "arrow"):
        from service.formats.readers.arrow_reader import ArrowReader

        return ArrowReader(path, options, limits, format_name)
    if format_name == "arff":
        from service.formats.readers.arff_reader import ArffReader

        return ArffReader(path, options, folder)
    from service.formats.readers.csv_reader import CsvReader

    return CsvReader(path, options, folder, format_name)
