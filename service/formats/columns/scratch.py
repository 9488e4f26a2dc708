"""Cells on their way from row blocks to whole columns: a nameless file, never a mapping.

Blocks come as d short columns of m rows and are appended one after the other; a column is gathered
again by reading its piece of each block. Plain writes are used because mapped pages would count as
memory of the process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from learners.types import FloatArray


class Scratch:
    """Blocks of a growing (d, n) matrix; later blocks may have more columns than earlier ones."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - closed by __exit__
        self._blocks: list[tuple[int, int, int]] = []  # where it begins, its columns, its rows
        self._end = 0
        self.n_rows = 0

    def append(self, columns: Sequence[FloatArray], n_rows: int) -> None:
        """Add a block of d columns, each of shape (n_rows,)."""
        if columns:
            block = np.concatenate(columns)
            self._write(block.view(np.uint8).data)
        self._blocks.append((self._end, len(columns), n_rows))
        self._end += 8 * n_rows * len(columns)
        self.n_rows += n_rows

    def column(self, index: int) -> FloatArray:
        """All cells of one column, shape (n,); NaN where a block came before the column was known."""
        cells = np.full(self.n_rows, np.nan)
        row = 0
        for begin, n_columns, n_rows in self._blocks:
            if index < n_columns:
                self._read(begin + 8 * n_rows * index, cells[row : row + n_rows].view(np.uint8).data)
            row += n_rows
        return cells

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _write(self, data: memoryview) -> None:
        while data:
            data = data[self._file.write(data) :]

    def _read(self, position: int, into: memoryview) -> None:
        self._file.seek(position)
        while into:
            count = self._file.readinto(into)
            if not count:
                raise OSError("the scratch file is shorter than what was written to it")
            into = into[count:]
