"""What the schema of a row admits is what predictions take, and the reverse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema_rs import validator_for

from learners.table import Column, Kind
from service.formats.records import RowEncoder
from service.operations.row_schema import row_schema

_TOKENS = ("", "?")
_COLUMNS = {
    "numeric": Column("x"),
    "words": Column("x", Kind.BOOLEAN, ("false", "true"), "boolean"),
    "uploaded as text": Column("x", Kind.BOOLEAN, ("False", "True")),
    "yes and no": Column("x", Kind.BOOLEAN, ("no", "Yes")),
    "0 and 1": Column("x", Kind.BOOLEAN, ("0", "1"), "number"),
    "two names": Column("x", Kind.BOOLEAN, ("ill", "1")),
    "the other way": Column("x", Kind.BOOLEAN, ("true", "false")),
    "nominal": Column("x", Kind.NOMINAL, ("", "1", "a b", "true", "0.5")),
    "of numbers": Column("x", Kind.NOMINAL, ("-2", "0.5", "1e+22"), "number"),
    "ordinal": Column("x", Kind.ORDINAL, ("low", "?", "high")),
    "text": Column("x", Kind.TEXT, ("a",)),
    "sequence": Column("x", Kind.SEQUENCE, ("[1,2]",)),
    "pairs": Column("x", Kind.SEQUENCE, ("[[1,2]]",)),
    "any sequence": Column("x", Kind.SEQUENCE),
}
_NUMBERS = st.one_of(
    st.sampled_from([0, 1, -2, 2, 0.5, 1.0, 0.0, 1e22, 10**22, 10**400, -(10**309), 1.7e308]),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
)
_WORDS = [
    "",
    "?",
    "a b",
    "low",
    "high",
    "ill",
    "ILL",
    "YES",
    "no",
    "tRuE",
    "FALSE",
    "off",
    "oN",
    "maybe",
    "y",
    "N",
    "f",
]
_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    _NUMBERS,
    st.sampled_from(_WORDS),
    st.text(max_size=3),
    st.lists(st.one_of(_NUMBERS, st.lists(_NUMBERS, max_size=3)), max_size=3),
    st.just({}),
)


def _is_taken(column: Column, value: Any) -> bool:
    encoded = RowEncoder([column], _TOKENS).objects([{"x": value}])
    return not encoded.faults and not encoded.unseen


def _is_other_way_to_write(column: Column, value: Any) -> bool:
    """Numbers and sequences in texts are taken too, and are no part of the schema."""
    is_of_numbers = column.is_numeric or column.kind is Kind.SEQUENCE or column.level_type == "number"
    return isinstance(value, str) and is_of_numbers


@pytest.mark.parametrize("name", _COLUMNS)
@given(value=_VALUES)
@example(value=True)
@example(value=False)
@example(value=1)
@example(value=1.0)
@example(value=0)
@example(value="")
@example(value=[1, [2]])
@example(value=[[1, 2]])
@example(value=[])
def test_the_schema_admits_what_predictions_take(name: str, value: Any) -> None:
    column = _COLUMNS[name]
    admitted = validator_for(row_schema([column.to_json()], _TOKENS)).is_valid({"x": value})
    taken = _is_taken(column, value)
    assert admitted <= taken, "what the schema admits is taken"
    if not _is_other_way_to_write(column, value):
        assert admitted == taken, "what is taken is admitted"


@pytest.mark.parametrize("value", [True, False, 1, 0, 1.0, "TRUE", "False", "yes", "N", None, ""])
def test_a_boolean_column_admits_every_spelling(value: Any) -> None:
    column = _COLUMNS["uploaded as text"]
    assert validator_for(row_schema([column.to_json()], _TOKENS)).is_valid({"x": value})


@pytest.mark.parametrize("value", [2, 0.5, "maybe", "yess", [], "?!"])
def test_a_boolean_column_admits_nothing_else(value: Any) -> None:
    column = _COLUMNS["uploaded as text"]
    assert not validator_for(row_schema([column.to_json()], _TOKENS)).is_valid({"x": value})
