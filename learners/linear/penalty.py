"""What is added to the mean loss so that coefficients stay small, and the grids on which its strength is tried.

Minimised is ``loss + alpha (l1_ratio |b|_1 + (1 - l1_ratio) / 2 |b|_2^2)``, where the loss is the weighted mean of half
the squared errors, or of the cross-entropy in nats, and b are the coefficients of the variables brought to standard
deviation 1; intercepts are free. So one alpha means the same whatever the units of the columns and the number of rows
(Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via coordinate descent, 2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.types import FloatArray

#: The grid of a ridge, in shares of the largest eigenvalue of the variables' correlations.
_RIDGE_SPAN = (1e2, 1e-8)
#: The grid of a lasso ends at this share of its beginning, by whether there are more rows than variables.
_LASSO_END = {True: 1e-4, False: 1e-2}
#: Of a penalty with a small share of the absolute values, the grid begins as with this one.
_LEAST_RATIO = 1e-3


@dataclass(frozen=True)
class Penalty:
    """Which penalty, apart from its strength.

    Attributes:
        l1_ratio: share of the absolute values: 0 is a ridge, 1 a lasso; ``None`` is no penalty at all.
    """

    l1_ratio: float | None

    @classmethod
    def named(cls, name: str, l1_ratio: float) -> Penalty:
        """By the name of the parameter ``penalty``."""
        return cls({"none": None, "ridge": 0.0, "lasso": 1.0}.get(name, l1_ratio))

    @property
    def is_quadratic(self) -> bool:
        """Whether no coefficient is made exactly 0: least squares and ridge."""
        return not self.l1_ratio

    def grid(self, gradient: float, eigenvalue: float, n_alphas: int, *, tall: bool) -> FloatArray:
        """Strengths from the strongest to the weakest, equally spaced by ratio, shape (A,).

        Args:
            gradient: largest magnitude of the loss's derivative by a coefficient where all are 0.
            eigenvalue: the largest of the variables' correlations.
            n_alphas: A.
            tall: whether there are more rows than variables.
        """
        if self.l1_ratio is None:
            return np.zeros(1)
        if self.l1_ratio == 0:
            first, last = _RIDGE_SPAN
            top = max(eigenvalue, np.finfo(np.float64).tiny)
            return np.geomspace(top * first, top * last, n_alphas)
        top = max(gradient / max(self.l1_ratio, _LEAST_RATIO), 1e-290)
        return np.geomspace(top, top * _LASSO_END[tall], n_alphas)
