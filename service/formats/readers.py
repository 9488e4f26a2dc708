"""The list of formats, each with its reader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service.formats.csv_reader import CsvReader
from service.formats.options import ReadOptions
from service.formats.reading import Reader
from service.settings import Limits


@contextmanager
def open_reader(path: Path, format_name: str, options: ReadOptions, limits: Limits, folder: Path) -> Iterator[Reader]:
    """A reader of the file.

    Args:
        path: the file.
        format_name: one of :data:`~service.formats.options.FORMATS`.
        options: how to read it.
        limits: what is too much.
        folder: for temporary files; removed by the caller.
    """
    yield CsvReader(path, options, folder, format_name)
