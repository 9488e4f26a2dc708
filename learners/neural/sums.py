"""Kernels of weighted sums over a block of rows: what the two passes through a layer spend their time on.

Blocks are (units, rows): the innermost loops run over rows, or over weights of one unit, each with a sum of its own,
so that they become vector instructions without any sum being added up in another order.
"""

from __future__ import annotations

from learners._accel import inner_kernel
from learners.types import FloatArray


@inner_kernel
def weighted_sums(
    weights: FloatArray, step_from: int, step_to: int, came: FloatArray, n_from: int, to: FloatArray
) -> None:
    """``to[j] = sum over i of weights[i * step_from + j * step_to] * came[i]``, of rows of blocks.

    Args:
        weights: of one layer, flat.
        step_from, step_to: how far apart the weights of neighbouring units lie.
        came: shape (at least n_from, n). to: shape (J, n); overwritten.
        n_from: how many units are added up.
    """
    n = to.shape[1]
    for j in range(to.shape[0]):
        own = to[j]
        for r in range(n):
            own[r] = 0.0
        at = j * step_to
        i = 0
        while i + 3 < n_from:
            w0, w1 = weights[at], weights[at + step_from]
            w2, w3 = weights[at + 2 * step_from], weights[at + 3 * step_from]
            a0, a1, a2, a3 = came[i], came[i + 1], came[i + 2], came[i + 3]
            for r in range(n):
                own[r] += (w0 * a0[r] + w1 * a1[r]) + (w2 * a2[r] + w3 * a3[r])
            at += 4 * step_from
            i += 4
        while i < n_from:
            w0, a0 = weights[at], came[i]
            for r in range(n):
                own[r] += w0 * a0[r]
            at += step_from
            i += 1


@inner_kernel
def add_products(
    came: FloatArray, deltas: FloatArray, sums: FloatArray, turned: FloatArray, scratch: FloatArray
) -> None:
    """``sums[i, j] += sum over rows of came[i] * deltas[j]``: the gradient of a layer's weights.

    The longer side is the inner loop's.

    Args:
        came: shape (I, n). deltas: shape (J, n). sums: flat, of I * J entries.
        turned: of n * max(I, J) entries. scratch: of I * J.
    """
    n_came, n_to, n = came.shape[0], deltas.shape[0], came.shape[1]
    if n_to >= n_came:
        rows = turned[: n * n_to].reshape(n, n_to)
        _turn(deltas, rows)
        _outer(came, rows, sums)
        return
    rows = turned[: n * n_came].reshape(n, n_came)
    _turn(came, rows)
    if n_to == 1:
        _outer(deltas, rows, sums)
        return
    for k in range(n_came * n_to):
        scratch[k] = 0.0
    _outer(deltas, rows, scratch)
    for j in range(n_to):
        for i in range(n_came):
            sums[i * n_to + j] += scratch[j * n_came + i]


@inner_kernel
def _turn(block: FloatArray, rows: FloatArray) -> None:
    for i in range(block.shape[0]):
        own = block[i]
        for r in range(block.shape[1]):
            rows[r, i] = own[r]


@inner_kernel
def _outer(left: FloatArray, right: FloatArray, sums: FloatArray) -> None:
    """``sums[i * J + j] += sum over r of left[i, r] * right[r, j]``."""
    n, size = right.shape
    for i in range(left.shape[0]):
        factors = left[i]
        own = sums[i * size : (i + 1) * size]
        r = 0
        while r + 3 < n:
            c0, c1, c2, c3 = factors[r], factors[r + 1], factors[r + 2], factors[r + 3]
            d0, d1, d2, d3 = right[r], right[r + 1], right[r + 2], right[r + 3]
            for j in range(size):
                own[j] += (c0 * d0[j] + c1 * d1[j]) + (c2 * d2[j] + c3 * d3[j])
            r += 4
        while r < n:
            c0, d0 = factors[r], right[r]
            for j in range(size):
                own[j] += c0 * d0[j]
            r += 1
