"""Prediction rows that come as an Arrow IPC stream.

pyarrow is loaded with the first such request: it takes more memory than all else of a serving process.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from learners.table import EXACT_INTEGER, MISSING, Column
from learners.types import FloatArray
from service.errors import BadRequest, Fault, Invalid, TooLarge, UnsupportedMediaType
from service.formats.arrow_types import READABLE, decoded, is_readable, is_spelled, spelled, value_type
from service.formats.faults import cut, shown

if TYPE_CHECKING:
    import pyarrow as pa

#: Places of fields in the tables of Arrow's ``Message.fbs``: offset of the field's entry in a table's vtable.
_HEADER_TYPE, _HEADER, _COMPRESSION, _DICTIONARY_DATA = 6, 8, 10, 6
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_FILE_MAGIC = b"ARROW1"


@dataclass(frozen=True)
class ArrowRows:
    """Rows as typed columns.

    Attributes:
        names: of the columns, in their order.
        batches: with these columns; what they hold was validated, and is null in those that no reader takes.
    """

    names: list[str]
    batches: list[pa.RecordBatch]

    def __len__(self) -> int:
        return sum(batch.num_rows for batch in self.batches)

    def values(self) -> list[list[Any]]:
        """The rows as lists of Python values, None where missing; NaN counts as missing."""
        columns: list[list[Any]] = [[] for _ in self.names]
        for batch in self.batches:
            for cells, array in zip(columns, batch.columns, strict=True):
                cells.extend(None if _is_nan(value) else value for value in decoded(array).to_pylist())
        return [list(row) for row in zip(*columns, strict=True)] if self.names else [[] for _ in range(len(self))]

    def numbers(self, names: Sequence[str]) -> FloatArray | None:
        """The columns of these names as a matrix, if the stream has just these, of nothing but plain numbers.

        Returns:
            float64 of shape (n, len(names)), column-major, NaN where missing; None where a column is absent or
            too much, or holds anything but finite numbers that a double has exactly.
        """
        if len(names) != len(self.names) or set(names) != set(self.names):
            return None
        matrix = np.empty((len(names), len(self)))
        first = 0
        for batch in self.batches:
            for place, name in enumerate(names):
                numbers = _plain_numbers(batch.column(name))
                if numbers is None:
                    return None
                matrix[place, first : first + batch.num_rows] = numbers
            first += batch.num_rows
        return None if np.isinf(matrix).any() else matrix.T


def read_arrow(body: bytes, max_rows: int, columns: Sequence[Column]) -> ArrowRows:
    """Read a stream.

    Args:
        body: of the request.
        max_rows: that may come.
        columns: for which the cells are; of others only the names are read.

    Raises:
        BadRequest: it is none, or broken. UnsupportedMediaType: it is compressed.
        TooLarge: too many rows. Invalid: the type of one of the columns is not read here.
    """
    import pyarrow as pa

    if body.startswith(_FILE_MAGIC):
        message = "it is in Arrow's file format, which begins with ARROW1; write it in the stream format"
        raise BadRequest(f"The body is no Arrow IPC stream: {message}", [Fault(message, parameter="body")])
    try:
        _look_at_messages(body)
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            _check_types(reader.schema, columns)
            by_name = {column.name: column for column in columns}
            batches, n_rows = [], 0
            for batch in reader:
                if n_rows + batch.num_rows > max_rows:
                    raise too_many(n_rows + batch.num_rows, max_rows)
                _validate(batch, n_rows)
                batches.append(_readable(batch, by_name))
                n_rows += batch.num_rows
            return ArrowRows(list(reader.schema.names), batches)
    except (pa.ArrowException, OSError, UnicodeDecodeError, struct.error) as error:
        reason = cut(str(error).splitlines()[0] if str(error) else type(error).__name__)
        raise BadRequest(f"The body is no Arrow IPC stream: {reason}") from None


def too_many(n_rows: int, max_rows: int) -> TooLarge:
    """The error of a request with so many rows or more."""
    return TooLarge(
        f"The request has {n_rows} rows or more; at most {max_rows} are answered at once",
        [Fault("too many rows", parameter="rows", allowed=max_rows)],
    )


def _look_at_messages(body: bytes) -> None:
    """Raise for buffers that would expand, how far is known only once it has happened; and for what follows the end.

    Raises:
        UnsupportedMediaType: a message is compressed. BadRequest: bytes follow the stream's end.
    """
    import pyarrow as pa

    source = pa.BufferReader(body)
    for message in pa.ipc.MessageReader.open_stream(source):
        if _is_compressed(bytes(message.metadata)):
            raise UnsupportedMediaType(
                "Compressed Arrow streams are not read here; write the stream without compression",
                [Fault("the record batches are compressed", parameter="Content-Type", allowed="uncompressed")],
            )
    if source.tell() < len(body):
        end = source.tell()
        message = f"{len(body) - end} bytes follow the end of the stream at byte {end}"
        raise BadRequest(f"The body is more than one Arrow IPC stream: {message}", [Fault(message, parameter="body")])


def _is_compressed(metadata: bytes) -> bool:
    """Whether a message's record batch names a compression; pyarrow verified the structure of the table."""
    message = struct.unpack_from("<I", metadata)[0]
    kind_at, header_at = _field(metadata, message, _HEADER_TYPE), _field(metadata, message, _HEADER)
    if kind_at is None or header_at is None or metadata[kind_at] not in (_DICTIONARY_BATCH, _RECORD_BATCH):
        return False
    batch = _target(metadata, header_at)
    if metadata[kind_at] == _DICTIONARY_BATCH:
        data_at = _field(metadata, batch, _DICTIONARY_DATA)
        if data_at is None:
            return False
        batch = _target(metadata, data_at)
    return _field(metadata, batch, _COMPRESSION) is not None


def _field(metadata: bytes, table: int, entry: int) -> int | None:
    """Where a field of a FlatBuffers table stands; None if it is absent."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    if entry >= struct.unpack_from("<H", metadata, vtable)[0]:
        return None
    offset = struct.unpack_from("<H", metadata, vtable + entry)[0]
    return table + offset if offset else None


def _target(metadata: bytes, at: int) -> int:
    return int(at + struct.unpack_from("<I", metadata, at)[0])


def _check_types(schema: pa.Schema, columns: Sequence[Column]) -> None:
    known = {column.name for column in columns}
    for field in schema:
        if "\0" in field.name:
            message = f"the name of column {shown(field.name)} holds a NUL character"
            raise Invalid(message, [Fault(message, column=cut(field.name))])
        if field.name in known and not is_readable(field.type):
            message = f"column {shown(field.name)} has the type {cut(str(field.type))}, which is not read here"
            raise Invalid(message, [Fault("type not read here", column=cut(field.name), allowed=READABLE)])


def _readable(batch: pa.RecordBatch, columns: Mapping[str, Column]) -> pa.RecordBatch:
    """Rows as the columns take them: no decimal numbers, dates and times, and nothing in names that are none of theirs.

    Raises:
        Invalid: see :func:`~service.formats.arrow_types.spelled`.
    """
    import pyarrow as pa

    def cells(name: str, array: pa.Array) -> pa.Array:
        if name not in columns:
            return pa.nulls(len(array))
        kind = value_type(array.type)
        if not is_spelled(kind):
            return array
        texts = spelled(name, decoded(array))
        return texts.cast(pa.float64()) if pa.types.is_decimal(kind) and columns[name].is_numeric else texts

    names = batch.schema.names
    if batch.num_columns == 0:
        return batch
    return pa.RecordBatch.from_arrays([*map(cells, names, batch.columns)], names=names)


def _validate(batch: pa.RecordBatch, first: int) -> None:
    """Raise for cells that are broken, or hold what no text here may contain.

    Args:
        batch: some rows.
        first: the number of the first of them.

    Raises:
        BadRequest: names the column. Invalid: names the column and the row.
    """
    import pyarrow as pa

    batch.validate()
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        try:
            array.validate(full=True)
        except pa.ArrowInvalid as error:
            message = f"column {shown(name)} is broken: {cut(str(error).splitlines()[0])}"
            raise BadRequest(
                f"The body is no Arrow IPC stream: {message}, counted from row {first}",
                [Fault(message, column=cut(name))],
            ) from None
        row = _first_nul(array)
        if row is not None:
            message = f"column {shown(name)} holds a NUL character in row {first + row}"
            raise Invalid(message, [Fault("NUL character", row=first + row, column=cut(name))])


def _first_nul(array: pa.Array) -> int | None:
    """Where an array's texts hold the first NUL, which no text here may contain."""
    import pyarrow as pa
    from pyarrow import compute, types

    if types.is_dictionary(array.type):
        if _first_nul(array.dictionary) is None:
            return None
        array = array.dictionary_decode()
    if types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    if not (types.is_string(array.type) or types.is_large_string(array.type)):
        return None
    row = compute.index(compute.match_substring(array, "\0"), True).as_py()
    return None if row < 0 else int(row)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _plain_numbers(array: pa.Array) -> FloatArray | None:
    """A numeric array as float64, NaN where null; None for any other and for integers that a double rounds."""
    from pyarrow import types

    if types.is_floating(array.type):
        numbers: FloatArray = array.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        return numbers
    if not types.is_integer(array.type):
        return None
    known = array.drop_null().to_numpy()
    if len(known) and (known.max() >= EXACT_INTEGER or known.min() <= -EXACT_INTEGER):
        return None
    numbers = np.full(len(array), MISSING)
    numbers[array.is_valid().to_numpy(zero_copy_only=False)] = known
    return numbers
