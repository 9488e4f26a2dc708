"""A file in, a table file out: the one entry by which uploads become tables.

Pure in its arguments, so that it can run in a process of its own. Memory is bounded by blocks of rows
and one column, not by the file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from learners.types import FloatArray
from service.formats.columns.builder import ColumnBuilder
from service.formats.columns.duplicates import DuplicateRows
from service.formats.columns.filling import Filled, fill
from service.formats.columns.header_line import looks_like_a_row
from service.formats.columns.inference import Conclusion, conclude
from service.formats.columns.profile import profile_column, relate
from service.formats.columns.windowing import Windowed, add_windows
from service.formats.detect import detect_format
from service.formats.faults import shown
from service.formats.ingested import Ingested
from service.formats.options import EXCLUDED, ReadOptions, check_effect
from service.formats.readers.catalog import open_reader
from service.formats.readers.csv_reader import CsvReader
from service.formats.readers.reading import Reader
from service.formats.table_file import column_record, open_table, write_table
from service.settings import Limits


def ingest(
    path: Path,
    options: ReadOptions,
    out: Path,
    limits: Limits,
    *,
    filename: str | None = None,
    content_type: str | None = None,
) -> Ingested:
    """Read a file, conclude the kinds of its columns, and write the table file.

    Args:
        path: the file as it was uploaded.
        options: what the caller says of it.
        out: where the table file is written; its folder also takes scratch files.
        limits: what is too much.
        filename: the name under which it came, for its extension.
        content_type: the type under which it came.

    Raises:
        ServiceError: 4xx, whatever is wrong with the file or the options; ``out`` does not exist then.
    """
    format_name = detect_format(path, options.format, filename, content_type)
    check_effect(options, format_name)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=out.parent)))
        reader = open_reader(path, format_name, options, limits, folder)
        filled = fill(reader, options, limits, folder, stack)
        concluded = [conclude(one.builder, one.cells, reader.lines_of) for one in filled]
        windowed = None if options.windows is None else add_windows(options.windows, filled, concluded, limits)
        writing = _Writing(filled, concluded, windowed)
        concluded = writing.concluded
        partial = folder / "table"
        write_table(partial, [one.column for one in concluded], writing.n_rows, writing.columns())
        partial.replace(out)
    profile = writing.profile
    if options.target is not None and any(one.column.name == options.target for one in concluded):
        profile = relate(open_table(out), profile, options.target)
    columns = [
        column_record(one.column) | {"evidence": one.evidence, "missing": facts["missing"]}
        for one, facts in zip(concluded, profile, strict=True)
    ]
    return Ingested(format_name, writing.n_rows, columns, profile, _warnings(reader, options, writing))


class _Writing:
    """Hands over the final cells column by column, and profiles each on its way."""

    def __init__(self, filled: list[Filled], concluded: list[Conclusion], windowed: Windowed | None) -> None:
        self.filled = filled
        self._pairs = list(zip(filled, concluded, strict=True))
        self.windowed = windowed
        self.concluded = concluded if windowed is None else [*concluded, windowed.conclusion]
        self.n_rows = filled[0].scratch.n_rows if windowed is None else len(windowed.rows)
        self.profile: list[dict[str, Any]] = []
        self.duplicates = DuplicateRows(self.n_rows)

    def columns(self) -> Iterator[FloatArray]:
        for one, conclusion in self._pairs:
            cells = conclusion.final(one.cells())
            yield self._told(conclusion, cells if self.windowed is None else cells[self.windowed.rows])
        if self.windowed is not None:
            yield self._told(self.windowed.conclusion, self.windowed.cells)

    def _told(self, conclusion: Conclusion, cells: FloatArray) -> FloatArray:
        copy_of = self.duplicates.add(conclusion.column, cells)
        self.profile.append(profile_column(conclusion.column, cells) | {"duplicate_of": copy_of})
        return cells


def _warnings(reader: Reader, options: ReadOptions, writing: _Writing) -> list[str]:
    warnings = [*reader.warnings, *(() if writing.windowed is None else writing.windowed.warnings)]
    if isinstance(reader, CsvReader) and options.header:
        doubt = looks_like_a_row(writing.profile, reader.syntax)
        warnings += [] if doubt is None else [doubt]
    warnings += filter(None, (_vanished(one.builder, reader) for one in writing.filled))
    excluded = [name for name, kind in options.kinds.items() if kind == EXCLUDED]
    if excluded:
        warnings.append(f"left out as asked: {_listed(excluded)}")
    by_way: dict[str, list[str]] = {}
    for one in writing.concluded:
        if one.as_numbers is not None:
            by_way.setdefault(one.as_numbers, []).append(one.column.name)
    warnings += [f"columns of texts that would be numbers {way}: {_listed(names)}" for way, names in by_way.items()]
    for facts, text in (("is_empty", "without any value"), ("is_constant", "with one value only")):
        names = [one["name"] for one in writing.profile if one[facts]]
        if names:
            warnings.append(f"columns {text}: {_listed(names)}")
    copies = [f"{one['name']} = {one['duplicate_of']}" for one in writing.profile if one["duplicate_of"] is not None]
    if copies:
        warnings.append(f"columns that repeat another: {_listed(copies)}")
    repeated = writing.duplicates.n_repeated()
    if repeated:
        warnings.append(f"{repeated} row{'s repeat' if repeated != 1 else ' repeats'} an earlier row")
    return warnings


def _vanished(builder: ColumnBuilder, reader: Reader) -> str | None:
    """That numbers of a column are nearer to 0 than to any other double, if it has such."""
    if builder.first_vanished is None or not builder.as_numbers:
        return None
    row, text = builder.first_vanished
    line = reader.lines_of([row]).get(row)
    where = f"row {row}" if line is None else f"line {line}"
    more = f", and {builder.n_vanished - 1} more of the column" if builder.n_vanished > 1 else ""
    return f"{where}, column {shown(builder.plan.name)}: {shown(text)} is too near to 0 for a double and is 0{more}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
