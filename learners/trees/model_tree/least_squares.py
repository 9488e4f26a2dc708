"""Least squares on the rows of a node, and the dropping of terms that do not pay.

The columns are centred by their weighted means, scaled to length 1 and made orthogonal one after the other
(modified Gram-Schmidt, each column twice). **Rank rule**: a column of which less than 1e-7 of its length is left
after those before it are taken out is left out of the model; so is one whose spread is below 1e-12 of its
largest magnitude or below 1e-140, which counts as constant. A missing value is the column's mean.

Then terms are dropped one by one, each time that whose loss adds least to the squared error, down to the mean
alone; of all these models the one of least adjusted error is kept, and of equal ones that of fewest terms:

    adjusted error = mean |residual| * (n + v) / (n - v),   v parameters (terms and intercept), n rows

Source: Quinlan, Learning with continuous classes (1992); Wang and Witten (1997). Where n <= v, a model with
terms estimates nothing, and is not kept.
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import inner_kernel, kernel
from learners.types import BoolArray, FloatArray, IntArray

#: What must be left of a column's length; see the module.
_RANK = 1e-7
_SPREAD = 1e-12
_LEAST_SPREAD = 1e-140


@kernel
def fit_terms(
    design: FloatArray, target: FloatArray, weights: FloatArray, rows: float, slack: float
) -> tuple[float, FloatArray, BoolArray, float]:
    """Fit a linear model and drop terms.

    Args:
        design: candidate variables, shape (v, m), the ones to be preferred first; NaN is missing.
        target, weights: shape (m,); weights > 0.
        rows: n of the adjusted error.
        slack: errors nearer than this are equal.

    Returns:
        Intercept; coefficients, shape (v,), 0 where dropped; which terms are kept, shape (v,); and the mean
        absolute residual, not adjusted.
    """
    n_variables, n_entries = design.shape
    total = 0.0
    mean = 0.0
    for i in range(n_entries):
        total += weights[i]
    for i in range(n_entries):
        mean += weights[i] / total * target[i]
    centred = np.empty(n_entries)
    for i in range(n_entries):
        centred[i] = target[i] - mean
    columns = np.empty((n_variables, n_entries))
    means = np.zeros(n_variables)
    lengths = np.zeros(n_variables)
    for j in range(n_variables):
        means[j], lengths[j] = _standardise(design[j], weights, total, columns[j])
    active, upper, shadow = _orthogonalise(columns, lengths, centred, weights)
    count = active.shape[0]
    tried = np.zeros((count + 1, count))
    kept = np.zeros((count + 1, count), np.bool_)
    errors = np.empty(count + 1)
    plain = np.empty(count + 1)
    places = np.arange(count)
    for size in range(count, -1, -1):
        solution = _solve(upper, shadow, size)
        for k in range(size):
            tried[size, places[k]] = solution[k]
            kept[size, places[k]] = True
        plain[size] = _mean_residual(columns, active, tried[size], kept[size], centred, weights, total)
        errors[size] = adjusted(plain[size], rows, size + 1.0, 1.0)
        if size > 0:
            _drop(_cheapest(upper, solution, size), upper, shadow, places, size)
    least = errors[0]
    for size in range(count + 1):
        least = min(least, errors[size])
    best = 0
    while errors[best] > least + slack:
        best += 1
    coefficients = np.zeros(n_variables)
    chosen = np.zeros(n_variables, np.bool_)
    intercept = mean
    for k in range(count):
        if kept[best, k]:
            j = active[k]
            chosen[j] = True
            coefficients[j] = tried[best, k] / lengths[j]
            intercept -= coefficients[j] * means[j]
    return intercept, coefficients, chosen, plain[best]


@kernel
def adjusted(error: float, rows: float, parameters: float, multiplier: float) -> float:
    """The error that is expected on other rows, ``error * (n + multiplier v) / (n - v)``.

    It is infinite where parameters are as many as rows; but a single parameter, the mean, is always allowed.
    """
    if rows > parameters:
        return error * (rows + multiplier * parameters) / (rows - parameters)
    return error if parameters <= 1 else np.inf


@inner_kernel
def _standardise(cells: FloatArray, weights: FloatArray, total: float, out: FloatArray) -> tuple[float, float]:
    """Write the column centred and of weighted length 1 to ``out``; returns mean and length, 0 if constant."""
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
def _orthogonalise(
    columns: FloatArray, lengths: FloatArray, centred: FloatArray, weights: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """The columns that stay by the rank rule, the triangle that makes them of orthogonal ones, and the target's
    part in each of those."""
    n_variables, n_entries = columns.shape
    total = 0.0
    for i in range(n_entries):
        total += weights[i]
    roots = np.empty(n_entries)
    for i in range(n_entries):
        roots[i] = math.sqrt(weights[i] / total)
    basis = np.empty((min(n_variables, n_entries), n_entries))
    upper = np.zeros((basis.shape[0], basis.shape[0]))
    active = np.empty(basis.shape[0], np.int64)
    count = 0
    rest = np.empty(n_entries)
    parts = np.empty(basis.shape[0])
    for j in range(n_variables):
        if lengths[j] == 0.0 or count == basis.shape[0]:
            continue
        for i in range(n_entries):
            rest[i] = roots[i] * columns[j, i]
        parts[:] = 0.0
        for _ in range(2):
            for k in range(count):
                part = 0.0
                for i in range(n_entries):
                    part += basis[k, i] * rest[i]
                for i in range(n_entries):
                    rest[i] -= part * basis[k, i]
                parts[k] += part
        length = 0.0
        for i in range(n_entries):
            length += rest[i] ** 2
        length = math.sqrt(length)
        if length < _RANK:
            continue
        for i in range(n_entries):
            basis[count, i] = rest[i] / length
        upper[:count, count] = parts[:count]
        upper[count, count] = length
        active[count] = j
        count += 1
    shadow = np.zeros(count)
    for k in range(count):
        for i in range(n_entries):
            shadow[k] += basis[k, i] * roots[i] * centred[i]
    return active[:count], upper[:count, :count].copy(), shadow


@inner_kernel
def _solve(upper: FloatArray, shadow: FloatArray, size: int) -> FloatArray:
    """Back substitution."""
    solution = np.zeros(size)
    for k in range(size - 1, -1, -1):
        value = shadow[k]
        for later in range(k + 1, size):
            value -= upper[k, later] * solution[later]
        solution[k] = value / upper[k, k]
    return solution


@inner_kernel
def _mean_residual(
    columns: FloatArray,
    active: IntArray,
    solution: FloatArray,
    kept: BoolArray,
    centred: FloatArray,
    weights: FloatArray,
    total: float,
) -> float:
    rest = centred.copy()
    for k in range(active.shape[0]):
        if kept[k]:
            for i in range(rest.shape[0]):
                rest[i] -= solution[k] * columns[active[k], i]
    error = 0.0
    for i in range(rest.shape[0]):
        error += weights[i] / total * abs(rest[i])
    return error


@inner_kernel
def _cheapest(upper: FloatArray, solution: FloatArray, size: int) -> int:
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
def _drop(gone: int, upper: FloatArray, shadow: FloatArray, places: IntArray, size: int) -> None:
    """Take a column out of the triangle, and make it one again by rotations."""
    for k in range(gone, size - 1):
        places[k] = places[k + 1]
        for row in range(size):
            upper[row, k] = upper[row, k + 1]
    for k in range(gone, size - 1):
        a = upper[k, k]
        b = upper[k + 1, k]
        length = math.hypot(a, b)
        cosine = a / length
        sine = b / length
        for column in range(k, size - 1):
            high = upper[k, column]
            low = upper[k + 1, column]
            upper[k, column] = cosine * high + sine * low
            upper[k + 1, column] = cosine * low - sine * high
        high = shadow[k]
        low = shadow[k + 1]
        shadow[k] = cosine * high + sine * low
        shadow[k + 1] = cosine * low - sine * high
