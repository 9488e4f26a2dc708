"""Strength of the penalty and degree of the polynomial, chosen by rows that were left out.

For each degree the whole path of strengths is fitted in each fold, with encoding, imputation and scaling of its
training rows alone, and judged on the rows left out. Best is the least mean loss; by the rule of one standard error
the simplest fit (lowest degree, then largest alpha) whose mean loss is within one standard error of the best one
(Breiman, Friedman, Olshen and Stone 1984; Hastie, Tibshirani and Friedman, section 7.10).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from learners.evaluation.folds import k_fold
from learners.linear.design import Design, make_design
from learners.linear.gaussian import Gaussian
from learners.linear.penalty import Penalty
from learners.linear.response import Response
from learners.table import Table
from learners.types import Array, FloatArray, Int32Array

#: Losses within this share of each other are equal.
_TIE = 1e-9
#: What rounding leaves of the squared errors of an exact fit, of targets whose largest magnitude is near 1.
_ROUNDING = 1e-28
_NAMES = ("alphas", "degrees", "losses", "errors")


@dataclass(frozen=True, eq=False)
class Tried:
    """What was tried, from simple to complex: degrees ascend, and in each alphas descend.

    Attributes:
        alphas, degrees: shape (C,).
        losses: mean loss of rows left out, shape (C,); squared errors of a regression, nats of a classifier.
        errors: its standard error, shape (C,).
        chosen: which one was taken.
    """

    alphas: FloatArray
    degrees: Int32Array
    losses: FloatArray
    errors: FloatArray
    chosen: int

    def in_units(self, exponent: int) -> Tried:
        """The same of a target that was divided by ``2**exponent``, whose losses are squares."""
        with np.errstate(over="ignore", under="ignore"):
            losses, errors = np.ldexp(self.losses, 2 * exponent), np.ldexp(self.errors, 2 * exponent)
        return replace(self, losses=losses, errors=errors)

    def to_json(self) -> list[dict[str, Any]]:
        """One record for each; a loss that could not be told, of rows that cannot be left out, is null."""
        columns = (self.alphas, self.degrees, self.losses, self.errors)
        return [
            {
                "alpha": alpha,
                "degree": degree,
                "loss": loss if isfinite(loss) else None,
                "standard_error": error if isfinite(error) else None,
                "chosen": place == self.chosen,
            }
            for place, (alpha, degree, loss, error) in enumerate(
                zip(*(column.tolist() for column in columns), strict=True)
            )
        ]

    def to_arrays(self) -> dict[str, Array]:
        return {f"tried_{name}": getattr(self, name) for name in _NAMES} | {
            "tried_chosen": np.array([self.chosen], dtype=np.int64)
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Tried | None:
        """The inverse; ``None`` if nothing was tried."""
        if "tried_chosen" not in arrays:
            return None
        fields = {name: arrays[f"tried_{name}"] for name in _NAMES}
        return cls(**fields, chosen=int(arrays["tried_chosen"][0]))


@dataclass(frozen=True)
class Search:
    """What is to be tried, and how it is judged.

    Attributes:
        degrees: ascending.
        alphas: ``None`` for the grid of the path, else as they are.
        n_alphas: length of the path.
        gaps: see :func:`learners.preprocessing.encode.fit_encoding`.
        folds: number of folds, ``None`` for leave-one-out by its formula.
        seed: of the folds.
        rule: ``best`` or ``one-standard-error``.
    """

    degrees: tuple[int, ...]
    alphas: FloatArray | None
    n_alphas: int
    gaps: bool
    folds: int | None
    seed: int
    rule: str


def choose(
    table: Table,
    response: Response,
    weights: FloatArray,
    penalty: Penalty,
    search: Search,
    progress: Callable[[float], None],
) -> Tried:
    """Judge every degree with every strength.

    Args:
        table, weights: n >= 2 rows of weight > 0.
        response: their target.
        progress: told the share done.
    """
    designs = [make_design(table, weights, degree=degree, gaps=search.gaps) for degree in search.degrees]
    grids = [
        response.grid(design, penalty, search.n_alphas) if search.alphas is None else search.alphas
        for design in designs
    ]
    judge = _left_out if search.folds is None else _in_folds
    losses, errors = judge(table, response, weights, penalty, search, designs, grids, progress)
    alphas = np.concatenate(grids)
    degrees = np.repeat(np.array(search.degrees, dtype=np.int32), [len(grid) for grid in grids])
    return Tried(alphas, degrees, losses, errors, _taken(losses, errors, search.rule))


def _taken(losses: FloatArray, errors: FloatArray, rule: str) -> int:
    least = float(losses.min())
    best = int(np.argmax(losses <= least + _TIE * abs(least) + _ROUNDING))
    if rule == "best" or not np.isfinite(least):
        return best
    return int(np.argmax(losses <= losses[best] + errors[best]))


def _in_folds(
    table: Table,
    response: Response,
    weights: FloatArray,
    penalty: Penalty,
    search: Search,
    designs: list[Design],
    grids: list[FloatArray],
    progress: Callable[[float], None],
) -> tuple[FloatArray, FloatArray]:
    """Mean loss and its standard error over the folds, each fold by its weight."""
    codes = getattr(response, "codes", None)
    folds = k_fold(table.n_rows, min(search.folds or 2, table.n_rows), search.seed, codes)
    found = np.empty((len(folds), sum(len(grid) for grid in grids)))
    shares = np.empty(len(folds))
    for number in range(len(folds)):
        split = folds[number]
        train, test = table.take(split.train), table.take(split.test)
        own, judged = response.take(split.train), response.take(split.test)
        shares[number] = weights[split.test].sum()
        parts = []
        for degree, grid in zip(search.degrees, grids, strict=True):
            design = make_design(train, weights[split.train], degree=degree, gaps=search.gaps)
            solutions = own.solve(design, penalty, grid)
            scores = solutions.scores(design.encoding.values(test.values, test.columns))
            parts.append(judged.losses(scores) @ (weights[split.test] / shares[number]))
        found[number] = np.concatenate(parts)
        progress((number + 1) / len(folds))
    shares /= shares.sum()
    mean = shares @ found
    spread = shares @ (found - mean) ** 2
    return mean, np.sqrt(spread / max(len(folds) - 1, 1))


def _left_out(
    table: Table,
    response: Response,
    weights: FloatArray,
    penalty: Penalty,
    search: Search,
    designs: list[Design],
    grids: list[FloatArray],
    progress: Callable[[float], None],
) -> tuple[FloatArray, FloatArray]:
    """Mean squared error and its standard error over the rows, each left out once."""
    assert isinstance(response, Gaussian)  # noqa: S101 - the formula is one of least squares
    parts = []
    for place, (design, grid) in enumerate(zip(designs, grids, strict=True)):
        parts.append(np.ldexp(response.left_out(design, penalty, grid), -response.exponent) ** 2)
        progress((place + 1) / len(designs))
    squares = np.concatenate(parts)
    shares = weights / weights.sum()
    with np.errstate(invalid="ignore"):
        mean = squares @ shares
        spread = ((squares - mean[:, None]) ** 2) @ shares
    spread = np.where(np.isfinite(mean), spread, np.inf)
    return mean, np.sqrt(spread / max(float(weights.sum()) - 1.0, 1.0))
