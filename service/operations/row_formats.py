"""Prediction rows and answers as CSV and as newline-delimited JSON.

The same values are encoded by the same code as those of a JSON request (:mod:`service.operations.rows`);
only the outermost form differs. Answers are made a batch at a time while they are being sent.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import msgspec
import numpy as np

from service import strict_json
from service.errors import Fault, ServiceError
from service.formats.record_texts import CsvRows, read_csv
from service.formats.records import check_names
from service.operations.json_text import encode_json
from service.operations.predict import Bounds, Describe, Form, answer_rows, check_count
from service.operations.rows import Encoded, Options, encode_matrix, encode_records
from service.operations.served import ServedModel

TextFormat = Literal["csv", "tsv", "ndjson"]

#: Rows that are answered at a time.
BATCH = 2000
#: The same where nothing but the answers is to be written.
PLAIN_BATCH = 20_000
#: Rows, from the first, whose numbers are kept as texts.
_MAX_KEPT_NUMBERS = 10_000
_DELIMITERS = {"csv": ",", "tsv": "\t"}


@dataclass(frozen=True)
class TextRows:
    """Rows of a text body, not yet encoded: of CSV split into cells, of NDJSON as lines with their numbers."""

    rows: CsvRows | list[tuple[int, bytes]]
    depth: int

    def __len__(self) -> int:
        return len(self.rows.data) if isinstance(self.rows, CsvRows) else len(self.rows)

    def encode(self, model: ServedModel, options: Options, first: int = 0, last: int | None = None) -> Encoded:
        """The rows from ``first`` to before ``last`` encoded."""
        part = slice(first, last)
        if isinstance(self.rows, CsvRows):
            data, lines = self.rows.data[part], self.rows.lines[part]
            return encode_matrix(self.rows.names, data, model.inputs, options, lines)
        objects = [_read_object(line, number, self.depth) for number, line in self.rows[part]]
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


def read_rows(body: bytes, text_format: TextFormat, bounds: Bounds) -> TextRows:
    """Look at a text body: its header, and whether it has too many rows.

    Raises:
        UnsupportedMediaType: not UTF-8. BadRequest: a quote is not closed.
        Invalid: no header, or one that names a column twice. TooLarge: too many rows.
    """
    if text_format == "ndjson":
        lines = [(number, line) for number, line in enumerate(body.splitlines(), 1) if line.strip()]
        check_count(len(lines), bounds)
        return TextRows(lines, bounds.depth)
    rows = read_csv(body, _DELIMITERS[text_format])
    check_names(rows.names)
    check_count(len(rows.data), bounds)
    return TextRows(rows, bounds.depth)


def _read_object(line: bytes, number: int, depth: int) -> Any:
    try:
        return strict_json.decode(line, depth)
    except ServiceError as error:
        return Fault(error.detail, line=number)


def write_lines(
    model: ServedModel,
    batches: Iterator[Encoded],
    options: Options,
    describe: Describe,
    text_format: TextFormat,
    form: Form = "predictions",
) -> Iterator[bytes]:
    """The answers of encoded rows as lines. CSV begins with a header."""
    writer = _NdjsonWriter(model) if text_format == "ndjson" else _CsvWriter(model, _DELIMITERS[text_format], form)
    explained = options.explain or form == "explanations"
    yield writer.header(explained=explained)
    first = 0
    for encoded in batches:
        if not explained and encoded.is_plain:
            yield writer.plain(first, model.answers(encoded.values))
            first += encoded.n_rows
            continue
        members = answer_rows(model, encoded, options, _numbered_from(first, describe), form, noted=True)
        yield b"".join(writer.line(first + row, part, encoded.notes(row)) for row, part in enumerate(members))
        first += encoded.n_rows


def _numbered_from(first: int, describe: Describe) -> Describe:
    """Faults know their place in the batch; the caller counts from the beginning."""
    return lambda fault: describe(fault if fault.row is None else replace(fault, row=fault.row + first))


class _NdjsonWriter:
    """One object a row; each names the version, since no line stands round them that could."""

    def __init__(self, model: ServedModel) -> None:
        self.version = b',"model":%b,"version":%d' % (encode_json(model.identity.name), model.identity.version)
        if model.decision is not None:
            self.version += b',"decision":%b' % encode_json(model.decision.brief)

    def header(self, *, explained: bool) -> bytes:
        return b""

    def plain(self, first: int, answers: Sequence[bytes]) -> bytes:
        """The lines of answers about which there is nothing to say."""
        return b"".join(
            b'{"row":%d,%b%b}\n' % (row, members, self.version) for row, members in enumerate(answers, first)
        )

    def line(self, row: int, members: bytes, notes: dict[str, list[str]]) -> bytes:
        noted = b"," + encode_json(notes)[1:-1] if notes else b""
        return b'{"row":%d,%b%b%b}\n' % (row, members, self.version, noted)


class _CsvWriter:
    """One record a row: the answer, its probabilities, the version, and what there is to say."""

    def __init__(self, model: ServedModel, delimiter: str, form: Form) -> None:
        self.model = model
        self.delimiter = delimiter
        self.form = form
        self.explained = False
        self.decision = [] if model.decision is None else [model.decision.brief]
        self.classes = [_csv_text(label) for label in model.identity.classes]
        self.answer = "label" if model.identity.task == "classification" else "value"
        #: Rows of one leaf are written alike but for their number.
        self.known: dict[tuple[bytes, str], bytes] = {}

    def header(self, *, explained: bool) -> bytes:
        self.explained = explained
        names = ["row", self.answer, *(f"probability_{label}" for label in self.classes), "model", "version"]
        if self.decision:
            names += ["decision", "model_label"]
        return self._record([*names, "warnings", "error", *(["explanation"] if explained else [])])

    def plain(self, first: int, answers: Sequence[bytes]) -> bytes:
        """The lines of answers about which there is nothing to say."""
        rests = self.model.lines(self.delimiter)
        for members in set(answers).difference(rests):
            rests[members] = self._after_number(members, {})
        pieces = [b""] * (2 * len(answers))
        pieces[::2] = _numbers(first, len(answers))
        pieces[1::2] = map(rests.__getitem__, answers)
        return b"".join(pieces)

    def line(self, row: int, members: bytes, notes: dict[str, list[str]]) -> bytes:
        key = (members, repr(notes) if notes else "")
        rest = self.known.get(key)
        if rest is None:
            if len(self.known) >= BATCH:
                self.known = {}
            rest = self.known[key] = self._after_number(members, notes)
        return b"%d%b" % (row, rest)

    def _after_number(self, members: bytes, notes: dict[str, list[str]]) -> bytes:
        answer = msgspec.json.decode(b"{" + members + b"}")
        identity = [self.model.identity.name, self.model.identity.version]
        blank = [""] * len(self.classes)
        reason = [_reason_text(answer.get("explanation", answer))] if self.explained else []
        if "error" in answer:
            faults = "; ".join(_fault_text(fault) for fault in answer["error"]["errors"])
            undecided = [*self.decision, *("" for _ in self.decision)]
            return self._record(["", "", *blank, *identity, *undecided, "", faults, *([""] if self.explained else [])])
        said = [_warning_text(warning) for warning in answer.get("warnings", ())]
        said += [f"{name.replace('_', ' ')}: {', '.join(columns)}" for name, columns in notes.items()]
        shares = [_csv_text(share) for share in answer.get("probabilities", ())]
        told = [*self.decision, *(_csv_text(answer.get("model_label", answer["label"])) for _ in self.decision)]
        own = _csv_text(answer[self.answer])
        return self._record(["", own, *shares, *identity, *told, "; ".join(said), "", *reason])

    def _record(self, cells: Sequence[Any]) -> bytes:
        buffer = io.StringIO(newline="")
        csv.writer(buffer, delimiter=self.delimiter, lineterminator="\n").writerow(cells)
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


def _csv_text(value: Any) -> str:
    return value if isinstance(value, str) else encode_json(value).decode()


def _fault_text(fault: dict[str, Any]) -> str:
    return f"{fault['column']}: {fault['message']}" if "column" in fault else str(fault["message"])


def _warning_text(warning: dict[str, Any]) -> str:
    if warning["kind"] == "unseen":
        return f"unseen: {warning['column']}"
    return f"missing: {', '.join(warning['columns'])}"


def _reason_text(reason: dict[str, Any]) -> str:
    """Each branch's tests joined by "and", the branches by "or" with their weights; or the rule that answered."""
    if reason.get("kind") == "rule":
        tests = " and ".join(one["condition"]["text"] for one in reason["conditions"])
        return f"rule {reason['rank']}: {tests or 'no rule covers the row'}"
    branches = []
    for branch in reason.get("branches", ()):
        tests = " and ".join(step["condition"]["text"] for step in branch["steps"]) or "always"
        branches.append(tests if branch["weight"] == 1 else f"{tests} (weight {branch['weight']:.6g})")
    return " or ".join(branches)
