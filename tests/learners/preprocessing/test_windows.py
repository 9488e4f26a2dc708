"""A series cut into rows of the steps before each moment."""

from __future__ import annotations

import numpy as np
import pytest

from learners.errors import DataError, ParameterError
from learners.evaluation.ordered import time_folds
from learners.preprocessing.windows import windows


def test_each_moment_has_the_steps_before_it() -> None:
    found = windows(np.array([5.0, 6, 7, 8]), 2)
    assert found.rows.tolist() == [2, 3]
    assert found.past[:, :, 0].tolist() == [[5, 6], [6, 7]]


def test_windows_reach_over_no_gap_and_into_no_other_series() -> None:
    times = np.array([0.0, 1, 2, 5, 6, 7])
    assert windows(times, 2, times=times).rows.tolist() == [2, 5]
    assert windows(times, 2, times=times, gap=3).rows.tolist() == [2, 3, 4, 5]
    found = windows(times, 1, times=np.array([0.0, 0, 1, 1, 2, 2]), groups=["a", "b"] * 3)
    assert found.rows.tolist() == [2, 3, 4, 5]
    assert found.past.ravel().tolist() == [0, 1, 2, 5]


def test_the_order_is_that_of_time() -> None:
    found = windows(np.array([[3.0, 30], [1, 10], [2, 20]]), 1, times=np.array([3.0, 1, 2]))
    assert found.rows.tolist() == [2, 0]
    assert found.past.tolist() == [[[1, 10]], [[2, 20]]]


def test_folds_in_time_order_learn_from_nothing_later() -> None:
    moments = np.random.default_rng(0).permutation(60).astype(float)
    found = windows(moments, 4, times=moments)
    for number in range(4):
        split = time_folds(moments[found.rows], 4)[number]
        first_tested = moments[found.rows][split.test].min()
        assert (moments[found.rows][split.train] < first_tested).all()
        assert (found.past[split.train] < first_tested).all()
        assert (found.past[split.test].max(axis=(1, 2)) < moments[found.rows][split.test]).all()


def test_a_series_that_is_too_short_has_no_windows() -> None:
    assert windows(np.array([1.0]), 3).rows.tolist() == []
    assert windows(np.empty(0), 3).past.shape == (0, 3, 1)


def test_what_is_no_series_is_refused() -> None:
    with pytest.raises(ParameterError, match="length must be a whole number >= 1; it is 0"):
        windows(np.ones(3), 0)
    with pytest.raises(DataError, match="step 2 has the time of another"):
        windows(np.ones(3), 1, times=np.array([0.0, 1, 1]))
    with pytest.raises(DataError, match="step 1 has no finite time"):
        windows(np.ones(3), 1, times=np.array([0.0, np.nan, 1]))
