"""Weighted least squares on the rows of a node: columns made comparable, made orthogonal, and solved.

The columns are centred by their weighted means, scaled to length 1 and made orthogonal one after the other
(modified Gram-Schmidt, each column twice). **Rank rule**: a column of which less than 1e-7 of its length is left
after those before it are taken out is left out of the model; so is one whose spread is below 1e-12 of its
largest magnitude or below 1e-140, which counts as constant. A missing value is the column's mean.
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import inner_kernel
from learners.types import FloatArray, IntArray

#: What must be left of a column's length; see the module.
_RANK = 1e-7
_SPREAD = 1e-12
_LEAST_SPREAD = 1e-140


@inner_kernel
def standardise(cells: FloatArray, weights: FloatArray, total: float, out: FloatArray) -> tuple[float, float]:
    """Write the column, centred and of mean square 1, to ``out``; returns mean and deviation, 0 if constant."""
    largest = 0.0
    known = 0.0
    for i in range(cells.shape[0]):
        if not math.isnan(cells[i]):
            largest = max(largest, abs(cells[i]))
            known += weights[i]
    if largest == 0.0 or known == 0.0:
        return 0.0, 0.0
    mean = 0.0
    for i in range(cells.shape[0]):
        if not math.isnan(cells[i]):
            mean += weights[i] / known * (cells[i] / largest)
    squares = 0.0
    for i in range(cells.shape[0]):
        out[i] = 0.0 if math.isnan(cells[i]) else cells[i] / largest - mean
        squares += weights[i] / total * out[i] ** 2
    spread = math.sqrt(squares)
    if spread < _SPREAD or spread * largest < _LEAST_SPREAD:
        return mean * largest, 0.0
    for i in range(cells.shape[0]):
        out[i] /= spread
    return mean * largest, spread * largest


@inner_kernel
def orthogonalise(
    columns: FloatArray, deviations: FloatArray, target: FloatArray, roots: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Which columns stay by the rank rule, the triangle that makes them of orthogonal ones, the target in those.

    Args:
        columns: as :func:`standardise` leaves them, shape (v, m); deviation 0 marks one to leave out.
        target: centred, shape (m,).
        roots: of the weights' shares of their sum, shape (m,).
    """
    n_variables, n_entries = columns.shape
    basis = np.empty((min(n_variables, n_entries), n_entries))
    upper = np.zeros((basis.shape[0], basis.shape[0]))
    active = np.empty(basis.shape[0], np.int64)
    count = 0
    rest = np.empty(n_entries)
    for j in range(n_variables):
        if deviations[j] == 0.0 or count == basis.shape[0]:
            continue
        for i in range(n_entries):
            rest[i] = roots[i] * columns[j, i]
        upper[:, count] = 0.0
        length = _take_out(rest, basis, count, upper)
        if length >= _RANK:
            for i in range(n_entries):
                basis[count, i] = rest[i] / length
            upper[count, count] = length
            active[count] = j
            count += 1
    shadow = np.zeros(count)
    for k in range(count):
        for i in range(n_entries):
            shadow[k] += basis[k, i] * roots[i] * target[i]
    return active[:count], upper[:count, :count].copy(), shadow


@inner_kernel
def _take_out(rest: FloatArray, basis: FloatArray, count: int, upper: FloatArray) -> float:
    """Take the first ``count`` rows of the basis out of a vector, their parts into the triangle; the length left."""
    for _ in range(2):  # the second time takes out what rounding has left
        for k in range(count):
            part = 0.0
            for i in range(rest.shape[0]):
                part += basis[k, i] * rest[i]
            for i in range(rest.shape[0]):
                rest[i] -= part * basis[k, i]
            upper[k, count] += part
    square = 0.0
    for i in range(rest.shape[0]):
        square += rest[i] ** 2
    return math.sqrt(square)


@inner_kernel
def solve(upper: FloatArray, shadow: FloatArray, size: int) -> FloatArray:
    """Back substitution in the leading triangle of that size."""
    solution = np.zeros(size)
    for k in range(size - 1, -1, -1):
        value = shadow[k]
        for later in range(k + 1, size):
            value -= upper[k, later] * solution[later]
        solution[k] = value / upper[k, k]
    return solution


@inner_kernel
def cheapest(upper: FloatArray, solution: FloatArray, size: int) -> int:
    """The term whose loss adds least to the squared error: b^2 over its entry of the inverse of R'R."""
    inverse = np.zeros((size, size))
    for k in range(size):
        inverse[k, k] = 1.0 / upper[k, k]
        for row in range(k - 1, -1, -1):
            value = 0.0
            for later in range(row + 1, k + 1):
                value -= upper[row, later] * inverse[later, k]
            inverse[row, k] = value / upper[row, row]
    best = 0
    least = np.inf
    for row in range(size):
        square = 0.0
        for k in range(row, size):
            square += inverse[row, k] ** 2
        loss = solution[row] ** 2 / square
        if loss < least:
            least = loss
            best = row
    return best


@inner_kernel
def drop(gone: int, upper: FloatArray, shadow: FloatArray, places: IntArray, size: int) -> None:
    """Take a column out of the triangle, and make it one again by rotations."""
    for k in range(gone, size - 1):
        places[k] = places[k + 1]
        for row in range(size):
            upper[row, k] = upper[row, k + 1]
    for k in range(gone, size - 1):
        length = math.hypot(upper[k, k], upper[k + 1, k])
        cosine = upper[k, k] / length
        sine = upper[k + 1, k] / length
        for column in range(k, size - 1):
            high = upper[k, column]
            low = upper[k + 1, column]
            upper[k, column] = cosine * high + sine * low
            upper[k + 1, column] = cosine * low - sine * high
        high = shadow[k]
        low = shadow[k + 1]
        shadow[k] = cosine * high + sine * low
        shadow[k + 1] = cosine * low - sine * high
