"""The exponential and the logarithm of the kernels beside the C library's; it is plain functions that are asked."""

from __future__ import annotations

import numpy as np
import pytest

from learners._accel import interpreted
from learners._lanes import LANES
from learners.neural.activations import FURTHEST, exponential, logarithm
from learners.types import FloatArray


def _each(function: object, values: FloatArray) -> FloatArray:
    plain = interpreted(function)  # type: ignore[arg-type]
    return np.concatenate([plain(eight) for eight in values.reshape(-1, LANES)])


def test_exponentials_are_right_to_the_last_digits() -> None:
    spread = np.geomspace(1e-12, FURTHEST, 100)
    values = np.concatenate([-spread, np.zeros(LANES), spread, np.random.default_rng(0).uniform(-30, 30, 400)])
    np.testing.assert_allclose(_each(exponential, values), np.exp(values), rtol=2 * np.finfo(np.float64).eps, atol=0)


def test_exponentials_are_held_within_doubles() -> None:
    low, least, most, high = _each(exponential, np.repeat([-1e9, -FURTHEST, FURTHEST, 1e9], 2))[::2]
    assert low == least > 0
    assert high == most < np.inf
    assert np.isnan(_each(exponential, np.full(LANES, np.nan))).all()


@pytest.mark.parametrize("near", [1.0, 1e-300, 0.5, 2.0**-0.5])
def test_logarithms_are_right_to_the_last_digits(near: float) -> None:
    values = near * np.concatenate([1 + np.geomspace(1e-16, 1e6, 96), [1, 2, 3, 4, 5, 6, 7, 8]])
    np.testing.assert_allclose(_each(logarithm, values), np.log(values), rtol=1e-15, atol=0)
    assert np.isnan(_each(logarithm, np.full(LANES, np.nan))).all()
