"""Directions in which the rows of a node differ in class or number: regularised logistic or least-squares regression.

Columns are scaled to mean 0 and deviation 1 beforehand, so the penalty ``l2 / 2`` times the squares of their weights
treats them alike; the intercept is not penalised. Losses are means over the rows' weight, so ``l2`` means the same
in a large node and a small one.
"""

from __future__ import annotations

import numpy as np

from learners.types import BoolArray, FloatArray

_MOST_STEPS, _MOST_HALVINGS = 25, 20
_NEAR = 1e-8


def scaled(cells: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Columns less their weighted means in units of their deviations, and those; 0 for a column that is constant.

    Args:
        cells: finite, shape (m, p).
        weights: shape (m,).
    """
    size = np.maximum(np.abs(cells).max(axis=0), np.finfo(np.float64).tiny)
    part = weights / weights.sum()
    shrunk = cells / size
    centred = shrunk - part @ shrunk
    deviation = np.sqrt(part @ centred**2)
    usable = deviation > _NEAR * np.abs(shrunk).max(axis=0)
    deviation = np.where(usable, deviation, 0.0)
    return np.where(usable, centred / np.where(usable, deviation, 1.0), 0.0), deviation * size


def logistic(x: FloatArray, wanted: BoolArray, weights: FloatArray, l2: float) -> FloatArray:
    """The weights, shape (p,), of a logistic regression with a penalty, by Newton's method with halved steps.

    Args:
        x: scaled columns, shape (m, p).
        wanted: the class, shape (m,).
        weights: shape (m,).
        l2: > 0.
    """
    part = weights / weights.sum()
    design = np.column_stack((np.ones(len(x)), x))
    penalty = np.full(design.shape[1], l2)
    penalty[0] = 0.0
    signs = np.where(wanted, 1.0, -1.0)
    beta = np.zeros(design.shape[1])

    def loss(at: FloatArray) -> float:
        return float(part @ np.logaddexp(0.0, -signs * (design @ at)) + (penalty * at**2).sum() / 2)

    now = loss(beta)
    for _ in range(_MOST_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(design @ beta, -500, 500)))
        gradient = design.T @ (part * (chance - wanted)) + penalty * beta
        bent = (design * (part * chance * (1 - chance))[:, None]).T @ design
        step = np.linalg.solve(bent + np.diag(np.maximum(penalty, _NEAR)), gradient)
        tried = beta - step
        for _ in range(_MOST_HALVINGS):
            if loss(tried) <= now:
                break
            step = step / 2
            tried = beta - step
        if not loss(tried) < now - _NEAR:
            break
        beta, now = tried, loss(tried)
    return np.asarray(beta[1:])


def least_squares(x: FloatArray, target: FloatArray, weights: FloatArray, l2: float) -> FloatArray:
    """The weights, shape (p,), of a ridge regression of a target in units of its deviation."""
    part = weights / weights.sum()
    centred = target - part @ target
    centred = centred / max(float(np.sqrt(part @ centred**2)), np.finfo(np.float64).tiny)
    moments = (x * part[:, None]).T @ x + np.diag(np.full(x.shape[1], max(l2, _NEAR)))
    return np.linalg.solve(moments, x.T @ (part * centred))
