"""Columns and tables: one text for one level, missing apart from unseen, one coercion for every source."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.checks.require import require_json
from learners.errors import DataError, SchemaError
from learners.table import (
    MISSING,
    UNSEEN,
    Column,
    Kind,
    Series,
    Table,
    canonical_text,
    infer_column,
    nominal_levels,
    number_text,
    parse_number,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.one_of(st.text(max_size=5), st.booleans(), st.integers(-(2**70), 2**70), finite)


@given(finite)
def test_a_numbers_text_reads_back_as_the_same_double(x: float) -> None:
    assert float(number_text(x)) == x
    assert parse_number(number_text(x)) == x


@given(st.integers(-(2**53), 2**53))
def test_a_whole_number_is_one_level_whether_int_float_or_text(x: int) -> None:
    column = Column("c", Kind.NOMINAL, (str(x),), "number")
    assert canonical_text(x) == canonical_text(float(x)) == str(x)
    for form in (x, float(x), str(x), f"{x}.0", f" {x} ", np.int64(x), np.float64(x)):
        assert column.encode(form) == 0


@given(st.integers(-(2**80), 2**80))
def test_an_integer_beyond_the_doubles_keeps_every_digit(x: int) -> None:
    column = Column("id", Kind.NOMINAL, (canonical_text(x),), "number")
    assert column.labels == (x,)
    assert column.encode(x) == column.encode(str(x)) == 0
    neighbour = x + 1 if abs(x) > 2**53 else x - 1
    assert (column.encode(neighbour) == 0) == (canonical_text(neighbour) == canonical_text(x))


def test_neighbouring_ids_beyond_2_53_stay_apart() -> None:
    levels = nominal_levels("id", [9007199254740993, 9007199254740992, "x"])
    assert levels == ("9007199254740992", "9007199254740993", "x")
    column = Column("id", Kind.NOMINAL, levels[:2], "number")
    assert [column.encode(text) for text in ("9007199254740993", "9007199254740992")] == [1, 0]
    assert column.labels == (9007199254740992, 9007199254740993)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        ("1", "1"),
        (True, "true"),
        (False, "false"),
        (np.bool_(True), "true"),
        (0.1, "0.1"),
        (-0.0, "0"),
        (1e300, "1e+300"),
        (2**53, "9007199254740992"),
        (2.0**53, "9007199254740992"),
        (10**20, "100000000000000000000"),
        ("01234", "01234"),
        ("", ""),
        ("NA", "NA"),
    ],
)
def test_canonical_texts(value: Any, text: str) -> None:
    assert canonical_text(value) == text


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_has_no_text(value: float) -> None:
    with pytest.raises(DataError, match="not a finite number"):
        number_text(value)
    for kind, levels in [(Kind.NUMERIC, ()), (Kind.NOMINAL, ("a",))]:
        with pytest.raises(SchemaError, match="'c'"):
            Column("c", kind, levels).encode(value)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "nan", "NaN", "inf", "-Infinity", "1_000", "0x10", "1e400", "-1e999", "1,5", "--1"),
        *("1e", "e5", ".", "+", "\u0661", "\uff11", "1 2", "1d5", "true"),
    ],
)
def test_texts_that_are_no_numbers(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), (" 1.50 ", 1.5), ("-2e3", -2000), ("+.5", 0.5), ("5.", 5), ("1E-7", 1e-7), ("007", 7), ("-0", 0)],
)
def test_texts_that_are_numbers(text: str, number: float) -> None:
    assert parse_number(text) == number


@given(st.text(max_size=8))
def test_a_parsed_number_is_finite_and_python_agrees(text: str) -> None:
    number = parse_number(text)
    if number is not None:
        assert math.isfinite(number)
        assert float(text) == number


def test_levels_of_text_columns_are_texts_as_they_are_spelt() -> None:
    column = Column("c", Kind.NOMINAL, ("01", "1", "1.0"))
    assert [column.encode(value) for value in ("01", "1", "1.0", 1, 1.0)] == [0, 1, 2, 1, 1]
    assert column.labels == ("01", "1", "1.0")


def test_a_value_that_is_no_level_is_unseen_and_none_is_missing() -> None:
    column = Column("c", Kind.NOMINAL, ("a", "b"))
    assert column.encode("z") == UNSEEN
    assert math.isnan(column.encode(None))
    assert column.decode(UNSEEN) is None
    assert column.decode(MISSING) is None
    series = Series(column, np.array([0, MISSING, UNSEEN, 1]))
    assert series.codes.tolist() == [0, -1, -1, 1]


def test_booleans_meet_the_levels_of_a_boolean_column_in_either_spelling() -> None:
    column = Column("c", Kind.BOOLEAN, ("no", "yes"), "boolean")
    assert [column.encode(value) for value in (False, True, "no", "yes", "true", "x")] == [0, 1, 0, 1, 1, UNSEEN]
    assert column.labels == (False, True)


def test_numeric_cells_take_numbers_and_number_texts_only() -> None:
    column = Column("height")
    assert [column.encode(value) for value in (1, 2.5, "3e2", np.int32(4))] == [1, 2.5, 300, 4]
    for value in ("tall", True, 10**400, [1], "NaN"):
        with pytest.raises(SchemaError, match="'height' takes finite numbers") as caught:
            column.encode(value)  # type: ignore[arg-type]
        assert caught.value.field == "height"
    assert [column.decode(cell) for cell in (1.0, 0.5, 2.0**60)] == [1, 0.5, 2.0**60]


@pytest.mark.parametrize("pair", [(1, "1"), ("1", 1.0), (True, "true"), ("false", False), (2.5, "2.5")], ids=repr)
def test_values_that_are_written_alike_but_differ_in_type_are_refused(pair: tuple[Any, Any]) -> None:
    with pytest.raises(DataError, match="written alike but differ in type") as caught:
        nominal_levels("mixed", pair)
    assert caught.value.field == "mixed"
    with pytest.raises(DataError, match="'mixed'"):
        Table.from_columns({"mixed": [*pair, "x"]})


def test_an_int_and_the_equal_float_are_one_level() -> None:
    assert nominal_levels("c", [1, 1.0, "a"]) == ("1", "a")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, False, None], Kind.BOOLEAN),
        ([True, True], Kind.BOOLEAN),
        ([1, 2.5, None], Kind.NUMERIC),
        ([None, None], Kind.NUMERIC),
        ([], Kind.NUMERIC),
        (["a", None], Kind.NOMINAL),
        ([1, "a"], Kind.NOMINAL),
        ([True, 1], Kind.NOMINAL),
    ],
)
def test_kinds_follow_the_python_types(values: list[Any], kind: Kind) -> None:
    assert infer_column("c", values).kind is kind


def test_columns_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(DataError, match="level 'a' twice"):
        Column("c", Kind.NOMINAL, ("a", "b", "a"))
    with pytest.raises(DataError, match="numeric, so it has no levels"):
        Column("c", Kind.NUMERIC, ("a",))
    with pytest.raises(DataError, match="two levels, not 1"):
        Column("c", Kind.BOOLEAN, ("true",))


columns = st.one_of(
    st.builds(Column, st.text(max_size=5)),
    st.builds(
        lambda name, kind, levels: Column(name, kind, tuple(levels)),
        st.text(max_size=5),
        st.sampled_from([Kind.NOMINAL, Kind.ORDINAL]),
        st.lists(st.text(max_size=4), unique=True, max_size=5),
    ),
    st.builds(
        lambda name, levels: Column(name, Kind.NOMINAL, tuple(dict.fromkeys(map(canonical_text, levels))), "number"),
        st.text(max_size=5),
        st.lists(st.integers() | finite, max_size=5),
    ),
)


@given(columns)
def test_a_column_goes_through_json(column: Column) -> None:
    record = column.to_json()
    require_json(record, "a column")
    assert Column.from_json(json.loads(json.dumps(record))) == column


@given(columns)
def test_every_label_encodes_to_its_code(column: Column) -> None:
    for code, label in enumerate(column.labels):
        assert column.encode(label) == code
        assert column.decode(float(code)) == label
        # the same through JSON, as a prediction request sends it
        assert column.encode(json.loads(json.dumps(label))) == code
        assert column.encode(column.levels[code]) == code


def homogeneous() -> st.SearchStrategy[list[Any]]:
    def column(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
        return st.lists(st.none() | values, min_size=3, max_size=3)

    return st.one_of(column(st.text(max_size=4)), column(st.booleans()), column(finite), column(st.integers()))


@given(st.dictionaries(st.text(max_size=4), homogeneous(), max_size=4))
def test_a_table_gives_back_what_it_was_made_of(data: dict[str, list[Any]]) -> None:
    table = Table.from_columns(data)
    back = table.to_columns()
    assert list(back) == list(data)
    for name, values in data.items():
        expected = [float(value) if isinstance(value, int) and abs(value) > 2**53 else value for value in values]
        assert back[name] == expected


def test_tables_are_column_major_however_they_are_given() -> None:
    rows = np.arange(6).reshape(3, 2)
    for values in (rows, rows.astype(np.float32), np.asfortranarray(rows, dtype=np.float64)):
        table = Table((Column("a"), Column("b")), values)
        assert table.values.flags.f_contiguous
        assert table.values.dtype == np.float64
    kept = np.asfortranarray(rows, dtype=np.float64)
    assert Table((Column("a"), Column("b")), kept).values is kept


def test_rows_and_columns_are_taken_in_the_order_asked() -> None:
    table = Table.from_array(np.arange(12.0).reshape(4, 3), ["a", "b", "c"])
    assert table.take(np.array([2, 0])).values.tolist() == [[6, 7, 8], [0, 1, 2]]
    assert table.take(np.array([False, True, False, True])).values.tolist() == [[3, 4, 5], [9, 10, 11]]
    assert table.take(np.array([1, 1])).values.flags.f_contiguous
    assert table.select(["c", "a"]).values.tolist() == [[2, 0], [5, 3], [8, 6], [11, 9]]
    assert table.drop(["b"]).names == ["a", "c"]
    assert table.column("b").cells.tolist() == [1, 4, 7, 10]
    with pytest.raises(SchemaError, match="no column 'z'"):
        table.select(["z"])


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="2 columns do not describe"):
        Table((Column("a"), Column("b")), np.zeros((3, 1)))
    with pytest.raises(DataError, match="two columns are named 'a'") as caught:
        Table((Column("a"), Column("a")), np.zeros((3, 2)))
    assert caught.value.field == "a"
    with pytest.raises(DataError, match="a: 1, b: 2"):
        Table.from_columns({"a": [1], "b": [1, 2]})
    with pytest.raises(DataError, match="Expected 2D array"):
        Table.from_array(np.zeros(3))


def test_a_described_column_is_encoded_by_its_description() -> None:
    grade = Column("grade", Kind.ORDINAL, ("low", "high"))
    table = Table.from_columns({"grade": ["high", "low", "odd", None]}, [grade])
    assert table.columns == (grade,)
    assert np.array_equal(table.values[:, 0], [1, 0, UNSEEN, MISSING], equal_nan=True)


@given(st.lists(scalars, max_size=6))
def test_any_values_make_a_column_or_a_refusal_that_names_it(values: list[Any]) -> None:
    series, refusal = None, None
    try:
        series = Series.from_values("c", values)
    except (DataError, SchemaError) as error:
        refusal = error
    if refusal is not None:
        assert refusal.field == "c"
    else:
        assert len(series) == len(values)
        assert series.column.is_numeric or not (series.cells == UNSEEN).any()
