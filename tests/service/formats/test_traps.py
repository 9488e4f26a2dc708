"""Each file of the shared traps that is an upload behaves as the README beside it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from learners.table import Kind
from service.errors import Invalid, UnsupportedMediaType
from service.formats.options import ReadOptions
from tests.service.formats.reading_files import read, refused
from tests.shared import SHARED, trap_path


def test_every_trap_file_has_a_test():
    names = {path.name for path in (SHARED / "data" / "traps").iterdir()} - {"README.md"}
    source = Path(__file__).read_text()
    assert [name for name in sorted(names) if name not in source] == []


def test_bom_crlf():
    table = read(trap_path("bom_crlf.csv"))
    assert list(table.columns) == ["x", "c", "y"]
    assert table.cells["y"] == ["a", "b", "a", "b"]
    assert table.cells["x"] == [1.5, 2.5, 3.5, 4.5]


def test_quoted_newline():
    table = read(trap_path("quoted_newline.csv"))
    assert table.ingested.n_rows == 4
    assert table.cells["note"] == ["line one\nline two", 'say "hi", ok', "", None]
    assert table.missing() == {"id": 0, "note": 1, "y": 0}


def test_thousands():
    table = read(trap_path("thousands.csv"))
    assert table.columns["amount"]["kind"] == "nominal"
    assert "'1,234' is not a number" in table.columns["amount"]["evidence"]
    declared = read(trap_path("thousands.csv"), thousands=",")
    assert declared.cells["amount"] == [1234, 12345, 999, 1_000_000]


def test_decimal_comma():
    table = read(trap_path("decimal_comma.csv"))
    assert list(table.columns) == ["amount", "y"]
    assert any("';'" in warning for warning in table.ingested.warnings)
    assert table.columns["amount"]["kind"] == "nominal"
    assert read(trap_path("decimal_comma.csv"), decimal=",").cells["amount"] == [1.5, 2.25, 3.75]


def test_leading_zeros():
    table = read(trap_path("leading_zeros.csv"))
    assert table.cells["zip"] == ["01234", "1234", "00501", "501", "02134", "2134"]
    assert "leading zeros" in table.columns["zip"]["evidence"]


def test_dup_headers():
    error = refused(Invalid, trap_path("dup_headers.csv"))
    assert error.faults[0].column == "a"


def test_trailing_comma():
    error = refused(Invalid, trap_path("trailing_comma.csv"))
    assert [fault.line for fault in error.faults] == [2, 3, 4]


def test_ragged():
    error = refused(Invalid, trap_path("ragged.csv"))
    assert [(fault.line, fault.allowed) for fault in error.faults] == [(3, 3), (4, 3)]


def test_na_words():
    table = read(trap_path("na_words.csv"))
    assert table.cells["country"] == ["NA", "DE", "NA", "FR", "NA", "DE"]
    assert set(table.cells["none_col"]) == {"none", "None", "N/A"}
    listed = read(trap_path("na_words.csv"), missing_tokens=["NA"])
    assert listed.missing() == {"country": 3, "none_col": 0, "y": 0}


def test_class_words():
    table = read(trap_path("class_words.csv"))
    assert table.columns["y"]["levels"] == ["NA", "None", "false", "nan", "null", "true"]
    assert table.cells["y"][:6] == ["nan", "null", "true", "None", "NA", "false"]


def test_bool_mix():
    table = read(trap_path("bool_mix.csv"))
    assert table.columns["flag"]["kind"] == "nominal"
    assert table.cells["flag"] == ["true", "FALSE", "1", "0", "yes", "no"]
    assert table.columns["y"]["levels"] == ["False", "True"]
    assert table.cells["y"] == ["True", "False", "True", "False", "True", "False"]


def test_huge_ints():
    table = read(trap_path("huge_ints.csv"))
    written = [line.partition(",")[0] for line in trap_path("huge_ints.csv").read_text().splitlines()[1:]]
    assert table.cells["id"] == written
    assert "2^53" in table.columns["id"]["evidence"]


def test_dates():
    table = read(trap_path("dates.csv"))
    assert table.columns["when"]["kind"] == "nominal"
    assert table.cells["when"][4] == "1700000000"


def test_latin1():
    error = refused(UnsupportedMediaType, trap_path("latin1.csv"))
    assert "offset 9" in error.detail
    assert error.faults[0].line == 2
    assert read(trap_path("latin1.csv"), encoding="latin-1").cells["stadt"] == ["München", "Köln"]


def test_nul_byte():
    error = refused(Invalid, trap_path("nul_byte.csv"))
    assert error.faults[0].line == 3


def test_all_missing_col():
    table = read(trap_path("all_missing_col.csv"))
    assert table.missing() == {"x": 0, "void": 4, "y": 0}
    assert any("void" in warning for warning in table.ingested.warnings)


@pytest.mark.parametrize(
    ("name", "n_rows", "levels"),
    [("single_class.csv", 3, ["a"]), ("rare_class.csv", 41, ["a", "b", "c"]), ("alternating.csv", 4000, ["a", "b"])],
)
def test_classes(name, n_rows, levels):
    table = read(trap_path(name))
    assert table.ingested.n_rows == n_rows
    assert table.columns["y"]["levels"] == levels


def test_target_missing():
    table = read(trap_path("target_missing.csv"))
    assert table.missing()["y"] == 2
    assert table.columns["y"]["levels"] == ["a", "b"]


@pytest.mark.parametrize("name", ["big_values.csv", "close_floats.csv", "threshold_ties.csv", "tiny_scale.csv"])
def test_doubles_are_kept_to_the_bit(name):
    lines = trap_path(name).read_text().splitlines()
    column = lines[0].partition(",")[0]
    table = read(trap_path(name))
    assert table.columns[column]["kind"] == "numeric"
    assert table.cells[column] == [float(line.partition(",")[0]) for line in lines[1:]]


def test_inf_words():
    error = refused(Invalid, trap_path("inf_words.csv"))
    assert [(fault.line, fault.column) for fault in error.faults] == [(3, "x"), (4, "x"), (5, "x"), (6, "x")]
    tokens = ["", "inf", "-Infinity", "1e400", "NaN"]
    assert read(trap_path("inf_words.csv"), missing_tokens=tokens).missing()["x"] == 4


def test_neg_weights():
    error = refused(Invalid, trap_path("neg_weights.csv"))
    assert [(fault.line, fault.column) for fault in error.faults] == [(4, "w"), (5, "w")]


def test_long_name():
    error = refused(Invalid, trap_path("long_name.csv"))
    assert error.faults[0].allowed == 200
    assert len(error.faults[0].column or "") < 100


def test_formula_cells():
    table = read(trap_path("formula_cells.csv"))
    assert table.cells["note"] == ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\tx", "'=quoted"]


def test_header_only():
    assert "no rows" in refused(Invalid, trap_path("header_only.csv")).detail


def test_empty():
    assert "empty" in refused(Invalid, trap_path("empty.csv")).detail


def test_blank_lines():
    table = read(trap_path("blank_lines.csv"))
    assert table.cells == {"a": [1, 2], "y": ["p", "q"]}


def test_one_column():
    error = refused(Invalid, trap_path("one_column.csv"))
    assert "at least 2" in error.detail
    assert "'delimiter'" in error.detail
    assert error.faults[0].parameter == "options.delimiter"
    error = refused(Invalid, trap_path("big_int.json"))  # nothing separates cells there
    assert "delimiter" not in error.detail
    assert error.faults[0].parameter == "file"


@pytest.mark.parametrize(("name", "n_rows"), [("xor.csv", 4), ("ties_knn.csv", 4), ("zero_distance.csv", 4)])
def test_small_numeric_files(name, n_rows):
    table = read(trap_path(name))
    assert table.ingested.n_rows == n_rows
    assert [kind for column, kind in table.kinds().items() if column != "y"] == ["numeric"] * (len(table.kinds()) - 1)


def test_quoted_qmark():
    table = read(trap_path("quoted_qmark.arff"))
    assert table.columns["f"]["levels"] == ["?", "A", "B"]
    assert table.cells["f"] == ["?", None, "A", "B"]
    assert table.cells["n m"] == [1, 2, None, 4]


def test_spaces_in_braces():
    table = read(trap_path("spaces_in_braces.arff"))
    assert table.columns["t"]["levels"] == ["mammal", "bird", "sea lion"]
    assert table.cells == {"t": ["mammal", "sea lion", "bird"], "k": [1, 10, 3], "y": ["yes", "no", "yes"]}
    assert table.columns["y"]["levels"] == ["yes", "no"]


def test_string_date():
    error = refused(Invalid, trap_path("string_date.arff"))
    assert (error.faults[0].line, error.faults[0].column) == (7, "d")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nan_body.json", "NaN"),
        ("dup_keys.json", "'x' is given twice"),
        ("deep.json", "nested"),
        ("digits.json", "at most 4300 digits"),
        ("wrong_types.json", "row 3, column 'c'"),
        ("big_int.json", "at least 2"),
    ],
)
def test_json_bodies_as_uploads(name, says):
    assert says in refused(Invalid, trap_path(name)).detail


def test_big_integers_in_json_are_names():
    table = read('[{"x":9007199254740993,"y":1},{"x":123456789012345678901234567890,"y":2}]', name="big.json")
    assert table.cells["x"] == ["9007199254740993", "123456789012345678901234567890"]


def test_trap_kinds_can_be_declared():
    table = read(trap_path("leading_zeros.csv"), kinds={"zip": "numeric"})
    assert table.cells["zip"] == [1234, 1234, 501, 501, 2134, 2134]
    assert ReadOptions(kinds={"zip": "numeric"}).kinds["zip"] == Kind.NUMERIC
