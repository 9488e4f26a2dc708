"""Numbers as target: half squared errors, by least squares, ridge, lasso or elastic net."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.linear.descent import MAX_ROUNDS, elastic_net
from learners.linear.design import Design
from learners.linear.least_squares import factor, left_out_errors, refined
from learners.linear.penalty import Penalty
from learners.linear.response import Solutions
from learners.types import Array, FloatArray


@dataclass(frozen=True, eq=False)
class Gaussian:
    """The target of n rows.

    Attributes:
        target: divided by ``2**exponent``, so that the largest magnitude is near 1 and no square overflows.
        exponent: see there.
    """

    target: FloatArray
    exponent: int

    @classmethod
    def of(cls, target: FloatArray) -> Gaussian:
        """The response of plain numbers."""
        exponent = int(np.frexp(np.abs(target).max(initial=0.0))[1])
        return cls(np.ldexp(target, -exponent), exponent)

    def take(self, rows: Array) -> Gaussian:
        return Gaussian(self.target[rows], self.exponent)

    def centred(self, design: Design) -> tuple[FloatArray, float]:
        """The target less its mean, and the mean."""
        shares = design.weights / design.total
        mean = float(shares @ self.target)
        mean += float(shares @ (self.target - mean))
        return self.target - mean, mean

    def grid(self, design: Design, penalty: Penalty, n_alphas: int) -> FloatArray:
        rest, _ = self.centred(design)
        gradient = np.abs(design.standard.T @ (design.weights / design.total * rest)).max(initial=0.0)
        eigenvalue = 1.0
        if penalty.l1_ratio == 0:
            eigenvalue = float(np.max(factor(design).singular, initial=0.0)) ** 2
        grid = penalty.grid(float(gradient), eigenvalue, n_alphas, tall=len(rest) > design.standard.shape[1])
        with np.errstate(over="ignore", under="ignore"):
            return grid if penalty.is_quadratic else np.ldexp(grid, self.exponent)

    def solve(self, design: Design, penalty: Penalty, alphas: FloatArray) -> Solutions:
        rest, mean = self.centred(design)
        warnings: tuple[str, ...] = ()
        if penalty.is_quadratic or (len(alphas) == 1 and alphas[0] == 0):
            factored = factor(design)
            standard = factored.coefficients(design, rest, alphas)
        else:
            standard, warnings = self._net(design, penalty, alphas, rest)
        own, intercepts = design.unstandardised(standard, np.full(len(alphas), mean))
        if (penalty.is_quadratic or len(alphas) == 1) and alphas[-1] == 0:
            own[-1], intercepts[-1] = refined(design, factor(design), self.target, own[-1], float(intercepts[-1]))
        return Solutions(alphas, own[:, None, :], intercepts[:, None], warnings)

    def _net(
        self, design: Design, penalty: Penalty, alphas: FloatArray, rest: FloatArray
    ) -> tuple[FloatArray, tuple[str, ...]]:
        weighted = (design.weights / design.total)[:, None] * design.standard
        products, moments = design.standard.T @ weighted, weighted.T @ rest
        scale = float(np.sqrt(design.weights / design.total @ rest**2))
        ones = np.ones(len(moments))
        ratio = float(penalty.l1_ratio or 0.0)
        found = np.zeros((len(alphas), len(moments)))
        start, reached = np.zeros(len(moments)), True
        for place, alpha in enumerate(alphas.tolist()):
            with np.errstate(over="ignore", under="ignore"):
                first = float(np.ldexp(alpha * ratio, -self.exponent))
            start, done = elastic_net(products, moments, first * ones, alpha * (1 - ratio) * ones, start, scale)
            found[place], reached = start, reached and done
        said = f"coordinate descent stopped after {MAX_ROUNDS} rounds before coefficients stood still"
        return found, () if reached else (said,)

    def losses(self, scores: FloatArray) -> FloatArray:
        """Squared errors, in units of ``4**exponent``."""
        found: FloatArray = (scores[:, 0] - self.target) ** 2
        return found

    def left_out(self, design: Design, penalty: Penalty, alphas: FloatArray) -> FloatArray:
        """The error for each row when it is left out, in units of the target, by strength; shape (A, n).

        See :func:`learners.linear.least_squares.left_out_errors`.
        """
        rest, _ = self.centred(design)
        factored = factor(design)
        fitted = factored.coefficients(design, rest, alphas) @ design.standard.T
        return np.ldexp(left_out_errors(design, factored, rest, fitted, alphas), self.exponent)
