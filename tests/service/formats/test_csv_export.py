"""CSV out: what is written is read again, and no spreadsheet runs it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from learners.table import Column, Kind, Table
from service.formats.csv_export import csv_cell, csv_line, csv_rows, neutral
from tests.service.formats.reading_files import read
from tests.shared import table_path, trap_path


def written(table, **options):
    return "".join(csv_rows(table, **options))


@pytest.mark.parametrize("name", ["labor.csv", "credit-a.csv", "breast-w.csv"])
def test_a_table_survives(name):
    table = read(table_path(name))
    again = read(written(table.table, neutralise=False))
    assert again.cells == table.cells
    assert again.kinds() == table.kinds()


@pytest.mark.parametrize("name", ["quoted_newline.csv", "big_values.csv", "close_floats.csv", "na_words.csv"])
def test_nasty_cells_survive(name):
    table = read(trap_path(name))
    assert read(written(table.table)).cells == table.cells


def test_missing_is_empty_and_the_empty_text_is_quoted():
    columns = (Column("x"), Column("c", Kind.NOMINAL, ("", "a"), "text"))
    table = Table(columns, np.array([[0.1, 0], [math.nan, math.nan], [3, 1]]))
    assert written(table) == 'x,c\n0.1,""\n,\n3,a\n'


def test_formulas_are_neutralised_unless_asked_for():
    table = read(trap_path("formula_cells.csv"))
    starts = [line.strip('"')[0] for line in written(table.table).splitlines()[1:]]
    assert starts == ["'"] * 6
    assert read(written(table.table, neutralise=False)).cells == table.cells


def test_single_cells():
    assert neutral("-2.5") == "-2.5"
    assert neutral("-") == "'-"
    assert csv_cell('a"b') == '"a""b"'
    assert csv_cell(" a") == '" a"'
    assert csv_line([None, "", "a,b", "=1"]) == ',"","a,b",\'=1\n'
