"""The answers of an evaluation beside the truth, in the formats of predictions: a record for each tested row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from learners.table import Column
from learners.types import FloatArray, IntArray
from service.operations.json_text import encode_json
from service.operations.reason_texts import plain_text
from service.operations.row_formats import DELIMITERS, RowFormat, delimited


@dataclass(frozen=True, eq=False)
class TestedRows:
    """What was answered to m rows, those that were tested twice being there twice.

    Attributes:
        target: whose labels are answered, or numbers.
        rows: (m,), their numbers in the dataset.
        repetitions, folds: (m,), in which drawing and in which fold they were tested, from 1; folds go on counting.
        actual, predicted: (m,), class codes or numbers.
        probabilities: (m, K) of classes, else ``None``.
        weights: (m,), where rows have any.
        learner: what the learner is called, where there are several.
    """

    target: Column
    rows: IntArray
    repetitions: IntArray
    folds: IntArray
    actual: FloatArray
    predicted: FloatArray
    probabilities: FloatArray | None = None
    weights: FloatArray | None = None
    learner: str | None = None

    @property
    def answer(self) -> str:
        """What predictions call the answer."""
        return "value" if self.target.is_numeric else "label"

    def columns(self) -> dict[str, Sequence[Any]]:
        """All but the probabilities."""
        named = {} if self.learner is None else {"learner": [self.learner] * len(self.rows)}
        weighed = {} if self.weights is None else {"weight": self.weights.tolist()}
        return {
            "row": self.rows.tolist(),
            **named,
            "repetition": self.repetitions.tolist(),
            "fold": self.folds.tolist(),
            **weighed,
            "actual": self._decoded(self.actual),
            self.answer: self._decoded(self.predicted),
        }

    def shares(self) -> dict[str, Sequence[float]]:
        """The probabilities, named as those of predictions."""
        if self.probabilities is None:
            return {}
        named = zip(self.target.labels, self.probabilities.T, strict=True)
        return {f"probability_{plain_text(label)}": column.tolist() for label, column in named}

    def _decoded(self, cells: FloatArray) -> list[Any]:
        if self.target.is_numeric:
            return [float(cell) for cell in cells]
        labels = self.target.labels
        return [labels[code] for code in cells.astype(int).tolist()]


def write_answers(tested: TestedRows, row_format: RowFormat, *, begins: bool, ends: bool) -> bytes:
    """A piece of the file.

    Args:
        begins, ends: whether it is the first piece, and the last.
    """
    if row_format == "arrow":
        return _arrow(tested, begins=begins, ends=ends)
    if row_format == "ndjson":
        return _ndjson(tested)
    columns = {**tested.columns(), **tested.shares()}
    header = [list(columns)] if begins else []
    records = ([plain_text(cell) for cell in cells] for cells in zip(*columns.values(), strict=True))
    return delimited(header, DELIMITERS[row_format]) + delimited(records, DELIMITERS[row_format])


def _ndjson(tested: TestedRows) -> bytes:
    columns = dict(tested.columns())
    if tested.probabilities is not None:
        columns["probabilities"] = tested.probabilities.tolist()
    lines = (dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
    return b"".join(encode_json(line) + b"\n" for line in lines)


def _arrow(tested: TestedRows, *, begins: bool, ends: bool) -> bytes:
    import pyarrow as pa

    from service.operations.arrow_answers import END, label_type, message_bytes

    columns = {**tested.columns(), **tested.shares()}
    types = dict.fromkeys(columns, pa.float64()) | dict.fromkeys(("row", "repetition", "fold"), pa.int64())
    types |= {"learner": pa.string()} | dict.fromkeys(("actual", tested.answer), label_type(tested.target.labels))
    schema = pa.schema([(name, types[name]) for name in columns])
    batch = pa.record_batch([pa.array(cells, types[name]) for name, cells in columns.items()], schema=schema)
    beginning = message_bytes(schema.serialize()) if begins else b""
    return beginning + message_bytes(batch.serialize()) + (END if ends else b"")
