"""Prediction rows as an Arrow stream: typed cells in, and nothing but a clear refusal for anything else."""

from __future__ import annotations

import datetime as dt
import io
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from learners.table import Column, Kind
from service.errors import BadRequest, Invalid, ServiceError, TooLarge, UnsupportedMediaType
from service.formats.arrow_rows import ArrowRows, read_arrow

TYPED = pa.table(
    {
        "number": [1.5, None, float("nan")],
        "count": pa.array([1, None, 2**53 - 1], pa.int64()),
        "small": pa.array([1, 2, None], pa.uint8()),
        "flag": [True, None, False],
        "text": ["a", None, "ä"],
        "large": pa.array(["a", "b", None], pa.large_string()),
        "level": pa.array(["p", "q", None]).dictionary_encode(),
        "nothing": pa.nulls(3),
    }
)

COLUMNS = [
    *(Column(name) for name in ("number", "count", "small")),
    *(Column(name, Kind.NOMINAL) for name in ("flag", "text", "large", "level", "nothing", "name", "when")),
]


def read(body: bytes, max_rows: int) -> ArrowRows:
    return read_arrow(body, max_rows, COLUMNS)


def stream(table: pa.Table, chunk: int | None = None, **options: Any) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, chunk)
    return sink.getvalue()


@pytest.mark.parametrize("chunk", [None, 1])
def test_cells_come_in_their_types_and_missing_as_none(chunk: int | None) -> None:
    rows = read(stream(TYPED, chunk), 3)
    assert rows.names == TYPED.column_names
    assert len(rows) == 3
    assert rows.values() == [
        [1.5, 1, 1, True, "a", "a", "p", None],
        [None, None, 2, None, None, "b", "q", None],
        [None, 2**53 - 1, None, False, "ä", None, None, None],
    ]


def test_plain_numbers_are_a_matrix_in_the_order_asked_for() -> None:
    rows = read(stream(TYPED.select(["number", "count", "small"]), 2), 3)
    matrix = rows.numbers(["small", "number", "count"])
    assert matrix is not None
    np.testing.assert_array_equal(matrix, [[1, 1.5, 1], [2, np.nan, np.nan], [np.nan, np.nan, 2**53 - 1]])


@pytest.mark.parametrize(
    "table",
    [
        TYPED.select(["number"]),
        TYPED.select(["number", "count", "small"]),
        TYPED.select(["number", "text"]),
        pa.table({"number": [1.0], "count": [2**53]}),
        pa.table({"number": [1.0], "count": [-(2**53)]}),
        pa.table({"number": [float("inf")], "count": [1]}),
        pa.table([[1.0], [2.0], [3]], names=["number", "number", "count"]),
    ],
)
def test_anything_else_is_no_matrix(table: pa.Table) -> None:
    assert read(stream(table), 9).numbers(["number", "count"]) is None


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("name", ["number", "level"])
def test_compressed_streams_are_refused_before_they_expand(compression: str, name: str) -> None:
    with pytest.raises(UnsupportedMediaType, match="without compression"):
        read(stream(TYPED.select([name]), compression=compression), 9)


def test_a_type_that_is_not_read_is_named_with_its_column() -> None:
    table = pa.table({"number": [1.0], "when": pa.array([0], pa.duration("s"))})
    with pytest.raises(Invalid, match="'when' has the type duration") as raised:
        read(stream(table), 9)
    assert raised.value.faults[0].column == "when"


def test_a_type_that_is_not_read_is_none_of_a_column_that_nobody_takes() -> None:
    table = pa.table({"number": [1.0], "pair": [{"a": 1}], "span": pa.array([0], pa.duration("s"))})
    rows = read(stream(table), 9)
    assert (rows.names, rows.values()) == (["number", "pair", "span"], [[1.0, None, None]])


def test_decimal_numbers_are_numbers_where_a_column_has_them_and_else_texts() -> None:
    values = pa.array([Decimal("1.50"), None, Decimal("-0.07"), Decimal("99.99")], pa.decimal128(4, 2))
    for cells in (values, values.dictionary_encode()):
        rows = read(stream(pa.table({"number": cells, "text": cells}), 3), 9)
        assert rows.values() == [[1.5, "1.50"], [None, None], [-0.07, "-0.07"], [99.99, "99.99"]]
    matrix = read(stream(pa.table({"number": values})), 9).numbers(["number"])
    assert matrix is not None
    np.testing.assert_array_equal(matrix[:, 0], [1.5, np.nan, -0.07, 99.99])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.date32(), "2024-01-31"),
        (pa.date64(), "2024-01-31"),
        (pa.timestamp("s"), "2024-01-31 08:30:00"),
        (pa.timestamp("us"), "2024-01-31 08:30:00.000000"),
        (pa.timestamp("ms", "UTC"), "2024-01-31 08:30:00.000Z"),
        (pa.time32("s"), "08:30:00"),
    ],
)
def test_dates_and_times_are_spelled_in_order_of_their_parts(kind: pa.DataType, text: str) -> None:
    moment = dt.datetime(2024, 1, 31, 8, 30, tzinfo=dt.UTC)
    value = moment.time() if pa.types.is_time(kind) else moment.date() if pa.types.is_date(kind) else moment
    cells = pa.array([value, None], kind)
    rows = read(stream(pa.table({"when": cells, "level": cells.dictionary_encode()})), 9)
    assert rows.values() == [[text, text], [None, None]]


def test_too_many_rows_are_refused_even_if_they_take_no_space() -> None:
    with pytest.raises(TooLarge, match="at most 2"):
        read(stream(TYPED), 2)
    with pytest.raises(TooLarge, match="at most 10"):
        read(stream(pa.table({"nothing": pa.nulls(10**9)})), 10)


@pytest.mark.parametrize("body", [b"", b"ARROW1\0\0", b"{}", b"\xff" * 40, b"\xff\xff\xff\xff\0\0\0\x7f"])
def test_what_is_no_stream_is_told_so(body: bytes) -> None:
    with pytest.raises(BadRequest, match="no Arrow IPC stream"):
        read(body, 9)


def test_a_damaged_stream_is_read_or_refused_and_never_more() -> None:
    sound, chance = stream(TYPED), random.Random(0)
    refused = 0
    for turn in range(3_000):
        damaged = bytearray(sound)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            rows = read(bytes(damaged[: chance.randrange(len(damaged)) if turn % 5 == 0 else None]), 9)
            assert len(rows.values()) == len(rows)
        except ServiceError:
            refused += 1
    assert refused > 2_000


@pytest.mark.parametrize("rest", [stream(TYPED), b"\0", b"junk", b"\xff\xff\xff\xff\0\0\0\0"])
def test_what_follows_the_end_of_a_stream_is_refused(rest: bytes) -> None:
    sent = stream(TYPED)
    with pytest.raises(BadRequest, match=f"{len(rest)} bytes follow the end of the stream at byte {len(sent)}"):
        read(sent + rest, 10)


def test_a_stream_that_just_ends_is_read() -> None:
    sent = stream(TYPED)
    end = b"\xff\xff\xff\xff\0\0\0\0"
    assert sent.endswith(end)
    assert len(read(sent.removesuffix(end), 3)) == 3


def test_the_file_format_is_named() -> None:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, TYPED.schema) as writer:
        writer.write_table(TYPED)
    with pytest.raises(
        BadRequest,
        match=r"no Arrow IPC stream: it is in Arrow.s file format, which begins with ARROW1; write it in the stream",
    ):
        read(sink.getvalue(), 3)


def test_what_is_wrong_with_a_text_is_told_with_its_column() -> None:
    data = [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"a\xff")]
    broken = pa.table({"good": [1, 2], "name": pa.Array.from_buffers(pa.string(), 2, data)})
    with pytest.raises(BadRequest, match="column 'name' is broken: Invalid UTF8") as caught:
        read(stream(broken), 3)
    assert caught.value.faults[0].column == "name"


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_a_nul_is_refused_as_in_every_other_format(kind: pa.DataType) -> None:
    texts = pa.array(["a", None, "b", "c\0"]).cast(kind)
    for column in (texts, pa.array(["a", None, "b", "c\0"]).dictionary_encode()):
        with pytest.raises(Invalid, match="column 'name' holds a NUL character in row 3") as caught:
            read(stream(pa.table({"name": column}), 2), 4)
        assert (caught.value.faults[0].row, caught.value.faults[0].column) == (3, "name")
    assert len(read(stream(pa.table({"name": texts[:3]})), 4)) == 3
