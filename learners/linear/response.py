"""What the two kinds of target have in common for fitting and choosing: solutions by strength, and losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from learners.linear.design import Design
from learners.linear.penalty import Penalty
from learners.types import Array, FloatArray


@dataclass(frozen=True, eq=False)
class Solutions:
    """Linear functions of the encoding's variables for each of A strengths: F functions of V variables.

    Attributes:
        alphas: shape (A,).
        coefficients: shape (A, F, V).
        intercepts: shape (A, F).
        warnings: sentences.
    """

    alphas: FloatArray
    coefficients: FloatArray
    intercepts: FloatArray
    warnings: tuple[str, ...] = ()

    def scores(self, variables: FloatArray) -> FloatArray:
        """The functions of some rows (n, V), shape (A, F, n)."""
        found: FloatArray = self.coefficients @ variables.T + self.intercepts[:, :, None]
        return found


class Response(Protocol):
    """The target of some rows, and how linear functions answer it."""

    def take(self, rows: Array) -> Response:
        """The same of some rows."""

    def grid(self, design: Design, penalty: Penalty, n_alphas: int) -> FloatArray:
        """Strengths worth trying, descending."""

    def solve(self, design: Design, penalty: Penalty, alphas: FloatArray) -> Solutions:
        """The fits for some strengths, which descend."""

    def losses(self, scores: FloatArray) -> FloatArray:
        """What each row (n) loses by functions with these values (A, F, n), shape (A, n)."""
