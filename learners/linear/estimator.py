"""What the linear regressor and the logistic classifier share: parameters, and choosing by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.base import Progress
from learners.linear.choosing import Search, Tried, choose
from learners.linear.design import Design, make_design
from learners.linear.fitted import FittedLinear
from learners.linear.inference import Units
from learners.linear.penalty import Penalty
from learners.linear.response import Response, Solutions
from learners.linear_function import LARGEST
from learners.params import choice, flag, integer, learner, real
from learners.preprocessing.encode import POWER
from learners.table import Table
from learners.types import FloatArray

LARGEST_SEED = 2**53 - 1
LARGEST_ALPHA = 1e15
PENALTIES = ("none", "ridge", "lasso", "elastic-net")
PENALISED = PENALTIES[1:]
#: What the parameter ``penalty`` means.
KEEPING_SMALL = (
    "What keeps coefficients small: nothing; their squares (ridge); their absolute values, which makes some exactly 0 "
    "(lasso); or both (elastic net). It counts for columns brought to standard deviation 1."
)
STRENGTH = "Strength of the penalty beside the mean loss: alpha (l1_ratio |b| + (1 - l1_ratio) b^2 / 2)."
#: Share of the work that choosing is.
_DECIDED = 0.9


@dataclass(frozen=True, eq=False)
class Fitted:
    """What was fitted in the end.

    Attributes:
        design, solutions, penalty, alpha: how.
        tried: what was tried before; or ``None``.
    """

    design: Design
    solutions: Solutions
    penalty: Penalty
    alpha: float
    tried: Tried | None


@learner
class LinearEstimator(FittedLinear):
    """Base of the linear models: their common parameters, and learning."""

    penalty: str = choice("none", PENALTIES, KEEPING_SMALL)
    alpha: float | None = real(
        None,
        STRENGTH,
        minimum=0,
        maximum=LARGEST_ALPHA,
        none_means="chosen along the whole path by rows left out",
        only_with={"penalty": PENALISED},
    )
    l1_ratio: float = real(
        0.5,
        "Share of the absolute values in the elastic net's penalty.",
        minimum=0,
        maximum=1,
        only_with={"penalty": ("elastic-net",)},
    )
    degree: int | None = integer(
        1,
        "Degree of the polynomial in each numeric or ordinal column.",
        minimum=1,
        maximum=30,
        none_means="chosen from 1 to max_degree by rows left out",
        is_size=True,
    )
    max_degree: int = integer(
        9, "Largest degree that is tried where the degree is chosen.", minimum=1, maximum=30, is_size=True
    )
    missing_indicators: bool = flag(
        True,
        "Whether a column with missing values has an indicator of them beside the mean that they count as.",
    )
    n_alphas: int = integer(
        60,
        "Number of strengths on the path, from the strongest on in equal ratios.",
        minimum=2,
        maximum=1_000,
        only_with={"penalty": PENALISED},
    )
    selection: str = choice(
        "best",
        ("best", "one-standard-error"),
        "Which strength and degree are taken: of least loss on rows left out, or the simplest within one standard "
        "error of that.",
    )
    folds: int = integer(10, "Folds by which they are judged; at most one for each row.", minimum=2)
    seed: int = integer(0, "Which rows are left out together.", minimum=0, maximum=LARGEST_SEED)

    def check_together(self) -> None:
        """As of every learner; what says how strength and degree are chosen is refused where neither is."""
        super().check_together()
        if self.degree is not None:
            self._refuse_changed(("max_degree",), "the degree is given; give degree = null to have it chosen")
            if self.penalty == "none" or self.alpha is not None:
                self._refuse_changed(
                    ("validation", "selection", "folds", "seed"),
                    "neither strength (alpha) nor degree is to be chosen; null has one chosen",
                )

    def _learned(
        self, table: Table, response: Response, weights: FloatArray, folds: int | None, progress: Progress
    ) -> Fitted:
        """Choose what is to be chosen, and fit.

        Args:
            table, response, weights: rows of weight > 0.
            folds: ``None`` for leave-one-out.
        """
        progress(0.0, "encoding")
        penalty = Penalty.named(self.penalty, float(self.l1_ratio))
        alpha = 0.0 if penalty.l1_ratio is None else None if self.alpha is None else float(self.alpha)
        degree = None if self.degree is None else int(self.degree)
        tried = None
        if (alpha is None or degree is None) and table.n_rows > 1:
            degrees = tuple(range(1, int(self.max_degree) + 1)) if degree is None else (degree,)
            given = None if alpha is None else np.array([alpha])
            gaps, rule = bool(self.missing_indicators), self.selection
            search = Search(degrees, given, int(self.n_alphas), gaps, folds, int(self.seed), rule)
            tried = choose(
                table,
                response,
                weights,
                penalty,
                search,
                lambda share: progress(_DECIDED * share, "trying strengths and degrees"),
            )
            alpha, degree = float(tried.alphas[tried.chosen]), int(tried.degrees[tried.chosen])
        design = make_design(table, weights, degree=degree or 1, gaps=bool(self.missing_indicators))
        progress(_DECIDED, "fitting")
        solutions = response.solve(design, penalty, np.array([alpha or 0.0]))
        return Fitted(design, solutions, penalty, alpha or 0.0, tried)

    def _remember(self, X: Any, table: Table, fitted: Fitted, coefficients: FloatArray, intercepts: FloatArray) -> None:
        encoding = fitted.design.encoding
        self.encoding_, self.coefficients_, self.intercepts_ = encoding, coefficients, intercepts
        self.alpha_, self.degree_ = fitted.alpha, int(encoding.detail[encoding.kind == POWER].max(initial=1))
        self.tried_, self.warnings_ = fitted.tried, fitted.solutions.warnings
        if np.abs(Units.of(encoding).of_data(coefficients, intercepts)).max(initial=0.0) >= LARGEST:
            self.warnings_ += (f"coefficients beyond {LARGEST:g} in the units of the data are cut to that",)
        self._remember_columns(X, table)
        self._make_functions()
