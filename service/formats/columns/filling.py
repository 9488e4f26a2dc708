"""From a reader's blocks to columns of provisional cells, in memory that does not grow with the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from learners.types import FloatArray
from service.errors import Fault, Invalid, TooLarge
from service.formats.columns.builder import ColumnBuilder, refuse_wrong_cells
from service.formats.columns.plans import check_names, check_options, plan_column
from service.formats.columns.scratch import Scratch
from service.formats.faults import cut, shown
from service.formats.options import EXCLUDED, ReadOptions
from service.formats.readers.csv_reader import CsvReader
from service.formats.readers.reading import Block, Reader
from service.settings import Limits

#: Tables smaller than this are never taken for what a decompression bomb became.
HARMLESS_BYTES = 64 << 20
#: All columns together may have this many times the levels that one may have.
_LEVELS_OF_ALL = 20


@dataclass(frozen=True)
class Filled:
    """One column after reading: its builder, and where its cells lie."""

    builder: ColumnBuilder
    scratch: Scratch
    index: int

    def cells(self) -> FloatArray:
        """Shape (n,): numbers or provisional codes, NaN where missing."""
        return self.scratch.column(self.index)


def fill(reader: Reader, options: ReadOptions, limits: Limits, folder: Path, stack: ExitStack) -> list[Filled]:
    """Read a file once, and once more for the columns that turned out late not to be numbers.

    Args:
        reader: the opened file.
        options: how to read it.
        limits: what is too much.
        folder: where scratch files are put.
        stack: closes the scratch files.

    Returns:
        One entry to each column that is kept, in the file's order.

    Raises:
        ServiceError: whatever is wrong with the file; names lines, rows and columns.
    """
    known, is_delimited = reader.names(), isinstance(reader, CsvReader)
    if known is not None:
        check_names(known, limits, is_first_line=is_delimited and options.header)
        check_options(known, options, is_delimited=is_delimited)
    skip = frozenset(name for name, kind in options.kinds.items() if kind == EXCLUDED)
    first = _Pass(reader, options, limits, folder, stack)
    first.run(skip)
    if first.scratch.n_rows == 0:
        raise Invalid("The file has no rows", [Fault("no rows", parameter="file")])
    if known is None:
        check_options(first.all_names(skip), options, is_delimited=is_delimited)
    late = {name for name, builder in first.builders.items() if builder.is_late}
    again = _Pass(reader, options, limits, folder, stack, texts_only=True)
    if late:
        again.run(skip | (set(first.builders) - late))
    reread = again.filled()
    filled = [reread.get(name, one) for name, one in first.filled().items()]
    for one in filled:
        rows = [row for row, _ in one.builder.wrong_rows()]
        refuse_wrong_cells(one.builder, reader.lines_of(rows) if rows else {})
    return filled


def _with_lines(faults: Sequence[Fault], reader: Reader) -> list[Fault]:
    lines = reader.lines_of(fault.row for fault in faults if fault.row is not None)
    return [fault if fault.row is None else replace(fault, line=lines.get(fault.row)) for fault in faults]


class _Pass:
    """One run through a file's blocks."""

    def __init__(
        self,
        reader: Reader,
        options: ReadOptions,
        limits: Limits,
        folder: Path,
        stack: ExitStack,
        *,
        texts_only: bool = False,
    ) -> None:
        self._reader, self._options, self._limits, self._texts_only = reader, options, limits, texts_only
        self.scratch = stack.enter_context(Scratch(folder))
        self.builders: dict[str, ColumnBuilder] = {}
        self._most_bytes = max(HARMLESS_BYTES, limits.decompression_ratio * reader.size)

    def run(self, skip: frozenset[str] | set[str]) -> None:
        for block in self._reader.blocks(frozenset(skip)):
            self._add(block)

    def all_names(self, skip: Iterable[str]) -> list[str]:
        """The columns found and those that were to be skipped."""
        return [*self.builders, *skip]

    def filled(self) -> dict[str, Filled]:
        """What was read, by column."""
        return {
            name: Filled(builder, self.scratch, index) for index, (name, builder) in enumerate(self.builders.items())
        }

    def _add(self, block: Block) -> None:
        new = [name for name in block.cells if name not in self.builders]
        if new:
            check_names([*self.builders, *new], self._limits)
            for name in new:
                plan = plan_column(name, self._options, self._reader.declared.get(name))
                self.builders[name] = ColumnBuilder(plan, self._limits.levels, texts_only=self._texts_only)
        first_row = self.scratch.n_rows
        self._check_size(first_row + block.n_rows)
        self.scratch.append([self._cells(name, block, first_row) for name in self.builders], block.n_rows)

    def _cells(self, name: str, block: Block, first_row: int) -> FloatArray:
        builder = self.builders[name]
        if builder.is_late or name not in block.cells:
            return np.full(block.n_rows, np.nan)
        try:
            return builder.add(block.cells[name], first_row)
        except Invalid as error:
            raise Invalid(error.detail, _with_lines(error.faults, self._reader)) from None

    def _check_size(self, n_rows: int) -> None:
        if n_rows > self._limits.rows:
            raise TooLarge(
                f"The file has more than {self._limits.rows} rows",
                [Fault("too many rows", row=self._limits.rows, allowed=self._limits.rows)],
            )
        most = _LEVELS_OF_ALL * self._limits.levels
        if sum(len(builder.levels) for builder in self.builders.values()) > most:
            widest = max(self.builders.values(), key=lambda builder: len(builder.levels))
            raise TooLarge(
                f"All columns together have more than {most} different texts; most are in {shown(widest.plan.name)}",
                [Fault("too many levels in all columns together", column=cut(widest.plan.name), allowed=most)],
            )
        size = 8 * n_rows * len(self.builders)
        if size > self._most_bytes:
            ratio = self._limits.decompression_ratio
            raise TooLarge(
                f"The table would take {size} bytes, more than {ratio:g} times the file",
                [Fault("decompression ratio too large", parameter="file", allowed=ratio)],
            )
