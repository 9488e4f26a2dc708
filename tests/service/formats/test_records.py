"""Prediction rows: one coercion whatever the form, errors and notes by row."""

from __future__ import annotations

import csv as python_csv
import io
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.errors import SchemaError
from learners.table import Column, Kind, canonical_text
from service.errors import BadRequest, Invalid, UnsupportedMediaType
from service.formats.record_texts import read_csv
from service.formats.records import RowEncoder
from service.formats.written_numbers import NumberSyntax
from service.operations.predict import Bounds
from service.operations.row_formats import read_rows
from tests.service.formats.reading_files import read
from tests.shared import trap_path

COLUMNS = (
    Column("x"),
    Column("c", Kind.NOMINAL, ("a,a", "blue", "it's", "red", "|"), "text"),
    Column("n", Kind.NOMINAL, ("1", "2.5"), "number"),
    Column("b", Kind.BOOLEAN, ("false", "true"), "boolean"),
    Column("o", Kind.ORDINAL, ("low", "", "high"), "text"),
)
ENCODER = RowEncoder(COLUMNS)


def same(first, second):
    assert np.array_equal(first.values, second.values, equal_nan=True)
    assert sorted(first.faults) == sorted(second.faults)
    assert {(one.row, one.column) for one in first.unseen} == {(one.row, one.column) for one in second.unseen}
    assert first.ignored_columns == second.ignored_columns
    assert first.absent_columns == second.absent_columns


_NUMBER = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**20), 10**20)
_CELLS = {
    "x": st.none() | _NUMBER | st.sampled_from(["1.5", " 2 ", "x", "1,5", "nan", "1e999"]),
    "c": st.none() | st.sampled_from(["a,a", "blue", "it's", "red", "|", "red ", "RED", "new"]),
    "n": st.none() | st.sampled_from([1, 1.0, 2.5, 3, "1", "1.0", "2.50", "y"]),
    "b": st.none() | st.sampled_from([True, False, "true", "TRUE"]),
    "o": st.none() | st.sampled_from(["low", "", "high", "x"]),
    "extra": st.none() | st.text('ab,"\n', max_size=3),
}
_ROWS = st.lists(st.fixed_dictionaries(_CELLS), min_size=1, max_size=6)


def encoded_csv(body, delimiter=None):
    table = read_csv(body, delimiter)
    return ENCODER.matrix(table.names, table.data, table.lines)


def as_csv(rows, names):
    """Empty cells for None, everything else in quotes."""
    lines = [",".join(f'"{name}"' for name in names)]
    for row in rows:
        cells = [
            "" if row[name] is None else '"' + canonical_text(row[name]).replace('"', '""') + '"' for name in names
        ]
        lines.append(",".join(cells))
    return "\n".join(lines).encode()


@settings(max_examples=100, deadline=None)
@given(_ROWS, st.permutations([*_CELLS]))
def test_every_form_gives_the_same_cells(rows, order):
    """JSON objects, a matrix and CSV of the same rows, in any order of columns."""
    objects = ENCODER.objects(rows)
    same(objects, ENCODER.objects([{name: row[name] for name in order} for row in rows]))
    same(objects, ENCODER.matrix(order, [[row[name] for name in order] for row in rows]))
    same(objects, encoded_csv(as_csv(rows, order), delimiter=","))


@given(_ROWS)
def test_one_row_is_as_many(rows):
    together = ENCODER.objects(rows)
    for at, row in enumerate(rows):
        alone = ENCODER.objects([row])
        assert np.array_equal(alone.values[0], together.values[at], equal_nan=True)
        assert (0 in alone.faults) == (at in together.faults)


@given(_ROWS)
def test_cells_are_those_of_the_column(rows):
    encoded = ENCODER.objects(rows)
    for at, row in enumerate(rows):
        for index, column in enumerate(COLUMNS):
            try:
                wanted = column.encode(row[column.name])
            except SchemaError:
                wanted = math.nan
                assert any(fault.column == column.name for fault in encoded.faults[at])
            assert np.array_equal(encoded.values[at, index], wanted, equal_nan=True)


def test_values_are_column_major():
    encoded = ENCODER.objects([{"x": 1}] * 3)
    assert encoded.values.shape == (3, 5)
    assert encoded.values.flags.f_contiguous
    numbers = RowEncoder([Column("a"), Column("b")]).objects([{"a": 1, "b": None}, {"b": 2, "a": 3}])
    assert numbers.values.flags.f_contiguous
    assert np.array_equal(numbers.values, [[1, math.nan], [3, 2]], equal_nan=True)


def test_extra_and_absent_columns_are_named():
    encoded = ENCODER.objects([{"x": 1, "zz": 1, "c": "red"}, {"x": 1, "n": 1, "aa": 2, "b": True, "o": "low"}])
    assert encoded.ignored_columns == ["zz", "aa"]
    assert encoded.absent_columns == ["c", "n", "b", "o"]
    assert not encoded.faults
    numbers = RowEncoder([Column("a"), Column("b")])
    assert numbers.objects([{"a": 1, "b": 2, "y": "p"}]).ignored_columns == ["y"]
    assert numbers.objects([{"a": 1}]).absent_columns == ["b"]
    # As many keys as columns in all, but not in each row.
    assert numbers.objects([{"a": 1, "b": 2, "y": 0}, {"a": 1}]).absent_columns == ["b"]
    matrix = numbers.matrix(["y", "a"], [[1, 2]])
    assert (matrix.ignored_columns, matrix.absent_columns) == (["y"], ["b"])


def test_missing_is_not_unseen():
    encoded = ENCODER.objects([{"c": None}, {"c": "red "}, {"c": "blue"}])
    assert np.array_equal(encoded.values[:, 1], [math.nan, -1, 1], equal_nan=True)
    assert [(one.row, one.column, one.value) for one in encoded.unseen] == [(1, 1, "red ")]


def test_tokens():
    encoder = RowEncoder(COLUMNS, ["", "NA", "?"])
    encoded = encoder.objects([{"x": "NA", "c": "?", "n": "", "o": ""}, {"x": "", "c": ""}])
    assert np.array_equal(encoded.values[:, 0], [math.nan] * 2, equal_nan=True)
    assert not encoded.faults
    assert not encoded.unseen
    assert encoded.values[0, 4] == 1  # the empty text is a level of this column
    assert RowEncoder(COLUMNS, []).objects([{"x": "", "c": ""}]).faults[0][0].column == "x"


def test_an_empty_text_of_a_column_of_texts_is_one_at_upload_and_later_in_every_format():
    """Only what a format has for nothing is missing: null, and CSV's empty cell."""
    for name, file in (("x.csv", 'x,y\n"",1\n,2\n'), ("x.json", '[{"x": "", "y": 1}, {"x": null, "y": 2}]')):
        assert read(file, name=name, kinds={"x": "text"}).cells["x"] == ["", None]
    sent = read_csv(b'x,y\n"",1\n,2\n', ",")
    for known in ((), ("a",), ("a", "")):
        encoder = RowEncoder([Column("x", Kind.TEXT, known), Column("y")], ["", "?"])
        for encoded in (
            encoder.objects([{"x": "", "y": 1}, {"x": None, "y": 2}]),
            encoder.matrix(["x", "y"], [["", 1], [None, 2]]),
            encoder.matrix(sent.names, sent.data, sent.lines),
        ):
            assert encoded.columns is not None
            assert encoded.columns[0].levels == ("",)
            assert np.array_equal(encoded.values[:, 0], [0, math.nan], equal_nan=True)
            assert not encoded.faults
    assert np.isnan(RowEncoder([Column("x", Kind.SEQUENCE)], [""]).objects([{"x": ""}]).values[0, 0])


def test_an_empty_cell_of_csv_is_what_upload_read_it_as():
    """Where no empty token is declared it is a text; in columns that hold no such text it stays missing."""
    file = "c,d,n,t\n,p,1,\na,q,2,b\n"
    options = {"missing_tokens": ["?"], "kinds": {"t": "text"}}
    assert read(file, **options).cells == {"c": ["", "a"], "d": ["p", "q"], "n": [1, 2], "t": ["", "b"]}
    columns = [Column("c", Kind.NOMINAL, ("", "a")), Column("d", Kind.NOMINAL, ("p", "q")), Column("n")]
    for tokens, cells in ((["?"], [0, math.nan, math.nan, 0]), (["", "?"], [math.nan] * 4)):
        encoder = RowEncoder([*columns, Column("t", Kind.TEXT, ("b",))], tokens)
        sent = read_rows(b"c,d,n,t\n,,,\n", "csv", Bounds(), encoder)
        encoded = encoder.matrix(sent.names or [], sent.data, sent.lines)
        assert np.array_equal(encoded.values, [cells], equal_nan=True)
        assert not encoded.faults
        ragged = read_rows(b'c,t\n""\n', "csv", Bounds(), encoder)
        assert encoder.matrix(ragged.names or [], ragged.data, ragged.lines).faults[0][0].allowed == 2


def test_number_syntax():
    encoder = RowEncoder(COLUMNS, [""], NumberSyntax(",", "."))
    assert encoder.objects([{"x": "1.234,5"}, {"x": 1.5}, {"x": ""}]).values[:2, 0].tolist() == [1234.5, 1.5]
    assert 0 in encoder.objects([{"x": "1.5"}]).faults


def test_the_wrong_types_of_the_trap():
    rows = json.loads(trap_path("wrong_types.json").read_text())["rows"]
    encoded = ENCODER.objects(rows)
    assert sorted(encoded.faults) == [1, 3, 4]
    assert encoded.values[0, 0] == 1.5
    assert encoded.values[5, 0] == 2
    assert {(one.row, one.value) for one in encoded.unseen} >= {(4, "RED"), (5, "red "), (0, 1), (1, True)}
    fault = encoded.faults[4][0]
    assert (fault.row, fault.column, fault.allowed) == (4, "x", "finite numbers")
    assert "'1,5'" in fault.message


@pytest.mark.parametrize("value", [True, [1], {}, "x", "inf", "1_0", 10**400, math.inf, -math.inf, (1,)])
def test_what_is_no_number(value):
    encoded = ENCODER.objects([{"x": 1.0}, {"x": value}, {"x": 2}])
    assert list(encoded.faults) == [1]
    assert np.array_equal(encoded.values[:, 0], [1, math.nan, 2], equal_nan=True)
    numbers = RowEncoder([Column("a"), Column("b")]).objects([{"a": 1.0, "b": 2}, {"a": 1, "b": value}])
    assert list(numbers.faults) == [1]


@pytest.mark.parametrize("value", [[1], {}, math.inf, math.nan])
def test_what_is_no_level(value):
    encoded = ENCODER.objects([{"c": value}])
    assert encoded.faults[0][0].column == "c"
    assert not encoded.unseen


@pytest.mark.parametrize("row", [None, 5, "x", [1, 2]])
def test_a_row_that_is_no_object(row):
    encoded = ENCODER.objects([{"x": 1, "c": "red", "n": 1, "b": True, "o": "low"}, row])
    assert list(encoded.faults) == [1]
    assert encoded.absent_columns == []
    assert list(RowEncoder([Column("a"), Column("b")]).objects([{"a": 1, "b": 2}, row]).faults) == [1]


def test_rows_of_a_matrix_that_do_not_fit():
    encoded = ENCODER.matrix(["x", "c"], [[1, "red"], [1], "xc", [1, "red", 2]])
    assert sorted(encoded.faults) == [1, 2, 3]
    with pytest.raises(Invalid, match="named twice"):
        ENCODER.matrix(["x", "x"], [])
    with pytest.raises(Invalid, match="must be a text"):
        ENCODER.matrix(["x", 1], [])


def test_no_rows():
    assert ENCODER.objects([]).values.shape == (0, 5)
    assert ENCODER.matrix(["x"], []).values.shape == (0, 5)
    assert encoded_csv(b"x,c\n").values.shape == (0, 5)


def test_csv_rows_know_their_lines():
    encoded = encoded_csv(b'x;c\r\n\r\n1;red\r\n"2\n";blue\r\n3\r\nq;red\r\n')
    assert {row: [fault.line for fault in faults] for row, faults in encoded.faults.items()} == {2: [6], 3: [7]}
    assert encoded.values[:2, 0].tolist() == [1, 2]


def test_bad_csv():
    with pytest.raises(BadRequest) as unclosed:
        read_csv(b'x,c\n1,"red\n2,blue\n')
    assert unclosed.value.faults[0].line == 2
    with pytest.raises(UnsupportedMediaType, match="offset 7"):
        read_csv(b"x,c\n1,r\xff\n")
    with pytest.raises(Invalid, match="NUL"):
        read_csv(b"x,c\n1,r\0\n")
    with pytest.raises(Invalid, match="no header"):
        read_csv(b"\n\n")
    with pytest.raises(Invalid, match="named twice"):
        encoded_csv(b"x,x\n1,2\n")
    assert read_csv(b"\xef\xbb\xbfx,c\n").names == ["x", "c"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.text('ab,;"\n\r é', max_size=4), min_size=2, max_size=2), min_size=1, max_size=5))
def test_csv_text_is_read_as_python_does(rows):
    sink = io.StringIO()
    python_csv.writer(sink, quoting=python_csv.QUOTE_ALL, lineterminator="\n").writerows([["p", "q"], *rows])
    assert read_csv(sink.getvalue().encode(), delimiter=",").data == rows
