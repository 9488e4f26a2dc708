"""Eight numbers at a time: plain functions beside their definitions, and the compiler's instructions beside them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners._accel import INTERPRETED, kernel
from learners._lanes import (
    BYTES,
    LANES,
    ROUNDING,
    WHOLES,
    add_apart,
    add_beyond,
    add_lower,
    add_upper,
    exponent,
    first_of,
    fused,
    halves,
    lane,
    load,
    lowest_bit,
    no_wholes,
    places_of,
    places_up_to,
    power,
    prefetch,
    prefetch_bytes,
    spread,
    store,
    store_rounded,
    totals,
    where_less,
    where_same,
    wholes_up_to,
    word,
)
from learners.types import Array, FloatArray, Int16Array

_NUMBERS = st.floats(width=64)
_SMALL = st.floats(-1e100, 1e100).filter(lambda number: number == 0 or abs(number) > 1e-100)


_BYTES = np.array([7, 0, 1, 2, 127, 128, 200, 254, 255], np.uint8)


@kernel
def _everything(values: FloatArray, _bytes: Array, found: FloatArray) -> None:
    """All operations of the first 24 values, to 16 times eight found."""
    a, b, c = load(values, 0), load(values, 8), load(values, 16)
    store(found, 0, fused(a, b, c))
    store(found, 8, fused(values[0], b, values[1]))
    store(found, 16, where_less(a, b, c, values[2]))
    store(found, 24, totals(a, b, c, a + b, a - b, a * b, a / b, spread(values[3])))
    store(found, 32, 1.0 - a)
    store(found, 40, b / 3.0)
    store(found, 48, where_less(0.0, a, a, 0.0 - a))
    positive = where_less(1e-300, where_less(a, 0.0, 0.0 - a, a), where_less(a, 0.0, 0.0 - a, a), 1.0)
    k = exponent(positive)
    store(found, 56, k)
    store(found, 64, power(ROUNDING - where_less(k, -1000.0, -1000.0, where_less(1000.0, k, 1000.0, k))))
    add_lower(found, 72, a)
    add_upper(found, 76, b)
    found[80] = lane(a, 5)
    prefetch(values, 8)
    prefetch_bytes(_bytes, 0)
    found[81] = places_up_to(a, values[9])
    store(found, 82, where_same(a, values[1], b, values[2]))


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
@given(st.lists(_NUMBERS, min_size=24, max_size=24))
def test_instructions_are_the_plain_functions_to_the_bit(numbers: list[float]) -> None:
    values, plain, compiled = np.array(numbers), np.zeros(90), np.zeros(90)
    with np.errstate(all="ignore"):
        _PLAIN(values, _BYTES, plain)
    _everything(values, _BYTES, compiled)
    np.testing.assert_array_equal(compiled, plain)
    kept = ~np.isnan(plain)
    np.testing.assert_array_equal(np.signbit(compiled[kept]), np.signbit(plain[kept]))


_PLAIN = getattr(_everything, "py_func", _everything)


@kernel
def _of_bytes(text: Array, at: int, first: int, second: int, found: Array) -> None:
    """All operations of bytes from a place on."""
    found[0] = word(text, at)
    found[1] = places_of(text, at, first, second)
    found[2] = lowest_bit(found[1])


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
@given(st.binary(min_size=BYTES + 8, max_size=BYTES + 8), st.integers(0, 8), st.integers(0, BYTES - 1))
def test_instructions_for_bytes_are_the_plain_functions(content: bytes, at: int, place: int) -> None:
    text, plain, compiled = np.frombuffer(content, np.uint8).copy(), np.zeros(3, np.uint64), np.zeros(3, np.uint64)
    first, second = int(text[at + place]), int(text[-1])
    getattr(_of_bytes, "py_func", _of_bytes)(text, at, first, second, plain)
    _of_bytes(text, at, first, second, compiled)
    assert compiled.tolist() == plain.tolist()


def test_bytes_are_what_they_say() -> None:
    text = np.frombuffer(b"x12345678,;" + bytes(BYTES), np.uint8)
    assert word(text, 1) == int.from_bytes(b"12345678", "little")
    assert places_of(text, 1, ord(","), ord(";")) == 0b1100000000
    assert [lowest_bit(np.uint64(bits)) for bits in (1, 12, 2**63, 2**64 - 2)] == [0, 2, 63, 1]


@given(st.lists(_SMALL, min_size=3, max_size=3))
def test_a_product_and_a_sum_are_rounded_once(numbers: list[float]) -> None:
    first, second, added = numbers
    exact = Fraction(first) * Fraction(second) + Fraction(added)
    np.testing.assert_array_equal(fused(first, spread(second), added), np.full(LANES, float(exact)))


@given(st.floats(1e-300, 1e300))
def test_an_exponent_leaves_less_than_the_root_of_two(number: float) -> None:
    k = exponent(spread(number))[0]
    rest = Fraction(number) / Fraction(2) ** int(k)
    assert Fraction(1, 2) <= rest**2 < 2 + Fraction(1, 10**9)


def test_a_power_of_two() -> None:
    wholes = np.array([-1022.0, -3.0, -1.0, 0.0, 1.0, 2.0, 52.0, 1023.0])
    np.testing.assert_array_equal(power(wholes + ROUNDING), 2.0**wholes)


def test_sums_of_eight() -> None:
    rows = np.arange(64.0).reshape(8, 8)
    np.testing.assert_array_equal(totals(*rows), rows.sum(axis=1))


def test_places_with_at_most_a_number() -> None:
    assert places_up_to(np.array([3.0, 1.0, np.nan, 2.0, np.inf, 2.1, -np.inf, 2.0]), 2.0) == 0b11001010
    assert where_same(np.arange(8.0), 2.0, 5.0, np.nan).tolist()[2] == 5.0


@kernel
def _wholes(codes: Array, lanes: FloatArray, pairs: Int16Array, limit: float, found: FloatArray) -> None:
    """All operations of whole numbers, of two pairs; found are eight sums, and places."""
    store_rounded(pairs, 1, load(lanes, 0))
    apart, beyond = no_wholes(), no_wholes()
    for pair in range(2):
        apart = add_apart(apart, codes, 1 + 32 * pair, pairs, 1 + 2 * pair)
        beyond = add_beyond(beyond, codes, 1 + 32 * pair, pairs, 5 + 2 * pair)
    store(found, 0, halves(apart))
    store(found, 8, halves(beyond))
    found[16], found[17] = wholes_up_to(apart, limit), wholes_up_to(beyond, limit)
    found[18] = first_of(wholes_up_to(apart, 2.0**31 - 1) << 3)


@given(
    st.lists(st.integers(0, 255), min_size=65, max_size=65),
    st.lists(st.floats(-8192, 8192), min_size=8, max_size=8),
    st.floats(0, 2.0**31 - 1),
)
def test_whole_numbers_beside_their_definitions(codes: list[int], numbers: list[float], limit: float) -> None:
    found, pairs = np.zeros(19), np.zeros(10, np.int16)
    _wholes(np.array(codes, np.uint8), np.array(numbers), pairs, limit, found)
    asked = [round(number) for number in numbers]
    assert pairs.tolist() == [0, *asked, 0]
    apart, beyond = [0] * WHOLES, [0] * WHOLES
    for place in range(WHOLES):
        for column in range(4):
            code = codes[1 + 32 * (column // 2) + 2 * place + column % 2]
            apart[place] += (code - asked[column]) ** 2
            if place < LANES:
                beyond[place] += max(code - asked[4 + column], 0) ** 2
            else:
                beyond[place] += max(asked[4 + column] - (256 - code), 0) ** 2
    assert found[:8].tolist() == [apart[place] + apart[place + LANES] for place in range(LANES)]
    assert found[8:16].tolist() == [beyond[place] + beyond[place + LANES] for place in range(LANES)]
    assert [bool(int(found[16]) >> place & 1) for place in range(WHOLES)] == [one <= limit for one in apart]
    assert [bool(int(found[17]) >> place & 1) for place in range(WHOLES)] == [one <= limit for one in beyond]
    assert found[18] == 3
