"""Quotes that can be read in several ways are refused, at upload and in rows to predict alike."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.errors import BadRequest, Invalid
from service.formats.readers import csv_quotes
from service.formats.readers.csv_quotes import fault_of, first_doubt
from service.formats.record_texts import read_csv
from tests.service.formats.reading_files import read, refused

_AFTER, _BLANK, _OPEN = "text follows the closing quote", "a blank comes before the opening quote", "is never closed"


@pytest.mark.parametrize(
    ("text", "told", "line", "row", "column"),
    [
        ('a,y\n"1"2,p\n2,q\n', _AFTER, 2, 0, "a"),
        ('a,y\n1,p\n2,"q"r', _AFTER, 3, 1, "y"),
        ('a,y\n1,"p" \n2,q\n', _AFTER, 2, 0, "y"),
        ('a,y\r\n\r\n1,p\r\n"2" ,q\r\n', _AFTER, 4, 1, "a"),
        ('a,y\n"1,p\n2,"q"\n', _AFTER, 3, 0, "a"),  # the quote before 1 is closed by the one before q
        ('a,y\n"x\n1","p"""q\n', _AFTER, 3, 0, "y"),
        ('a,y\n1, "p"\n', _BLANK, 2, 0, "y"),
        ('a,y\n \t"1",p\n', _BLANK, 2, 0, "a"),
        ('a,y\n"1,p\n2,q\n', _OPEN, 2, 0, "a"),
        ('a,y\n1,p\n2,"q\n', _OPEN, 3, 1, "y"),
        ('a,y\n1,"', _OPEN, 2, 0, "y"),
        ('a,y\n1,"""', _OPEN, 2, 0, "y"),
        ('\ufeffä,y\n"ö"2,p\n', _AFTER, 2, 0, "ä"),
        ('a,"y"z\n1,p\n', _AFTER, 1, None, None),
        ('"a" ,y\n1,p\n', _AFTER, 1, None, None),
        ('a, "y"\n1,p\n', _BLANK, 1, None, None),
    ],
)
def test_a_quote_in_doubt_is_refused_with_its_place(text, told, line, row, column):
    uploaded = refused(Invalid, text)
    with pytest.raises(BadRequest) as caught:
        read_csv(text.encode(), ",")
    for error in (uploaded, caught.value):
        (fault,) = error.faults
        assert (fault.line, fault.row, fault.column) == (line, row, column)
        assert told in fault.message
        assert fault.message in error.detail
        assert "a quote within is written twice" in fault.message
    assert "quote = null" in uploaded.detail


@pytest.mark.parametrize("more", [0, 5, 400_000])
@pytest.mark.parametrize("skipped", ["", "b", "c"])
def test_a_quote_that_is_never_closed(more, skipped):
    text = 'a,c,b\n1,2,x\n2,2,"y\n' + "3,2,z\n" * more
    error = refused(Invalid, text, kinds={skipped: "excluded"} if skipped else {})
    assert (error.faults[0].line, error.faults[0].column) == (3, "b")
    assert "never closed" in error.detail


def test_a_quote_that_is_never_closed_in_the_header():
    for text in ('a,"b\n1,x\n', '"a,b\n1,x\n'):
        assert refused(Invalid, text).faults[0].line == 1
        with pytest.raises(BadRequest, match="never closed") as caught:
            read_csv(text.encode(), ",")
        assert (caught.value.faults[0].line, caught.value.faults[0].row) == (1, None)


def test_without_header_a_cell_is_named_by_its_number():
    (fault,) = refused(Invalid, '1,2\n3,"4"5\n', header=False).faults
    assert (fault.line, fault.row, fault.column) == (2, 1, None)
    assert "in cell 2 " in fault.message


def test_a_quote_in_a_cell_that_begins_without_one_is_a_character_like_any_other():
    text = 'pipe,y\n5" wide,p\nx "y" z,q\na"",r\n'
    cells = ['5" wide', 'x "y" z', 'a""']
    assert read(text).cells["pipe"] == cells
    assert [row[0] for row in read_csv(text.encode(), ",").data] == cells


def test_quotes_that_are_none_are_in_no_doubt():
    assert read('a,y\n"1"2,p\n 2",q\n', quote=None).cells["a"] == ['"1"2', ' 2"']
    assert read("a,y\n'1','p'\n2,\"q\"r\n", quote="'").cells["y"] == ["p", '"q"r']
    assert read('a\ty\n "1"\tp\n', name="x.tsv", quote=None).cells["a"] == [' "1"']


@given(st.text('a,"\n', max_size=14), st.sampled_from([1, 2, 3, 1 << 20]))
@example('"a', 1)
@example('"a"""', 1)
@example('a"\n"a"a', 2)
def test_what_is_refused_is_what_a_strict_reader_refuses(text: str, piece: int) -> None:
    """Python's csv module has the same rule where it is strict, but for blanks, which this text has not."""
    records, strict = [], True
    try:
        records += csv.reader(io.StringIO(text, newline=""), strict=True)
    except csv.Error:
        strict = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_quotes, "_PIECE", piece)
        doubt = first_doubt(io.BytesIO(text.encode()), ",", '"')
    assert (doubt is None) == strict
    if doubt is not None:
        place = fault_of(doubt, io.StringIO(text, newline=""), ",", '"', None)
        assert place.line == 1 + text.count("\n", 0, doubt.at)
        assert place.row == sum(map(bool, records))


@given(st.text('a, \t"\n', max_size=14), st.sampled_from([1, 2, 3]))
def test_blanks_before_a_quote_are_in_doubt_only_where_they_begin_a_cell(text: str, piece: int) -> None:
    """As if blanks that begin a cell were no part of it."""
    doubts = []
    for size in (piece, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csv_quotes, "_PIECE", size)
            doubts.append(first_doubt(io.BytesIO(text.encode()), ",", '"'))
    assert doubts[0] == doubts[1]
    if doubts[0] is not None and doubts[0].what == csv_quotes.BLANK:
        before = text[: doubts[0].at]
        assert before[-1] in " \t"
        assert not before.rstrip(" \t") or before.rstrip(" \t")[-1] in ",\n"
        assert first_doubt(io.BytesIO((before + "x").encode()), ",", '"') is None
