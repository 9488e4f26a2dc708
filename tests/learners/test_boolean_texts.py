"""Spellings of false and true."""

from __future__ import annotations

import numpy as np
import pytest

from learners.boolean_texts import boolean_level, boolean_pair, unasked_pair
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


def test_pairs_that_are_booleans_unasked() -> None:
    assert [unasked_pair(texts) for texts in (["True", "False"], ["FALSE", "TRUE"], {"true": 0, "false": 1})] == [
        *(("False", "True"), ("FALSE", "TRUE"), ("false", "true"))
    ]
    assert {unasked_pair(texts) for texts in (["yes", "no"], ["1", "0"], ["true", "FALSE"], ["true"], [])} == {None}


@pytest.mark.parametrize(
    ("levels", "spelled"),
    [
        (("false", "true"), {"TRUE": "true", "True": "true", "FALSE": "false", "1": "true", "yes": "true", "2": None}),
        (("False", "True"), {"true": "True", "tRUE": "True", "false": "False", "0": "False", "": None, " true": None}),
        (("No", "Yes"), {"yes": "Yes", "NO": "No", "true": "Yes", "FALSE": "No", "y": "Yes", "1.0": "Yes", "ja": None}),
        (("0", "1"), {"1": "1", "true": "1", "False": "0", "yes": "1", "0.0": "0", "on": "1", "01": None}),
        (("female", "male"), {"Male": None, "male": "male", "True": "male", "1": "male", "yes": None, "f": None}),
        (("Ja", "JA"), {"ja": None, "JA": "JA", "false": "Ja"}),
        (("true", "false"), {"True": "true", "FALSE": "false", "1": "false", "no": None}),  # the caller's order
        (("1", "0"), {"1": "1", "true": "0", "1.0": None, "no": None}),
        (("no", "true"), {"TRUE": None, "false": None, "true": "true"}),
    ],
)
def test_a_text_spells_a_level_or_none(levels: tuple[str, str], spelled: dict[str, str | None]) -> None:
    assert {text: boolean_level(text, levels) for text in spelled} == spelled


def test_a_boolean_column_knows_every_spelling_and_another_column_its_own() -> None:
    column = Column("b", Kind.BOOLEAN, ("False", "True"))
    values = (True, "true", "TRUE", "True", "1", 1, 1.0, np.int64(1), False, "false", "no", 0, 2, "", "maybe")
    assert [column.encode(value) for value in values] == [*[1] * 8, *[0] * 4, *[UNSEEN] * 3]
    numbers = Column("b", Kind.BOOLEAN, ("0", "1"), "number")
    assert [numbers.encode(value) for value in (True, 1, 1.0, "1.0", "true", "0", 2)] == [1, 1, 1, 1, 1, 0, UNSEEN]
    assert Column("b", Kind.NOMINAL, ("False", "True")).encode("true") == UNSEEN
