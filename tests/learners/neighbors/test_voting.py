"""Votes by closed forms: who counts, kernels and their limits, mean and median."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners.neighbors.voting import (
    KERNELS,
    Kernel,
    class_shares,
    counted,
    mean_of,
    mean_of_equals,
    median_of,
    median_of_equals,
    votes_of,
)

DISTANCES = np.array([[1.0, 2.0, 4.0]])
ONES = np.ones((1, 3))


def test_the_last_row_counts_with_what_is_left():
    np.testing.assert_array_equal(counted(np.array([[2.0, 0.5, 3.0]]), 4.0), [[2, 0.5, 1.5]])
    np.testing.assert_array_equal(counted(np.array([[2.0, 0.5, 3.0]]), 1.0), [[1, 0, 0]])
    np.testing.assert_array_equal(counted(np.array([[2.0, 0.5]]), None), [[2, 0.5]])


@pytest.mark.parametrize(
    ("kernel", "strengths"),
    [
        (Kernel(), [1, 1, 1]),
        (Kernel("inverse"), [1, 1 / 2, 1 / 4]),
        (Kernel("inverse-square"), [1, 1 / 4, 1 / 16]),
        (Kernel("shifted-inverse-square", shift=3.0), [1 / 4, 1 / 7, 1 / 19]),
        (Kernel("gaussian", bandwidth=2.0), np.exp([-1 / 4, -1, -4])),
    ],
)
def test_kernels_are_their_formulas(kernel, strengths):
    wanted = np.array(strengths) / np.sum(strengths)
    np.testing.assert_allclose(votes_of(ONES, DISTANCES, kernel)[0], wanted, rtol=1e-14)


@pytest.mark.parametrize("name", ["inverse", "inverse-square"])
def test_exact_matches_alone_decide(name):
    votes = votes_of(np.array([[1.0, 2.0, 1.0]]), np.array([[0.0, 0.0, 1e-300]]), Kernel(name))
    np.testing.assert_allclose(votes, [[1 / 3, 2 / 3, 0]])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("distances", [[1e-320, 5e-320], [1e150, 2e150], [0.0, 0.0], [1e9, 1e9 + 1], [0, 1e300]])
def test_no_distance_makes_a_vote_that_is_no_number(name, distances):
    votes = votes_of(np.ones((1, 2)), np.array([distances]), Kernel(name, bandwidth=1e-3))
    assert np.isfinite(votes).all()
    assert votes.sum() == pytest.approx(1)


def test_a_wide_kernel_is_the_mean_and_a_narrow_one_the_nearest():
    numbers = np.array([[3.0, 6.0, 12.0]])
    assert mean_of(votes_of(ONES, DISTANCES, Kernel("gaussian", bandwidth=1e6)), numbers)[0] == pytest.approx(7)
    assert mean_of(votes_of(ONES, DISTANCES, Kernel("gaussian", bandwidth=1e-6)), numbers)[0] == 3


def test_shares_add_up_by_class():
    votes = np.array([[0.5, 0.3, 0.2], [1.0, 0, 0]])
    np.testing.assert_allclose(class_shares(votes, np.array([[2, 0, 2], [1, 1, 1]]), 3), [[0.3, 0, 0.7], [0, 1, 0]])


def test_the_median_is_the_middle_of_two_where_half_lies_on_either_side():
    numbers = np.array([[4.0, 1.0, 3.0, 2.0]])
    assert median_of(np.full((1, 4), 0.25), numbers)[0] == 2.5
    assert median_of(np.array([[0.4, 0.1, 0.25, 0.25]]), numbers)[0] == 3.0
    assert median_of(np.array([[0.0, 0.5, 0.5, 0.0]]), numbers)[0] == 2.0


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=300))
def test_numbers_with_a_vote_each_are_answered_as_others_to_the_bit(numbers):
    votes = np.full((1, len(numbers)), 1.0 / len(numbers))
    wanted = [function(votes, np.array([numbers]))[0].item() for function in (mean_of, median_of)]
    assert [one.hex() for one in (mean_of_equals(numbers), median_of_equals(numbers))] == [one.hex() for one in wanted]


@given(st.floats(-1e300, 1e300), st.integers(1, 60))
def test_the_mean_of_equal_numbers_is_that_number(number, n_voters):
    votes = np.full((1, n_voters), 1.0 / n_voters)
    assert mean_of(votes, np.full((1, n_voters), number))[0] == number


@given(st.lists(st.tuples(st.floats(-1e300, 1e300), st.floats(1e-3, 1)), min_size=1, max_size=40))
def test_a_mean_lies_among_the_numbers_that_vote(voters):
    numbers, votes = (np.array([part]) for part in zip(*voters, strict=True))
    votes = np.append(votes / votes.sum(), [[0.0]], axis=1)  # the last has no vote, so it is no bound
    found = mean_of(votes, np.append(numbers, [[1e301]], axis=1))[0]
    assert numbers.min() <= found <= numbers.max()
