"""Every shared table has the rows, columns, missing cells and repeated rows that its manifest states."""

from __future__ import annotations

import re

import pytest

from tests.service.formats.reading_files import read
from tests.shared import SHARED, table_path


def _stated() -> list[tuple[str, int, int, str, int, int]]:
    """Name, rows, columns, target, missing cells, repeated rows."""
    stated = []
    for line in (SHARED / "data" / "MANIFEST.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:]]
        if len(cells) > 7 and cells[0].endswith(".csv") and cells[1].isdigit():
            missing = re.match(r"\d+", cells[5])
            assert missing is not None
            stated.append((cells[0], int(cells[1]), int(cells[2]), cells[3], int(missing[0]), int(cells[6])))
    return stated


def test_the_manifest_is_read():
    assert len(_stated()) > 35


@pytest.mark.parametrize(("name", "rows", "columns", "target", "missing", "repeated"), _stated())
def test_table(name, rows, columns, target, missing, repeated):
    table = read(table_path(name))
    assert table.ingested.n_rows == rows
    assert len(table.columns) == columns
    assert target in table.columns
    assert sum(table.missing().values()) == missing
    warning = f"{repeated} row{'s repeat' if repeated != 1 else ' repeats'} an earlier row"
    assert (warning in table.ingested.warnings) == (repeated > 0)


def test_numbers_with_a_bare_point_are_numbers():
    assert read(table_path("auto-mpg.csv")).columns["weight"]["kind"] == "numeric"


def test_letters_that_look_boolean_are_names():
    assert set(read(table_path("mushroom.csv")).kinds().values()) == {"nominal"}
    assert read(table_path("credit-a.csv")).columns["class"]["levels"] == ["+", "-"]
    assert read(table_path("weather-nominal.csv")).columns["windy"]["levels"] == ["FALSE", "TRUE"]


def test_numbered_categories_can_be_declared():
    kinds = {f"a{number}": "nominal" for number in range(1, 7)}
    table = read(table_path("monks-1-train.csv"), kinds=kinds)
    assert table.columns["a1"]["levels"] == ["1", "2", "3"]
    assert table.columns["a1"]["level_type"] == "number"
    assert set(table.cells["a1"]) == {1, 2, 3}
