"""Sequences of numbers: the text of each, what is one, and columns that any may join."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.errors import DataError, SchemaError
from learners.matching import conform
from learners.sequences import parse_sequence, sequence_text, sequence_value
from learners.table import UNSEEN, Column, Kind, Table
from learners.trees.classifier import DecisionTreeClassifier

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.integers(1, 3).flatmap(lambda k: st.lists(st.lists(NUMBERS, min_size=k, max_size=k), min_size=1)))
def test_an_array_comes_back_to_the_bit(steps: list[list[float]]) -> None:
    text = sequence_text(np.array(steps))
    assert np.array_equal(parse_sequence(text), np.array(steps))
    assert sequence_text(sequence_value(text)) == text


@pytest.mark.parametrize("value", ["[1, 2.50, -3]", "1 2.5 -3", " 1  2.5e0 -3.0", [1, 2.5, -3], ([1], [2.5], [-3.0])])
def test_one_sequence_has_one_text_however_it_is_written(value: object) -> None:
    assert sequence_text(value) == "[1,2.5,-3]"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "is empty; one has at least one step"),
        ("", "is empty"),
        ("[]", "is empty"),
        ("[1,[2]]", "numbers beside arrays"),
        ([[1], 2], "numbers beside arrays"),
        ('["1"]', "holds '1', which is no number"),
        (["1"], "holds '1', which is no number"),
        ("[NaN]", "no finite number"),
        ("[1,", "no sequence"),
        ("[" * 100_000, "no sequence"),
        (7, "no sequence"),
        ([[1, 2], [3]], "hold 1 and 2 numbers"),
        ([[]], "hold 0 numbers"),
        ([1, None], "holds null"),
        ([1, True], "holds true"),
        ([1, float("nan")], "no finite number"),
        ([1, 10**400], "no finite number"),
        ("1 two", "holds 'two'"),
        ("1_0 2", "holds '1_0'"),
        ([[[1]]], "which is no number"),
    ],
)
def test_what_is_no_sequence_is_refused_with_what_is(value: object, said: str) -> None:
    with pytest.raises(DataError, match=said):
        sequence_text(value)


def test_lists_make_a_column_of_sequences_and_it_learns_new_ones() -> None:
    table = Table.from_columns({"pulse": [[1, 2], None, [1.0, 2.0], [3]]})
    column = table.columns[0]
    assert column.kind is Kind.SEQUENCE
    assert table.values[:, 0].tolist()[2:] == [0.0, 1.0]
    assert column.sequences[0].tolist() == [[1], [2]]
    assert table.to_columns()["pulse"] == [[1, 2], None, [1, 2], [3]]
    later = Table.from_columns({"pulse": ["5 6", [1, 2]]}, [column])
    assert later.columns[0].levels == (*column.levels, "[5,6]")
    assert later.values[:, 0].tolist() == [2.0, 0.0]
    assert column.encode([9]) == UNSEEN
    assert Column.from_json(column.to_json()) == column


def test_all_sequences_of_a_column_have_the_same_steps() -> None:
    with pytest.raises(SchemaError, match=r"column 'a': the sequence '\[\[1,2\]\]' has 2 numbers a step"):
        Table.from_columns({"a": [[1], [[1, 2]]]})
    with pytest.raises(SchemaError, match="has 1 numbers a step, where others of its column have 2"):
        Table.from_columns({"a": [[5]]}, [Column("a", Kind.SEQUENCE, ("[[1,2]]",))])


def test_sequences_beside_other_values_are_refused() -> None:
    with pytest.raises(DataError, match="column 'a' holds sequences beside other values"):
        Table.from_columns({"a": [[1], 2]})
    with pytest.raises(SchemaError, match="column 'a' takes labels"):
        Table.from_columns({"a": [[1]]}, [Column("a", Kind.NOMINAL, ("x",))])


def test_a_table_of_other_values_is_brought_to_a_models_open_columns() -> None:
    wanted = (Column("word", Kind.TEXT, ("cat", "dog")), Column("pulse", Kind.SEQUENCE, ("[1]",)))
    other = Table.from_columns({"pulse": [[2], [1], None], "word": ["dig", None, "dog"]})
    found = conform(other, wanted)
    assert found.columns[0].levels == ("cat", "dog", "dig")
    assert found.columns[1].levels == ("[1]", "[2]")
    np.testing.assert_array_equal(found.values, [[2, 1], [np.nan, 0], [1, np.nan]])
    with pytest.raises(SchemaError, match="'pulse' is sequence, not numeric"):
        conform(Table.from_columns({"pulse": [1], "word": ["a"]}), wanted)


def test_a_learner_that_does_not_take_them_names_the_column() -> None:
    table = Table.from_columns({"word": ["a", "b"]}, [Column("word", Kind.TEXT)])
    with pytest.raises(DataError, match="column 'word' is text, which this learner does not learn from"):
        DecisionTreeClassifier().fit(table, ["x", "y"])
