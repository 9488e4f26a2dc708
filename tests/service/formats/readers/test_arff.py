"""ARFF as Weka's documents describe it."""

from __future__ import annotations

import pytest

from service.errors import Invalid
from service.formats.readers.java_dates import UnsupportedPattern, strptime_format
from tests.service.formats.reading_files import read, refused

HEADER = "@relation r\n@attribute a numeric\n@attribute b {x,'y z'}\n@attribute c string\n@data\n"


def arff(text, **options):
    return read(text, name="a.arff", **options)


def test_quotes_escapes_and_missing():
    table = arff(HEADER + "1, x , 'it\\'s'\n?,'y z',\"a, b\"\n-2e3,?,'?'\n3,x,?\n")
    assert table.cells == {
        "a": [1, None, -2000, 3],
        "b": ["x", "y z", None, "x"],
        "c": ["it's", "a, b", "?", None],
    }


def test_comments_blank_lines_case_and_tabs():
    text = "% c\n\n@RELATION 'r s'\n@Attribute\tA\tREAL\n@ATTRIBUTE \"b c\" {1,2, 3}\n@DATA\n% x\n1,3\n\n2,1\n"
    table = arff(text)
    assert table.cells == {"A": [1, 2], "b c": [3, 1]}
    assert table.columns["b c"]["levels"] == ["1", "2", "3"]


def test_levels_without_rows_and_their_order_are_kept():
    table = arff("@relation r\n@attribute a {z,m,a}\n@attribute y {p,q}\n@data\na,q\nz,q\n")
    assert table.columns["a"]["levels"] == ["z", "m", "a"]
    assert table.columns["y"]["levels"] == ["p", "q"]


def test_sparse_rows():
    table = arff(HEADER + "{0 3, 1 'y z', 2 'q, r'}\n{2 s}\n{1 ?, 2 \"t\"}\n")
    assert table.cells == {"a": [3, 0, 0], "b": ["y z", "x", None], "c": ["q, r", "s", "t"]}


def test_dates():
    text = "@relation r\n@attribute d date \"yyyy-MM-dd HH:mm\"\n@attribute y {p,q}\n@data\n'2024-01-31 23:59',p\n?,q\n"
    assert arff(text).cells["d"] == ["2024-01-31 23:59", None]


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss", "%Y-%m-%dT%H:%M:%S"),
        ("dd/MM/yy", "%d/%m/%y"),
        ("hh 'o''clock' a 100%", "%I o'clock %p 100%%"),
        ("HH:mm:ss.SSSZ", "%H:%M:%S.%f%z"),
    ],
)
def test_date_patterns(pattern, wanted):
    assert strptime_format(pattern) == wanted


def test_a_pattern_that_is_not_read():
    with pytest.raises(UnsupportedPattern, match="'w'"):
        strptime_format("yyyy-w")


@pytest.mark.parametrize(
    ("rows", "line", "says"),
    [
        ("1,x\n", 6, "2 values"),
        ("1,x,s,t\n", 6, "4 values"),
        ("1,x,s\nq,x,s\n", 7, "not a finite number"),
        ("1,x,s\n2,w,s\n", 7, "none of the declared levels"),
        ("1,x,'s\n", 6, "quotes"),
        ("1,x,s,{5}\n", 6, "weights"),
        ("{0 1\n", 6, "closed"),
        ("{0 1}\n", 6, "'c'"),
        ("{9 1, 2 s}\n", 6, "index value"),
        ("{a b, 2 s}\n", 6, "index value"),
        ("1,x,s\0\n", 6, "NUL"),
    ],
)
def test_bad_rows(rows, line, says):
    error = refused(Invalid, HEADER + rows, name="a.arff")
    assert error.faults[0].line == line
    assert says in error.detail


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("@relation r\n@data\n1\n", "@attribute"),
        ("@relation r\n@attribute a numeric\n", "@data"),
        ("@relation r\n@attribute a\n@data\n", "Line 2"),
        ("@relation r\n@attribute a relational\n@data\n", "relational"),
        ("@relation r\n@attribute a {x,y\n@data\n", "closed"),
        ("@relation r\n@attribute a {x,x}\n@data\n", "twice"),
        ("@relation r\n@attribute a date 'QQ'\n@data\n", "QQ"),
        ("@relation r\n@attribute 'a numeric\n@data\n", "Line 2"),
        ("hello\n", "none of @relation"),
        (HEADER, "no rows"),
        (HEADER.replace("@attribute b", "@attribute a"), "both named 'a'"),
    ],
)
def test_bad_headers(header, says):
    assert says in refused(Invalid, header, name="a.arff").detail


def test_the_caller_may_overrule_the_header():
    text = "@relation r\n@attribute a numeric\n@attribute b {10,9}\n@data\n1,10\n1.0,9\n"
    table = arff(text, kinds={"a": "nominal", "b": "numeric"})
    assert table.columns["a"]["levels"] == ["1"]
    assert table.cells["b"] == [10, 9]
    ordinal = arff(text, orders={"b": ["9", "10"]})
    assert (ordinal.columns["b"]["kind"], ordinal.columns["b"]["levels"]) == ("ordinal", ["9", "10"])


@pytest.mark.parametrize("pair", [("false", "true"), ("False", "True"), ("FALSE", "TRUE")])
@pytest.mark.parametrize("order", [1, -1])
def test_true_and_false_are_a_boolean_as_in_csv(pair, order):
    """ARFF has no type for booleans; in whatever order the two stand, the first level is the false one."""
    declared = ", ".join(pair[::order])
    text = f"@relation r\n@attribute a {{{declared}}}\n@attribute y {{p,q}}\n@data\n{pair[1]},p\n{pair[0]},q\n?,q\n"
    table, same = arff(text), read(f"a,y\n{pair[1]},p\n{pair[0]},q\n,q\n", name="a.csv")
    for key in ("kind", "levels", "missing"):
        assert table.columns["a"][key] == same.columns["a"][key]
    assert table.table.columns[0] == same.table.columns[0]
    assert (table.columns["a"]["kind"], table.columns["a"]["levels"]) == ("boolean", list(pair))
    assert table.cells == same.cells
    nominal = arff(text, kinds={"a": "nominal"})
    assert (nominal.columns["a"]["kind"], nominal.columns["a"]["levels"]) == ("nominal", list(pair[::order]))


def test_other_pairs_stay_names_unless_the_caller_says_that_they_are_a_boolean():
    text = "@relation r\n@attribute a {yes,no}\n@attribute y {p,q}\n@data\nyes,p\nno,q\n"
    for other in (text, text.replace("yes", "1").replace("no,q", "0,q").replace("no}", "0}"), text.replace("no", "t")):
        assert arff(other).kinds() == {"a": "nominal", "y": "nominal"}
    boolean = arff(text, kinds={"a": "boolean"}).columns["a"]
    assert (boolean["kind"], boolean["levels"]) == ("boolean", ["no", "yes"])
    assert arff(text, kinds={"a": "boolean"}, orders={"a": ["yes", "no"]}).columns["a"]["levels"] == ["yes", "no"]
    error = refused(Invalid, text.replace("yes", "ja"), name="a.arff", kinds={"a": "boolean"})
    assert error.faults[0].parameter == "options.orders.a"
