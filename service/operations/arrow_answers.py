"""Answers as an Arrow IPC stream: the columns of a CSV answer with their types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from learners.types import IntArray
from service.operations.answer_cells import AnswerCells, Notes
from service.operations.predict import Form
from service.operations.rows import Encoded, Options
from service.operations.served import ServedModel

#: What stands at the end of a stream.
END = b"\xff\xff\xff\xff\x00\x00\x00\x00"


class ArrowWriter:
    """A :class:`service.operations.row_formats.Writer` of record batches, message by message, so that pieces that
    several writers made are one stream.

    Args:
        model: which answers.
        form: which list the answers are of.
        options: what each tells beside; its reason as a text.
    """

    def __init__(self, model: ServedModel, form: Form, options: Options) -> None:
        self._model = model
        self._cells = AnswerCells(model, form, options)
        of_label = label_type(model.identity.classes)
        types = dict.fromkeys(self._cells.names, pa.string())
        types |= dict.fromkeys(self._cells.labels, of_label) | dict.fromkeys(self._cells.numbers, pa.float64())
        types["version"] = pa.int64()
        self._schema = pa.schema([("row", pa.int64()), *((name, types[name]) for name in self._cells.names)])

    def begin(self) -> bytes:
        return message_bytes(self._schema.serialize())

    def plain(self, first: int, rows: Encoded) -> bytes:
        """Rows of one leaf are answered alike, so each distinct answer becomes cells once."""
        answers = self._model.answers(rows.values, rows.columns)
        places = {members: place for place, members in enumerate(dict.fromkeys(answers))}
        which = np.fromiter(map(places.__getitem__, answers), np.int64, len(answers))
        return self._batch(first, which, [self._cells.of(members, {}) for members in places])

    def noted(self, first: int, answers: Iterable[tuple[bytes, Notes]]) -> bytes:
        cells = [self._cells.of(members, notes) for members, notes in answers]
        return self._batch(first, np.arange(len(cells)), cells)

    def end(self) -> bytes:
        return END

    def _batch(self, first: int, which: IntArray, cells: Sequence[Sequence[Any]]) -> bytes:
        """A batch of as many rows as ``which`` says the cells of."""
        if not cells:
            return b""
        columns = [pa.array(np.arange(first, first + len(which)))]
        taken = pa.array(which)
        for name, column in zip(self._cells.names, zip(*cells, strict=True), strict=True):
            kind = self._schema.field(name).type
            alike = len(set(column)) == 1
            columns.append(
                pa.repeat(pa.scalar(column[0], kind), len(which)) if alike else pa.array(column, kind).take(taken)
            )
        return message_bytes(pa.record_batch(columns, schema=self._schema).serialize())


def message_bytes(message: pa.Buffer) -> bytes:
    """A message of a stream."""
    content: bytes = message.to_pybytes()
    return content


def label_type(labels: Sequence[Any]) -> pa.DataType:
    """The type of a label, or of a value where there are no labels."""
    if not labels or all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels):
        return pa.float64()
    return pa.bool_() if all(isinstance(label, bool) for label in labels) else pa.string()
