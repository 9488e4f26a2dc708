"""The table file: what is written comes back, mapped and unharmed, and damage is noticed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from safetensors.numpy import load_file

from learners.checks.require import require_json
from learners.table import Column, Kind
from service.formats.table_file import TableFileError, open_table, rows, write_table

COLUMNS = (
    Column("x"),
    Column("färbe", Kind.NOMINAL, ("", "a,b", "rot"), "text"),
    Column("n", Kind.ORDINAL, ("1", "2.5"), "number"),
    Column("b", Kind.BOOLEAN, ("false", "true"), "boolean"),
)
CELLS = np.array([[1.5, math.nan, -0.0, 1e300], [0, 1, 2, math.nan], [0, 1, 1, 0], [0, 1, math.nan, 1]])


@pytest.fixture
def path(tmp_path):
    write_table(tmp_path / "table", COLUMNS, 4, iter(CELLS))
    return tmp_path / "table"


def test_what_is_written_comes_back(path):
    table = open_table(path)
    assert table.columns == COLUMNS
    assert table.values.T.tobytes() == CELLS.tobytes()


def test_the_file_is_mapped_column_major_and_read_only(path):
    values = open_table(path).values
    assert values.flags.f_contiguous
    assert not values.flags.owndata
    assert not values.flags.writeable
    assert values.ctypes.data % 64 == 0


def test_any_reader_of_the_container_reads_the_values(path):
    assert load_file(path)["values"].tobytes() == CELLS.tobytes()


def test_rows_are_json_and_give_labels_in_their_type(path):
    table = open_table(path)
    assert rows(table, 1, 2) == [
        {"x": None, "färbe": "a,b", "n": 2.5, "b": True},
        {"x": 0, "färbe": "rot", "n": 2.5, "b": None},
    ]
    require_json(rows(table, 0, 99), "the rows")
    assert rows(table, 4, 5) == []


def test_a_table_without_rows(tmp_path):
    write_table(tmp_path / "t", COLUMNS, 0, [np.empty(0)] * 4)
    assert open_table(tmp_path / "t").values.shape == (0, 4)


def test_a_column_of_another_length_is_refused(tmp_path):
    with pytest.raises(ValueError, match="shape"):
        write_table(tmp_path / "t", COLUMNS[:1], 3, [np.zeros(2)])


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: b"",
        lambda data: b"\xff" * 8 + data[8:],
        lambda data: data.replace(b'"F64"', b'"F32"'),
        lambda data: data.replace(b"rulewood_table", b"rulewood_tabel"),
        lambda data: data.replace(b'"nominal\\"', b'"nominaX\\"').replace(b"nominal", b"nominaX"),
        lambda data: data.replace(b"[4, 4]", b"[4, 5]"),
        lambda data: data.replace(b"[4, 4]", b"[5, 4]"),
        lambda data: data.replace(b'"format": "1"', b'"format": "2"'),
        lambda data: data.replace(b'{"__', b'["__'),
    ],
)
def test_damage_is_noticed(path, damage):
    before = path.read_bytes()
    path.write_bytes(damage(before))
    assert path.read_bytes() != before
    with pytest.raises(TableFileError):
        open_table(path)
