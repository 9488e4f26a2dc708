"""Columns of texts that would be numbers by other options: the hint, and that following it gives the numbers."""

from __future__ import annotations

from typing import Any

import pytest

from service.formats.columns.other_numbers import how_numbers
from service.formats.written_numbers import PLAIN
from tests.service.formats.reading_files import read


def hints(*cells: str, **options: Any) -> list[str]:
    made = read("x;y\n" + "".join(f"{cell};{row}\n" for row, cell in enumerate(cells)), delimiter=";", **options)
    return [text for text in made.ingested.warnings if "would be numbers" in text]


@pytest.mark.parametrize(
    ("cells", "way", "options", "numbers"),
    [
        (("1,5", "2", "10,25"), "with options.decimal = ','", {"decimal": ","}, [1.5, 2, 10.25]),
        (("1 000", "12 500", "7"), "with options.thousands = ' '", {"thousands": " "}, [1000, 12500, 7]),
        (("1'000.5", "2"), 'with options.thousands = "\'"', {"thousands": "'"}, [1000.5, 2]),
        (("1,000.5", "2,500"), "with options.thousands = ','", {"thousands": ","}, [1000.5, 2500]),
        (
            ("1.000,5", "2.500,25"),
            "with options.decimal = ',' and options.thousands = '.'",
            {"decimal": ",", "thousands": "."},
            [1000.5, 2500.25],
        ),
    ],
)
def test_the_option_is_named_and_is_right(
    cells: tuple[str, ...], way: str, options: dict[str, Any], numbers: list[float]
) -> None:
    assert hints(*cells) == [f"columns of texts that would be numbers {way}: x"]
    assert hints(*cells, **options) == []
    text = "x;y\n" + "".join(f"{cell};{row}\n" for row, cell in enumerate(cells))
    assert read(text, delimiter=";", **options).cells["x"] == numbers


def test_a_mark_of_two_meanings_is_told_with_both() -> None:
    (told,) = hints("1,000", "2,500")
    assert "with options.decimal = ',' or with options.thousands = ','" in told


def test_percents_are_told_to_have_no_option() -> None:
    assert hints("5%", "7.5 %") == [
        "columns of texts that would be numbers without the sign %, which no option reads: x"
    ]
    assert hints("5%", "7,5%")[0].endswith("and with options.decimal = ',': x")


@pytest.mark.parametrize(
    "cells",
    [
        ("a", "b"),
        ("1", "x"),
        ("007", "008"),
        ("2024-01-01", "2024-01-02"),
        ("1,2,3", "4,5,6"),
        ("a%", "b%"),
        ("%", "1"),
    ],
)
def test_others_are_left_alone(cells: tuple[str, ...]) -> None:
    assert hints(*cells) == []


def test_a_declared_column_is_left_alone_and_nearly_all_are_enough() -> None:
    assert hints("1,5", "2,5", kinds={"x": "nominal"}) == []
    assert hints(*(f"{row},5" for row in range(19)), "unknown") != []
    assert how_numbers([f"{row},5" for row in range(8)] + ["a", "b"], PLAIN) is None


def test_digits_of_other_scripts_are_texts() -> None:
    """Neither refused as if they were infinite nor read as numbers, with which no client would agree."""
    made = read("x,y\n\u0661\u0662,1\n3,2\n")
    assert made.kinds() == {"x": "nominal", "y": "numeric"}
    assert made.cells["x"] == ["\u0661\u0662", "3"]
    assert "is not a number" in made.columns["x"]["evidence"]
