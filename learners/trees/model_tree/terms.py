"""Which terms of a linear model pay.

Terms are dropped one by one, each time that whose loss adds least to the squared error, down to the mean alone;
of all these models the one of least adjusted error is kept, and of equal ones that of fewest terms:

    adjusted error = mean |residual| * (n + v) / (n - v),   v parameters (terms and intercept), n rows

Source: Quinlan, Learning with continuous classes (1992); Wang and Witten (1997). Where n <= v, a model with
terms estimates nothing, and is not kept.
"""

from __future__ import annotations

import math

import numpy as np

from learners._accel import inner_kernel, kernel
from learners.trees.model_tree.least_squares import cheapest, drop, orthogonalise, solve, standardise
from learners.types import BoolArray, FloatArray, Int8Array, Int32Array, IntArray


@kernel
def fit_nodes(  # noqa: PLR0913, PLR0917 - nodes, rows and variables are this many arrays
    first: IntArray,
    candidates: IntArray,
    starts: IntArray,
    ends: IntArray,
    counts: FloatArray,
    rows: IntArray,
    weights: FloatArray,
    target: FloatArray,
    cells: FloatArray,
    column: Int32Array,
    start: IntArray,
    levels: Int8Array,
    slack: float,
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """:func:`fit_terms` of several nodes.

    Args:
        first, candidates: node i has the variables ``candidates[first[i] : first[i + 1]]``.
        starts, ends: and the entries ``starts[i] : ends[i]``; counts: as so many rows.
        rows, weights: of all entries.
        target, cells: of all rows, shapes (n,) and (d, n).
        column, start, levels: see :class:`~learners.trees.model_tree.variables.Variables`.
        slack: as there.

    Returns:
        Intercepts and errors by node; coefficients and whether they are kept by candidate.
    """
    n_nodes = starts.shape[0]
    intercepts = np.empty(n_nodes)
    errors = np.empty(n_nodes)
    coefficients = np.zeros(candidates.shape[0])
    kept = np.zeros(candidates.shape[0], np.bool_)
    for node in range(n_nodes):
        own = rows[starts[node] : ends[node]]
        listed = candidates[first[node] : first[node + 1]]
        design = np.empty((listed.shape[0], own.shape[0]))
        for j in range(listed.shape[0]):
            _gather(cells[column[listed[j]]], own, start[listed[j]], levels, design[j])
        intercepts[node], found, chosen, errors[node] = fit_terms(
            design, target[own], weights[starts[node] : ends[node]], counts[node], slack
        )
        coefficients[first[node] : first[node + 1]] = found
        kept[first[node] : first[node + 1]] = chosen
    return intercepts, errors, coefficients, kept


@inner_kernel
def _gather(cells: FloatArray, rows: IntArray, start: int, levels: Int8Array, out: FloatArray) -> None:
    """A variable of some rows: a number, or what is told of a level; NaN where nothing is known."""
    for i in range(rows.shape[0]):
        value = cells[rows[i]]
        if start >= 0 and not math.isnan(value):
            told = levels[start + int(value)] if value >= 0.0 else -1
            value = float(told) if told >= 0 else np.nan
        out[i] = value


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
    for i in range(n_entries):
        total += weights[i]
    shares = weights / total
    intercept = 0.0
    for i in range(n_entries):
        intercept += shares[i] * target[i]
    centred = target - intercept
    columns = np.empty((n_variables, n_entries))
    means = np.zeros(n_variables)
    deviations = np.zeros(n_variables)
    for j in range(n_variables):
        means[j], deviations[j] = standardise(design[j], weights, total, columns[j])
    roots = np.empty(n_entries)
    for i in range(n_entries):
        roots[i] = math.sqrt(shares[i])
    active, upper, shadow = orthogonalise(columns, deviations, centred, roots)
    solution, error = _best_of_all(columns[active], upper, shadow, centred, shares, rows, slack)
    coefficients = np.zeros(n_variables)
    chosen = np.zeros(n_variables, np.bool_)
    for k in range(active.shape[0]):
        if not math.isnan(solution[k]):
            j = active[k]
            chosen[j] = True
            coefficients[j] = solution[k] / deviations[j]
            intercept -= coefficients[j] * means[j]
    return intercept, coefficients, chosen, error


@kernel
def adjusted(error: float, rows: float, parameters: float, multiplier: float) -> float:
    """The error that is expected on other rows, ``error * (n + multiplier v) / (n - v)``.

    It is infinite where parameters are as many as rows; but a single parameter, the mean, is always allowed.
    """
    if rows > parameters:
        return error * (rows + multiplier * parameters) / (rows - parameters)
    return error if parameters <= 1 else np.inf


@inner_kernel
def _best_of_all(
    columns: FloatArray,
    upper: FloatArray,
    shadow: FloatArray,
    centred: FloatArray,
    shares: FloatArray,
    rows: float,
    slack: float,
) -> tuple[FloatArray, float]:
    """Coefficients of the best model, NaN where a term is dropped, and its mean absolute residual."""
    count = columns.shape[0]
    tried = np.full((count + 1, count), np.nan)
    errors = np.empty(count + 1)
    plain = np.empty(count + 1)
    places = np.arange(count)
    for size in range(count, -1, -1):
        solution = solve(upper, shadow, size)
        for k in range(size):
            tried[size, places[k]] = solution[k]
        plain[size] = _mean_residual(columns, tried[size], centred, shares)
        errors[size] = adjusted(plain[size], rows, size + 1.0, 1.0)
        if size > 0:
            drop(cheapest(upper, solution, size), upper, shadow, places, size)
    least = errors.min()
    best = 0
    while errors[best] > least + slack:
        best += 1
    return tried[best], plain[best]


@inner_kernel
def _mean_residual(columns: FloatArray, solution: FloatArray, centred: FloatArray, shares: FloatArray) -> float:
    rest = centred.copy()
    for k in range(columns.shape[0]):
        if not math.isnan(solution[k]):
            for i in range(rest.shape[0]):
                rest[i] -= solution[k] * columns[k, i]
    error = 0.0
    for i in range(rest.shape[0]):
        error += shares[i] * abs(rest[i])
    return error
