"""Cells that came as texts: from CSV, from ARFF, and columns of names in typed files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from learners.types import FloatArray
from service.formats.number_arrays import any_numbers, plain_numbers, vanished
from service.formats.readers.reading import CELL
from service.formats.written_numbers import PLAIN, NumberSyntax


@dataclass(frozen=True)
class TextCells:
    """See :class:`~service.formats.readers.reading.Cells`.

    Attributes:
        array: the texts, null where missing.
        syntax: how numbers are written.
        type: what the file says of the cells; only those of type ``cell`` may turn out to be numbers.
    """

    array: pa.StringArray
    syntax: NumberSyntax = PLAIN
    type: str = CELL

    @property
    def n_known(self) -> int:
        return len(self.array) - int(self.array.null_count)

    def numbers(self) -> FloatArray | None:
        if self.type != CELL and self.n_known:
            return None
        return plain_numbers(self.array, self.syntax)

    def any_numbers(self) -> tuple[FloatArray, list[int]]:
        return any_numbers(self.array, self.syntax)

    def vanished(self, values: FloatArray) -> list[int]:
        return vanished(self.array, values)

    def texts(self) -> pa.StringArray:
        return self.array

    def types(self) -> str | list[str]:
        return self.type


def without_tokens(texts: pa.StringArray, tokens: pa.StringArray | None) -> pa.StringArray:
    """The texts with null in place of each that is a declared missing token."""
    if tokens is None or not len(texts):
        return texts
    missing: Any = pc.is_in(texts, value_set=tokens)
    if not pc.any(missing).as_py():
        return texts
    return pc.if_else(missing, pa.scalar(None, pa.string()), texts)


def token_array(tokens: tuple[str, ...]) -> pa.StringArray | None:
    """The declared tokens but the empty cell's, which each reader knows by itself; None if there are none."""
    named = [token for token in tokens if token]
    return pa.array(named, pa.string()) if named else None
