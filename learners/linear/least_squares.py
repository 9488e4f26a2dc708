"""Least squares and ridge regression by one singular value decomposition of the standardised variables.

With ``sqrt(w / W) Z = U S V'`` for variables Z of mean 0 and deviation 1, the coefficients for every strength alpha are
``V S / (S^2 + alpha) U' y`` (Hoerl and Kennard 1970; Golub and Van Loan, Matrix computations, section 6.1). **Rank
rule**: singular values below 1e-12 of the largest count as 0, so that collinear variables, and more variables than
rows, have the solution of least norm.

Leaving out a row changes its residual from e to ``e / (1 - h)``, with h its share in its own fit (Allen 1974): so all
of leave-one-out is one formula. The intercept is fitted anew in it; the units of the variables stay those of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.linear.design import Design
from learners.types import FloatArray

#: Singular values below this share of the largest count as 0.
RANK = 1e-12
#: Fits of at most so many numbers are refined with residuals of extended precision.
_REFINED = 2_000_000
_REFINEMENTS = 3
#: A row whose share in its own fit is nearer to 1 than this cannot be left out.
_ALONE = 1e-9


@dataclass(frozen=True, eq=False)
class Factored:
    """A design's decomposition.

    Attributes:
        left: U, shape (n, r). singular: S, > 0, descending, shape (r,). right: V, shape (V, r).
    """

    left: FloatArray
    singular: FloatArray
    right: FloatArray

    @property
    def rank(self) -> int:
        return len(self.singular)

    def coefficients(self, design: Design, target: FloatArray, alphas: FloatArray) -> FloatArray:
        """Of the standardised variables for each strength, shape (A, V).

        Args:
            target: of mean 0, shape (n,).
        """
        along = self.left.T @ (np.sqrt(design.weights / design.total) * target)
        shrunk = self.singular / (self.singular**2 + alphas[:, None]) * along
        found: FloatArray = shrunk @ self.right.T
        return found

    def leverages(self, design: Design, alphas: FloatArray) -> FloatArray:
        """Each row's share in its own fit for each strength, intercept included, shape (A, n)."""
        kept = self.singular**2 / (self.singular**2 + alphas[:, None])
        found: FloatArray = design.weights / design.total + kept @ (self.left**2).T
        return found


def factor(design: Design) -> Factored:
    """Decompose a design; a tall one first into Q and R."""
    weighted = np.sqrt(design.weights / design.total)[:, None] * design.standard
    n_rows, n_variables = weighted.shape
    if n_variables == 0:
        return Factored(np.zeros((n_rows, 0)), np.zeros(0), np.zeros((0, 0)))
    if n_rows > 2 * n_variables:
        orthogonal, triangle = np.linalg.qr(weighted)
        inner, singular, right = np.linalg.svd(triangle, full_matrices=False)
        left = orthogonal @ inner
    else:
        left, singular, right = np.linalg.svd(weighted, full_matrices=False)
    rank = int(np.count_nonzero(singular > RANK * singular[0]))
    return Factored(left[:, :rank], singular[:rank], right[:rank].T)


def refined(
    design: Design, factored: Factored, target: FloatArray, coefficients: FloatArray, intercept: float
) -> tuple[FloatArray, float]:
    """Least squares solved again for what rounding left of the residuals' orthogonality (Bjorck 1967).

    Residuals are of the variables as they follow from the cells in extended precision, where the machine has any, so
    that rounding in the standardised variables is mended too.

    Args:
        target: shape (n,).
        coefficients, intercept: of the encoding's variables, shape (V,).
    """
    if design.standard.size > _REFINED or not factored.rank:
        return coefficients, intercept
    exact = design.encoding.values(design.cells, design.columns, np.longdouble)
    centred = (exact - design.mean) / design.deviation
    shares = design.weights.astype(np.longdouble) / design.weights.sum()
    solution, constant = coefficients.astype(np.longdouble), np.longdouble(intercept)
    for _ in range(_REFINEMENTS):
        rest = target - constant - exact @ solution
        left = float(shares @ rest)
        gradient = (centred.T @ (shares * (rest - left))).astype(np.float64)
        step = factored.right @ ((factored.right.T @ gradient) / factored.singular**2) / design.deviation
        solution = solution + step
        constant = constant + left - step @ design.mean
    return solution.astype(np.float64), float(constant)


def left_out_errors(
    design: Design, factored: Factored, target: FloatArray, fitted: FloatArray, alphas: FloatArray
) -> FloatArray:
    """The error for each row if it is left out of the fit, by strength, shape (A, n).

    A row that alone tells a coefficient cannot be left out; its error is infinite.

    Args:
        target: shape (n,). fitted: for each strength, shape (A, n).
    """
    left = 1.0 - factored.leverages(design, alphas)
    alone = left < _ALONE
    return np.where(alone, np.inf, (target - fitted) / np.where(alone, 1.0, left))
