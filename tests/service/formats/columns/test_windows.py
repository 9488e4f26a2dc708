"""Windows: beside each row of a table the steps before it, as a sequence."""

from __future__ import annotations

from typing import Any

import pytest

from service.errors import Invalid, TooLarge
from service.formats.columns import windowing
from service.formats.options import ReadOptions
from tests.service.formats.reading_files import read, refused

SERIES = "day,level,rain,place\n" + "\n".join(
    f"{day},{day * 10},{day % 2},{place}"
    for place, days in (("b", (1, 2, 3, 6, 7, 8)), ("a", (4, 3, 2)))
    for day in days
)


def test_each_row_has_the_steps_before_it_and_none_from_over_a_gap_or_of_another_series() -> None:
    asked = {"columns": ["level"], "length": 2, "time": "day", "groups": "place", "name": "before"}
    found = read(SERIES, windows=asked)
    assert found.cells == {
        "day": [3, 4, 8],
        "level": [30, 40, 80],
        "rain": [1, 0, 0],
        "place": ["b", "a", "b"],
        "before": [[10, 20], [20, 30], [60, 70]],
    }
    assert found.kinds()["before"] == "sequence"
    assert "rows with fewer than 2 steps before them are left out: 6" in found.ingested.warnings
    assert "rows are in the order of column 'day', no longer in that of the file" in found.ingested.warnings
    assert found.ingested.n_rows == 3
    assert "the 2 steps before each row" in found.columns["before"]["evidence"]
    wider = read(SERIES, windows=asked | {"gap": 3})
    assert wider.cells["before"] == [[10, 20], [20, 30], [20, 30], [30, 60], [60, 70]]


def test_rows_in_order_need_no_time_and_a_step_may_have_several_numbers() -> None:
    found = read("x,y\n1,5\n2,6.5\n3,7\n", windows={"columns": ["y", "x"], "length": 1})
    assert found.cells == {"x": [2, 3], "y": [6.5, 7], "past": [[[5, 1]], [[6.5, 2]]]}
    alone = read("x\n1\n2\n1e300\n", windows={"columns": ["x"], "length": 2}, format="csv", delimiter=",")
    assert alone.cells == {"x": [1e300], "past": [[1, 2]]}


def test_a_missing_value_leaves_out_the_rows_that_it_is_before() -> None:
    found = read("x,y\n1,a\n,b\n3,a\n4,b\n5,a\n", windows={"columns": ["x"], "length": 2})
    assert found.cells == {"x": [5], "y": ["a"], "past": [[3, 4]]}
    assert "rows with a missing value among the steps before them are left out: 2" in found.ingested.warnings


@pytest.mark.parametrize(
    ("changes", "place", "message"),
    [
        ({"columns": ["place"]}, "columns", "is nominal, not numeric"),
        ({"columns": ["depth"]}, "columns", "that the file does not have"),
        ({"time": "place"}, "time", "is nominal, not numeric"),
        ({"time": "rain"}, "time", "has the time of another"),
        ({"name": "day"}, "name", "there is a column 'day' already"),
        ({"name": "n" * 201}, "name", "longer than 200"),
        ({"length": 9}, "length", "no row has 9 steps before it"),
    ],
)
def test_what_does_not_fit_the_file_is_named(changes: dict[str, Any], place: str, message: str) -> None:
    asked = {"columns": ["level"], "length": 2, "time": "day", "groups": "place"} | changes
    error = refused(Invalid, SERIES, windows=asked)
    assert error.faults[0].parameter == f"options.windows.{place}"
    assert message in error.faults[0].message


def test_series_without_a_name_times_without_a_value_and_columns_left_out_are_named() -> None:
    asked = {"columns": ["level"], "length": 1, "groups": "place"}
    assert (
        "row 1, counted from 0, has no value"
        in refused(Invalid, "level,place\n1,a\n2,\n", windows=asked).faults[0].message
    )
    asked = {"columns": ["x"], "length": 1, "time": "t"}
    (fault,) = refused(Invalid, "x,t\n1,\n2,1\n", windows=asked).faults
    assert "step 0 has no finite time; steps are the file's rows, counted from 0" in fault.message
    assert fault.column == "t"
    error = refused(Invalid, SERIES, kinds={"level": "excluded"}, windows={"columns": ["level"], "length": 1})
    assert "left out as asked" in error.faults[0].message
    windows = {"columns": ["level"], "length": 1}
    error = refused(Invalid, SERIES, kinds={"past": "text"}, windows=windows)
    assert "a column 'past' that windows make, which is a sequence" in error.faults[0].message


def test_windows_of_too_many_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windowing, "_MOST_NUMBERS", 10)
    error = refused(TooLarge, SERIES, windows={"columns": ["level"], "length": 2})
    assert error.faults[0].parameter == "options.windows.length"


@pytest.mark.parametrize(
    ("record", "parameter"),
    [
        ([], "windows"),
        ({"columns": ["x"]}, "windows.length"),
        ({"length": 3}, "windows.columns"),
        ({"columns": [], "length": 3}, "windows.columns"),
        ({"columns": ["x", "x"], "length": 3}, "windows.columns"),
        ({"columns": "x", "length": 3}, "windows.columns"),
        ({"columns": ["x"], "length": True}, "windows.length"),
        ({"columns": ["x"], "length": 10_001}, "windows.length"),
        ({"columns": ["x"], "length": 1, "name": ""}, "windows.name"),
        ({"columns": ["x"], "length": 1, "gap": 2}, "windows.gap"),
        ({"columns": ["x"], "length": 1, "time": "t", "gap": 0}, "windows.gap"),
        ({"columns": ["x"], "length": 1, "width": 2}, "windows.width"),
    ],
)
def test_bad_members_are_named(record: Any, parameter: str) -> None:
    with pytest.raises(Invalid) as caught:
        ReadOptions.from_json({"windows": record})
    assert caught.value.faults[0].parameter == f"options.{parameter}"


def test_windows_survive_json() -> None:
    options = ReadOptions.from_json({"windows": {"columns": ["x"], "length": 4, "time": "t", "gap": 2.5}})
    assert ReadOptions.from_json(options.to_json()) == options
    assert ReadOptions.from_json(ReadOptions().to_json()) == ReadOptions()
