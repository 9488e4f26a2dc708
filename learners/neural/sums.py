"""Kernels of weighted sums over a block of rows: what the two passes through a layer spend their time on.

Blocks are (units, rows): the innermost loops run over rows, or over weights of one unit, each with a sum of its own,
so that they become vector instructions without any sum being added up in another order: by fours, and one by one what
is left. What comes in is read once; what is added to stays in the nearest cache meanwhile.
"""

from __future__ import annotations

from learners._accel import lean_inner_kernel
from learners.neural.problem import SUM_ROWS
from learners.types import FloatArray, IntArray


@lean_inner_kernel
def weighted_sums(
    weights: FloatArray, step_from: int, step_to: int, came: FloatArray, order: IntArray, to: FloatArray
) -> None:
    """``to[j] = sum over i of weights[i * step_from + j * step_to] * came[order[i]]``, of rows of blocks.

    Args:
        weights: flat.
        step_from, step_to: how far apart the weights of neighbours that come in, and that they go to, lie.
        came: shape (any, n). order: which of its rows come in.
        to: shape (J, at least n); overwritten.
    """
    flat = to.reshape(to.size)
    for k in range(flat.shape[0]):
        flat[k] = 0.0
    _add_weighted(weights, step_from, step_to, came, order, to)


@lean_inner_kernel
def _add_weighted(
    weights: FloatArray, step_from: int, step_to: int, came: FloatArray, order: IntArray, to: FloatArray
) -> None:
    """The same, added to ``to``."""
    n_from = order.shape[0]
    n_eights, n_fours = n_from // 8 * 8, n_from // 4 * 4
    for i in range(0, n_eights, 8):
        _add_eight(weights[i * step_from :], step_from, step_to, came, order[i : i + 8], to)
    if n_eights < n_fours:
        i = n_eights
        a0, a1, a2, a3 = came[order[i]], came[order[i + 1]], came[order[i + 2]], came[order[i + 3]]
        for j in range(to.shape[0]):
            own, at = to[j], i * step_from + j * step_to
            w0, w1 = weights[at], weights[at + step_from]
            w2, w3 = weights[at + 2 * step_from], weights[at + 3 * step_from]
            for r in range(a0.shape[0]):
                own[r] += (w0 * a0[r] + w1 * a1[r]) + (w2 * a2[r] + w3 * a3[r])
    for i in range(n_fours, n_from):
        a0 = came[order[i]]
        for j in range(to.shape[0]):
            own, w0 = to[j], weights[i * step_from + j * step_to]
            for r in range(a0.shape[0]):
                own[r] += w0 * a0[r]


@lean_inner_kernel
def _add_eight(
    weights: FloatArray, step_from: int, step_to: int, came: FloatArray, order: IntArray, to: FloatArray
) -> None:
    """Two fours, between which a sum is neither stored nor loaded."""
    a0, a1, a2, a3 = came[order[0]], came[order[1]], came[order[2]], came[order[3]]
    a4, a5, a6, a7 = came[order[4]], came[order[5]], came[order[6]], came[order[7]]
    two, three, four = 2 * step_from, 3 * step_from, 4 * step_from
    for j in range(to.shape[0]):
        own, at = to[j], j * step_to
        w0, w1, w2, w3 = weights[at], weights[at + step_from], weights[at + two], weights[at + three]
        at += four
        w4, w5, w6, w7 = weights[at], weights[at + step_from], weights[at + two], weights[at + three]
        for r in range(a0.shape[0]):
            own[r] = (own[r] + ((w0 * a0[r] + w1 * a1[r]) + (w2 * a2[r] + w3 * a3[r]))) + (
                (w4 * a4[r] + w5 * a5[r]) + (w6 * a6[r] + w7 * a7[r])
            )


@lean_inner_kernel
def add_products(came: FloatArray, deltas: FloatArray, sums: FloatArray, turned: FloatArray, places: IntArray) -> None:
    """``sums[i, j] += sum over rows of came[i] * deltas[j]``: the gradient of weights to at least as many units.

    Args:
        came: shape (I, n). deltas: shape (J, n), J >= I. sums: flat, of I * J entries.
        turned: scratch of n * J entries.
        places: 0, 1, 2, ..., at least n.
    """
    n_came, n_to, n = came.shape[0], deltas.shape[0], came.shape[1]
    rows = turned[: n * n_to].reshape(n, n_to)
    turn(deltas, rows)
    _add_weighted(came.reshape(came.size), 1, n, rows, places[:n], sums.reshape(n_came, n_to))


@lean_inner_kernel
def add_products_of_rows(
    rows: FloatArray, order: IntArray, deltas: FloatArray, sums: FloatArray, scratch: FloatArray
) -> None:
    """``sums[i, j] += sum over r of rows[order[r], i] * deltas[j, r]``: the same of weights to fewer units.

    Args:
        rows: shape (any, I). order: n of them. deltas: shape (J, n).
        sums: flat, of (I + 1) * J entries, the last for an input that is always 1. scratch: as large.
    """
    n_came, (n_to, n) = rows.shape[1] + 1, deltas.shape
    flat = deltas.reshape(deltas.size)
    if n_to == 1:
        found = sums.reshape(1, n_came)
        _add_weighted(flat, 1, n, rows, order, found)
        _add_ones(deltas, 0, n, found)
        return
    found = scratch[: n_came * n_to].reshape(n_to, n_came)
    for first in range(0, n, SUM_ROWS):
        end = min(first + SUM_ROWS, n)
        weighted_sums(flat[first:], 1, n, rows, order[first:end], found)
        _add_ones(deltas, first, end, found)
        for i in range(n_came):
            for j in range(n_to):
                sums[i * n_to + j] += found[j, i]


@lean_inner_kernel
def _add_ones(deltas: FloatArray, first: int, end: int, to: FloatArray) -> None:
    """Add to the last entry of each of ``to`` the sum of some of its row of ``deltas``, in the order of all sums."""
    last = to.shape[1] - 1
    fours = end - (end - first) % 4
    for j in range(deltas.shape[0]):
        own, total = deltas[j], to[j, last]
        for r in range(first, fours, 4):
            total += (own[r] + own[r + 1]) + (own[r + 2] + own[r + 3])
        for r in range(fours, end):
            total += own[r]
        to[j, last] = total


@lean_inner_kernel
def turn(block: FloatArray, rows: FloatArray) -> None:
    """``rows[r, i] = block[i, r]``, four units at a time: few lines of the cache are written at once."""
    n_units, n = block.shape
    n_fours = n_units // 4 * 4
    for i in range(0, n_fours, 4):
        a0, a1, a2, a3 = block[i], block[i + 1], block[i + 2], block[i + 3]
        for r in range(n):
            own = rows[r]
            own[i], own[i + 1], own[i + 2], own[i + 3] = a0[r], a1[r], a2[r], a3[r]
    for i in range(n_fours, n_units):
        a0 = block[i]
        for r in range(n):
            rows[r, i] = a0[r]
