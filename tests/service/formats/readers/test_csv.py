"""CSV and TSV: dialects, encodings, and errors that name the line."""

from __future__ import annotations

import contextlib
import csv
import io
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import Invalid, TooLarge, UnsupportedMediaType
from service.formats.options import ENCODINGS
from service.formats.readers.csv_text import records
from service.formats.table_file import rows
from service.settings import Limits
from tests.service.formats.reading_files import read, refused


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter):
    text = "a,b,c\n1,x,2\n3,y,4\n".replace(",", delimiter)
    assert read(text).cells == {"a": [1, 3], "b": ["x", "y"], "c": [2, 4]}


def test_the_delimiter_is_the_one_by_which_rows_agree():
    table = read("name;note\nA;a, b, c\nB;d\nC;e, f\n")
    assert table.cells == {"name": ["A", "B", "C"], "note": ["a, b, c", "d", "e, f"]}


def test_a_given_delimiter_is_believed():
    assert list(read("a b;c\n1 2;3\n", delimiter=" ").columns) == ["a", "b;c"]


def test_tsv_by_name():
    assert read("a\tb, c\n1\tx, y\n", name="data.tsv").cells == {"a": [1], "b, c": ["x, y"]}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends(newline):
    assert read(newline.join(["a,b", "1,x", "2,y", ""])).cells == {"a": [1, 2], "b": ["x", "y"]}


def test_the_last_line_need_not_end():
    assert read("a,b\n1,x").cells == {"a": [1], "b": ["x"]}


def test_another_quote_and_none():
    assert read("a,b\n1,'x,y'\n", quote="'").cells["b"] == ["x,y"]
    assert read('a,b\n1,"x\n2,y"\n', quote=None).cells["b"] == ['"x', 'y"']


def test_quotes_in_the_header():
    assert list(read('"a\nb","c,d","e ""f"""\n1,2,3\n').columns) == ["a\nb", "c,d", 'e "f"']


def test_without_header():
    assert read("1,x\n2,y\n", header=False).cells == {"column_1": [1, 2], "column_2": ["x", "y"]}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252", "iso8859-15"])
def test_encodings(encoding):
    data = "stadt,preis\nKöln,3\nMünchen,4\n".encode(encoding)
    assert read(data, encoding=encoding.removesuffix("-sig")).cells["stadt"] == ["Köln", "München"]


@pytest.mark.parametrize("name", ["zip", "rot13", "punycode", "base64", "no-such", "idna"])
def test_codecs_that_are_no_encodings_are_refused(name):
    with pytest.raises(Invalid) as caught:
        read("a,b\n1,2\n", encoding=name)
    assert caught.value.faults[0].parameter == "options.encoding"


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "data", [b"x,y\n1,a\n2,b\n", b"x,y\n1,a\n2,b", b"\xff\xfex\0,\0", b"\xff\xfe\0\xd8\n\0", bytes(range(128, 256))]
)
def test_bytes_in_no_matter_which_encoding_are_read_or_refused(encoding, data):
    with contextlib.suppress(Invalid, TooLarge, UnsupportedMediaType):
        read(data, encoding=encoding)


def test_utf_16_without_a_mark_is_named():
    error = refused(UnsupportedMediaType, b"x,y\n1,a\n2,b\n", encoding="utf-16")
    assert "UTF-16 at byte offset 0" in error.detail
    assert error.faults[0].parameter == "options.encoding"


def test_a_wrong_byte_is_named_by_offset_and_line():
    data = b"a,b\n" + b"1,x\n" * 300_000 + b"2,\xff\n"
    error = refused(UnsupportedMediaType, data)
    assert f"offset {4 + 4 * 300_000 + 2}" in error.detail
    assert error.faults[0].line == 300_002


def test_a_character_cut_by_the_end_of_the_file():
    error = refused(UnsupportedMediaType, "a,b\n1,ü".encode()[:-1])
    assert "offset 6" in error.detail


def test_characters_across_the_borders_of_blocks():
    text = "a,b\n" + "1,äöü€\n" * 200_000
    assert set(read(text).cells["b"]) == {"äöü€"}


def test_a_nul_in_another_encoding():
    assert refused(Invalid, "a,b\n1,x\n2,y\0\n".encode("utf-16"), encoding="utf-16").faults[0].line == 3


def test_lines_of_ragged_rows_count_quoted_newlines_and_blank_lines():
    text = 'a,b\n\n1,"x\ny"\r\n2,z\n\n3\n4,"p""\n",q\n5,ok\n'
    error = refused(Invalid, text)
    assert [(fault.line, fault.row) for fault in error.faults] == [(7, 2), (8, 3)]


def test_many_ragged_rows_far_down():
    text = "a,b\n" + "1,2\n" * 500_000 + "3\n" * 100
    error = refused(Invalid, text)
    assert error.faults[0].line == 500_002
    assert len(error.faults) == 20


def test_a_last_cell_of_quotes_is_no_open_quote():
    for last, text in (('""', ""), ('""""', '"'), ('"x\n"', "x\n"), ('a"b', 'a"b')):
        assert read(f"a,b\n1,{last}\n", kinds={"b": "nominal"}).cells["b"] == [text]
        assert read(f"a,b\n1,{last}", kinds={"b": "nominal"}).cells["b"] == [text]
    assert refused(Invalid, 'a,b\n1,"').faults[0].line == 2


def test_a_row_longer_than_any_may_be_is_named_by_its_line():
    error = refused(TooLarge, "a,b\n" + "1,x\n" * 100 + "2," + "x" * (10 << 20) + "\n3,z\n")
    assert (error.faults[0].line, error.faults[0].allowed) == (102, 4 << 20)


def test_an_empty_name_is_refused():
    assert "column 2 has no name" in refused(Invalid, "a,,b\n1,2,3\n").detail


def test_only_blank_lines():
    assert "empty" in refused(Invalid, "\n\r\n\n").detail


def test_numbers_until_far_down():
    text = "a,b\n" + "1,x\n" * 1_200_000 + "n/a,y\n"
    table = read(text)
    assert table.columns["a"] == {
        "name": "a",
        "kind": "nominal",
        "levels": ["1", "n/a"],
        "level_type": "text",
        "evidence": "2 distinct texts; 'n/a' is not a number",
        "missing": 0,
    }
    assert [row["a"] for row in rows(table.table, 1_199_999, 9)] == ["1", "n/a"]
    assert table.columns["b"]["levels"] == ["x", "y"]


def test_limits():
    limits = Limits(rows=3, columns=3, name_length=5, levels=3)
    assert refused(TooLarge, "a,b\n" + "1,2\n" * 4, limits=limits).faults[0].allowed == 3
    assert refused(TooLarge, "a,b,c,d\n1,2,3,4\n", limits=limits).faults[0].allowed == 3
    assert refused(Invalid, "a,abcdef\n1,2\n", limits=limits).faults[0].allowed == 5
    error = refused(Invalid, "a,b\n1,p\n2,q\n3,r\n", limits=Limits(levels=2))
    assert (error.faults[0].column, error.faults[0].allowed) == ("b", 2)
    assert refused(Invalid, "a,b\n1," + "x" * 40_000 + "\n").faults[0].allowed == 32_768


def test_compressed_files_are_refused():
    assert "gzip" in refused(UnsupportedMediaType, b"\x1f\x8b\x08\x00" + b"x" * 20).detail
    assert "spreadsheet" in refused(UnsupportedMediaType, b"PK\x03\x04" + b"x" * 20).detail


_TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(_TEXTS, _TEXTS), min_size=1, max_size=12))
def test_any_text_survives(pairs):
    """Whatever Python's csv module writes in quotes is read as it was, an empty text included."""
    sink = io.StringIO()
    writer = csv.writer(sink, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([("a", "b"), *pairs])
    table = read(sink.getvalue(), kinds={"a": "nominal", "b": "nominal"}, delimiter=",")
    wanted = {"a": [str(a) for a, _ in pairs], "b": [str(b) for _, b in pairs]}
    for name, texts in wanted.items():
        if table.columns[name]["level_type"] == "text":
            assert table.cells[name] == texts


def test_memory_does_not_grow_with_the_file(tmp_path):
    """66 MB of CSV are read in less than as much memory; plain reading of it as texts needs several times that."""
    path = tmp_path / "data.csv"
    with path.open("w") as file:
        file.write("a,b,c,d\n")
        lines = "".join(f"{number * 0.37:.6f},{number},red{number % 7},{number % 13}\n" for number in range(50_000))
        for _ in range(50):
            file.write(lines)
    assert path.stat().st_size > 60_000_000
    code = f"""
import resource
from pathlib import Path
import pyarrow.csv, pyarrow.compute
from service.formats.ingest import ingest
from service.formats.options import ReadOptions
from service.formats.table_file import rows
from service.settings import Limits
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = ingest(Path({str(path)!r}), ReadOptions(), Path({str(tmp_path / "out")!r}), Limits())
print(found.n_rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    n_rows, kilobytes = map(int, done.stdout.split())
    assert n_rows == 2_500_000
    assert kilobytes < 400_000


@given(st.text("a, ;\r\n", max_size=30), st.sampled_from(",;"))
def test_records_without_quotes_are_those_of_the_general_reading(text: str, delimiter: str) -> None:
    """A quoted first record makes the general reading read the rest."""
    general = list(records('"q"\n' + text, delimiter, '"'))[1:]
    quick = list(records(text, delimiter, '"'))
    assert quick == [(cells, line - 1, end - 4) for cells, line, end in general]
