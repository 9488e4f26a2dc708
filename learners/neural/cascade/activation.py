"""What a hidden unit answers to the sum of its weighted inputs: symmetric sigmoid, hyperbolic tangent, or Gaussian.

The sigmoid from -1/2 to 1/2 and the Gaussian are those of Fahlman and Lebiere (1990).
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import lean_inner_kernel
from learners.types import FloatArray

#: Codes of the activations.
SIGMOID, TANH, GAUSSIAN = 0, 1, 2
ACTIVATIONS = ("sigmoid", "tanh", "gaussian")
#: Sums beyond this count as this: the sigmoid of a double is then at its bound.
LARGEST_SUM = 500.0


@lean_inner_kernel
def unit_value(code: int, total: float) -> float:
    """The unit's value at the sum of its weighted inputs."""
    bounded = min(max(total, -LARGEST_SUM), LARGEST_SUM)
    if code == SIGMOID:
        return 1.0 / (1.0 + math.exp(-bounded)) - 0.5
    if code == TANH:
        return math.tanh(bounded)
    return math.exp(-0.5 * bounded * bounded)


@lean_inner_kernel
def unit_slope(code: int, total: float, value: float) -> float:
    """The derivative of the value by the sum."""
    if code == SIGMOID:
        return 0.25 - value * value
    if code == TANH:
        return 1.0 - value * value
    return -value * min(max(total, -LARGEST_SUM), LARGEST_SUM)


def unit_values(code: int, totals: FloatArray) -> FloatArray:
    """The values of one unit for n rows, shape (n,), element by element."""
    bounded = np.ascontiguousarray(np.clip(totals, -LARGEST_SUM, LARGEST_SUM))
    if code == SIGMOID:
        return 1.0 / (1.0 + np.exp(-bounded)) - 0.5
    if code == TANH:
        return np.tanh(bounded)
    return np.exp(-0.5 * bounded * bounded)


def unit_slopes(code: int, totals: FloatArray, values: FloatArray) -> FloatArray:
    """The derivatives of the values by the sums, shape (n,)."""
    if code == SIGMOID:
        return 0.25 - values * values
    if code == TANH:
        return 1.0 - values * values
    return -values * np.clip(totals, -LARGEST_SUM, LARGEST_SUM)
