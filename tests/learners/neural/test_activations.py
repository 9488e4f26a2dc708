"""The exponential of the kernels beside the C library's; it is their plain functions that are asked."""

from __future__ import annotations

import numpy as np
import pytest

from learners._accel import interpreted
from learners.neural.activations import FURTHEST, exponentials


@pytest.mark.parametrize("factor", [-1.0, 1.0, 2.0])
def test_exponentials_are_right_to_the_last_digits(factor: float) -> None:
    spread = np.geomspace(1e-12, FURTHEST / 2, 200)
    values = np.concatenate([-spread, [0.0], spread])
    expected = np.exp(factor * values)
    interpreted(exponentials)(values, factor, np.empty(len(values)))
    np.testing.assert_allclose(values, expected, rtol=2 * np.finfo(np.float64).eps, atol=0)


def test_exponentials_are_held_within_doubles() -> None:
    values = np.array([-1e9, -FURTHEST, FURTHEST, 1e9])
    interpreted(exponentials)(values, 1.0, np.empty(9))
    assert values[0] == values[1] > 0
    assert values[3] == values[2] < np.inf
