"""Kinds: what is inferred and why, what may be declared, and what then does not fit."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.table import Column, Kind, parse_number
from service.errors import Invalid
from service.formats.number_arrays import any_numbers, plain_numbers
from service.formats.options import ReadOptions
from service.formats.written_numbers import NumberSyntax
from tests.service.formats.reading_files import read, refused


def column(values, **options):
    table = read("c,y\n" + "".join(f"{value},1\n" for value in values), **options)
    return table.columns["c"] | {"cells": table.cells["c"]}


@pytest.mark.parametrize(
    ("values", "kind", "evidence"),
    [
        (["1", "2.5", "", "-3e2", ".5", "4."], "numeric", "all 5 values are numbers"),
        (["+1", " 2 ", "0", "-0", "0.0", "00"], "nominal", "leading zeros such as '00', so names"),
        (["+1", " 2 ", "0", "-0", "0.0"], "numeric", "all 5 values are numbers"),
        (["-01", "2"], "nominal", "leading zeros such as '-01', so names"),
        (["9007199254740991", "2"], "numeric", "all 2 values are numbers"),
        (["1e300", "1e17"], "numeric", "all 2 values are numbers"),
        (["9007199254740993.0", "2"], "nominal", "integers beyond 2^53 such as '9007199254740993.0'"),
        (["", "", ""], "numeric", "no value at all; taken as numeric"),
        (["a", "b", "a"], "nominal", "2 distinct texts"),
        (["1", "x"], "nominal", "2 distinct texts; 'x' is not a number"),
        (["1_000", "2"], "nominal", "2 distinct texts; '1_000' is not a number"),
        (["0x10", "2"], "nominal", "2 distinct texts; '0x10' is not a number"),
        (["true", "false", ""], "boolean", "only the two spellings false and true"),
        (["TRUE", "FALSE"], "boolean", "only the two spellings FALSE and TRUE"),
        (["True", "false"], "nominal", "2 distinct texts"),
        (["true", "true"], "nominal", "1 distinct text"),
        (["yes", "no"], "nominal", "2 distinct texts"),
        (["nan", "NaN"], "nominal", "2 distinct texts"),
    ],
)
def test_inference(values, kind, evidence):
    found = column(values)
    assert found["kind"] == kind
    assert found["evidence"].startswith(evidence)
    if found.get("level_type") == "text":
        assert found["cells"] == [value or None for value in values]


def test_levels_are_sorted_by_text():
    assert column(["b", "B", "ä", "a", "10", "9"])["levels"] == ["10", "9", "B", "a", "b", "ä"]


def test_a_quoted_empty_text_among_numbers_is_missing_among_names_a_name():
    assert column(["1", '""', "", "2"])["cells"] == [1, None, None, 2]
    assert column(["a", '""', ""])["cells"] == ["a", "", None]


def test_the_empty_cell_need_not_be_missing():
    assert column(["a", "", '""'], missing_tokens=[])["cells"] == ["a", "", ""]


def test_declared_nominal_of_numbers():
    found = column(["10", "9", "9.0", " 9", "1e1"], kinds={"c": "nominal"})
    assert (found["levels"], found["level_type"]) == (["9", "10"], "number")
    assert found["cells"] == [10, 9, 9, 9, 10]


def test_declared_nominal_of_names_that_are_numbers():
    found = column(["01", "1", "1.0"], kinds={"c": "nominal"})
    assert (found["levels"], found["level_type"]) == (["01", "1", "1.0"], "text")


def test_declared_numeric():
    assert column(["007", "9007199254740993"], kinds={"c": "numeric"})["cells"] == [7, 9007199254740992.0]
    error = refused(Invalid, "c,y\n1,a\nx,b\n\ninf,b\n1e999,c\n", kinds={"c": "numeric"})
    assert [(fault.line, fault.column, fault.value) for fault in error.faults] == [
        (3, "c", "x"),
        (5, "c", "inf"),
        (6, "c", "1e999"),
    ]


def test_all_faults_are_counted():
    error = refused(Invalid, "c,y\n" + "x,1\n" * 1000, kinds={"c": "numeric"})
    assert (len(error.faults), error.extra["errors_total"]) == (20, 1000)


def test_ordinal():
    found = column(["low", "high", ""], orders={"c": ["low", "mid", "high"]})
    assert (found["kind"], found["levels"]) == ("ordinal", ["low", "mid", "high"])
    assert found["cells"] == ["low", "high", None]
    numbers = column(["3", "1.0", "2"], kinds={"c": "ordinal"})
    assert (numbers["levels"], numbers["level_type"]) == (["1", "2", "3"], "number")
    assert column(["3", "1.0"], orders={"c": ["3", "2", "1"]})["cells"] == [3, 1]
    assert ReadOptions.from_json({"orders": {"c": [3, 2.0, "1", True]}}).orders == {"c": ("3", "2", "1", "true")}
    for wrong in (None, [1], float("nan"), 10**400):
        with pytest.raises(Invalid, match="orders must be an object of lists of texts, finite numbers"):
            ReadOptions.from_json({"orders": {"c": [wrong]}})


def test_ordinal_that_does_not_fit():
    assert refused(Invalid, "c,y\na,1\nb,2\n", kinds={"c": "ordinal"}).faults[0].parameter == "options.orders.c"
    error = refused(Invalid, "c,y\na,1\n\nb,2\n", orders={"c": ["a", "z"]})
    assert (error.faults[0].line, error.faults[0].column, error.faults[0].allowed) == (4, "c", ["a", "z"])
    assert refused(Invalid, "c,y\n1,1\n", orders={"c": ["1", "1.0"]}).faults[0].parameter == "options.orders.c"
    numeric = refused(Invalid, "c,y\n1,1\n", kinds={"c": "numeric"}, orders={"c": ["1"]})
    assert numeric.faults[0].parameter == "options.orders.c"


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (["No", "Yes"], ["No", "Yes"]),
        (["1", "0"], ["0", "1"]),
        (["t", "F"], ["F", "t"]),
        (["ON", "OFF"], ["OFF", "ON"]),
    ],
)
def test_declared_boolean(values, levels):
    found = column(values, kinds={"c": "boolean"})
    assert (found["kind"], found["levels"]) == ("boolean", levels)


def test_declared_boolean_of_other_words():
    assert refused(Invalid, "c,y\nja,1\nnein,2\n", kinds={"c": "boolean"}).faults[0].parameter == "options.orders.c"
    found = column(["ja", "nein"], kinds={"c": "boolean"}, orders={"c": ["nein", "ja"]})
    assert found["levels"] == ["nein", "ja"]
    error = refused(Invalid, "c,y\na,1\n", kinds={"c": "boolean"}, orders={"c": ["a", "b", "d"]})
    assert error.faults[0].column == "c"


def test_excluded_columns():
    table = read("a,b,c\n1,x,2\n", kinds={"b": "excluded"})
    assert list(table.columns) == ["a", "c"]
    assert any("'b'" in warning or "b" in warning for warning in table.ingested.warnings)
    assert "at least 2" in refused(Invalid, "a,b\n1,x\n", kinds={"b": "excluded"}).detail


@pytest.mark.parametrize("options", [{"kinds": {"zz": "nominal"}}, {"orders": {"zz": ["a"]}}, {"target": "zz"}])
@pytest.mark.parametrize(("source", "name"), [("a,b\n1,2\n", "a.csv"), ('[{"a":1,"b":2}]', "a.json")])
def test_columns_that_do_not_exist(options, source, name):
    assert "zz" in refused(Invalid, source, name=name, **options).detail


def test_decimal_and_thousands():
    text = "a;y\n1.234,5;p\n-12,25;q\n1.000.000;q\n"
    assert read(text, decimal=",", thousands=".").cells["a"] == [1234.5, -12.25, 1_000_000]
    assert read("a;y\n1,5;p\n1.5;q\n", decimal=",").columns["a"]["kind"] == "nominal"
    assert read('a,y\n"1,23",p\n5,q\n', thousands=",").columns["a"]["kind"] == "nominal"
    assert read("a;y\n1 234;p\n5;q\n", thousands=" ").cells["a"] == [1234, 5]


def test_a_relation_to_the_target_is_told_on_request():
    table = read("a,b,y\n1,p,u\n2,p,u\n3,q,v\n4,q,v\n", target="y")
    relations = [one["relation"] for one in table.ingested.profile]
    assert relations[0] == {
        "rows": 4,
        "value": 1.0,
        "measure": "information gain in bits, best threshold",
        "threshold": 2.5,
    }
    assert relations[1]["value"] == 1.0
    assert relations[2] is None


_WRITTEN = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.integers().map(str),
    st.text("0123456789+-.eE _xn", max_size=7),
    st.sampled_from(
        ["", " 1", "1 ", "+.5", "5.", "1e400", "1e-400", "nan", "Infinity", "１", "٣", "1_0", "0x1", "\t2\n"]
    ),
)


@given(st.lists(st.none() | _WRITTEN, max_size=6))
def test_blocks_are_read_as_single_texts_are(texts):
    """The vectorised reading agrees with the one definition of a number, cell by cell."""
    syntax = NumberSyntax(empty_is_missing=False)
    array = pa.array(texts, pa.string())
    wanted = [None if text is None else parse_number(text) for text in texts]
    values, wrong = any_numbers(array, syntax)
    assert wrong == [at for at, text in enumerate(texts) if text is not None and wanted[at] is None]
    for value, number in zip(values, wanted, strict=True):
        assert math.isnan(value) if number is None else value == number
    plain = plain_numbers(array, syntax)
    names = any(text is not None and (parse_number(text) is None or syntax.looks_like_name(text)) for text in texts)
    assert (plain is None) == names
    if plain is not None:
        encode = Column("c", Kind.NUMERIC).encode
        for value, text in zip(plain, texts, strict=True):
            assert math.isnan(value) if text is None else value == encode(text)
