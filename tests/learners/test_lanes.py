"""Eight numbers at a time: plain functions beside their definitions, and the compiler's instructions beside them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners._accel import INTERPRETED, kernel
from learners._lanes import (
    LANES,
    ROUNDING,
    add_lower,
    add_upper,
    exponent,
    fused,
    lane,
    load,
    load_bytes,
    places_up_to,
    power,
    prefetch,
    prefetch_bytes,
    spread,
    store,
    totals,
    where_less,
    where_same,
)
from learners.types import Array, FloatArray

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
    store(found, 90, load_bytes(_bytes, 1))
    found[81] = places_up_to(a, values[9])
    store(found, 82, where_same(a, values[1], b, values[2]))


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
@given(st.lists(_NUMBERS, min_size=24, max_size=24))
def test_instructions_are_the_plain_functions_to_the_bit(numbers: list[float]) -> None:
    values, plain, compiled = np.array(numbers), np.zeros(98), np.zeros(98)
    with np.errstate(all="ignore"):
        _PLAIN(values, _BYTES, plain)
    _everything(values, _BYTES, compiled)
    np.testing.assert_array_equal(compiled, plain)
    kept = ~np.isnan(plain)
    np.testing.assert_array_equal(np.signbit(compiled[kept]), np.signbit(plain[kept]))


_PLAIN = getattr(_everything, "py_func", _everything)


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
