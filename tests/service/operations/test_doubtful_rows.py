"""Long bodies in which some rows are not plain: answered as if all had gone the general way, refusals too."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.table import Column
from service.errors import ServiceError, TooLarge
from service.operations import answering, doubtful_rows
from service.operations.answering import Call, answer, answer_large
from service.operations.codec import RowCodec
from service.operations.predict import Bounds, answer_json, read_body
from service.operations.rows import Encoded, Inputs, Options
from service.operations.served import ServedModel
from tests.service.operations.serving_models import BOUNDS, MIXED, describe, mixed_classifier, mixed_regressor

NAMES = [column.name for column in MIXED]
#: A plain row of ``MIXED``, cell by cell as JSON.
PLAIN = ["1.5", "-2", '"blue"', '"high"', "true", "10.5"]
#: What may stand in place of any cell: no JSON, no number of a double, another type, unknown, or hard to cut.
TOKENS = [
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 310, "9" * 4301, "null", '"abc"', '""', '"1.5"', "7",
    "false", '"NaN"', '"},{"', '"],["', '"} , {"', '"] , ["', '"}"', '"a:b"', '"\\u003a"', '"\\u0000"', '"\\ud800"',
    '"\u00e4"', "[1]", "{}", '{"a":1}', '"\\"},{"', "nan", "01", "-0", "1.", '"\x01"', "1e999999999999999999999",
    "0e999999999999999999999", '"green: dark"', "1,2", '1},{"size":2', "1],[2", "",
]  # fmt: skip
#: What may stand between, before or behind rows.
ROWS = ["7", "NaN", "null", "{}", "[]", '{"q":1}', '{"size":1}', '{"size":1,"size":2}', '{"size":NaN}', "[1,2]", ""]


@pytest.fixture(scope="module", params=[mixed_classifier, mixed_regressor])
def model(request: pytest.FixtureRequest) -> ServedModel:
    made: ServedModel = request.param()
    return made


def outcome(make: Callable[[], bytes]) -> Any:
    """An answer, or what is told in its place."""
    try:
        return make()
    except ServiceError as error:
        return type(error), error.detail, error.faults


def write(rows: list[list[str]], others: dict[int, str], *, named: bool, blank: str, extra: int) -> bytes:
    """A body of rows of cells; before some of them stand other texts, and one has a column more."""
    texts = []
    for place, cells in enumerate(rows):
        if place in others:
            texts.append(others[place])
        if named:
            members = [f"{json.dumps(name)}:{cell}" for name, cell in zip(NAMES, cells, strict=True)]
            members += ['"extra":1'] if place == extra else []
            texts.append("{" + ("," + blank).join(members) + "}")
        else:
            texts.append("[" + ("," + blank).join(cells) + "]")
    inside = f"{blank},{blank}".join(texts)
    head = '{"rows":' if named else f'{{"columns":{json.dumps(NAMES)},"data":'
    return f"{head}{blank}[{inside}{blank}]{blank}}}".encode()


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    rows = [list(PLAIN) for _ in range(draw(st.integers(1, 8)))]
    for _ in range(draw(st.integers(0, 4))):
        rows[draw(st.integers(0, len(rows) - 1))][draw(st.integers(0, 5))] = draw(st.sampled_from(TOKENS))
    others = draw(st.dictionaries(st.integers(0, 7), st.sampled_from(ROWS), max_size=1))
    named, blank = draw(st.booleans()), draw(st.sampled_from(["", " ", "\n  ", "\f"]))
    return write(rows, others, named=named, blank=blank, extra=draw(st.sampled_from([-1, -1, 0, 3])))


@pytest.fixture(autouse=True)
def in_small_pieces() -> Iterator[None]:
    with mock.patch.multiple(doubtful_rows, PIECE_BYTES=150, _MOST_DOUBTFUL=1000):
        yield


POLICIES = [Options(), Options(unseen="reject"), Options(unseen="missing"), Options(strict=True)]


@settings(max_examples=300, deadline=None)
@given(body=bodies(), options=st.sampled_from(POLICIES), most=st.sampled_from([3, 1000]))
def test_bad_cells_anywhere_are_answered_as_by_the_general_way(
    model: ServedModel, body: bytes, options: Options, most: int
) -> None:
    bounds = Bounds(rows=most, depth=BOUNDS.depth)

    def general() -> bytes:
        encoded, found = read_body(body, model, options, bounds)
        return answer_json(model, encoded, found, describe)

    def quick() -> bytes:
        reply = answer(model, body, Call(options=options), bounds, describe, lambda rows: None)
        assert isinstance(reply.body, bytes)
        return reply.body

    expected = outcome(general)
    with mock.patch.object(answering, "LARGE", 0):
        assert outcome(quick) == expected
        if options == Options() and isinstance(expected, bytes):
            assert answer_large(model, body, bounds, describe) in (
                None,
                (expected, json.loads(expected)["summary"]["rows"]),
            )


@settings(max_examples=60, deadline=None)
@given(data=st.data(), named=st.booleans())
def test_a_few_bad_cells_leave_the_others_to_the_quick_way(
    data: st.DataObject, model: ServedModel, named: bool
) -> None:
    rows = [list(PLAIN) for _ in range(30)]
    bad = data.draw(st.dictionaries(st.integers(0, 29), st.sampled_from(["NaN", "1e999", '"abc"', "[1]"]), max_size=5))
    for place, token in bad.items():
        rows[place][0] = token
    encoded = model.codec.read_large(write(rows, {}, named=named, blank="", extra=-1), Options(), BOUNDS.depth)
    assert encoded is not None
    assert encoded.faults.keys() == bad.keys()
    assert {fault.row for faults in encoded.faults.values() for fault in faults} == bad.keys()
    assert np.isnan(encoded.values[list(bad), 0]).all()
    assert (np.delete(encoded.values, list(bad), axis=0)[:, :2] == [1.5, -2]).all()


def numbered(count: int, bad: dict[int, str]) -> bytes:
    cells = (bad.get(row, str(row)) for row in range(count))
    return b'{"rows":[%b]}' % ",".join(f'{{"x":{cell},"y":0}}' for cell in cells).encode()


def test_a_number_that_none_is_names_its_row() -> None:
    read = RowCodec(Inputs((Column("x"), Column("y")))).read_large(numbered(500, {321: "NaN"}), Options(), BOUNDS.depth)
    assert read is not None
    [fault] = read.faults.pop(321)
    assert (fault.row, fault.column, fault.parameter) == (321, "x", "rows.321.x")
    assert fault.message == "rows.321.x is NaN; JSON knows no NaN and no Infinity, a missing value is null"
    assert not read.faults
    assert np.delete(read.values[:, 0], 321).tolist() == [row for row in range(500) if row != 321]


def test_a_body_that_says_not_to_explain_is_read() -> None:
    codec = RowCodec(Inputs((Column("x"), Column("y"))))
    text = numbered(9, {})
    assert isinstance(codec.read_large(text[:-1] + b', "explain" : false}', Options(), BOUNDS.depth), Encoded)
    assert codec.read_large(text[:-1] + b',"explain":true}', Options(), BOUNDS.depth) is None
    assert codec.read_large(text[:-1] + b',"strict":false}', Options(), BOUNDS.depth) is None


def test_where_most_rows_are_doubtful_the_quick_way_gives_up() -> None:
    codec = RowCodec(Inputs((Column("x"), Column("y"))))
    with mock.patch.object(doubtful_rows, "_MOST_DOUBTFUL", 10):
        bad = dict.fromkeys(range(40), "NaN")
        assert codec.read_large(numbered(1000, bad), Options(), BOUNDS.depth) is None
        assert codec.read_large(numbered(1000, dict.fromkeys(range(10), "NaN")), Options(), BOUNDS.depth) is not None


@pytest.mark.parametrize("named", [True, False])
def test_too_many_rows_are_refused_without_the_general_way(model: ServedModel, named: bool) -> None:
    body = write([PLAIN] * 21, {}, named=named, blank="", extra=-1)
    call, bounds = Call(), Bounds(rows=20, depth=BOUNDS.depth)
    with mock.patch.object(answering, "LARGE", 0), mock.patch.object(answering, "read_body") as general:
        assert answer_large(model, body, bounds, describe) is None
        with pytest.raises(TooLarge, match=r"21 rows; at most 20"):
            answer(model, body, call, bounds, describe, lambda rows: None)
        general.assert_not_called()
        found = answer_large(model, body, Bounds(rows=21, depth=BOUNDS.depth), describe)
        assert found is not None
        assert found[1] == 21
