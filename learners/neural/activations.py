"""What units make of their weighted sums, as kernels over a block of units and rows.

The exponential is our own, of multiplications and additions only, eight at a time (:mod:`learners._lanes`); plain
Python gives the same bits.
"""

from __future__ import annotations

from learners._accel import lean_inner_kernel
from learners._lanes import LANES, ROUNDING, Lanes, exponent, fused, load, power, spread, store, where_less
from learners.neural.sums import row_length
from learners.types import FloatArray

LINEAR, SIGMOID, TANH, RELU, SOFTMAX = range(5)

#: Beyond this an exponential is as good as 0 or infinite.
FURTHEST = 708.0
_LOG2_E = 1.4426950408889634
#: log(2) in two parts.
_LOG_2, _LOG_2_REST = 0.6931471805599453, 2.3190468138462996e-17


@lean_inner_kernel
def exponential(x: Lanes) -> Lanes:
    """exp(x), x held within +-708, to about 2e-16 of itself; of NaN NaN.

    exp(x) = 2^k exp(r) with \\|r\\| <= log(2) / 2: 2^k by writing the exponent's bits, exp(r) by 14 terms of its
    series.
    """
    x = where_less(FURTHEST, x, FURTHEST, x)
    x = where_less(x, -FURTHEST, -FURTHEST, x)
    shifted = fused(x, _LOG2_E, ROUNDING)
    whole = shifted - ROUNDING
    r = fused(whole, -_LOG_2_REST, fused(whole, -_LOG_2, x))
    total = fused(r, 1.0 / 6227020800.0, 1.0 / 479001600.0)
    total = fused(total, r, 1.0 / 39916800.0)
    total = fused(total, r, 1.0 / 3628800.0)
    total = fused(total, r, 1.0 / 362880.0)
    total = fused(total, r, 1.0 / 40320.0)
    total = fused(total, r, 1.0 / 5040.0)
    total = fused(total, r, 1.0 / 720.0)
    total = fused(total, r, 1.0 / 120.0)
    total = fused(total, r, 1.0 / 24.0)
    total = fused(total, r, 1.0 / 6.0)
    total = fused(total, r, 0.5)
    total = fused(total, r, 1.0)
    return fused(total, r, 1.0) * power(shifted)


@lean_inner_kernel
def logarithm(x: Lanes) -> Lanes:
    """log(x), x from 1e-300 on, to about 5e-16 of itself.

    x = 2^k m with m within 0.7 .. 1.4, and log(m) = 2 artanh(s), s = (m - 1) / (m + 1), by 11 terms of its series.
    """
    k = exponent(x)
    m = x * power(ROUNDING - k)
    s = (m - 1.0) / (m + 1.0)
    square = s * s
    total = fused(square, 2.0 / 21.0, 2.0 / 19.0)
    total = fused(total, square, 2.0 / 17.0)
    total = fused(total, square, 2.0 / 15.0)
    total = fused(total, square, 2.0 / 13.0)
    total = fused(total, square, 2.0 / 11.0)
    total = fused(total, square, 2.0 / 9.0)
    total = fused(total, square, 2.0 / 7.0)
    total = fused(total, square, 2.0 / 5.0)
    total = fused(total, square, 2.0 / 3.0)
    total = fused(total, square, 2.0)
    return fused(k, _LOG_2, total * s)


@lean_inner_kernel
def activate(code: int, units: FloatArray, n_units: int, n: int) -> None:
    """Weighted sums to activations, in place, of a flat block of n rows; beyond them to whole eights."""
    if code == SIGMOID:
        _squash(units, n_units, n, -1.0, 1.0, 0.0)
    elif code == TANH:
        _squash(units, n_units, n, 2.0, -2.0, 1.0)
    elif code == RELU:
        for k in range(n_units * row_length(n)):
            units[k] = units[k] if units[k] > 0.0 else 0.0
    elif code == SOFTMAX:
        _softmax(units, n_units, n)


@lean_inner_kernel
def _squash(units: FloatArray, n_units: int, n: int, factor: float, scale: float, base: float) -> None:
    """``base + scale / (1 + exp(factor * x))`` of each."""
    length = row_length(n)
    for first in range(0, n_units * length, length):
        for at in range(first, first + n, LANES):
            store(units, at, base + scale / (1.0 + exponential(load(units, at) * factor)))


@lean_inner_kernel
def _softmax(units: FloatArray, n_units: int, n: int) -> None:
    length = row_length(n)
    for r in range(0, n, LANES):
        largest = load(units, r)
        for at in range(length + r, n_units * length, length):
            other = load(units, at)
            largest = where_less(largest, other, other, largest)
        total = spread(0.0)
        for at in range(r, n_units * length, length):
            raised = exponential(load(units, at) - largest)
            store(units, at, raised)
            total = total + raised
        for at in range(r, n_units * length, length):
            store(units, at, load(units, at) / total)


@lean_inner_kernel
def by_slopes(code: int, units: FloatArray, deltas: FloatArray, n_units: int, n: int) -> None:
    """Derivatives by activations to derivatives by weighted sums, in place; both flat blocks of n rows.

    Softmax has none of its own: with cross-entropy both are differentiated as one.
    """
    if code in (LINEAR, SOFTMAX):
        return
    length = row_length(n)
    for first in range(0, n_units * length, length):
        for at in range(first, first + n, LANES):
            value, slope = load(units, at), load(deltas, at)
            if code == SIGMOID:
                store(deltas, at, slope * (value * (1.0 - value)))
            elif code == TANH:
                store(deltas, at, slope * (1.0 - value * value))
            else:
                store(deltas, at, where_less(0.0, value, slope, 0.0))
