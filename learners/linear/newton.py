"""Cross-entropy minimised by Newton's method, which for these models is iteratively reweighted least squares.

Of many coefficients, whose second derivatives would be too many, by L-BFGS instead. Each class of three or more has a
function of its own; adding one function to all changes no probability, and of these equal solutions the one whose
functions sum to 0 is found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.link import cross_entropy, probabilities, with_reference
from learners.types import FloatArray

#: Steps without penalty after which the classes count as separable: each then moves the scores by about 1 for ever.
SEPARABLE_STEPS = 30
_STEPS = 100
#: A step that moves no score by more than this is the last one.
_MOVED = 1e-9
_HALVINGS = 40
#: Beyond so many coefficients second derivatives are not asked.
MOST_COEFFICIENTS = 1_500
_CONDITION = 1e-5
_RANK = 1e-12
_CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class Problem:
    """A ridge-penalised mean cross-entropy.

    Attributes:
        variables: with a last column of ones, shape (n, V + 1).
        codes: class of each row, 0 .. K - 1, each of which occurs; shape (n,).
        shares: the rows' weights, summing to 1, shape (n,).
        n_classes: K >= 2.
        ridge: strength of the penalty on each coefficient, 0 of the intercept; shape (V + 1,).
    """

    variables: FloatArray
    codes: FloatArray
    shares: FloatArray
    n_classes: int
    ridge: FloatArray

    @property
    def n_functions(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    def truth(self) -> FloatArray:
        """1 for the class of each row, by function, shape (F, n)."""
        first = 1 if self.n_classes == 2 else 0
        told: FloatArray = (self.codes == np.arange(first, self.n_classes)[:, None]).astype(np.float64)
        return told

    def likely(self, theta: FloatArray) -> FloatArray:
        """Probability of each function's class, shape (F, n)."""
        shares = probabilities(with_reference(theta @ self.variables.T))
        likely: FloatArray = shares[1:] if self.n_classes == 2 else shares
        return likely

    def value(self, theta: FloatArray) -> float:
        """What is minimised, of coefficients (F, V + 1)."""
        scores = with_reference(theta @ self.variables.T)
        loss = float(self.shares @ cross_entropy(scores, self.codes))
        return loss + 0.5 * float((self.ridge * theta**2).sum())

    def gradient(self, theta: FloatArray, likely: FloatArray) -> FloatArray:
        """Its derivatives, shape (F, V + 1)."""
        found: FloatArray = ((likely - self.truth()) * self.shares) @ self.variables + self.ridge * theta
        return found

    def information(self, likely: FloatArray) -> FloatArray:
        """Second derivatives of the loss alone, shape (F (V + 1), F (V + 1)).

        Blocks ``sum over rows of share p_k ([k = l] - p_l) x x'``: what is within a class, less one product of all
        the variables times their classes' probabilities, some rows at a time.
        """
        size = self.variables.shape[1]
        found = np.zeros((self.n_functions * size,) * 2)
        at_once = max(1, _CELLS_AT_ONCE // len(found))
        for first in range(0, len(self.variables), at_once):
            rows = slice(first, first + at_once)
            weighted = (likely[:, rows] * np.sqrt(self.shares[rows])).T
            spread = (weighted[:, :, None] * self.variables[rows, None, :]).reshape(len(weighted), -1)
            found -= spread.T @ spread
        for k in range(self.n_functions):
            own = slice(k * size, (k + 1) * size)
            found[own, own] += self.variables.T @ ((self.shares * likely[k])[:, None] * self.variables)
        return found

    def curvature(self, likely: FloatArray) -> FloatArray:
        """Second derivatives, and a bowl along what changes no probability, which moves no solution."""
        found = self.information(likely)
        found[np.diag_indices_from(found)] += np.tile(self.ridge, self.n_functions)
        if self.n_functions > 1:
            size = self.variables.shape[1]
            found += np.kron(np.full((self.n_functions,) * 2, 1.0 / self.n_functions), np.eye(size))
        return found


def minimise(problem: Problem, start: FloatArray) -> tuple[FloatArray, bool]:
    """The coefficients of the least value, shape (F, V + 1), and whether they were reached.

    Without penalty they are not if the classes are separable.
    """
    if start.size > MOST_COEFFICIENTS:
        return _quasi_newton(problem, start)
    theta, value = start, problem.value(start)
    for _ in range(_STEPS if problem.ridge.any() else SEPARABLE_STEPS):
        likely = problem.likely(theta)
        gradient = problem.gradient(theta, likely)
        step = -solve(problem.curvature(likely), gradient.ravel()).reshape(theta.shape)
        moved = float(np.abs(step @ problem.variables.T).max())
        if moved <= _MOVED:
            return theta + step, True
        slope = float((gradient * step).sum())
        length = 1.0
        for _ in range(_HALVINGS):
            tried = problem.value(theta + length * step)
            if tried <= value + 1e-4 * length * slope + 1e-15 * abs(value):
                break
            length /= 2
        else:
            return theta, moved <= 1e3 * _MOVED  # nothing better can be told from here
        theta, value = theta + length * step, tried
    return theta, False


def solve(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """``matrix`` symmetric and not negative: the solution, of several that of least norm."""
    try:
        triangle = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return inverse(matrix) @ vector
    diagonal = np.diag(triangle)
    if diagonal.min() <= _CONDITION * diagonal.max():
        return inverse(matrix) @ vector
    return np.asarray(np.linalg.solve(matrix, vector), dtype=np.float64)


def inverse(matrix: FloatArray) -> FloatArray:
    """The pseudo-inverse of a symmetric matrix that is not negative."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > _RANK * max(float(values[-1]), np.finfo(np.float64).tiny)
    found: FloatArray = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return found


def _quasi_newton(problem: Problem, start: FloatArray) -> tuple[FloatArray, bool]:
    from scipy.optimize import minimize  # large, and for large problems only

    def both(flat: FloatArray) -> tuple[float, FloatArray]:
        theta = flat.reshape(start.shape)
        return problem.value(theta), problem.gradient(theta, problem.likely(theta)).ravel()

    options = {"maxiter": 5_000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 20}
    found = minimize(both, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    theta: FloatArray = found.x.reshape(start.shape)
    scores = theta @ problem.variables.T
    return theta, bool(problem.ridge.any() or np.abs(scores).max() < SEPARABLE_STEPS)
