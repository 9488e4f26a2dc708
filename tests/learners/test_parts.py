"""A part knows its rows in the whole, as long as the whole is there; what was checked once is not checked again."""

import gc

import numpy as np
import pytest

from learners.errors import DataError
from learners.parts import is_sound, origin_of, part_of, parted
from learners.table import Column, Kind, Series, Table
from learners.validation import check_training

COLUMNS = (Column("x"), Column("c", Kind.NOMINAL, ("a", "b")))


def made(n=6):
    return Table(COLUMNS, np.asfortranarray(np.column_stack([np.arange(n) / 2, np.arange(n) % 2])))


def test_a_part_is_what_taking_the_rows_gives_and_knows_them():
    whole = parted(made())
    rows = np.array([0, 2, 5])
    part = part_of(whole, rows)
    assert np.array_equal(part.values, made().take(rows).values)
    assert origin_of(part).whole is whole
    assert origin_of(part).rows.tolist() == [0, 2, 5]
    assert origin_of(whole) == (whole, None)


def test_a_part_of_a_part_is_one_of_the_whole():
    whole = parted(made())
    inner = part_of(part_of(whole, np.array([1, 3, 4, 5])), np.array([0, 3]))
    assert origin_of(inner).rows.tolist() == [1, 5]
    assert parted(inner) is inner
    assert parted(whole) is whole


def test_rows_of_a_table_that_nobody_parts_or_out_of_order_or_twice_have_no_origin():
    assert origin_of(part_of(made(), np.array([0, 1]))) is None
    whole = parted(made())
    assert origin_of(part_of(whole, np.array([1, 0]))) is None
    assert origin_of(part_of(whole, np.array([0, 0, 1]))) is None
    assert origin_of(part_of(whole, np.array([], np.int64))).rows.tolist() == []


def test_a_whole_is_not_kept_by_its_parts():
    whole = parted(made())
    part = part_of(whole, np.array([0, 1]))
    del whole
    gc.collect()
    assert origin_of(part) is None
    assert part.n_rows == 2


def test_cells_that_were_checked_as_a_whole_are_sound_in_every_part_and_others_are_not():
    y = Series(Column("y", Kind.NOMINAL, ("n", "p")), np.array([0.0, 1, 0, 1, 0, 1]))
    whole = parted(made())
    part = part_of(whole, np.array([1, 2]))
    assert not is_sound(part)
    check_training(whole, y, classification=True)
    assert is_sound(part)
    plain = made()
    check_training(plain, y, classification=True)
    assert not is_sound(plain)


@pytest.mark.parametrize(("column", "cell"), [(0, np.inf), (1, 2.0), (1, 0.5)])
def test_a_bad_cell_is_refused_in_the_whole_and_in_a_part_of_a_whole_that_nobody_looked_at(column, cell):
    table = made()
    table.values[3, column] = cell
    y = Series(Column("y", Kind.NOMINAL, ("n", "p")), np.array([0.0, 1, 0, 1, 0, 1]))
    whole = parted(table)
    with pytest.raises(DataError, match="row 3"):
        check_training(whole, y, classification=True)
    rows = np.array([0, 3, 4])
    with pytest.raises(DataError, match="row 1"):
        check_training(part_of(whole, rows), y.take(rows), classification=True)
