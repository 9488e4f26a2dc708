"""Rows as steps: sequences, strings of symbols, and columns that hold at every step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learners.errors import DataError, SchemaError
from learners.neural.recurrent.inputs import StepInputs
from learners.table import MISSING, Column, Kind, Table

TABLE = Table.from_columns(
    {
        "pulse": [[1, 3], [5], None],
        "word": ["ab", "c", "ba"],
        "age": [10.0, 20.0, 30.0],
        "pair": [[[1, 0], [2, 0]], [[3, 0]], [[4, 0], [5, 0]]],
    },
    [Column("word", Kind.TEXT)],
)


def fit(table: Table = TABLE, scaling: str = "standard") -> StepInputs:
    return StepInputs.fit(table, np.ones(table.n_rows), scaling=scaling, gaps=True)


def test_each_number_and_symbol_of_a_step_is_a_variable() -> None:
    rows = fit(scaling="none").batch(TABLE)
    assert rows.starts.tolist() == [0, 2, 3, 5]
    # pulse (missing ones are the mean of the others), a, b, c, both numbers of the pairs, age
    wanted = [[1, 1, 0, 0, 1, 0, 10], [3, 0, 1, 0, 2, 0, 10], [5, 0, 0, 1, 3, 0, 20]]
    assert rows.values[:3].tolist() == wanted
    assert rows.values[3:, 1:].tolist() == [[0, 1, 0, 4, 0, 30], [1, 0, 0, 5, 0, 30]]


def test_numbers_are_scaled_over_all_steps_and_symbols_are_not() -> None:
    values = fit().batch(TABLE.take(np.array([0, 1]))).values
    known = np.array([1.0, 3.0, 5.0])
    assert set(values[:, 1:4].ravel()) == {0.0, 1.0}
    np.testing.assert_allclose(values[:, 0] - values[1, 0], (known - 3) / np.std(known), rtol=1e-12)


def test_a_missing_sequence_is_the_mean_of_the_known_ones() -> None:
    for scaling in ("standard", "range", "none"):
        made = fit(scaling=scaling)
        rows = made.batch(TABLE)
        assert rows.values[3:, 0] == pytest.approx(rows.values[:3, 0].mean(), abs=1e-15)
        assert made.mean[0] == rows.values[3, 0]


def test_sequences_of_any_magnitude_are_scaled_and_unscaled_ones_are_bounded() -> None:
    rows = np.random.default_rng(0).normal(size=(9, 4))
    tables = [Table.from_columns({"pulse": (rows * unit).tolist()}) for unit in (1.0, 1e300)]
    for scaling in ("standard", "range"):
        near, far = (fit(table, scaling).batch(table).values for table in tables)
        np.testing.assert_allclose(far, near, atol=1e-12)
    with pytest.raises(DataError, match="column 'pulse' goes beyond 1e"):
        fit(tables[1], "none")


def test_what_training_did_not_have_has_no_indicator() -> None:
    made = fit(scaling="none")
    table = Table.from_columns({name: [None] for name in TABLE.names} | {"word": ["xay"]}, TABLE.columns)
    rows = made.batch(table)
    assert rows.values[:, 1:4].tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(rows.values[:, [0, 4, 5]], np.tile(made.mean[[0, 4, 5]], (3, 1)))


def test_a_row_without_steps_is_one_step_of_means() -> None:
    made = fit()
    table = Table(TABLE.columns, np.full((1, 4), MISSING))
    assert made.batch(table).starts.tolist() == [0, 1]
    empty = Table.from_columns({name: [None] for name in TABLE.names} | {"word": [""]}, TABLE.columns)
    np.testing.assert_array_equal(made.batch(empty).values, made.batch(table).values)
    np.testing.assert_allclose(made.batch(table).values[0, :6], made.mean[:6])


def test_sequences_of_a_row_that_differ_in_length_are_refused() -> None:
    table = Table.from_columns({"pulse": [[1], [1, 2]], "other": [[1], [1]]})
    with pytest.raises(SchemaError, match="row 1: column 'other' has 1 steps, where another column has 2"):
        fit(table)


def test_flat_rows_know_their_columns() -> None:
    made = fit()
    flats = made.flats(TABLE)
    assert [len(flat) for flat in flats] == [14, 7, 14]
    assert made.owners(14).tolist() == [0, 1, 1, 1, 3, 3, 2] * 2
    np.testing.assert_array_equal(made.points(np.array([flats[0]])).values, made.batch(TABLE).values[:2])
    assert made.baseline(14).tolist() == [*made.mean, *made.mean]
    assert made.knows(1, 0.0, TABLE.columns[1])


def test_a_text_is_known_if_all_its_symbols_are() -> None:
    made = fit()
    asked = replace(TABLE.columns[1], levels=(*TABLE.columns[1].levels, "?"))
    assert made.knows(1, 0.0, asked)
    assert not made.knows(1, float(len(asked.levels) - 1), asked)


def test_inputs_come_back_from_their_arrays() -> None:
    made = fit()
    again = StepInputs.from_arrays(made.to_arrays(), TABLE.columns)
    np.testing.assert_array_equal(again.batch(TABLE).values, made.batch(TABLE).values)
