"""Columns as numeric variables: indicators, ranks, powers, gaps."""

from __future__ import annotations

import numpy as np
import pytest

from learners.preprocessing.encode import GAP, LEVEL, POWER, fit_encoding
from learners.table import MISSING, UNSEEN, Column, Kind, Table

COLUMNS = (
    Column("x"),
    Column("colour", Kind.NOMINAL, ("never", "red", "green", "blue")),
    Column("grade", Kind.ORDINAL, ("low", "middle", "high")),
    Column("on", Kind.BOOLEAN, ("no", "yes")),
)
VALUES = np.array(
    [[1.0, 1, 0, 0], [3.0, 2, 2, 1], [MISSING, 3, 1, 1], [5.0, MISSING, UNSEEN, 0], [3.0, 1, 2, 1]], dtype=float
)


def test_variables_are_in_the_order_of_the_columns() -> None:
    encoding = fit_encoding(Table(COLUMNS, VALUES), np.ones(5), degree=2)
    told = list(zip(encoding.column.tolist(), encoding.kind.tolist(), encoding.detail.tolist(), strict=True))
    assert told == [
        *[(0, POWER, 1), (0, POWER, 2), (0, GAP, 0)],
        *[(1, LEVEL, 2), (1, LEVEL, 3), (1, GAP, 0)],  # red, the first that occurs, is the reference
        *[(2, POWER, 1), (2, POWER, 2)],
        (3, LEVEL, 1),
    ]
    assert len(fit_encoding(Table(COLUMNS, VALUES), np.ones(5), gaps=False).column) == 5


def test_values_of_every_kind_of_cell() -> None:
    table = Table(COLUMNS, VALUES)
    made = fit_encoding(table, np.ones(5)).values(VALUES, COLUMNS)
    deviation = np.sqrt(2.0)
    assert made[:, 0] == pytest.approx([-2 / deviation, 0, 0, 2 / deviation, 0])  # the mean where missing
    assert made[:, 1].tolist() == [0, 0, 1, 0, 0]
    assert made[:, 2].tolist() == [0, 1, 0, 0.25, 0]  # its share among the four known
    assert made[:, 3].tolist() == [0, 0, 1, 0.25, 0]
    assert made[:, 4].tolist() == [0, 0, 0, 1, 0]
    assert made[3, 5] == 0  # an unseen grade is the mean
    further = fit_encoding(table, np.ones(5)).values(np.array([[3.0, 0, 0, UNSEEN], [3, UNSEEN, 0, 0]]), COLUMNS)
    assert further[:, 2].tolist() == [0.25, 0.25]  # neither a level that did not occur nor an unseen one is a gap
    assert further[:, 4].tolist() == [0, 0]
    assert further[0, -1] == pytest.approx(0.6)


def test_weights_count_as_rows() -> None:
    table, weights = Table(COLUMNS, VALUES), np.array([2.0, 1, 3, 1, 1])
    weighted = fit_encoding(table, weights, degree=2)
    repeated = fit_encoding(table.take(np.repeat(np.arange(5), weights.astype(int))), np.ones(8), degree=2)
    np.testing.assert_allclose(weighted.values(VALUES, COLUMNS), repeated.values(VALUES, COLUMNS), atol=1e-12)


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e300, 1.7e308])
def test_magnitudes_do_not_matter(scale: float) -> None:
    values = np.array([[scale], [-scale], [0.0]])
    encoding = fit_encoding(Table.from_array(values), np.ones(3))
    assert encoding.values(values, (COLUMNS[0],))[:, 0] == pytest.approx([1.2247449, -1.2247449, 0])


def test_what_does_not_vary_has_no_variable() -> None:
    values = np.array([[7.5, 0.3, MISSING, 1], [7.5, 0.30000000000000004, MISSING, 1]])
    columns = (Column("a"), Column("b"), Column("c"), Column("d", Kind.NOMINAL, ("x", "y")))
    assert fit_encoding(Table(columns, values), np.ones(2)).n_variables == 0


def test_range_and_own_unit_with_the_mean_where_nothing_is_known() -> None:
    table = Table(COLUMNS[:1], VALUES[:, :1])
    by_range = fit_encoding(table, np.ones(5), gaps=False, scaling="range")
    assert by_range.values(table.values, table.columns)[:, 0].tolist() == [
        0,
        0.5,
        0.5,
        1,
        0.5,
    ]  # the mean of 1, 3, 5, 3
    own = fit_encoding(table, np.array([1.0, 1, 1, 1, 5]), gaps=False, scaling="none")
    assert own.values(table.values, table.columns)[:, 0].tolist() == [1, 3, 3, 5, 3]
    constant = Table.from_array(np.full((3, 1), 7.0))
    assert not fit_encoding(constant, np.ones(3), scaling="none").n_variables


def test_without_reference_three_levels_have_an_indicator_each_and_two_have_one() -> None:
    encoding = fit_encoding(Table(COLUMNS, VALUES), np.ones(5), gaps=False, reference=False)
    told = list(zip(encoding.column.tolist(), encoding.kind.tolist(), encoding.detail.tolist(), strict=True))
    assert told == [(0, POWER, 1), (1, LEVEL, 1), (1, LEVEL, 2), (1, LEVEL, 3), (2, POWER, 1), (3, LEVEL, 1)]
    unseen = encoding.values(np.array([[3.0, 0, 0, 0]]), COLUMNS)[0, 1:4]
    assert unseen.tolist() == [0.5, 0.25, 0.25]
