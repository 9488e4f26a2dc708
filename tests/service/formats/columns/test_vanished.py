"""Numbers that are too near to 0 for a double are 0, and told."""

from __future__ import annotations

import pytest

from tests.service.formats.reading_files import read

TINY = ["1e-324", "-1e-400", "2.4E-324", "0." + "0" * 330 + "1"]
ZERO = ["0", "0.000000", "0e-400", "-0.00e5", "5e-324", "4.9e-324"]


def warnings(text: str, **options: object) -> list[str]:
    return [warning for warning in read(text, **options).ingested.warnings if "too near to 0" in warning]


@pytest.mark.parametrize("tiny", TINY)
def test_a_number_that_vanishes_is_told_with_its_place(tiny: str) -> None:
    assert float(tiny) == 0
    place = f"column 'a': '{tiny[:20]}"
    for options in ({}, {"kinds": {"a": "numeric"}}):
        rows = f"1,2\n3,4\n{tiny},5\n"
        (told,) = warnings("a,y\n" + rows, format="csv", **options)
        assert told.startswith(f"line 4, {place}")
        (told,) = warnings("@relation r\n@attribute a numeric\n@attribute y numeric\n@data\n" + rows, format="arff")
        assert told.startswith(f"line 7, {place}")
    (told,) = warnings(f'{{"a": "{tiny}", "y": 1}}\n{{"a": 2, "y": 2}}\n', format="ndjson", kinds={"a": "numeric"})
    assert told.startswith(f"line 1, {place}")


def test_the_others_of_a_column_are_counted() -> None:
    (told,) = warnings("a,y\n1,2\n" + "".join(f"{tiny},1\n" for tiny in TINY), format="csv")
    assert told.endswith("and is 0, and 3 more of the column")
    assert told.startswith("line 3,")
    (told,) = warnings("a;y\n1,0;2\n0,0;3\n1,0e-400;4\n", format="csv", decimal=",")
    assert told.startswith("line 4, column 'a': '1,0e-400'")


@pytest.mark.parametrize("zero", ZERO)
def test_what_is_zero_or_a_double_is_not_told(zero: str) -> None:
    assert not warnings(f"a,y\n{zero},1\n1,2\n", format="csv")


def test_a_column_of_names_has_no_numbers_to_vanish() -> None:
    assert not warnings("a,y\n1e-400,1\nb,2\n", format="csv")
