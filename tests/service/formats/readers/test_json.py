"""JSON arrays of objects and NDJSON: types are believed, errors are near the byte, the row or the line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import Invalid, TooLarge
from service.formats.readers import json_pieces
from service.formats.readers.json_pieces import array_pieces
from service.settings import Limits
from tests.service.formats.reading_files import read, refused


def records_file(records, form):
    if form == "json":
        return {"source": json.dumps(records), "name": "a.json"}
    if form == "wrapped":
        return {"source": ' { "rows" : ' + json.dumps(records, indent=1) + " } \n", "name": "a.json"}
    return {"source": "\n\n".join(json.dumps(record) for record in records), "name": "a.ndjson"}


FORMS = pytest.mark.parametrize("form", ["json", "wrapped", "ndjson"])


@FORMS
def test_types_decide_the_kinds(form):
    records = [
        {"n": 1, "t": "1", "b": True, "m": 1, "f": 0.5},
        {"n": 2.0, "t": "01", "b": False, "m": "x", "f": None},
        {"n": None, "t": "", "b": None, "m": True},
    ]
    table = read(**records_file(records, form))
    assert table.kinds() == {"n": "numeric", "t": "nominal", "b": "boolean", "m": "nominal", "f": "numeric"}
    assert table.cells["n"] == [1, 2, None]
    assert table.cells["t"] == ["1", "01", ""]
    assert table.cells["b"] == [True, False, None]
    assert table.cells["m"] == ["1", "x", "true"]
    assert table.missing()["f"] == 2


@FORMS
@pytest.mark.parametrize(("first", "second"), [(1, "1"), (True, "true"), ("1.5", 1.5), ("x", None)])
def test_values_of_different_types_that_look_alike(form, first, second):
    records = [{"a": 7, "c": "p"}, {"a": first, "c": "q"}, {"a": second, "c": "p"}]
    if second is None:
        assert read(**records_file(records, form)).cells["a"] == ["7", "x", None]
        return
    file = records_file(records, form)
    error = refused(Invalid, **file)
    assert [(fault.row, fault.column) for fault in error.faults] == [(1, "a"), (2, "a")]


@FORMS
def test_levels_of_one_number_are_one_level(form):
    records = [{"a": 1, "c": "p"}, {"a": 1.0, "c": "q"}, {"a": 2, "c": "q"}]
    table = read(**records_file(records, form), kinds={"a": "nominal"})
    assert table.columns["a"]["levels"] == ["1", "2"]
    assert table.columns["a"]["level_type"] == "number"
    assert table.cells["a"] == [1, 1, 2]


@FORMS
def test_declared_tokens_and_kinds(form):
    records = [{"a": "1.5", "c": "?"}, {"a": "?", "c": "q"}]
    table = read(**records_file(records, form), kinds={"a": "numeric"}, missing_tokens=["?"])
    assert table.cells == {"a": [1.5, None], "c": [None, "q"]}


@FORMS
def test_columns_that_come_late_and_kinds_that_change_late(form, monkeypatch):
    monkeypatch.setattr(json_pieces, "_PIECE", 64)
    monkeypatch.setattr("service.formats.readers.json_reader._PIECE", 64)
    records = [{"a": number, "c": "x},{"} for number in range(50)]
    records += [{"c": "y", "a": "n", "late": 3}]
    table = read(**records_file(records, form))
    assert table.cells["a"] == [str(number) for number in range(50)] + ["n"]
    assert table.cells["late"] == [None] * 50 + [3]
    assert table.cells["c"] == ["x},{"] * 50 + ["y"]


_VALUES = (
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text('a"\\}{,[]: é', max_size=6)
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.dictionaries(st.text('ab"}{,:', min_size=1, max_size=3), _VALUES, max_size=3), max_size=9),
    st.integers(8, 90),
)
def test_pieces_are_the_array(tmp_path_factory, records, size):
    """However an array is cut, its elements are those that a whole decoding gives."""
    path = tmp_path_factory.mktemp("pieces") / "a.json"
    path.write_text(json.dumps(records))
    before = json_pieces._PIECE
    json_pieces._PIECE = size
    try:
        found = [record for piece in array_pieces(path, 0) for record in piece]
    finally:
        json_pieces._PIECE = before
    assert found == records


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("  \n ", "only blanks"),
        ("[]", "no rows"),
        ('{"rows":[]}', "no rows"),
        ('{"a":1}', "array of objects"),
        ('{"rows":[{"a":1,"b":2}],"x":1}', "nothing but"),
        ('[{"a":1,"b":2},]', "row 1, line 1"),
        ('[{"a":1,"b":2}', "truncated"),
        ('[{"a":1,"b":2}] x', "trailing"),
        ('[{"a":1,"b":Infinity}]', "NaN"),
        ('[{"a":1,"b":1e999}]', "out of range"),
        ('[{"a":1,"b":"\\ud800"}]', "truncated"),
        ('[{"a":1,"b":2,"b":3}]', "twice"),
        ('[{"a":1,"b":"x:y","b":3}]', "twice"),
        ("[1,2]", "row 0 is no object"),
        ('[{"a":1,"b":2},[1,2]]', "row 1 is no object"),
        ('[{"a":1,"b":{"c":2}}]', "not an object"),
        ('[{"a":1,"b":"x\\u0000"}]', "NUL"),
        ('[{"a":1,"\\u0000":"x"}]', "NUL"),
        ('[{"a":1,"":"x"}]', "no name"),
    ],
)
def test_bad_json(text, says):
    assert says in refused(Invalid, text, name="a.json").detail


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a":1,"b":2}\n{"a":1', "line 2"),
        ('{"a":1,"b":2}\n\n{"a":NaN,"b":1}\n', "line 3"),
        ('{"a":1,"b":2}\n{"a":1,"a":2}\n', "Line 2"),
        ('{"a":1,"b":2}\n[1]\n', "row 1 is no object"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_bad_ndjson(text, says):
    assert says in refused(Invalid, text, name="a.ndjson").detail


def test_lines_of_faults_in_ndjson():
    error = refused(Invalid, '{"a":1,"b":2}\n\n{"a":"x","b":1}\n', name="a.ndjson", kinds={"a": "numeric"})
    assert [(fault.row, fault.line) for fault in error.faults] == [(1, 3)]


def test_a_record_without_end(monkeypatch):
    monkeypatch.setattr(json_pieces, "MAX_RECORD", 10_000_000)
    assert refused(TooLarge, '[{"a":1,"b":"' + "x" * 11_000_000 + '"}]', name="a.json").faults[0].allowed == 10_000_000


def test_limits_apply():
    text = json.dumps([{f"c{number}": 1} for number in range(20)])
    assert refused(TooLarge, text, name="a.json", limits=Limits(columns=10)).faults[0].allowed == 10
