"""Student's quantiles against scipy's, and coverage on simulated data."""

import numpy as np
import pytest
from scipy.stats import t as student

from learners.evaluation.intervals import wilson
from learners.neighbors.intervals import number_interval, share_interval, student_quantile
from learners.neighbors.regressor import NearestNeighborsRegressor


@pytest.mark.parametrize("freedom", [0.5, 1, 2.7, 4, 30, 1e4])
@pytest.mark.parametrize("probability", [0.6, 0.95, 0.9995])
def test_quantiles_are_scipys(freedom, probability):
    assert student_quantile(probability, freedom) == pytest.approx(student.ppf(probability, freedom), rel=1e-9)


def test_equal_votes_give_the_textbooks_interval():
    numbers = np.array([1.0, 2.0, 4.0, 7.0])
    found = number_interval(3.5, np.full(4, 0.25), numbers, 0.9)
    half = student.ppf(0.95, 3) * numbers.std(ddof=1) * np.sqrt(1 + 1 / 4)
    assert (found.low, found.high) == pytest.approx((3.5 - half, 3.5 + half))
    assert number_interval(1.0, np.array([1.0, 0.0]), np.array([1.0, 9.0]), 0.9) is None


def test_equal_votes_give_wilsons_interval():
    found, wanted = share_interval(0.6, np.full(5, 0.2), 0.95), wilson(3, 5, 0.95)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


def test_intervals_hold_about_as_often_as_they_say():
    generator = np.random.default_rng(0)

    def draw(n_rows):
        x = generator.random((n_rows, 1))
        return x, np.sin(4 * x[:, 0]) + generator.normal(0, 0.3, n_rows)

    for level in (0.8, 0.95):
        model = NearestNeighborsRegressor(k=15, interval_level=level).fit(*draw(4_000))
        x, y = draw(3_000)
        low, high = model.predict_interval(x).T
        assert ((low <= y) & (y <= high)).mean() == pytest.approx(level, abs=0.025)
