"""The fast way of reading bodies against the general one: it may give up, but never answer differently."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.table import Column
from service.errors import ServiceError
from service.formats.json_numbers import read_matrix
from service.formats.record_texts import read_csv
from service.operations.answering import answer_fast
from service.operations.codec import RowCodec
from service.operations.predict import read_body
from service.operations.rows import Inputs, Options, encode_matrix
from service.operations.served import ServedModel
from tests.service.operations.serving_models import (
    BOUNDS,
    MIXED,
    describe,
    general,
    mixed_classifier,
    mixed_model_tree,
    mixed_regressor,
)

NUMBERS = tuple(Column(name) for name in ("x", "y z", "\u03bc"))


@pytest.fixture(scope="module", params=["subset", "multiway", "one-vs-rest", "regression", "model-tree"])
def model(request: pytest.FixtureRequest) -> ServedModel:
    made = {"regression": mixed_regressor, "model-tree": mixed_model_tree}.get(request.param)
    return mixed_classifier(request.param) if made is None else made()


def numbers() -> st.SearchStrategy[Any]:
    return st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(-(2**70), 2**70),
        st.integers(-3, 3),
        st.decimals(-10, 10, places=2).map(float),
    )


def levels(column: Column) -> st.SearchStrategy[Any]:
    known = st.sampled_from(column.labels)
    strange = st.one_of(st.text(max_size=3), st.booleans(), st.integers(0, 12), st.sampled_from(column.levels))
    return st.one_of(known, known, known, strange)


def cells(column: Column) -> st.SearchStrategy[Any]:
    plain = numbers() if column.is_numeric else levels(column)
    return st.one_of(plain, plain, plain, plain, st.none(), st.sampled_from(["1.5", "", "x", [1], {"a": 1}]))


def good_cells(column: Column) -> st.SearchStrategy[Any]:
    return numbers() if column.is_numeric else st.sampled_from(column.labels)


def rows(columns: tuple[Column, ...], of: Callable[[Column], st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    full = st.fixed_dictionaries({column.name: of(column) for column in columns})
    return full.flatmap(lambda row: st.permutations(list(row.items())).map(dict))


def strange_rows() -> st.SearchStrategy[Any]:
    full = rows(MIXED, cells)
    fewer = full.flatmap(lambda row: st.sets(st.sampled_from(list(row))).map(lambda gone: _without(row, gone)))
    return st.one_of(full, full, fewer, full.map(lambda row: row | {"extra": 1}), st.just(7))


def _without(row: dict[str, Any], gone: set[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in gone}


def outcome(make: Callable[[], bytes]) -> Any:
    try:
        return make()
    except ServiceError as error:
        return type(error), error.detail, error.faults


@settings(max_examples=60, deadline=None)
@given(body=st.lists(st.one_of(rows(MIXED, good_cells), strange_rows()), max_size=3), explain=st.booleans())
def test_small_bodies_have_the_same_answer_both_ways(model: ServedModel, body: list[Any], explain: bool) -> None:
    request = {"rows": body} | ({"explain": True} if explain else {})
    text = json.dumps(request).encode()
    fast = answer_fast(model, text, BOUNDS, describe)
    if fast is not None:
        assert fast == (outcome(lambda: general(model, text)), len(body))


@settings(max_examples=20, deadline=None)
@given(body=st.lists(rows(MIXED, good_cells), min_size=1, max_size=3))
def test_plain_rows_do_go_the_fast_way(model: ServedModel, body: list[Any]) -> None:
    # Left to the general way: integers beyond exact doubles, and colons in values, which look like more members.
    known = [row for row in body if row["zip"] != 9007199254740993 and ":" not in row["colour"]]
    if known:
        assert answer_fast(model, json.dumps({"rows": known}).encode(), BOUNDS, describe) is not None


def same_cells(inputs: Inputs, text: bytes) -> bool:
    """Whether the fast way read the text; checks that the general way reads the same."""
    encoded = RowCodec(inputs).read_large(text, Options(), BOUNDS.depth)
    if encoded is None:
        return False
    columns = inputs.columns
    model = type("Model", (), {"inputs": inputs})
    expected, _ = read_body(text, model, Options(), BOUNDS)  # type: ignore[arg-type]
    assert replace(encoded, values=expected.values, is_complete=False) == expected
    assert encoded.values.shape == expected.values.shape == (expected.n_rows, len(columns))
    assert encoded.values.tobytes("F") == expected.values.tobytes("F")
    return True


@settings(max_examples=100, deadline=None)
@given(
    body=st.lists(st.one_of(rows(MIXED, good_cells), strange_rows()), max_size=4),
    indent=st.sampled_from([None, 1]),
    ascii_only=st.booleans(),
)
def test_named_rows_are_read_as_the_general_way_does(body: list[Any], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps({"rows": body}, indent=indent, ensure_ascii=ascii_only).encode()
    same_cells(Inputs(MIXED), text)


@settings(max_examples=100, deadline=None)
@given(data=st.data(), order=st.permutations([0, 1, 2]))
def test_matrices_are_read_as_the_general_way_does(data: st.DataObject, order: list[int]) -> None:
    rows_ = data.draw(st.lists(st.lists(st.one_of(numbers(), st.none()), min_size=3, max_size=3), min_size=1))
    names = [NUMBERS[place].name for place in order]
    text = json.dumps({"columns": names, "data": rows_}, ensure_ascii=False).encode()
    finite = all(abs(cell) < 1e308 for row in rows_ for cell in row if cell is not None)
    assert same_cells(Inputs(NUMBERS), text) or not finite


WRITTEN = st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
FORMS = st.sampled_from([b'{"rows":[{"x":%b}]}', b'{"columns":["x"],"data":[[%b]]}'])


@settings(max_examples=300, deadline=None)
@given(text=WRITTEN, form=FORMS)
def test_every_written_number_becomes_the_nearest_double(text: str, form: bytes) -> None:
    body = form % text.encode()
    encoded = RowCodec(Inputs((Column("x"),))).read_large(body, Options(), BOUNDS.depth)
    if encoded is None:
        assert abs(float(text)) == np.inf
    else:
        is_integer = not set(text) & set(".eE")
        expected = float(int(text)) if is_integer else float(text)
        assert np.array([expected]).tobytes() == encoded.values.tobytes()


@settings(max_examples=300, deadline=None)
@given(bits=st.integers(0, 2**64 - 1), form=FORMS)
def test_doubles_come_back_as_they_went(bits: int, form: bytes) -> None:
    number = np.array([bits], dtype=np.uint64).view(np.float64)
    if np.isfinite(number[0]):
        body = form % repr(float(number[0])).encode()
        encoded = RowCodec(Inputs((Column("x"),))).read_large(body, Options(), BOUNDS.depth)
        assert encoded is not None
        assert encoded.values.tobytes() == number.tobytes()


GOOD = b'{"rows":[{"x":1,"y z":2.5,"\xce\xbc":null},{"y z":1e3,"x":-0.5,"\xce\xbc":7}]}'


def test_a_plain_text_is_read() -> None:
    assert same_cells(Inputs(NUMBERS), GOOD)


@pytest.mark.parametrize("place", range(len(GOOD)))
@pytest.mark.parametrize("put", [b"", b"x", b'"', b"}", b"]", b"1", b",", b" "])
def test_a_damaged_text_is_never_read_as_something_else(place: int, put: bytes) -> None:
    text = GOOD[:place] + put + GOOD[place + 1 :]
    codec = RowCodec(Inputs(NUMBERS))
    if codec.read_large(text, Options(), BOUNDS.depth) is not None:
        assert same_cells(Inputs(NUMBERS), text)
    small = codec.read_small(text)
    if small is not None:
        assert isinstance(json.loads(text), dict)


@pytest.mark.parametrize("size", range(len(GOOD)))
def test_a_text_cut_anywhere_is_left_to_the_general_way(size: int) -> None:
    codec = RowCodec(Inputs(NUMBERS))
    assert codec.read_large(GOOD[:size], Options(), BOUNDS.depth) is None
    assert codec.read_small(GOOD[:size]) is None


@pytest.mark.parametrize(
    "text",
    [
        b'{"rows":[{"x":1,"x":1,"y z":2}]}',
        b'{"rows":[{"x":1,"y z":2,"\xce\xbc":3}],"rows":[]}',
        b'{"rows":[{"x":1,"y z":2,"\xce\xbc":3}]} x',
        b'{"rows":[{"x":01,"y z":2,"\xce\xbc":3}]}',
        b'{"rows":[{"x":1.,"y z":2,"\xce\xbc":3}]}',
        b'{"rows":[{"x":1e,"y z":2,"\xce\xbc":3}]}',
        b'{"rows":[{"x":-,"y z":2,"\xce\xbc":3}]}',
        b'{"rows":[{"x":1e999,"y z":2,"\xce\xbc":3}]}',
        b'{"rows":[{"x":NaN,"y z":2,"\xce\xbc":3}]}',
        b'{"rows":[{"x":true,"y z":2,"\xce\xbc":3}]}',
        b'{"rows":[{"x":"1","y z":2,"\xce\xbc":3}]}',
        b'{"columns":["x","y z","x"],"data":[[1,2,3]]}',
        b'{"columns":["x","y z"],"data":[[1,2]]}',
    ],
)
def test_whatever_is_doubtful_is_left_to_the_general_way(text: bytes) -> None:
    assert RowCodec(Inputs(NUMBERS)).read_large(text, Options(), BOUNDS.depth) is None


@pytest.mark.parametrize(
    "text",
    [
        b'{"rows":[{"\\u0078":1,"y z":2,"\xce\xbc":3}]}',
        b'{"columns":["\\u0078","y z","\xce\xbc"],"data":[[1,2,3]]}',
        b'\n{"columns":["x","y z","\xce\xbc"],"data":[[1,null,3]]}',
        b'{"columns":["\xce\xbc","x","y z"],"data":[[1,null,3],[null,-0,-0.0]]}',
        b'{"columns":["x","y z","\xce\xbc"],"data":[[1,18446744073709551616,null]]}',
        b'{"columns":["\xce\xbc","x","y z"],"data":[[1,2,-9223372036854775809]]}',
        b'{"columns":["x","y z","\xce\xbc"],"data":[[1,-9.109383701528e307,null]]}',
        b'{"columns":["x","y z","\xce\xbc"],"data":[[5e-324,1e-400,9007199254740993]]}',
        b'{"columns":["x","y z","\xce\xbc"],"data":[[1,2,3],[1,2]]}',
        b'{"columns":["x","y z","\xce\xbc"],"data":[[1,2,3],[1,2,3,4]]}',
    ],
)
def test_unusual_texts_are_read_as_the_general_way_does(text: bytes) -> None:
    same_cells(Inputs(NUMBERS), text)


@pytest.mark.parametrize(
    "text",
    [
        b'{"columns":["x","y"],"data":[[1,[2,3]],[4]]}',
        b'{"columns":["x","y"],"data":[[1,[]],[4,[5,6]]]}',
        b'{"columns":["x","y"],"data":[[1,2],[3]]}',
        b'{"columns":["x","y"],"data":[[1,2],7]}',
        b'{"columns":["x","y"],"data":[[1,2],{"x":1}]}',
        b'{"columns":["x","y"],"data":[[1,"2"]]}',
        b'{"columns":["x","y"],"data":[[1,true]]}',
        b'{"columns":["x","y"],"data":[[1,2]],"data":[[1,2]]}',
        b'{"columns":["x","y"],"data":[[1,2]],"explain":true}',
        b'{"columns":["x","y"],"data":[[1,1e999]]}',
        b'{"columns":["x","y"],"data":[[1,nulle5]]}',
        b'{"columns":["x","y"],"data":[[1,null5]]}',
        b'{"columns":["x","y"],"data":[[1,-null]]}',
        b'{"columns":["x",1],"data":[[1,2]]}',
        b'{"columns":["x","y"],"data":[]}',
        b'\xef\xbb\xbf{"columns":["x","y"],"data":[[1,2]]}',
        b'{"columns":["x","y"],"data":[[1,2]]}\0',
        b'{"columns":3,"data":[[1,2]]}',
        b"[1,2]",
        b"",
    ],
)
def test_what_is_no_plain_matrix_of_numbers_is_refused(text: bytes) -> None:
    assert read_matrix(text) is None


def test_nulls_are_missing_and_numbers_exact() -> None:
    read = read_matrix(b'{"columns":["null","a[b"],"data":[[1,null],[9007199254740993,-0.0],[-0,-9.109383701528e307]]}')
    assert read is not None
    assert not read.is_complete
    assert read.cells.tobytes() == np.array([[1, np.nan], [9007199254740992, -0.0], [0, -9.109383701528e307]]).tobytes()


def test_a_repeated_name_is_not_hidden_by_an_escaped_colon() -> None:
    codec = RowCodec(Inputs((Column("a:b"), Column("x"))))
    text = rb'{"rows":[{"a\u003ab":1,"x":1,"x":2}]}'
    assert codec.read_small(text) is None
    assert codec.read_large(text, Options(), BOUNDS.depth) is None


CSV_CELLS = st.one_of(
    numbers().map(repr),
    WRITTEN,
    st.sampled_from(
        [
            "",
            "",
            "-0",
            "-0.0",
            "+1",
            ".5",
            "5.",
            "01",
            " 1",
            "1 ",
            "null",
            "true",
            "nan",
            "1e999",
            "[1",
            "1]",
            "1],[1",
            "1\t",
        ]
    ),
)


@settings(max_examples=150, deadline=None)
@given(
    data=st.data(),
    order=st.permutations([0, 1, 2]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    closed=st.booleans(),
    plain=st.booleans(),
)
def test_csv_is_read_as_the_general_way_does(
    data: st.DataObject, order: list[int], end: str, closed: bool, plain: bool
) -> None:
    cell = st.one_of(st.just(""), st.floats(allow_nan=False, allow_infinity=False).map(repr)) if plain else CSV_CELLS
    width = st.just(3) if plain else st.sampled_from([3, 3, 3, 3, 2, 4, 1])
    rows_ = data.draw(st.lists(width.flatmap(lambda n: st.lists(cell, min_size=n, max_size=n)), min_size=1, max_size=5))
    lines = [",".join(NUMBERS[place].name for place in order), *map(",".join, rows_)]
    text = (end.join(lines) + end * closed).encode()
    inputs = Inputs(NUMBERS)
    encoded = RowCodec(inputs).read_csv(text)
    if encoded is None:
        assert not plain or end != "\n"
        return
    table = read_csv(text, ",")
    expected = encode_matrix(table.names, table.data, inputs, Options(), table.lines)
    assert not expected.faults
    assert encoded.values.tobytes("F") == expected.values.tobytes("F")


@pytest.mark.parametrize(
    "inputs",
    [
        Inputs(NUMBERS, missing_tokens=frozenset({"", "0"})),
        Inputs(NUMBERS, missing_tokens=frozenset({"?"})),
        Inputs(MIXED),
    ],
)
def test_csv_whose_numbers_may_be_missing_tokens_or_levels_goes_the_general_way(inputs: Inputs) -> None:
    header = ",".join(column.name for column in inputs.columns)
    text = f"{header}\n{','.join('1' * len(inputs.columns))}\n".encode()
    assert RowCodec(inputs).read_csv(text) is None


def test_a_number_that_is_a_missing_token_is_missing() -> None:
    inputs = Inputs((Column("x"),), missing_tokens=frozenset({"", "-999"}))
    encoded = encode_matrix(["x"], [["-999"], ["1"], [None]], inputs, Options())
    assert np.isnan(encoded.values[:, 0]).tolist() == [True, False, True]
