"""A part knows its rows in the whole, as long as the whole is there; what was checked once is not checked again."""

import gc

import numpy as np
import pytest

from learners.errors import DataError
from learners.parts import is_sound, is_sound_target, origin_of, part_of, parted
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


def test_a_part_copies_its_cells_when_someone_asks_for_them():
    whole = parted(made())
    part = part_of(whole, np.array([1, 4]))
    assert (part.n_rows, len(part), part.names) == (2, 2, whole.names)
    assert "values" not in vars(part)
    assert part.to_columns() == {"x": [0.5, 2.0], "c": ["b", "a"]}
    assert part.values is part.values
    assert part.values.flags.f_contiguous
    assert part_of(part, np.array([1])).values.tolist() == [[2.0, 0.0]]


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
    assert part.values.tolist() == [[0.0, 0.0], [0.5, 1.0]]
    assert part_of(part, np.array([1])).values.tolist() == [[0.5, 1.0]]


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


def test_a_target_that_was_checked_with_a_whole_is_looked_at_with_any_other_table():
    y = Series(Column("y", Kind.NOMINAL, ("n", "p")), np.array([0.0, 1, 0, 1, 0, 1]))
    whole = parted(made())
    check_training(whole, y, classification=True)
    assert is_sound_target(whole, y)
    y.cells[2] = np.nan
    for table in (made(), parted(made()), part_of(whole, np.arange(6))):
        with pytest.raises(DataError, match="row 2"):
            check_training(table, y, classification=True)


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
