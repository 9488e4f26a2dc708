"""Classes as target: the cross-entropy of logistic and softmax regression, with each penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.linear.descent import elastic_net
from learners.linear.design import Design
from learners.linear.least_squares import factor
from learners.linear.newton import Problem, minimise
from learners.linear.penalty import Penalty
from learners.linear.response import Solutions
from learners.link import cross_entropy, with_reference
from learners.types import Array, FloatArray, IntArray

#: The ridge that is put on coefficients which would grow without end, since the classes are separable.
SEPARABLE_ALPHA = 1e-4
#: Score of a class that no row has: a probability below 1e-13.
_ABSENT = -30.0
_ROUNDS = 100
#: Rounds of coordinate descent on one quadratic; the next one goes on from there.
_INNER_ROUNDS = 1_000
#: A step that moves no score by more than this is the last one; where rounding ends the search before, this is enough.
_MOVED, _NEARLY = 1e-9, 1e-5
#: Added to the curvature, so that rows that are all but decided already bound the steps; it moves no minimum.
_DAMPING = 1e-6
_SHORTEST = 1e-9


@dataclass(frozen=True, eq=False)
class Multinomial:
    """The classes of n rows.

    Attributes:
        codes: 0 .. K - 1, shape (n,).
        n_classes: K >= 2.
    """

    codes: FloatArray
    n_classes: int

    def take(self, rows: Array) -> Multinomial:
        return Multinomial(self.codes[rows], self.n_classes)

    def _present(self) -> IntArray:
        return np.flatnonzero(np.bincount(self.codes.astype(np.int64), minlength=self.n_classes))

    def grid(self, design: Design, penalty: Penalty, n_alphas: int) -> FloatArray:
        shares = design.weights / design.total
        truth = (self.codes == np.arange(self.n_classes)[:, None]).astype(np.float64)
        rest = truth - (truth @ shares)[:, None]
        gradient = np.abs((rest * shares) @ design.standard).max(initial=0.0)
        eigenvalue = float(np.max(factor(design).singular, initial=0.0)) ** 2 if penalty.l1_ratio == 0 else 1.0
        tall = len(self.codes) > design.standard.shape[1]
        return penalty.grid(float(gradient), eigenvalue, n_alphas, tall=tall)

    def solve(self, design: Design, penalty: Penalty, alphas: FloatArray) -> Solutions:
        present = self._present()
        n_functions = 1 if self.n_classes == 2 else self.n_classes
        theta = np.zeros((len(alphas), n_functions, design.standard.shape[1] + 1))
        warnings: tuple[str, ...] = ()
        if len(present) == 1:
            theta[:, :, -1] = _ABSENT if n_functions > 1 else _ABSENT * (1 - 2 * present[0])
            if n_functions > 1:
                theta[:, present[0], -1] = 0.0
        else:
            codes = np.searchsorted(present, self.codes).astype(np.float64)
            found, warnings = _path(design, codes, len(present), penalty, alphas)
            if len(present) == self.n_classes:
                theta = found
            else:
                theta[:, :, -1] = _ABSENT
                theta[:, present] = np.concatenate([np.zeros_like(found), found], 1) if len(present) == 2 else found
        own, intercepts = design.unstandardised(theta[:, :, :-1], theta[:, :, -1])
        return Solutions(alphas, own, intercepts, warnings)

    def losses(self, scores: FloatArray) -> FloatArray:
        """Cross-entropy in nats."""
        return np.stack([cross_entropy(with_reference(one), self.codes) for one in scores])


def problem_of(design: Design, codes: FloatArray, n_classes: int, ridge: float) -> Problem:
    """The problem of standardised variables with a ridge, each class of which occurs."""
    variables = np.column_stack([design.standard, np.ones(len(codes))])
    strengths = np.append(np.full(design.standard.shape[1], ridge), 0.0)
    return Problem(variables, codes, design.weights / design.total, n_classes, strengths)


def _path(
    design: Design, codes: FloatArray, n_classes: int, penalty: Penalty, alphas: FloatArray
) -> tuple[FloatArray, tuple[str, ...]]:
    """Coefficients and intercept of the standardised variables by strength, shape (A, F, V + 1), and warnings."""
    found: list[FloatArray] = []
    warnings: list[str] = []
    n_functions = 1 if n_classes == 2 else n_classes
    theta = np.zeros((n_functions, design.standard.shape[1] + 1))
    for alpha in alphas.tolist():
        if penalty.is_quadratic or alpha == 0:
            if alpha > 0:
                theta, reached = minimise(problem_of(design, codes, n_classes, alpha), theta)
            else:
                theta, reached = _unpenalised(design, codes, n_classes, theta)
            if not reached and alpha == 0:
                theta, _ = minimise(problem_of(design, codes, n_classes, SEPARABLE_ALPHA), np.zeros_like(theta))
                warnings.append(
                    "the classes are separable, so that without penalty the coefficients would grow without end; "
                    f"they were learned with penalty = ridge and alpha = {SEPARABLE_ALPHA:g}"
                )
            elif not reached:
                warnings.append("the coefficients were still moving when learning stopped")
        else:
            ratio = float(penalty.l1_ratio or 0.0)
            problem = problem_of(design, codes, n_classes, alpha * (1 - ratio))
            theta, reached = _sparse(problem, alpha * ratio, theta)
            if not reached:
                warnings.append("the coefficients were still moving when learning stopped")
        found.append(theta)
    return np.stack(found), tuple(dict.fromkeys(warnings))


def _unpenalised(design: Design, codes: FloatArray, n_classes: int, start: FloatArray) -> tuple[FloatArray, bool]:
    """Without penalty, of variables that depend on each other in as many as tell rows apart, which are far fewer.

    Newton's steps are the same in whatever coordinates, and these give the coefficients of least norm.
    """
    factored = factor(design)
    n_variables = design.standard.shape[1]
    if factored.rank == n_variables:
        return minimise(problem_of(design, codes, n_classes, 0.0), start)
    if factored.rank + 1 >= len(codes):
        return start, False  # the rows can have any scores whatever, so any classes are separable
    back = factored.right / factored.singular
    variables = np.column_stack([design.standard @ back, np.ones(len(codes))])
    problem = Problem(variables, codes, design.weights / design.total, n_classes, np.zeros(factored.rank + 1))
    found, reached = minimise(problem, np.zeros((len(start), factored.rank + 1)))
    return np.column_stack([found[:, :-1] @ back.T, found[:, -1]]), reached


def _sparse(problem: Problem, strength: float, start: FloatArray) -> tuple[FloatArray, bool]:
    """The minimum with a penalty on absolute values too: Newton's quadratic with that penalty, again and again.

    Source: Friedman, Hastie and Tibshirani (2010), section 3; Lee, Sun and Saunders, Proximal Newton-type methods
    for minimizing composite functions (2014), for the search along each step.
    """
    first = np.tile(np.append(np.full(start.shape[1] - 1, strength), 0.0), len(start))
    second = np.tile(problem.ridge, len(start))
    theta = start.ravel()

    def value(tried: FloatArray) -> float:
        return problem.value(tried.reshape(start.shape)) + float(first @ np.abs(tried))

    now = value(theta)
    for _ in range(_ROUNDS):
        likely = problem.likely(theta.reshape(start.shape))
        gradient = problem.gradient(theta.reshape(start.shape), likely).ravel() - second * theta
        products = problem.information(likely)
        products[np.diag_indices_from(products)] += _DAMPING
        new, _ = elastic_net(products, products @ theta - gradient, first, second, theta, 1.0, _INNER_ROUNDS)
        step = new - theta
        moved = float(np.abs(step.reshape(start.shape) @ problem.variables.T).max())
        if moved <= _MOVED:
            return _level(new.reshape(start.shape)), True
        length, then = 1.0, value(new)
        while then > now and length > _SHORTEST:
            length /= 2
            then = value(theta + length * step)
        if then > now:
            break  # nothing better can be told from here
        theta, now = theta + length * step, then
    return _level(theta.reshape(start.shape)), moved <= _NEARLY


def _level(theta: FloatArray) -> FloatArray:
    """Intercepts that sum to 0 over three or more functions, which changes no probability."""
    if len(theta) > 1:
        theta[:, -1] -= theta[:, -1].mean()
    return theta
