"""Kernels of weighted sums over a block of rows: what the two passes through a layer spend their time on.

Blocks are (units, rows), eight rows to a value of :mod:`learners._lanes`, so that their rows are as long as
:func:`row_length` says. Eight sums at a time are kept in registers from their first summand to the last: an
instruction in two then multiplies and adds, and nothing but the block is read.
"""

from __future__ import annotations

from learners._accel import lean_inner_kernel
from learners._lanes import LANES, add_lower, add_upper, fused, lane, load, spread, store, totals
from learners.types import FloatArray

#: Lines so many numbers apart share places in the nearest cache.
_SHARING = 64


@lean_inner_kernel
def row_length(n: int) -> int:
    """Of a block's rows with n entries: eights, and never so many that all its rows share places in a cache."""
    length = (n + LANES - 1) // LANES * LANES
    return length + LANES if length % _SHARING == 0 else length


@lean_inner_kernel
def weighted_sums(
    weights: FloatArray, step_from: int, step_to: int, came: FloatArray, n_from: int, to: FloatArray, n_to: int, n: int
) -> None:
    """``to[j] = sum over i of weights[i * step_from + j * step_to] * came[i]``, in the order of i.

    Where units or rows are not as many as are worked on at a time, the last are worked on again.

    Args:
        weights: flat.
        step_from, step_to: how far apart the weights of neighbours that come in, and that they go to, lie.
        came, to: flat blocks of n_from and n_to units. n: their rows; what lies beyond is summed to whole eights.
    """
    length, last = row_length(n), (n - 1) // LANES * LANES
    for r0 in range(0, n, 4 * LANES):
        r1, r2, r3 = min(r0 + LANES, last), min(r0 + 2 * LANES, last), min(r0 + 3 * LANES, last)
        for j in range(0, n_to, 2):
            k = min(j + 1, n_to - 1)
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = spread(0.0)
            for i in range(n_from):
                a, b = weights[i * step_from + j * step_to], weights[i * step_from + k * step_to]
                unit = load(came, i * length + r0)
                a0, b0 = fused(a, unit, a0), fused(b, unit, b0)
                unit = load(came, i * length + r1)
                a1, b1 = fused(a, unit, a1), fused(b, unit, b1)
                unit = load(came, i * length + r2)
                a2, b2 = fused(a, unit, a2), fused(b, unit, b2)
                unit = load(came, i * length + r3)
                a3, b3 = fused(a, unit, a3), fused(b, unit, b3)
            own, other = j * length, k * length
            store(to, own + r0, a0)
            store(to, own + r1, a1)
            store(to, own + r2, a2)
            store(to, own + r3, a3)
            store(to, other + r0, b0)
            store(to, other + r1, b1)
            store(to, other + r2, b2)
            store(to, other + r3, b3)


@lean_inner_kernel
def add_products(came: FloatArray, n_from: int, deltas: FloatArray, n_to: int, n: int, sums: FloatArray) -> None:
    """``sums[i * n_to + j] += sum over rows of came[i] * deltas[j]``: the gradient of the weights between them.

    Args:
        came, deltas: flat blocks of n_from and n_to units. n: their rows; one of both is 0 beyond, to whole eights.
        sums: flat, of n_from * n_to entries.
    """
    length = row_length(n)
    if n == 1:
        for i in range(n_from):
            for j in range(n_to):
                sums[i * n_to + j] += came[i * length] * deltas[j * length]
        return
    last_from, last_to = n_from - 1, n_to - 1
    for i in range(0, n_from, 2):
        at_a, at_b = i * length, min(i + 1, last_from) * length
        for j in range(0, n_to, 4):
            d0, d1 = j * length, min(j + 1, last_to) * length
            d2, d3 = min(j + 2, last_to) * length, min(j + 3, last_to) * length
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = spread(0.0)
            for r in range(0, n, LANES):
                a, b = load(came, at_a + r), load(came, at_b + r)
                delta = load(deltas, d0 + r)
                a0, b0 = fused(delta, a, a0), fused(delta, b, b0)
                delta = load(deltas, d1 + r)
                a1, b1 = fused(delta, a, a1), fused(delta, b, b1)
                delta = load(deltas, d2 + r)
                a2, b2 = fused(delta, a, a2), fused(delta, b, b2)
                delta = load(deltas, d3 + r)
                a3, b3 = fused(delta, a, a3), fused(delta, b, b3)
            found = totals(a0, a1, a2, a3, b0, b1, b2, b3)
            if j + 4 <= n_to:
                add_lower(sums, i * n_to + j, found)
                if i < last_from:
                    add_upper(sums, (i + 1) * n_to + j, found)
            else:
                _add_some(sums, i * n_to + j, n_to - j, lane(found, 0), lane(found, 1), lane(found, 2))
                if i < last_from:
                    _add_some(sums, (i + 1) * n_to + j, n_to - j, lane(found, 4), lane(found, 5), lane(found, 6))


@lean_inner_kernel
def _add_some(sums: FloatArray, at: int, n: int, first: float, second: float, third: float) -> None:
    sums[at] += first
    if n > 1:
        sums[at + 1] += second
    if n > 2:
        sums[at + 2] += third
