"""When the line of names looks like a row, and when numbers are names."""

from __future__ import annotations

import pytest

from service.errors import Invalid
from tests.service.formats.reading_files import read, refused

IRIS = "5.1,3.5,setosa\n4.9,3.0,setosa\n7.0,3.2,versicolor\n"


def doubts(text: str, **options: object) -> list[str]:
    return [warning for warning in read(text, **options).ingested.warnings if "header: false" in warning]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (IRIS, {"format": "csv"}),
        (IRIS.replace(",", "\t"), {"format": "tsv"}),
        (IRIS.replace(",", ";").replace(".", ","), {"format": "csv", "decimal": ","}),
        ("5.1,3.5,1.4,0.2,setosa\n4.9,3.0,1.4,0.2,setosa\n6.3,2.7,4.9,1.8,virginica\n", {"format": "csv"}),
        ("x,-1.5\ny,2\nz,3\n", {"format": "csv"}),
        ("5,2,9\n4,1,6\n7,3,10\n", {"format": "csv"}),
        ("a,2\nb,1\nc,3\n", {"format": "csv"}),
    ],
)
def test_a_row_in_place_of_names_is_told(text: str, options: dict[str, object]) -> None:
    (warning,) = doubts(text, **options)
    assert warning.startswith("the first line looks like a row: columns of numbers are named '")
    assert read(text, **options, header=False).table.n_rows == read(text, **options).table.n_rows + 1
    assert not doubts(text, **options, header=False)


@pytest.mark.parametrize(
    "text",
    [
        "length,width,kind\n5.1,3.5,a\n4.9,3.0,b\n",
        "country,2019,2020,2021\nDE,83.1,83.2,83.2\nFR,67.1,67.2,67.4\n",
        "country,2019\nDE,83\nFR,67\n",
        "1,2,3,class\n0,5,7,a\n9,1,2,b\n",
        "wave,1100.5,1101,1101.5\na,0.2,0.3,0.2\nb,0.1,0.3,0.4\n",
        "id,5.1,y\n1,2,a\n2,3,b\n",  # a column of numbers has a name that is none
        "a,b\nx,y\nz,w\n",
    ],
)
def test_names_are_not_doubted(text: str) -> None:
    assert not doubts(text, format="csv")


@pytest.mark.parametrize("text", ["0,0,1\n2,3,4\n", "1,,2\n3,4,5\n"])
def test_a_row_that_cannot_hold_names_is_refused_with_the_way_out(text: str) -> None:
    refusal = refused(Invalid, text, format="csv")
    assert "(with header: false the first line is a row)" in refusal.detail
    assert read(text, format="csv", header=False).table.n_rows == 2
    assert "header" not in refused(Invalid, '[{"": 1, "y": 2}]', format="json").detail
