"""What every reader gives: blocks of rows, column by column, that can be read again from the start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from learners.table import Kind
from learners.types import FloatArray

#: The type that a cell's value had in its file: ``cell`` where files have no types.
CELL, TEXT, NUMBER, BOOLEAN, SEQUENCE = "cell", "text", "number", "boolean", "sequence"


@dataclass(frozen=True)
class Declared:
    """What a file itself says of a column.

    Attributes:
        kind: its kind, or None if the file leaves it open.
        levels: all its levels in order, or None.
    """

    kind: Kind | None = None
    levels: tuple[str, ...] | None = None


class Cells(Protocol):
    """The cells of one column in one block of m rows."""

    @property
    def n_known(self) -> int:
        """How many are not missing."""
        ...

    def numbers(self) -> FloatArray | None:
        """Shape (m,), NaN where missing; None unless every known cell is a number and no name."""
        ...

    def any_numbers(self) -> tuple[FloatArray, list[int]]:
        """Shape (m,), numbers however they are written, and the positions of cells that are none."""
        ...

    def vanished(self, values: FloatArray) -> list[int]:
        """The positions of cells written as a number other than 0 whose number among ``values`` is 0."""
        ...

    def texts(self) -> pa.StringArray:
        """Canonical texts, shape (m,), null where missing."""
        ...

    def types(self) -> str | list[str]:
        """The type of all known cells, or one for each of the m cells if they differ."""
        ...


@dataclass(frozen=True)
class Block:
    """Some rows: their number and their cells by column name, in the file's order of columns."""

    n_rows: int
    cells: Mapping[str, Cells]


@dataclass
class Reader:
    """A file opened in one format. Subclasses read; errors of theirs name lines, rows and columns.

    Attributes:
        format: its name.
        size: of the file in bytes, as it came.
        declared: what the file says of its columns.
        warnings: what the caller should know about how it was read.
    """

    format: str
    size: int
    declared: dict[str, Declared] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def names(self) -> list[str] | None:
        """The columns' names if the file says them before its rows, else None."""
        return None

    def blocks(self, skip: frozenset[str]) -> Iterator[Block]:
        """All blocks from the first row, without the columns to skip; the same blocks each time."""
        raise NotImplementedError

    def lines_of(self, rows: Iterable[int]) -> dict[int, int]:
        """The 1-based line of each row, as far as the format has lines."""
        return {}
