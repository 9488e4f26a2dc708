"""Checks of row weights: none is all 1, 0 is absent, 2 is twice."""

from __future__ import annotations

from functools import partial

import numpy as np

from learners.checks import samples
from learners.checks.require import MakeLearner, answers, refusal, require, require_close, require_same
from learners.errors import DataError


def weight_one_is_no_weight(make: MakeLearner) -> None:
    """Weights of 1 change nothing, to the bit."""
    sample = samples.mixed(type(make()).capabilities)
    plain = make().fit(sample.table, sample.target)
    ones = make().fit(sample.table, sample.target, np.ones(sample.table.n_rows))
    require_same(answers(ones, sample.table), answers(plain, sample.table), "weights of 1")


def weight_zero_is_absent(make: MakeLearner) -> None:
    """A row of weight 0 is as if it were not there."""
    sample = samples.mixed(type(make()).capabilities)
    kept = np.arange(sample.table.n_rows) % 3 != 0
    weighted = make().fit(sample.table, sample.target, kept.astype(np.float64))
    part = sample.take(np.flatnonzero(kept))
    without = make().fit(part.table, part.target)
    require_close(answers(weighted, sample.table), answers(without, sample.table), "rows of weight 0 against none")


def weight_two_is_twice(make: MakeLearner) -> None:
    """A row of weight 2 counts as two rows."""
    sample = samples.mixed(type(make()).capabilities)
    weights = 1 + np.arange(sample.table.n_rows) % 3
    weighted = make().fit(sample.table, sample.target, weights.astype(np.float64))
    repeated = sample.take(np.repeat(np.arange(sample.table.n_rows), weights))
    copies = make().fit(repeated.table, repeated.target)
    require_close(answers(weighted, sample.table), answers(copies, sample.table), "weights against repeated rows")


def bad_weights_are_refused(make: MakeLearner) -> None:
    """Negative, NaN, infinite, all zero or of another length: the first bad row is named."""
    sample = samples.mixed(type(make()).capabilities)
    for value in (-1.0, float("nan"), float("inf")):
        weights = np.ones(sample.table.n_rows)
        weights[6] = value
        fit = partial(make().fit, sample.table, sample.target, weights)
        error = refusal(DataError, fit, f"a weight of {value}")
        require("row 6" in str(error), f"the row is not named: {error}")
    for wrong in (np.zeros(sample.table.n_rows), np.ones(3), np.ones((sample.table.n_rows, 2))):
        fit = partial(make().fit, sample.table, sample.target, wrong)
        refusal(DataError, fit, f"weights of shape {wrong.shape}, sum {wrong.sum()}")


def weights_are_refused(make: MakeLearner) -> None:
    """A learner that cannot weigh says so."""
    sample = samples.mixed(type(make()).capabilities)
    weights = np.ones(sample.table.n_rows)
    refusal(DataError, lambda: make().fit(sample.table, sample.target, weights), "weights for a learner without")
