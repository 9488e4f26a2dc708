"""CSV and TSV by Arrow's streaming reader: every cell as a text, in blocks, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from service.errors import Fault, Invalid, TooLarge
from service.formats.faults import Faults
from service.formats.options import ReadOptions
from service.formats.readers.csv_dialect import Dialect, read_dialect
from service.formats.readers.csv_lines import line_of_longest_record, lines_of_records
from service.formats.readers.csv_quotes import fault_of, first_doubt
from service.formats.readers.reading import Block, Reader
from service.formats.readers.text_bytes import checked_text
from service.formats.readers.text_cells import TextCells, token_array, without_tokens
from service.formats.written_numbers import NumberSyntax

_BLOCK_BYTES = 4 << 20
#: No row may be longer.
MAX_ROW_BYTES = 64 << 20


class CsvReader(Reader):
    """A CSV file whose head has been read; see :func:`service.formats.readers.csv_dialect.read_dialect`.

    Attributes:
        syntax: how numbers are written.
    """

    def __init__(self, path: Path, options: ReadOptions, folder: Path, format_name: str) -> None:
        super().__init__(format_name, path.stat().st_size)
        self._file = checked_text(path, options.codec, options.quote, folder)
        delimiter = options.delimiter or ("\t" if format_name == "tsv" else None)
        self._dialect = read_dialect(self._file, options, delimiter)
        self._options = options
        if self._dialect.quote is not None:
            self._refuse_doubtful(self._dialect.quote)
        self.syntax = NumberSyntax(options.decimal, options.thousands, "" in options.missing_tokens)
        if options.delimiter is None and self._dialect.delimiter not in (",", "\t"):
            self.warnings.append(f"cells are separated by {self._dialect.delimiter!r}, as the first rows show")

    def names(self) -> list[str]:
        return self._dialect.names

    def lines_of(self, rows: Iterable[int]) -> dict[int, int]:
        header = int(self._options.header)
        found = lines_of_records(
            self._file.path, (row + header for row in rows), self._dialect.delimiter, self._dialect.quote
        )
        return {record - header: line for record, line in found.items()}

    def blocks(self, skip: frozenset[str]) -> Iterator[Block]:
        names = self._dialect.names
        keep = [position for position, name in enumerate(names) if name not in skip]
        ragged = _RaggedRows(len(names))
        if self._file.path.stat().st_size == self._dialect.start:
            return
        tokens = token_array(self._options.missing_tokens)
        for batch in self._batches(keep, ragged, threads=True):
            arrays = [without_tokens(array, tokens) for array in batch.columns]
            yield Block(
                batch.num_rows,
                {names[position]: TextCells(array, self.syntax) for position, array in zip(keep, arrays, strict=True)},
            )
        if ragged.seen:
            self._refuse_ragged(keep)

    def _refuse_doubtful(self, quote: str) -> None:
        """Refuse a file with quotes that Arrow would read in its own way, in silence."""
        delimiter = self._dialect.delimiter
        with self._file.path.open("rb") as source:
            source.seek(self._file.start)
            doubt = first_doubt(source, delimiter, quote)
        if doubt is not None:
            names = self._dialect.names if self._options.header else None
            with self._file.path.open(encoding="utf-8-sig", newline="") as lines:
                fault = fault_of(doubt, lines, delimiter, quote, names)
            fault = replace(fault, message=f"{fault.message}; with the option quote = null quotes are plain characters")
            raise Invalid(f"The file cannot be read: {fault.message}", [fault])

    def _batches(self, keep: list[int], ragged: _RaggedRows, *, threads: bool) -> Iterator[pa.RecordBatch]:
        """Record batches until the end or the first ragged row; its number is known only without threads."""
        n_rows = 0
        with pa.OSFile(str(self._file.path)) as source:
            source.seek(self._dialect.start)
            try:
                reader = csv.open_csv(source, *_arrow_options(self._dialect, self._options, keep, ragged, threads))
                for batch in reader:
                    if ragged.seen and threads:
                        return
                    n_rows += batch.num_rows
                    yield batch
            except pa.ArrowInvalid as error:
                if "Empty CSV" in str(error):
                    return
                self._refuse(error, n_rows)

    def _refuse(self, error: pa.ArrowInvalid, n_rows: int) -> None:
        if "straddling" in str(error):
            limit = _block_bytes(self._dialect)
            line = line_of_longest_record(self._file.path, self._dialect.delimiter, self._dialect.quote)
            message = f"the row that begins on line {line} is longer than {limit} bytes"
            raise TooLarge(f"The file cannot be read: {message}", [Fault(message, line=line, allowed=limit)])
        at = self.lines_of([n_rows]).get(n_rows)
        raise Invalid(f"The file cannot be read: {error}"[:500], [Fault("a row cannot be read", row=n_rows, line=at)])

    def _refuse_ragged(self, keep: list[int]) -> None:
        """Read again, without threads, to learn the numbers of the first ragged rows, and refuse them."""
        ragged = _RaggedRows(len(self._dialect.names))
        for _ in self._batches(keep, ragged, threads=False):
            if ragged.is_full:
                break
        lines = self.lines_of(row for row, _ in ragged.found)
        faults = Faults()
        for row, n_cells in ragged.found:
            message = f"line {lines[row]} has {n_cells} cells, the header has {ragged.expected}"
            faults.add(Fault(message, row=row, line=lines[row], allowed=ragged.expected))
        faults.raise_if_any("Rows differ in their number of cells")


class _RaggedRows:
    """Arrow's handler of rows with too few or too many cells: notes them and lets the reader go on."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.seen = False
        self.found: list[tuple[int, int]] = []  # 0-based row, its number of cells

    @property
    def is_full(self) -> bool:
        return len(self.found) >= 20

    def __call__(self, row: csv.InvalidRow) -> str:
        self.seen = True
        if row.number is not None and not self.is_full:
            self.found.append((row.number - 1, row.actual_columns))
        return "skip"


def _block_bytes(dialect: Dialect) -> int:
    return min(max(_BLOCK_BYTES, 64 * dialect.row_bytes), MAX_ROW_BYTES)


def _arrow_options(
    dialect: Dialect, options: ReadOptions, keep: list[int], ragged: _RaggedRows, threads: bool
) -> tuple[csv.ReadOptions, csv.ParseOptions, csv.ConvertOptions]:
    # Columns go by position, because names may hold anything; they are checked elsewhere.
    positions = [str(position) for position in range(len(dialect.names))]
    return (
        csv.ReadOptions(column_names=positions, block_size=_block_bytes(dialect), use_threads=threads),
        csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote or False,
            double_quote=True,
            newlines_in_values=dialect.quote is not None,
            ignore_empty_lines=True,
            invalid_row_handler=ragged,
        ),
        csv.ConvertOptions(
            column_types=dict.fromkeys(positions, pa.string()),
            include_columns=[str(position) for position in keep],
            null_values=[""] if "" in options.missing_tokens else [],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            check_utf8=False,  # the whole file has been checked
        ),
    )
