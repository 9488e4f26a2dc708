"""Spellings of false and true."""

from __future__ import annotations

import pytest

from learners.boolean_texts import boolean_level, boolean_pair
from learners.table import UNSEEN, Column, Kind


@pytest.mark.parametrize(
    ("texts", "pair"),
    [
        (["True", "False"], ("False", "True")),
        (["YES", "no"], ("no", "YES")),
        (["1", "0"], ("0", "1")),
        (["t", "F"], ("F", "t")),
        (["yes", "false"], None),
        (["True", "true"], None),
        (["True"], None),
        (["True", "False", "false"], None),
        (["male", "female"], None),
    ],
)
def test_two_texts_are_a_pair_or_none(texts: list[str], pair: tuple[str, str] | None) -> None:
    assert boolean_pair(texts) == pair


@pytest.mark.parametrize(
    ("levels", "spelled"),
    [
        (("false", "true"), {"TRUE": "true", "True": "true", "FALSE": "false", "1": None, "yes": None, " true": None}),
        (("False", "True"), {"true": "True", "TRUE": "True", "tRUE": "True", "false": "False", "0": None, "": None}),
        (("No", "Yes"), {"yes": "Yes", "NO": "No", "true": "Yes", "FALSE": "No", "y": None, "1": None}),
        (("0", "1"), {"1": "1", "true": "1", "False": "0", "yes": None}),
        (("female", "male"), {"Male": None, "male": "male", "True": "male"}),
        (("Ja", "JA"), {"ja": None, "JA": "JA", "false": "Ja"}),
        (("true", "false"), {"True": "true", "FALSE": "false"}),  # the caller's order, whose names are what they say
        (("no", "true"), {"TRUE": None, "false": None, "true": "true"}),
    ],
)
def test_a_text_spells_a_level_or_none(levels: tuple[str, str], spelled: dict[str, str | None]) -> None:
    assert {text: boolean_level(text, levels) for text in spelled} == spelled


def test_a_boolean_column_knows_every_spelling_and_another_column_its_own() -> None:
    column = Column("b", Kind.BOOLEAN, ("False", "True"))
    assert [column.encode(value) for value in (True, "true", "TRUE", "True", False, "false", "1", 1)] == [
        *(1, 1, 1, 1, 0, 0),
        *(UNSEEN, UNSEEN),
    ]
    numbers = Column("b", Kind.BOOLEAN, ("0", "1"), "number")
    assert [numbers.encode(value) for value in (True, 1, 1.0, "1.0", "true", "0", 2)] == [1, 1, 1, 1, 1, 0, UNSEEN]
    assert Column("b", Kind.NOMINAL, ("False", "True")).encode("true") == UNSEEN
