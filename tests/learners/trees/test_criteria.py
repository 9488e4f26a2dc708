"""Impurities and gains against closed forms and published numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.trees.criteria import (
    conditional_entropy,
    entropy,
    gain_ratio,
    gini,
    gini_gain,
    information_gain,
    split_information,
    variance,
)

counts = st.lists(st.floats(0, 1e6), min_size=1, max_size=6).filter(lambda weights: sum(weights) > 1e-3)


def test_entropy_in_bits():
    assert entropy([5, 1]) == pytest.approx(0.650, abs=5e-4)
    assert entropy([1, 1]) == 1
    assert entropy([4, 0]) == 0
    assert entropy([]) == 0
    assert entropy([1] * 8) == pytest.approx(3, rel=1e-15)
    assert entropy([9, 5]) == pytest.approx(0.940286, abs=5e-7)


def test_information_gain_of_published_examples():
    # AIMA's restaurant: Patrons is none (0 yes, 2 no), some (4, 0), full (2, 4); Type tells nothing
    assert information_gain([[0, 2], [4, 0], [2, 4]]) == pytest.approx(0.540852, abs=5e-7)
    assert information_gain([[1, 1], [1, 1], [2, 2], [2, 2]]) == 0
    # six rows, five true: X1 parts them into four true, and one of each
    assert information_gain([[4, 0], [1, 1]]) == pytest.approx(0.317, abs=5e-4)
    assert conditional_entropy([[4, 0], [1, 1]]) == pytest.approx(0.333, abs=5e-4)
    # play-tennis by outlook
    outlook = [[2, 3], [4, 0], [3, 2]]
    assert information_gain(outlook) == pytest.approx(0.246750, abs=5e-7)
    assert split_information([5, 4, 5]) == pytest.approx(1.577406, abs=5e-7)
    assert gain_ratio(outlook) == pytest.approx(0.156428, abs=5e-7)


def test_restaurant_with_numeric_price_split_at_30():
    assert conditional_entropy([[5, 4], [1, 2]]) == pytest.approx(0.973, abs=5e-4)


def test_missing_outlook_counts_as_its_known_share_and_as_an_outcome_of_its_own():
    """C4.5's play data with one outlook unknown: gain 13/14 of 0.214 bits, split information over four outcomes."""
    known = information_gain([[2, 3], [3, 0], [3, 2]])
    assert 13 / 14 * known == pytest.approx(0.199, abs=5e-4)
    assert split_information([5, 3, 5, 1]) == pytest.approx(1.809, abs=5e-4)


def test_one_branch_gives_no_ratio_and_no_division_by_zero():
    assert gain_ratio([[3, 4]]) == 0


def test_gini_closed_forms():
    for k in range(1, 9):
        assert gini([1] * k) == pytest.approx(1 - 1 / k, rel=1e-15)
    assert gini_gain([[2, 0], [0, 2]]) == 0.5


def test_variance_is_weighted():
    assert variance([1, 1, 4]) == variance([1, 4], [2, 1]) == 2


@given(counts)
def test_bounds(weights):
    k = len(weights)
    assert 0 <= entropy(weights) <= math.log2(k) + 1e-9
    assert 0 <= gini(weights) <= 1 - 1 / k + 1e-9


@given(st.lists(st.lists(st.integers(0, 50), min_size=3, max_size=3).filter(any), min_size=1, max_size=5))
def test_no_test_loses_information(branches):
    assert information_gain(branches) >= 0
    assert gini_gain(branches) >= 0
    assert gain_ratio(branches) >= 0
