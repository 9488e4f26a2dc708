"""Parquet and Arrow IPC: typed columns in record batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import ipc

from learners.table import EXACT_INTEGER, number_text
from learners.types import FloatArray
from service.errors import Fault, Invalid, TooLarge
from service.formats.arrow_types import READABLE, decoded, is_number_list, is_readable, spelled
from service.formats.faults import Faults, cut, shown
from service.formats.options import ReadOptions
from service.formats.readers.reading import BOOLEAN, CELL, NUMBER, TEXT, Block, Cells, Reader
from service.formats.readers.text_cells import TextCells, token_array, without_tokens
from service.formats.readers.value_cells import ValueCells
from service.formats.written_numbers import PLAIN, NumberSyntax
from service.settings import Limits

_BATCH_ROWS = 65_536
#: Files that become smaller than this are never taken for decompression bombs.
HARMLESS_BYTES = 64 << 20


class ArrowReader(Reader):
    """A Parquet file, or an Arrow file or stream."""

    def __init__(self, path: Path, options: ReadOptions, limits: Limits, format_name: str) -> None:
        super().__init__(format_name, path.stat().st_size)
        self._path = path
        self._tokens = token_array(options.missing_tokens)
        self._syntax = NumberSyntax(options.decimal, options.thousands, "" in options.missing_tokens)
        try:
            self._schema = self._parquet_schema(limits) if format_name == "parquet" else self._ipc_schema()
        except (pa.ArrowException, OSError) as error:
            raise _broken(format_name, error) from None

    def names(self) -> list[str]:
        return list(self._schema.names)

    def blocks(self, skip: frozenset[str]) -> Iterator[Block]:
        keep = [at for at, name in enumerate(self._schema.names) if name not in skip]
        self._check_types(keep)
        row = 0
        try:
            for batch in self._batches():
                cells = {self._schema.names[at]: self._cells(at, batch.column(at), row) for at in keep}
                yield Block(batch.num_rows, cells)
                row += batch.num_rows
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise _broken(self.format, error) from None

    def _parquet_schema(self, limits: Limits) -> pa.Schema:
        with pq.ParquetFile(self._path) as file:
            metadata, schema = file.metadata, file.schema_arrow
        if metadata.num_rows > limits.rows:
            raise TooLarge(
                f"The file has {metadata.num_rows} rows; at most {limits.rows} are allowed",
                [Fault("too many rows", row=limits.rows, allowed=limits.rows)],
            )
        expanded = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
        allowed = max(HARMLESS_BYTES, limits.decompression_ratio * self.size)
        if expanded > allowed:
            raise TooLarge(
                f"The file would expand to {expanded} bytes, more than {limits.decompression_ratio:g} times its size",
                [Fault("decompression ratio too large", parameter="file", allowed=limits.decompression_ratio)],
            )
        return schema

    def _ipc_schema(self) -> pa.Schema:
        with pa.OSFile(str(self._path)) as source:
            return _open_ipc(source).schema

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self.format == "parquet":
            with pq.ParquetFile(self._path, pre_buffer=False, buffer_size=1 << 20) as file:
                yield from file.iter_batches(batch_size=_BATCH_ROWS)
            return
        with pa.OSFile(str(self._path)) as source:
            reader = _open_ipc(source)
            if isinstance(reader, ipc.RecordBatchFileReader):
                yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
            else:
                yield from reader
                if source.tell() < self.size:
                    raise pa.ArrowInvalid(f"{self.size - source.tell()} bytes follow the end of the stream")

    def _check_types(self, keep: list[int]) -> None:
        faults = Faults()
        for at in keep:
            one = self._schema.field(at)
            if not is_readable(one.type):
                message = f"column {shown(one.name)} has the type {cut(str(one.type))}, which is not read here"
                faults.add(Fault(message, column=cut(one.name), allowed=READABLE))
        faults.raise_if_any("Columns have types that are not read here; exclude them")

    def _cells(self, at: int, array: pa.Array, first_row: int) -> Cells:
        array, name = decoded(array), self._schema.names[at]
        kind = array.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return self._numbers(name, array, first_row)
        if is_number_list(kind):
            return ValueCells(array.to_pylist(), frozenset(), self._syntax)
        if pa.types.is_decimal(kind) or pa.types.is_null(kind):
            return TextCells(spelled(name, array), PLAIN, CELL)  # its texts have the file's marks in no option
        if pa.types.is_boolean(kind):
            return TextCells(spelled(name, array), self._syntax, BOOLEAN)
        array = spelled(name, array)
        _check_texts(name, array)
        return TextCells(without_tokens(array, self._tokens), self._syntax, TEXT)

    def _numbers(self, name: str, array: pa.Array, first_row: int) -> Cells:
        if pa.types.is_floating(array.type):
            array = array.cast(pa.float64())
            infinite = pc.is_inf(array).fill_null(False).to_numpy(zero_copy_only=False)
            if infinite.any():
                row = first_row + int(np.flatnonzero(infinite)[0])
                message = f"row {row}, column {shown(name)}: infinity is not a finite number"
                raise Invalid(message, [Fault(message, row=row, column=cut(name), allowed="finite numbers")])
            is_nan = pc.is_nan(array)
            if pc.any(is_nan).as_py():
                note = f"NaN counts as missing in column {shown(name)}"
                if note not in self.warnings:
                    self.warnings.append(note)
                array = pc.if_else(is_nan, pa.scalar(None, pa.float64()), array)
        return NumberCells(array)


class NumberCells:
    """Cells of an integer or floating column; see :class:`~service.formats.readers.reading.Cells`."""

    def __init__(self, array: pa.Array) -> None:
        self._array = array

    @property
    def n_known(self) -> int:
        return len(self._array) - int(self._array.null_count)

    def numbers(self) -> FloatArray | None:
        cells = self.any_numbers()[0]
        if pa.types.is_integer(self._array.type) and (np.abs(cells) >= EXACT_INTEGER).any():
            return None
        return cells

    def any_numbers(self) -> tuple[FloatArray, list[int]]:
        cells = pc.cast(self._array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return cells, []

    def vanished(self, values: FloatArray) -> list[int]:
        return []

    def texts(self) -> pa.StringArray:
        if pa.types.is_integer(self._array.type):
            return self._array.cast(pa.string())
        texts = [None if value is None else number_text(value) for value in self._array.to_pylist()]
        return pa.array(texts, pa.string())

    def types(self) -> str | list[str]:
        return NUMBER


def _check_texts(name: str, array: pa.Array) -> None:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        message = f"column {shown(name)} is broken: {cut(str(error).splitlines()[0])}"
        raise Invalid(f"The file cannot be read: {message}", [Fault(message, column=cut(name))]) from None


def _open_ipc(source: pa.NativeFile) -> ipc.RecordBatchFileReader | ipc.RecordBatchStreamReader:
    try:
        return ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return ipc.open_stream(source)


def _broken(format_name: str, error: Exception) -> Invalid:
    reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    return Invalid(f"The file cannot be read as {format_name}: {reason}", [Fault(reason, parameter="format")])
