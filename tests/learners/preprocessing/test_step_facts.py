"""Facts of sequences and texts, by hand."""

import numpy as np

from learners.preprocessing.step_facts import step_facts
from learners.table import Column, Kind, Table

TABLE = Table.from_columns(
    {"pulse": [[1, 3, 2], [5], None], "word": ["abb", "", None], "age": [1.0, 2.0, None], "age, last": [0.0, 0.0, 0.0]},
    [Column("word", Kind.TEXT)],
)


def test_facts_are_those_of_each_row():
    told = step_facts(TABLE).to_columns()
    assert told["age"] == [1.0, 2.0, None]
    assert told["pulse, steps"] == [3, 1, None]
    assert told["pulse, last"] == [2, 5, None]
    assert told["pulse, 1 before the last"] == [3, None, None]
    assert told["pulse, 3 before the last"] == [None, None, None]
    assert told["pulse, first"] == [1, 5, None]
    assert told["pulse, mean"] == [2, 5, None]
    assert (told["pulse, least"], told["pulse, greatest"]) == ([1, 5, None], [3, 5, None])
    assert told["word, steps"] == [3, 0, None]
    assert told["word, last"] == ["b", None, None]
    assert told["word, 2 before the last"] == ["a", None, None]
    assert told["word, first"] == ["a", None, None]
    assert told["word, number of 'b'"] == [2, 0, None]


def test_each_number_of_a_step_has_facts_and_no_name_comes_twice():
    table = Table.from_columns({"p": [[[1, 2], [3, 4]]], "p[0], last": [0.0]})
    told = step_facts(table).to_columns()
    assert told["p[0], last"] == [0.0]
    assert told["p[0], last'"] == [3]
    assert told["p[1], mean"] == [3]


def test_a_table_without_steps_stays_as_it_is():
    plain = TABLE.select(["age"])
    assert step_facts(plain) is plain
    assert step_facts(TABLE.take(np.zeros(0, np.int64))).n_rows == 0
