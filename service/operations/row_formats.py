"""Prediction rows and answers as CSV, as newline-delimited JSON and as an Arrow stream.

The same values are encoded by the same code as those of a JSON request (:mod:`service.operations.rows`);
only the outermost form differs. Answers are made a batch at a time while they are being sent.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, Protocol

import numpy as np

from service import strict_json
from service.errors import Fault, ServiceError
from service.formats.arrow_rows import read_arrow
from service.formats.record_texts import read_csv
from service.formats.records import RowEncoder
from service.operations.answer_cells import AnswerCells, Notes
from service.operations.json_text import encode_json
from service.operations.predict import Bounds, Describe, Form, answer_rows, check_count
from service.operations.reason_texts import plain_text
from service.operations.rows import Encoded, Options, encode_matrix, encode_records
from service.operations.served import ServedModel

RowFormat = Literal["csv", "tsv", "ndjson", "arrow"]

#: Rows that are answered at a time.
BATCH = 2000
#: The same where nothing but the answers is to be written.
PLAIN_BATCH = 20_000
#: Rows, from the first, whose numbers are kept as texts.
_MAX_KEPT_NUMBERS = 10_000
DELIMITERS = {"csv": ",", "tsv": "\t"}


@dataclass(frozen=True)
class SentRows:
    """Rows of a body, not yet encoded.

    Attributes:
        data: lists of cells, or of NDJSON its lines.
        lines: the line of each row; None where a format has none.
        names: of the cells; None of NDJSON.
        depth: how deep a line's JSON may be.
    """

    data: list[Any]
    lines: list[int] | None
    names: list[str] | None = None
    depth: int = 0

    def __len__(self) -> int:
        return len(self.data)

    def encode(self, model: ServedModel, options: Options, first: int = 0, last: int | None = None) -> Encoded:
        """The rows from ``first`` to before ``last`` encoded."""
        data = self.data[first:last]
        lines = None if self.lines is None else self.lines[first:last]
        if self.names is not None:
            return encode_matrix(self.names, data, model.inputs, options, lines)
        objects = [_read_object(line, number, self.depth) for number, line in zip(lines or (), data, strict=True)]
        encoded = encode_records(objects, model.inputs, options)
        for row, fault in enumerate(objects):
            if isinstance(fault, Fault):
                encoded.faults[row] = [replace(fault, row=row)]
        return encoded

    def batches(self, model: ServedModel, options: Options) -> Iterator[Encoded]:
        """The rows encoded, some at a time."""
        for first in range(0, len(self), BATCH):
            yield self.encode(model, options, first, first + BATCH)


def in_batches(encoded: Encoded) -> Iterator[Encoded]:
    """Plain rows, some at a time."""
    for first in range(0, encoded.n_rows, PLAIN_BATCH):
        yield Encoded(np.ascontiguousarray(encoded.values[first : first + PLAIN_BATCH]))


def read_rows(body: bytes, row_format: RowFormat, bounds: Bounds, encoder: RowEncoder) -> SentRows:
    """Look at a body that is no JSON: its columns, and whether it has too many rows.

    Raises:
        UnsupportedMediaType: not UTF-8, or compressed. BadRequest: a quote is not closed, or the stream is broken.
        Invalid: no header, or one that names a column twice or none of the model's, or a column of another type.
        TooLarge: too many rows.
    """
    if row_format == "ndjson":
        lines = [(number, line) for number, line in enumerate(body.splitlines(), 1) if line.strip()]
        check_count(len(lines), bounds)
        return SentRows([line for _, line in lines], [number for number, _ in lines], depth=bounds.depth)
    if row_format == "arrow":
        sent = read_arrow(body, bounds.rows, encoder.columns)
        encoder.check_names(sent.names)
        return SentRows(sent.values(), None, sent.names)
    rows = read_csv(body, DELIMITERS[row_format])
    encoder.check_names(rows.names)
    check_count(len(rows.data), bounds)
    encoder.fill_empty(rows.names, rows.data)
    return SentRows(rows.data, rows.lines, rows.names)


def _read_object(line: bytes, number: int, depth: int) -> Any:
    try:
        return strict_json.decode(line, depth, "the line")
    except ServiceError as error:
        first = error.faults[0] if error.faults else Fault("")
        known = first.column or (first.parameter if first.parameter != "body" else None)
        return Fault(error.detail, line=number, column=known, allowed=first.allowed)


class Writer(Protocol):
    """Writes the answers to rows in some format, some rows at a time."""

    def begin(self) -> bytes:
        """What stands before all answers."""

    def plain(self, first: int, rows: Encoded) -> bytes:
        """The answers to rows about which there is nothing to say, from number ``first`` on."""

    def noted(self, first: int, answers: Iterable[tuple[bytes, Notes]]) -> bytes:
        """Any answers, each with what is said of its row."""

    def end(self) -> bytes:
        """What stands after all answers."""


def _writer(model: ServedModel, row_format: RowFormat, form: Form, options: Options) -> Writer:
    if row_format == "arrow":
        from service.operations.arrow_answers import ArrowWriter  # a large library, which few requests need

        return ArrowWriter(model, form, options)
    if row_format == "ndjson":
        return _NdjsonWriter(model)
    return _CsvWriter(model, DELIMITERS[row_format], form, options)


def write_rows(
    model: ServedModel,
    batches: Iterator[Encoded],
    options: Options,
    describe: Describe,
    row_format: RowFormat,
    form: Form = "predictions",
) -> Iterator[bytes]:
    """The answers to encoded rows, row by row in some format."""
    return write_piece(model, batches, options, describe, row_format, form=form)


@dataclass(frozen=True)
class Piece:
    """Which of all answers a piece holds.

    Attributes:
        first: number of its first row.
        begins, ends: whether it is the first piece, and the last.
    """

    first: int = 0
    begins: bool = True
    ends: bool = True


def write_piece(
    model: ServedModel,
    batches: Iterator[Encoded],
    options: Options,
    describe: Describe,
    row_format: RowFormat,
    *,
    form: Form = "predictions",
    piece: Piece = Piece(),
) -> Iterator[bytes]:
    """The same of some of the rows; the pieces of all rows in order are the whole."""
    first = piece.first
    writer = _writer(model, row_format, form, options)
    alike = form == "predictions" and not options.tells_more
    beginning = writer.begin()
    if piece.begins:
        yield beginning
    for encoded in batches:
        if alike and encoded.is_plain:
            yield writer.plain(first, encoded)
        else:
            members = answer_rows(model, encoded, options, _numbered_from(first, describe), form, noted=True)
            yield writer.noted(first, zip(members, map(encoded.notes, range(encoded.n_rows)), strict=True))
        first += encoded.n_rows
    if piece.ends:
        yield writer.end()


def _numbered_from(first: int, describe: Describe) -> Describe:
    """Faults know their place in the batch; the caller counts from the beginning."""
    return lambda fault: describe(fault if fault.row is None else replace(fault, row=fault.row + first))


class _NdjsonWriter:
    """One object a row; each names the version, since no line stands round them that could."""

    def __init__(self, model: ServedModel) -> None:
        self.model = model
        self.version = b',"model":%b,"version":%d' % (encode_json(model.identity.name), model.identity.version)
        if model.decision is not None:
            self.version += b',"decision":%b' % encode_json(model.decision.brief)

    def begin(self) -> bytes:
        return b""

    def plain(self, first: int, rows: Encoded) -> bytes:
        """The lines of answers about which there is nothing to say."""
        answers = self.model.answers(rows.values, rows.columns)
        return b"".join(
            b'{"row":%d,%b%b}\n' % (row, members, self.version) for row, members in enumerate(answers, first)
        )

    def noted(self, first: int, answers: Iterable[tuple[bytes, Notes]]) -> bytes:
        """The lines of answers with what is said of their rows."""
        return b"".join(self._line(row, members, notes) for row, (members, notes) in enumerate(answers, first))

    def end(self) -> bytes:
        return b""

    def _line(self, row: int, members: bytes, notes: Notes) -> bytes:
        noted = b"," + encode_json(notes)[1:-1] if notes else b""
        return b'{"row":%d,%b%b%b}\n' % (row, members, self.version, noted)


class _CsvWriter:
    """One record a row: the answer, its probabilities, the version, and what there is to say."""

    def __init__(self, model: ServedModel, delimiter: str, form: Form, options: Options) -> None:
        self.model = model
        self.delimiter = delimiter
        self.cells = AnswerCells(model, form, options)
        #: Rows of one leaf are written alike but for their number.
        self.known: dict[tuple[bytes, str], bytes] = {}

    def begin(self) -> bytes:
        return self._record(["row", *self.cells.names])

    def plain(self, first: int, rows: Encoded) -> bytes:
        """The lines of answers about which there is nothing to say."""
        pieces = [b""] * (2 * rows.n_rows)
        pieces[::2] = _numbers(first, rows.n_rows)
        pieces[1::2] = self.model.lines(
            rows.values, rows.columns, self.delimiter, lambda members: self._after_number(members, {})
        )
        return b"".join(pieces)

    def noted(self, first: int, answers: Iterable[tuple[bytes, Notes]]) -> bytes:
        return b"".join(self._line(row, members, notes) for row, (members, notes) in enumerate(answers, first))

    def end(self) -> bytes:
        return b""

    def _line(self, row: int, members: bytes, notes: Notes) -> bytes:
        key = (members, repr(notes) if notes else "")
        rest = self.known.get(key)
        if rest is None:
            if len(self.known) >= BATCH:
                self.known = {}
            rest = self.known[key] = self._after_number(members, notes)
        return b"%d%b" % (row, rest)

    def _after_number(self, members: bytes, notes: Notes) -> bytes:
        cells = self.cells.of(members, notes)
        return self._record(["", *("" if cell is None else plain_text(cell) for cell in cells)])

    def _record(self, cells: Sequence[str]) -> bytes:
        return delimited((cells,), self.delimiter)


def delimited(records: Iterable[Sequence[str]], delimiter: str) -> bytes:
    """Records of cells as lines, quoted where they must be."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter, lineterminator="\n").writerows(records)
    return buffer.getvalue().encode()


def _numbers(first: int, count: int) -> list[bytes]:
    """So many numbers of rows as texts."""
    known = _first_numbers()
    if first + count <= len(known):
        return known[first : first + count]
    return [b"%d" % row for row in range(first, first + count)]


@cache
def _first_numbers() -> list[bytes]:
    return [b"%d" % row for row in range(_MAX_KEPT_NUMBERS)]
