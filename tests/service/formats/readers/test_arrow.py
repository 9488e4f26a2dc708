"""Parquet and Arrow IPC: the file's types decide, what no cell can hold is refused by column."""

from __future__ import annotations

import datetime
import decimal
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from service.errors import Invalid, TooLarge
from service.settings import Limits
from tests.service.formats.reading_files import read, refused


def parquet(table, **options):
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return {"source": sink.getvalue(), "name": "a.parquet"}


def arrow_file(table):
    sink = io.BytesIO()
    with ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return {"source": sink.getvalue(), "name": "a.arrow"}


def arrow_stream(table):
    sink = io.BytesIO()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return {"source": sink.getvalue(), "name": "a.arrows"}


FORMS = pytest.mark.parametrize("form", [parquet, arrow_file, arrow_stream])


@FORMS
def test_types_decide_the_kinds(form):
    table = pa.table(
        {
            "i": pa.array([1, None, 3], pa.int32()),
            "f": pa.array([0.1, 0.5, None], pa.float32()),
            "d": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("2.25")]),
            "b": pa.array([True, None, False]),
            "t": pa.array(["01", "x", ""]),
            "c": pa.array(["red", "red", None]).dictionary_encode(),
            "when": pa.array([datetime.date(2024, 1, 31), None, None]),
            "void": pa.nulls(3),
            "id": pa.array([2**53 + 1, 2**53, 5], pa.int64()),
            "u": pa.array([2**64 - 1, 0, None], pa.uint64()),
            "a.b": pa.array([1, 2, 3]),
        }
    )
    found = read(**form(table))
    assert found.cells["i"] == [1, None, 3]
    assert found.cells["f"] == [float(np.float32(0.1)), 0.5, None]
    assert found.cells["d"] == [1.1, None, 2.25]
    assert found.cells["b"] == [True, None, False]
    assert found.cells["t"] == ["01", "x", ""]
    assert found.cells["c"] == ["red", "red", None]
    assert found.cells["when"] == ["2024-01-31", None, None]
    assert found.cells["void"] == [None] * 3
    assert found.cells["id"] == ["9007199254740993", "9007199254740992", "5"]
    assert found.cells["u"] == ["18446744073709551615", "0", None]
    assert found.cells["a.b"] == [1, 2, 3]
    assert found.columns["b"]["level_type"] == "boolean"
    assert "2^53" in found.columns["id"]["evidence"]


@FORMS
def test_declared_kinds(form):
    table = pa.table({"i": [2, 10, 2], "f": [1.0, 2.5, 1.0], "t": ["1", "2", "?"], "b": [True, False, True]})
    kinds = {"i": "nominal", "f": "ordinal", "t": "numeric", "b": "nominal"}
    found = read(**form(table), kinds=kinds, missing_tokens=["?"])
    assert found.columns["i"]["levels"] == ["2", "10"]
    assert found.cells["i"] == [2, 10, 2]
    assert found.columns["f"]["levels"] == ["1", "2.5"]
    assert found.cells["t"] == [1, 2, None]
    assert found.cells["b"] == ["true", "false", "true"]


@FORMS
def test_nan_is_missing_and_said_so_infinity_is_refused(form):
    found = read(**form(pa.table({"f": [1.0, float("nan")], "y": ["a", "b"]})))
    assert found.missing()["f"] == 1
    assert any("NaN" in warning for warning in found.ingested.warnings)
    error = refused(Invalid, **form(pa.table({"f": [1.0, float("-inf")], "y": ["a", "b"]})))
    assert (error.faults[0].row, error.faults[0].column) == (1, "f")


@FORMS
def test_nested_columns_are_refused_unless_excluded(form):
    table = pa.table({"l": [["a"], ["b"]], "x": [1, 2], "y": ["a", "b"], "blob": [b"1", b"2"]})
    error = refused(Invalid, **form(table))
    assert [fault.column for fault in error.faults] == ["l", "blob"]
    assert list(read(**form(table), kinds={"l": "excluded", "blob": "excluded"}).columns) == ["x", "y"]


@FORMS
def test_nul_and_names(form):
    assert refused(Invalid, **form(pa.table({"t": ["a\0", "b"], "y": [1, 2]}))).faults[0].column == "t"
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert refused(Invalid, **form(twice)).faults[0].column == "a"


@FORMS
def test_damaged_files(form):
    data = form(pa.table({"x": list(range(1000)), "y": ["a"] * 1000}))
    source = data["source"]
    for broken in (source[: len(source) // 2], source[:200] + b"\xff" * 400 + source[600:], source[:8]):
        refused(Invalid, broken, name=data["name"])


def test_limits_of_parquet():
    rows = 30_000_000
    table = pa.table({"x": pa.array(np.zeros(rows)), "y": pa.array(np.zeros(rows))})
    file = parquet(table, use_dictionary=False, compression="zstd")
    assert len(file["source"]) < 500_000
    error = refused(TooLarge, **file)
    assert error.faults[0].allowed == 100
    small = parquet(pa.table({"x": range(10), "y": range(10)}))
    assert refused(TooLarge, **small, limits=Limits(rows=9)).faults[0].allowed == 9


def test_a_table_that_grows_beyond_all_proportion():
    """Run lengths hide from the sizes that Parquet states; what counts is what the table would take."""
    rows = 8_000_000
    table = pa.table({"x": pa.array(np.zeros(rows)), "y": pa.array(np.zeros(rows))})
    file = parquet(table)
    assert len(file["source"]) < 100_000
    assert refused(TooLarge, **file).faults[0].allowed == 100


def test_many_batches_are_one_table():
    n = 150_000
    table = pa.table({"x": np.arange(n), "y": np.where(np.arange(n) % 3 == 0, "a", "b")})
    found = read(**parquet(table, row_group_size=7_000))
    assert np.array_equal(found.table.values[:, 0], np.arange(n))
    assert np.array_equal(found.table.values[:, 1], (np.arange(n) % 3 != 0).astype(float))


def test_what_follows_a_stream_is_refused():
    one = arrow_stream(pa.table({"x": [1, 2], "y": ["a", "b"]}))
    for rest in (one["source"], b"junk"):
        error = refused(Invalid, one["source"] + rest, name=one["name"])
        assert f"{len(rest)} bytes follow the end of the stream" in error.detail
    assert list(read(**one).columns) == ["x", "y"]


@FORMS
def test_a_broken_text_is_told_with_its_column(form):
    data = [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"a\xff")]
    error = refused(Invalid, **form(pa.table({"x": [1, 2], "name": pa.Array.from_buffers(pa.string(), 2, data)})))
    assert error.faults[0].column == "name"
    assert "Invalid UTF8" in error.detail
