"""What units make of their weighted sums, as kernels over a block of units and rows.

The exponential is our own, of multiplications and additions only: a compiler makes vector instructions of it, and
plain Python gives the same bits.
"""

from __future__ import annotations

import numpy as np

from learners._accel import lean_inner_kernel
from learners.types import FloatArray

LINEAR, SIGMOID, TANH, RELU, SOFTMAX = range(5)

#: Beyond this an exponential is as good as 0 or infinite.
FURTHEST = 708.0
_LOG2_E = 1.4426950408889634
#: log(2) in two parts, the first of so few digits that small multiples of it are exact.
_LOG_2_HIGH, _LOG_2_LOW = 0.693145751953125, 1.4286068203094172e-06
#: 1.5 * 2^52: added to a number it leaves that number, rounded, in the last bits.
_ROUNDING = 6755399441055744.0


@lean_inner_kernel
def exponentials(values: FloatArray, factor: float, powers: FloatArray) -> None:
    """exp of each value times a factor, held within +-708, in place, to about 2e-16 of itself; shape (m,), contiguous.

    exp(x) = 2^k exp(r) with \\|r\\| <= log(2) / 2: 2^k by writing the exponent's bits, exp(r) by 14 terms of its
    series, added up in Estrin's order, which waits least for what was multiplied before. Two loops, since a processor
    looks some hundred instructions ahead and finds the next row to work on meanwhile.

    Args:
        values: changed. factor: -1, 1 or 2, by which each is multiplied exactly.
        powers: scratch of at least m entries.
    """
    bits = powers.view(np.int64)
    for k in range(values.shape[0]):
        x = values[k] * factor
        x = FURTHEST if x > FURTHEST else x
        x = -FURTHEST if x < -FURTHEST else x
        shifted = x * _LOG2_E + _ROUNDING
        whole = shifted - _ROUNDING
        powers[k] = shifted
        bits[k] = (bits[k] + 1023) << 52
        values[k] = (x - whole * _LOG_2_HIGH) - whole * _LOG_2_LOW
    for k in range(values.shape[0]):
        r = values[k]
        square = r * r
        fourth = square * square
        first = (1.0 + r) + square * (0.5 + r * (1.0 / 6.0))
        second = (1.0 / 24.0 + r * (1.0 / 120.0)) + square * (1.0 / 720.0 + r * (1.0 / 5040.0))
        third = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + square * (1.0 / 3628800.0 + r * (1.0 / 39916800.0))
        last = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
        values[k] = (first + fourth * (second + fourth * (third + fourth * last))) * powers[k]


@lean_inner_kernel
def activate(code: int, units: FloatArray, scratch: FloatArray) -> None:
    """Weighted sums to activations, in place; ``units`` of shape (units, rows), contiguous, ``scratch`` as large."""
    values = units.reshape(units.size)
    if code == SIGMOID:
        exponentials(values, -1.0, scratch)
        for k in range(values.shape[0]):
            values[k] = 1.0 / (1.0 + values[k])
    elif code == TANH:
        exponentials(values, 2.0, scratch)
        for k in range(values.shape[0]):
            values[k] = 1.0 - 2.0 / (1.0 + values[k])
    elif code == RELU:
        for k in range(values.shape[0]):
            values[k] = values[k] if values[k] > 0.0 else 0.0
    elif code == SOFTMAX:
        _softmax(units, scratch)


@lean_inner_kernel
def _softmax(units: FloatArray, scratch: FloatArray) -> None:
    n_units, n_rows = units.shape
    for r in range(n_rows):
        largest = units[0, r]
        for j in range(1, n_units):
            largest = max(largest, units[j, r])
        for j in range(n_units):
            units[j, r] -= largest
    exponentials(units.reshape(units.size), 1.0, scratch)
    for r in range(n_rows):
        total = 0.0
        for j in range(n_units):
            total += units[j, r]
        for j in range(n_units):
            units[j, r] /= total


@lean_inner_kernel
def by_slopes(code: int, units: FloatArray, deltas: FloatArray) -> None:
    """Derivatives by activations to derivatives by weighted sums, in place; both (units, rows), contiguous.

    Softmax has none of its own: with cross-entropy both are differentiated as one.
    """
    values, slopes = units.reshape(units.size), deltas.reshape(deltas.size)
    if code == SIGMOID:
        for k in range(values.shape[0]):
            slopes[k] *= values[k] * (1.0 - values[k])
    elif code == TANH:
        for k in range(values.shape[0]):
            slopes[k] *= 1.0 - values[k] * values[k]
    elif code == RELU:
        for k in range(values.shape[0]):
            slopes[k] = slopes[k] if values[k] > 0.0 else 0.0
