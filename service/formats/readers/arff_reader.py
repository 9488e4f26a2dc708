"""ARFF, dense and sparse: our own reader, because the libraries misread blanks in braces or a quoted ``?``.

A comment is a line that begins with ``%``. In a sparse row, ``{index value, ...}``, what is not named is 0
or the first level; texts and dates must be named. Instance weights and relational attributes are refused.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from learners.boolean_texts import unasked_pair
from learners.table import Kind
from service.errors import Fault, Invalid
from service.formats.faults import Faults, cut, shown
from service.formats.options import ReadOptions
from service.formats.readers.arff_header import Attribute, read_header
from service.formats.readers.arff_text import ArffSyntaxError, split_values
from service.formats.readers.reading import CELL, TEXT, Block, Declared, Reader
from service.formats.readers.text_bytes import checked_text
from service.formats.readers.text_cells import TextCells, token_array, without_tokens
from service.formats.written_numbers import NumberSyntax

_BLOCK_ROWS = 10_000
_NEEDS_TOKENS = re.compile(r"[{}'\"\\]")
_SPARSE_ENTRY = re.compile(r"(\d+)\s+(.*)", re.DOTALL)

Row = list[str | None]


class ArffReader(Reader):
    """An ARFF file whose header has been read."""

    def __init__(self, path: Path, options: ReadOptions, folder: Path) -> None:
        super().__init__("arff", path.stat().st_size)
        self._file = checked_text(path, options.codec, None, folder)
        self._tokens = token_array(options.missing_tokens)
        self._empty_is_missing = "" in options.missing_tokens
        self._syntax = NumberSyntax(options.decimal, options.thousands, self._empty_is_missing)
        self._attributes = read_header(self._lines())
        for one in self._attributes:
            if one.type == "numeric":
                self.declared[one.name] = Declared(Kind.NUMERIC)
            elif one.type == "nominal":
                # ARFF has no booleans: this is how they are written in it
                is_boolean = unasked_pair(one.levels) is not None
                self.declared[one.name] = Declared(Kind.BOOLEAN if is_boolean else Kind.NOMINAL, one.levels)

    def names(self) -> list[str]:
        return [one.name for one in self._attributes]

    def blocks(self, skip: frozenset[str]) -> Iterator[Block]:
        keep = [at for at, one in enumerate(self._attributes) if one.name not in skip]
        rows = self._rows()
        first = 0
        while block := list(itertools.islice(rows, _BLOCK_ROWS)):
            columns = list(zip(*(row for _, row in block), strict=True))
            lines = [line for line, _ in block]
            for at in keep:
                if self._attributes[at].type == "date":
                    _check_dates(self._attributes[at], columns[at], lines, first)
            yield Block(len(block), {self._attributes[at].name: self._cells(at, columns[at]) for at in keep})
            first += len(block)

    def lines_of(self, rows: Iterable[int]) -> dict[int, int]:
        wanted = set(rows)
        return {row: line for row, (line, _) in enumerate(self._rows()) if row in wanted} if wanted else {}

    def _lines(self) -> Iterator[tuple[int, str]]:
        with self._file.path.open(encoding="utf-8-sig") as file:
            yield from enumerate(file, 1)

    def _rows(self) -> Iterator[tuple[int, Row]]:
        """The rows with their lines; None where missing."""
        lines = self._lines()
        read_header(lines)
        width = len(self._attributes)
        at = 0
        for number, line in lines:
            text = line.strip()
            if not text or text[0] == "%":
                continue
            try:
                row = self._row(text)
            except ArffSyntaxError as error:
                raise self._bad_row(at, number, error) from None
            if len(row) != width:
                message = f"line {number} has {len(row)} values, the header has {width} attributes"
                fault = Fault(message, row=at, line=number, allowed=width)
                raise Invalid(f"Rows differ from the header: {message}", [fault])
            yield number, row
            at += 1

    def _bad_row(self, row: int, line: int, error: ArffSyntaxError) -> Invalid:
        known = error.index is not None and error.index < len(self._attributes)
        name = self._attributes[error.index or 0].name if known else None
        where = f"line {line}" if name is None else f"line {line}, column {shown(name)}"
        fault = Fault(f"{where}: {error}", row=row, line=line, column=None if name is None else cut(name))
        return Invalid(f"The file cannot be read: {where}: {error}", [fault])

    def _row(self, text: str) -> Row:
        if not _NEEDS_TOKENS.search(text):
            return [self._bare(value.strip(), at) for at, value in enumerate(text.split(","))]
        if text[0] == "{":
            return self._sparse(text)
        values = split_values(text)
        last, is_quoted = values[-1]
        if len(values) > len(self._attributes) and not is_quoted and last.startswith("{"):
            raise ArffSyntaxError("instance weights are not read here; put the weight into a column")
        return [value if quoted else self._bare(value, at) for at, (value, quoted) in enumerate(values)]

    def _bare(self, value: str, at: int) -> str | None:
        if value == "?":
            return None
        if value:
            return value
        if self._empty_is_missing:
            return None
        raise ArffSyntaxError("a value is empty; a missing one is written ?", at)

    def _sparse(self, text: str) -> Row:
        if not text.endswith("}"):
            raise ArffSyntaxError("a sparse row is not closed by } (instance weights are not read here)")
        row: Row = [one.levels[0] if one.levels else "0" for one in self._attributes]
        unnamed = {at for at, one in enumerate(self._attributes) if one.type in ("string", "date")}
        inside = text[1:-1].strip()
        for entry in _split_entries(inside) if inside else []:
            match = _SPARSE_ENTRY.fullmatch(entry.strip())
            if match is None or int(match[1]) >= len(row):
                raise ArffSyntaxError(f"{shown(entry.strip())} is no 'index value' of a sparse row")
            at = int(match[1])
            value, is_quoted = split_values(match[2])[0]
            row[at] = value if is_quoted else self._bare(value, at)
            unnamed.discard(at)
        if unnamed:
            name = self._attributes[min(unnamed)].name
            message = f"a sparse row must name {shown(name)}, because texts and dates have no zero"
            raise ArffSyntaxError(message, min(unnamed))
        return row

    def _cells(self, at: int, values: Sequence[str | None]) -> TextCells:
        array = without_tokens(pa.array(values, pa.string()), self._tokens)
        return TextCells(array, self._syntax, CELL if self._attributes[at].type in ("numeric", "nominal") else TEXT)


def _split_entries(text: str) -> list[str]:
    """The entries of a sparse row; commas within quotes do not separate."""
    return re.findall(r"""(?:[^,'"]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")+""", text)


def _check_dates(attribute: Attribute, values: Sequence[str | None], lines: Sequence[int], first: int) -> None:
    """Refuse what is no date.

    Args:
        lines: of the values.
        first: the row of the first of them.
    """
    wrong = {value for value in set(values) if value is not None and not _is_date(value, attribute.date_format)}
    if not wrong:
        return
    faults = Faults()
    for row, (value, line) in enumerate(zip(values, lines, strict=True), first):
        if value in wrong and value is not None:
            message = f"line {line}, column {shown(attribute.name)}: {shown(value)} is no date as declared"
            faults.add(
                Fault(
                    message,
                    row=row,
                    line=line,
                    column=cut(attribute.name),
                    allowed=attribute.date_pattern,
                    value=cut(value),
                )
            )
    faults.raise_if_any("Dates do not fit their pattern")


def _is_date(value: str, date_format: str) -> bool:
    try:
        datetime.strptime(value, date_format)
    except ValueError:
        return False
    return True
