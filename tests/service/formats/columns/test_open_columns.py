"""Columns of texts and of sequences through every format."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from learners.sequences import FORM
from learners.table import Column, Kind
from service.errors import Invalid, TooLarge
from service.formats.columns import builder
from service.formats.records import RowEncoder
from service.formats.table_file import rows
from tests.service.formats.readers.test_arrow import FORMS
from tests.service.formats.reading_files import read, refused

PULSES = [[1, 2.5, 3], None, [4]]
WORDS = ["kitten", "sitting", None]
CSV = 'pulse,word,y\n"[1, 2.50, 3.0]",kitten,a\n,sitting,b\n4,,a\n'
JSON = '[{"pulse":[1,2.5,3],"word":"kitten","y":"a"},{"word":"sitting","y":"b"},{"pulse":[4.0],"y":"a"}]'
NDJSON = JSON[1:-1].replace("},{", "}\n{")
ARFF = (
    "@relation r\n@attribute pulse string\n@attribute word string\n@attribute y {a,b}\n@data\n"
    "'1 2.5 3',kitten,a\n?,sitting,b\n'4',?,a\n"
)
KINDS = {"pulse": "sequence", "word": "text"}


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.csv", CSV), ("a.json", JSON), ("a.ndjson", NDJSON), ("a.arff", ARFF)],
    ids=lambda one: one[:8],
)
def test_texts_and_sequences_come_back_from_every_text_format(name, text):
    found = read(text, name=name, kinds=KINDS)
    table = found.table
    assert [column.kind for column in table.columns] == [Kind.SEQUENCE, Kind.TEXT, Kind.NOMINAL]
    assert table.columns[0].levels == ("[1,2.5,3]", "[4]")
    assert table.to_columns()["pulse"] == PULSES
    assert table.to_columns()["word"] == WORDS


@FORMS
def test_lists_of_typed_files_and_of_json_are_sequences_unasked(form):
    data = {"pulse": PULSES, "steps": [[[1, 2], [3, 4]], [[5, 6]], None], "y": ["a", "b", "a"]}
    found = read(**form(pa.table(data)))
    assert found.table.columns[0].kind is Kind.SEQUENCE
    assert found.table.columns[1].sequences[0].shape == (2, 2)
    assert found.table.to_columns() == {**data, "pulse": PULSES}
    assert read(JSON, name="a.json").table.columns[0].kind is Kind.SEQUENCE


def test_what_is_told_of_them_is_how_many_and_how_long():
    found = read(CSV, name="a.csv", kinds=KINDS)
    pulse, word, _ = found.ingested.columns
    assert pulse == {
        "name": "pulse",
        "kind": "sequence",
        "n_values": 2,
        "evidence": "as asked: 2 distinct sequences",
        "missing": 1,
    }
    assert word["n_values"] == 2
    assert "levels" not in word
    profiles = {one["name"]: one for one in found.ingested.profile}
    assert profiles["pulse"]["length"] == {"min": 1, "max": 3, "mean": 2.0}
    assert profiles["word"]["length"] == {"min": 6, "max": 7, "mean": 6.5}


def test_rows_show_sequences_as_lists():
    found = read(CSV, name="a.csv", kinds=KINDS)
    assert rows(found.table, 0, 2) == [
        {"pulse": [1, 2.5, 3], "word": "kitten", "y": "a"},
        {"pulse": None, "word": "sitting", "y": "b"},
    ]


def test_a_relation_to_texts_is_not_made_up():
    found = read(CSV, name="a.csv", kinds=KINDS, target="y")
    assert found.ingested.profile[1]["relation"] == {
        "rows": 2,
        "value": None,
        "measure": "none for texts and sequences",
    }


def test_texts_of_a_column_are_bounded_together(monkeypatch):
    monkeypatch.setattr(builder, "_MAX_CHARACTERS", 10)
    error = refused(TooLarge, CSV, name="a.csv", kinds=KINDS)
    assert error.faults[0].column in ("pulse", "word")


def test_a_long_sequence_is_longer_than_a_text_may_be():
    long = " ".join(["0.5"] * 10_000)
    found = read(f"a,b\n1,{long}\n2,1\n", name="a.csv", kinds={"b": "sequence"})
    assert found.table.columns[1].sequences[0].shape == (10_000, 1)
    assert refused(Invalid, f"a,b\n1,{long}\n2,1\n", name="a.csv", kinds={"b": "text"}).faults[0].row == 0


ENCODER = RowEncoder((Column("pulse", Kind.SEQUENCE, ("[1]", "[2,3]")), Column("word", Kind.TEXT, ("old",))))


def test_rows_bring_texts_and_sequences_that_the_model_has_not_met():
    encoded = ENCODER.objects(
        [{"pulse": [2.0, 3], "word": "new"}, {"pulse": "9 9", "word": "old"}, {"pulse": None, "word": ""}, {"word": 7}]
    )
    assert not encoded.faults
    assert not encoded.unseen
    assert [column.levels for column in encoded.columns] == [("[2,3]", "[9,9]"), ("new", "old", "", "7")]
    np.testing.assert_array_equal(encoded.values, [[0, 0], [1, 1], [np.nan, 2], [np.nan, 3]])


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ({"pulse": [1, "x"], "word": "a"}, "pulse"),
        ({"pulse": [[1], [2, 3]], "word": "a"}, "pulse"),
        ({"pulse": {"a": 1}, "word": "a"}, "pulse"),
        ({"pulse": 5, "word": "a"}, "pulse"),
        ({"pulse": [[1, 2], [3, 4]], "word": "a"}, "pulse"),
        ({"pulse": [1], "word": ["a"]}, "word"),
        ({"pulse": [1], "word": {"a": 1}}, "word"),
    ],
)
def test_a_value_that_is_none_of_its_kind_spoils_its_row_alone(row, column):
    encoded = ENCODER.objects([{"pulse": [1], "word": "a"}, row])
    assert list(encoded.faults) == [1]
    assert [fault.column for fault in encoded.faults[1]] == [column]
    assert encoded.faults[1][0].allowed in (f"{FORM}; 1 in each step, as in training", "texts")


def test_a_sequence_with_other_steps_than_in_training_is_refused_alone_too():
    encoded = ENCODER.objects([{"pulse": [[1, 2], [3, 4]], "word": "a"}])
    assert "1 in each step, as in training, not [[1, 2], [3, 4]]" in encoded.faults[0][0].message


def test_sequences_of_one_column_have_the_same_steps():
    error = refused(Invalid, '[{"s":[1],"y":"a"},{"s":[2,3],"y":"b"},{"s":[[1,2],[3,4]],"y":"b"}]', name="a.json")
    assert (error.faults[0].row, error.faults[0].column) == (2, "s")
    assert "no sequence of numbers, 1 a step as in the first" in error.detail
