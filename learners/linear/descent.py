"""Coordinate descent for penalties with absolute values, on the variables' products.

Minimised is ``b' G b / 2 - m' b + l1 |b|_1 + l2 / 2 |b|_2^2``; with G and m the weighted mean products of the variables
with each other and with the target this is an elastic net (Friedman, Hastie and Tibshirani 2010, with covariance
updates). Where the signs are found the coefficients that are not 0 follow from linear equations, which are solved at
the end, so that they are right to the last digits.
"""

from __future__ import annotations

import numpy as np

from learners._accel import kernel
from learners.types import FloatArray

#: Most rounds over all coefficients, and the largest change that ends them.
MAX_ROUNDS = 5_000
_CHANGE = 1e-9


@kernel
def descend(
    products: FloatArray,
    gradient: FloatArray,
    first: FloatArray,
    second: FloatArray,
    solution: FloatArray,
    limits: FloatArray,
) -> int:
    """Move one coefficient after the other to its minimum until none moves; returns the number of rounds.

    Args:
        products: G, shape (V, V).
        gradient: m - G b, shape (V,); kept so.
        first, second: l1 and l2 of each coefficient, shape (V,).
        solution: b, shape (V,); changed in place.
        limits: the largest change that ends it, and the most rounds.
    """
    rounds = 0
    while rounds < limits[1]:
        rounds += 1
        largest = 0.0
        for j in range(solution.shape[0]):
            own = products[j, j]
            if own + second[j] <= 0.0:
                continue
            pull = gradient[j] + own * solution[j]
            new = 0.0
            if pull > first[j]:
                new = (pull - first[j]) / (own + second[j])
            elif pull < -first[j]:
                new = (pull + first[j]) / (own + second[j])
            change = new - solution[j]
            if change != 0.0:
                solution[j] = new
                gradient -= change * products[j]
                largest = max(largest, abs(change))
        if largest <= limits[0]:
            break
    return rounds


def elastic_net(
    products: FloatArray,
    moments: FloatArray,
    first: FloatArray,
    second: FloatArray,
    start: FloatArray,
    scale: float,
    rounds: int = MAX_ROUNDS,
) -> tuple[FloatArray, bool]:
    """The minimum, and whether it was reached.

    Args:
        products, moments: G and m. first, second: l1 and l2, shape (V,). start: where to begin, shape (V,).
        scale: size of the target: coefficients that change by less than 1e-9 of it stand.
        rounds: most rounds.
    """
    solution = start.copy()
    gradient = moments - products @ solution
    limits = np.array([_CHANGE * scale, float(rounds)])
    used = descend(products, gradient, first, second, solution, limits)
    return _polished(products, moments, first, second, solution), used < rounds


def _polished(
    products: FloatArray, moments: FloatArray, first: FloatArray, second: FloatArray, found: FloatArray
) -> FloatArray:
    """The same from its signs by linear equations, if these have one solution and it has these signs."""
    active = np.flatnonzero(found)
    if not len(active):
        return found
    matrix = products[np.ix_(active, active)] + np.diag(second[active])
    signs = np.sign(found[active])
    try:
        with np.errstate(all="ignore"):
            exact = np.linalg.solve(matrix, moments[active] - first[active] * signs)
    except np.linalg.LinAlgError:
        return found
    near = np.abs(exact - found[active]).max() <= 1e-4 * np.abs(found).max()
    if not near or (np.sign(exact) != signs).any():
        return found
    polished = np.zeros_like(found)
    polished[active] = exact
    return polished
