"""Student's quantiles against scipy's, and coverage on simulated data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from scipy.stats import t as student

from learners.evaluation.intervals import wilson
from learners.neighbors import LocalLinearRegressor, NearestNeighborsClassifier, NearestNeighborsRegressor
from learners.neighbors.intervals import (
    number_interval,
    share_interval,
    spread_about,
    student_below,
    student_quantile,
)


@pytest.mark.parametrize("freedom", [0.5, 1, 2.7, 4, 30, 1e4])
@pytest.mark.parametrize("probability", [0.6, 0.95, 0.9995])
def test_quantiles_are_scipys(freedom, probability):
    assert student_quantile(probability, freedom) == pytest.approx(student.ppf(probability, freedom), rel=1e-9)


@given(st.floats(0.501, 1), st.floats(0.05, 1e6))
def test_quantiles_are_those_of_bisection_alone_to_the_bit(probability, freedom):
    low, high = 0.0, 1.0
    while student_below(high, freedom) < probability and high < 1e300:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if student_below(middle, freedom) < probability else (low, middle)
    assert student_quantile(probability, freedom) == (low + high) / 2


def test_equal_votes_give_the_textbooks_interval():
    numbers = np.array([1.0, 2.0, 4.0, 7.0])
    found = number_interval(3.5, np.full(4, 0.25), numbers, 0.9)
    half = student.ppf(0.95, 3) * numbers.std(ddof=1) * np.sqrt(1 + 1 / 4)
    assert (found.low, found.high) == pytest.approx((3.5 - half, 3.5 + half))
    assert number_interval(1.0, np.array([1.0, 0.0]), np.array([1.0, 9.0]), 0.9) is None


def test_equal_votes_give_wilsons_interval():
    found, wanted = share_interval(0.6, np.full(5, 0.2), 0.95), wilson(3, 5, 0.95)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


def test_two_votes_have_one_degree_of_freedom_however_unequal():
    """Of two numbers the difference alone is left: s^2 = (3 - 1)^2 / 2, with one degree, whatever their votes are."""
    for vote in (0.5, 0.8, 0.999):
        variance, freedom = spread_about(*about_mean(np.array([vote, 1 - vote]), np.array([1.0, 3.0])))
        assert variance == pytest.approx(2)
        assert freedom == pytest.approx(1)
    assert spread_about(*about_mean(np.array([1.0, 0.0]), np.array([1.0, 3.0]))) is None


@pytest.mark.parametrize("n_found", [8, 12, 40])
def test_rows_that_were_found_but_do_not_vote_change_no_bit(n_found):
    generator = np.random.default_rng(3)
    for n_voters in range(2, 8):
        votes, numbers = generator.random(n_voters), generator.normal(size=n_voters)
        votes /= votes.sum()
        more, others = np.zeros(n_found - n_voters), generator.normal(size=n_found - n_voters)
        padded = np.append(votes, more)
        assert share_interval(0.4, padded, 0.9) == share_interval(0.4, votes, 0.9)
        assert number_interval(0.4, padded, np.append(numbers, others), 0.9) == number_interval(
            0.4, votes, numbers, 0.9
        )


@pytest.mark.parametrize("learner", [NearestNeighborsClassifier, NearestNeighborsRegressor, LocalLinearRegressor])
def test_weighed_rows_have_the_same_reasons_alone_and_among_others(learner):
    """Among others more rows are looked at, for those that need more light ones."""
    generator = np.random.default_rng(4)
    X, weights = generator.normal(size=(90, 3)), generator.random(90) ** 3 + 0.01
    model = learner(k=4, kernel="inverse").fit(X, generator.integers(0, 3, 90).astype(float), weights)
    together = [one.to_json() for one in model.explain(X + 0.1)]
    assert together == [model.explain(row[None] + 0.1)[0].to_json() for row in X]


def ends(intervals):
    return np.array([(one.low, one.high) for one in intervals])


def about_mean(votes, numbers):
    return votes, numbers - votes @ numbers, np.empty((len(votes), 0))


@pytest.mark.parametrize("n_columns", [0, 2])
def test_freedom_is_satterthwaites_of_the_sum_of_squares(n_columns):
    """By matrices: (tr A)^2 / tr A^2 with A = V - V X (X'VX)^-1 X'V, and the variance r'Vr / tr A."""
    generator = np.random.default_rng(1)
    votes, y = generator.random(9) ** 3, generator.normal(size=9)
    votes /= votes.sum()
    off = generator.normal(size=(9, n_columns))
    off -= votes @ off
    X, V = np.column_stack([np.ones(9), off]), np.diag(votes)
    A = V - V @ X @ np.linalg.inv(X.T @ V @ X) @ X.T @ V
    left = y - X @ np.linalg.solve(X.T @ V @ X, X.T @ V @ y)
    variance, freedom = spread_about(votes, left, off)
    assert variance == pytest.approx(y @ A @ y / np.trace(A))
    assert freedom == pytest.approx(np.trace(A) ** 2 / np.trace(A @ A))
    equal = np.full(9, 1 / 9)
    assert spread_about(equal, left, off - off.mean(axis=0))[1] == pytest.approx(8 - n_columns)


def test_all_rows_fitted_alike_have_the_textbooks_interval_of_a_line():
    """y -+ t s sqrt(1 + x'(X'X)^-1 x) with n - 3 degrees of freedom, of numbers with a steep slope."""
    generator = np.random.default_rng(2)
    X = generator.normal(size=(15, 2))
    y = 40 * X[:, 0] - 25 * X[:, 1] + generator.normal(size=15)
    asked = np.array([[0.3, -0.2], [3.0, 3.0]])
    design, at = np.column_stack([np.ones(15), X]), np.column_stack([np.ones(2), asked])
    b = np.linalg.lstsq(design, y, rcond=None)[0]
    s = np.sqrt(((y - design @ b) ** 2).sum() / 12)
    half = student.ppf(0.95, 12) * s * np.sqrt(1 + ((at @ np.linalg.inv(design.T @ design)) * at).sum(axis=1))
    found = LocalLinearRegressor(k=15, scaling="none").fit(X, y).predict_intervals(asked, 0.9)
    np.testing.assert_allclose(ends(found), np.column_stack([at @ b - half, at @ b + half]), rtol=1e-9)


#: Kernels, by what part of a neighbourhood's width they fall. Where a few rows have nearly all votes the interval is
#: about their mean, but their spread is told by the same few: intervals are too wide, by so much at most.
KERNELS = {
    "uniform": ({}, 0.0),
    "gaussian": ({"kernel": "gaussian", "bandwidth": 0.004}, 0.02),
    "shifted": ({"kernel": "shifted-inverse-square", "shift": 2e-5}, 0.02),
    "inverse": ({"kernel": "inverse"}, 0.03),
    "inverse-square": ({"kernel": "inverse-square"}, 0.045),
}
TRIALS = 2_000


def places(generator):
    """Training rows, and questions so far from each other that no two share a neighbour."""
    return generator.random((16_000, 1)), (np.arange(400)[:, None] + 0.5) / 400


def require_coverage(hits, level, wider):
    """What a binomial count of the level leaves out once in 2,000 times on either side, but for intervals too wide."""
    low, high = binom.interval(0.999, TRIALS, level)
    assert low <= hits <= high + wider * TRIALS, hits / TRIALS


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("learner", "k"), [(NearestNeighborsRegressor, 15), (LocalLinearRegressor, 20)])
def test_intervals_of_numbers_hold_as_often_as_they_say(kernel, learner, k):
    generator = np.random.default_rng(0)
    options, wider = KERNELS[kernel]
    hits = {0.8: 0, 0.95: 0}
    for _ in range(TRIALS // 400):
        x, asked = places(generator)
        y = np.sin(4 * x[:, 0]) + generator.normal(0, 0.3, len(x))
        further = np.sin(4 * asked[:, 0]) + generator.normal(0, 0.3, len(asked))
        model = learner(k=k, **options).fit(x, y)
        for level in hits:
            low, high = ends(model.predict_intervals(asked, level)).T
            hits[level] += int(((low <= further) & (further <= high)).sum())
    for level, count in hits.items():
        require_coverage(count, level, wider)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_of_probabilities_hold_as_often_as_they_say(kernel, level):
    generator = np.random.default_rng(1)
    options, wider = KERNELS[kernel]
    hits = 0
    for _ in range(TRIALS // 400):
        x, asked = places(generator)
        likely = lambda at: 0.5 + 0.4 * np.sin(6 * at[:, 0])  # noqa: E731
        y = generator.random(len(x)) < likely(x)
        model = NearestNeighborsClassifier(k=15, interval_level=level, **options).fit(x, y)
        for reason, truth in zip(model.explain(asked), likely(asked), strict=True):
            of_decided = truth if max(reason.distribution, key=lambda one: one[1])[0] else 1 - truth
            hits += reason.interval.low <= of_decided <= reason.interval.high
    require_coverage(hits, level, max(wider, 0.01))  # shares of 15 are no continuum
