"""The one decoder: what it takes, what it refuses, and that it agrees with Python's on all that is legal."""

from __future__ import annotations

import contextlib
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service import strict_json
from service.errors import BadRequest, Invalid
from tests.shared import trap_path

DEPTH = 32
texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=30,
)


@given(values)
def test_every_legal_text_is_read_as_pythons_decoder_reads_it(value: object) -> None:
    for escaped in (True, False):
        body = json.dumps(value, ensure_ascii=escaped).encode()
        assert strict_json.decode(body, 100) == json.loads(body)


@given(values)
def test_what_is_encoded_reads_back(value: object) -> None:
    assert json.loads(strict_json.encode(value)) == value


@given(st.binary())
def test_no_bytes_whatever_raise_anything_but_a_refusal(body: bytes) -> None:
    with contextlib.suppress(BadRequest, Invalid):
        strict_json.decode(body, DEPTH)


@pytest.mark.parametrize("key", ["a", "a:b", "", "é"])
@pytest.mark.parametrize("extra", ["", ":::"])
def test_a_repeated_key_is_named(key: str, extra: str) -> None:
    name = json.dumps(key)
    body = f'[{{"x": "{extra}"}}, {{{name}: 1, "b": 2, {name}: 1}}]'.encode()
    with pytest.raises(Invalid) as caught:
        strict_json.decode(body, DEPTH)
    assert caught.value.faults[0].parameter == key


def test_colons_inside_texts_hide_no_repetition_and_invent_none() -> None:
    assert strict_json.decode(b'{"a:b":":","c":"::"}', DEPTH) == {"a:b": ":", "c": "::"}


def test_the_place_of_every_nan_is_named() -> None:
    with pytest.raises(Invalid) as caught:
        strict_json.decode(trap_path("nan_body.json").read_bytes(), DEPTH)
    faults = caught.value.faults
    assert [(fault.row, fault.column) for fault in faults[:2]] == [(0, "x"), (1, "x")]
    assert "NaN" in faults[0].message
    assert "Infinity" in faults[1].message


def places(body: bytes) -> list[tuple[int | None, str | None, str | None]]:
    with pytest.raises((Invalid, BadRequest)) as caught:
        strict_json.decode(body, DEPTH)
    return [(fault.row, fault.column, fault.parameter) for fault in caught.value.faults]


def test_the_place_of_every_number_out_of_range_is_named_with_the_limit() -> None:
    with pytest.raises(Invalid, match="out of range") as caught:
        strict_json.decode(b'{"rows":[{"x":1},{"x":1e400},{"y":NaN}],"explain":-1e999}', DEPTH)
    faults = caught.value.faults
    assert [(fault.row, fault.column) for fault in faults] == [(1, "x"), (2, "y"), (None, None)]
    assert faults[0].allowed == f"numbers >= -{sys.float_info.max!r} and <= {sys.float_info.max!r}"
    assert faults[2].parameter == "explain"
    assert places(b'{"columns":["a","b"],"data":[[1,2],[3,1e999]]}') == [(1, "b", "data.1.1")]
    assert places(b'{"columns":["a"],"data":[[1,2],[3,1e999]]}') == [(1, None, "data.1.1")]
    with pytest.raises(Invalid, match="at most 4300") as caught:
        strict_json.decode(b'[{"n":' + b"9" * 4301 + b"}]", DEPTH)
    assert (caught.value.faults[0].column, caught.value.faults[0].allowed) == ("n", "at most 4300 digits")
    assert strict_json.decode(b"9" * 4300, DEPTH) == int("9" * 4300)


@pytest.mark.parametrize("body", [b"", b" ", b"\r\n\t"])
def test_an_empty_body_is_called_so(body: bytes) -> None:
    with pytest.raises(BadRequest, match=r"^The body is empty; JSON is expected"):
        strict_json.decode(body, DEPTH)


def test_a_lone_surrogate_is_named_in_values_and_keys() -> None:
    with pytest.raises(BadRequest, match=r"rows\.0\.x holds a lone surrogate"):
        strict_json.decode(rb'{"rows":[{"x":"a\ud800"}]}', DEPTH)
    assert places(rb'[{"x":"\ud800"},{"\udc00":1}]') == [(0, "x", "0.x"), (1, r"\udc00", r"1.\udc00")]
    assert strict_json.decode(rb'"\ud83d\ude00"', DEPTH) == "\U0001f600"


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_words_for_no_number_are_refused(word: str) -> None:
    with pytest.raises(Invalid, match="null"):
        strict_json.decode(f'{{"x": {word}}}'.encode(), DEPTH)


@pytest.mark.parametrize("body", [b"1e400", b"-1e999", b"9" * 5000, b'{"rows":[' + b"9" * 50_000 + b"]}"])
def test_numbers_beyond_a_double_are_refused(body: bytes) -> None:
    with pytest.raises(Invalid, match="out of range"):
        strict_json.decode(body, DEPTH)


@pytest.mark.parametrize("depth", [33, 500, 5_000, 20_000, 1_000_000])
@pytest.mark.parametrize("pair", [(b"[", b"]"), (b'{"a":', b"}")])
def test_deep_nesting_is_refused_with_the_limit(depth: int, pair: tuple[bytes, bytes]) -> None:
    body = pair[0] * depth + b"1" + pair[1] * depth
    with pytest.raises(Invalid, match="32") as caught:
        strict_json.decode(body, DEPTH)
    assert caught.value.faults[0].allowed == DEPTH


def test_nesting_up_to_the_limit_is_read() -> None:
    assert strict_json.decode(b"[" * 32 + b"]" * 32, DEPTH)


@pytest.mark.parametrize("body", [rb'"\u0000"', rb'{"\u0000": 1}', rb'[{"a": ["x\u0000y"]}]'])
def test_nul_is_refused(body: bytes) -> None:
    with pytest.raises(Invalid, match="NUL"):
        strict_json.decode(body, DEPTH)


def test_the_place_of_every_nul_is_named() -> None:
    assert places(rb'{"rows":[{"a":"b"},{"a":"\u0000","b\u0000":1}],"x":"\u0000"}') == [
        (1, "a", "rows.1.a"),
        (1, r"b\u0000", r"rows.1.b\u0000"),
        (None, None, "x"),
    ]
    assert places(rb'"\u0000"') == [(None, None, None)]


def test_the_place_of_what_is_no_utf8_is_named() -> None:
    body = '{"rows":[{"a":"ä"},{"a":"'.encode() + b'x\xe4"}]}'
    with pytest.raises(BadRequest, match=f"byte 0xe4 at offset {body.index(bytes([0x78, 0xE4])) + 1}, in rows.1.a"):
        strict_json.decode(body, DEPTH)
    assert places(body) == [(1, "a", "rows.1.a")]
    assert places(b'{"columns":["a","b"],"data":[[1,"\xff"]]}') == [(0, "b", "data.0.1")]
    assert places(b'[{"k\xff":1}]') == [(0, r"k\udcff", r"0.k\udcff")]
    with pytest.raises(BadRequest):
        strict_json.decode(b'{"x":"\xff"', DEPTH)


def test_a_byte_order_mark_is_passed_over_and_moves_no_place() -> None:
    mark = b"\xef\xbb\xbf"
    assert strict_json.decode(mark + b'{"x":1}', DEPTH) == {"x": 1}
    assert strict_json.decode_sparing(mark + b'{"rows":[{"x":1e999}]}', DEPTH, ("rows",))[0] == {"rows": [{"x": None}]}
    with pytest.raises(BadRequest, match="byte 4"):
        strict_json.decode(mark + b"{,}", DEPTH)
    with pytest.raises(BadRequest):
        strict_json.decode(mark + mark + b"{}", DEPTH)


def test_a_text_that_is_no_body_is_called_by_its_name() -> None:
    for text, said in [
        (b"{", "The line is not strict"),
        (b"[" * 99 + b"]" * 99, "The line is nested"),
        (b"", "The line"),
    ]:
        with pytest.raises((BadRequest, Invalid), match=f"^{said}"):
            strict_json.decode(text, DEPTH, "the line")


def test_a_backslash_before_u0000_is_no_nul() -> None:
    assert strict_json.decode(rb'"\\u0000"', DEPTH) == r"\u0000"


@pytest.mark.parametrize("body", [b"", b"  ", b"{", b'{"a":1,}', b"\xff", b'"\xff"', b'"\\ud800"', b"[1] 2", b"'a'"])
def test_what_is_no_json_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(BadRequest):
        strict_json.decode(body, DEPTH)


def test_integers_beyond_a_double_keep_their_digits() -> None:
    body = trap_path("big_int.json").read_bytes()
    assert strict_json.decode(body, DEPTH)["rows"][0]["x"] == 9_007_199_254_740_993


def test_not_finite_numbers_are_never_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        strict_json.encode({"x": float("nan")})


def test_too_many_digits_beside_a_colon_in_a_text_are_out_of_range() -> None:
    value, faults = strict_json.decode_sparing(b'{"rows":[{"a:b":%b},{"a:b":1}]}' % (b"9" * 4301), DEPTH, ("rows",))
    assert value == {"rows": [{"a:b": None}, {"a:b": 1}]}
    assert [fault.message.partition(",")[0] for fault in faults[0]] == ["rows.0.a:b has 4301 digits"]
