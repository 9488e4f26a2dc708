"""What is told of a whole fit, by the textbooks' formulas and by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from learners.linear import LinearRegressor, LogisticClassifier
from learners.types import FloatArray


def drawn(n_rows: int = 30, seed: int = 7) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 4)) * [1, 5, 0.1, 1] + 2
    return X, X @ [1.0, -0.3, 4.0, 0.0] + generator.normal(size=n_rows)


def standardised(X: FloatArray) -> FloatArray:
    return (X - X.mean(0)) / X.std(0)


def test_least_squares_statistics_are_the_textbooks() -> None:
    X, y = drawn()
    design = np.column_stack([np.ones(30), X])
    rest = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    explained = 1 - rest @ rest / ((y - y.mean()) ** 2).sum()
    told = LinearRegressor().fit(X, y).statistics_
    assert told == pytest.approx(
        {
            "rows": 30,
            "r_squared": explained,
            "adjusted_r_squared": 1 - (1 - explained) * 29 / 25,
            "residual_standard_error": np.sqrt(rest @ rest / 25),
            "degrees_of_freedom": 25,
            "effective_parameters": 5,
            "rank": 5,
        }
    )


def test_a_ridge_has_the_trace_of_its_hat_as_parameters() -> None:
    X, y = drawn()
    design = np.column_stack([np.ones(30), standardised(X)])
    hat = design @ np.linalg.solve(design.T @ design + np.diag([0.0] + [30 * 0.2] * 4), design.T)
    told = LinearRegressor(penalty="ridge", alpha=0.2).fit(X, y).statistics_
    rest, used = y - hat @ y, np.trace(hat)
    assert told["effective_parameters"] == pytest.approx(used)
    assert told["degrees_of_freedom"] == pytest.approx(30 - used)
    assert told["residual_standard_error"] == pytest.approx(np.sqrt(rest @ rest / (30 - used)))
    explained = 1 - rest @ rest / ((y - y.mean()) ** 2).sum()
    assert told["adjusted_r_squared"] == pytest.approx(1 - (1 - explained) * 29 / (30 - used))


def test_a_lasso_has_as_many_parameters_as_are_not_nought() -> None:
    """Zou, Hastie and Tibshirani (2007)."""
    X, y = drawn()
    model = LinearRegressor(penalty="lasso", alpha=0.3).fit(X, y)
    used = sum(row.estimate != 0 for row in model.coefficients()[1:])
    assert 0 < used < 4
    assert model.statistics_["effective_parameters"] == used + 1
    assert model.statistics_["degrees_of_freedom"] == 30 - used - 1


def test_as_many_parameters_as_rows_leave_no_freedom() -> None:
    X, y = drawn(5)
    told = LinearRegressor().fit(X, y).statistics_
    assert told["r_squared"] == pytest.approx(1)
    assert (told["adjusted_r_squared"], told["residual_standard_error"]) == (None, None)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_deviances_are_twice_the_likelihoods_of_the_fit_and_of_the_shares(n_classes: int) -> None:
    X, y = drawn(90)
    codes = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes) + 0.3)
    weights = np.arange(90) % 3 + 1.0
    told = LogisticClassifier(penalty="none").fit(X[:, 3:], codes, weights).statistics_
    design = np.column_stack([np.ones(90), standardised(X[:, 3:])])

    def loss(theta: FloatArray) -> float:
        scores = design @ np.append(np.zeros((2, 1)), theta.reshape(2, n_classes - 1), axis=1)
        logs = scores - np.log(np.exp(scores).sum(axis=1))[:, None]
        return float(-2 * weights @ logs[np.arange(90), codes])

    shares = np.bincount(codes, weights) / weights.sum()
    null = float(-2 * weights @ np.log(shares)[codes])
    deviance = minimize(loss, np.zeros(2 * (n_classes - 1)), tol=1e-12).fun
    wanted = {"rows": weights.sum(), "deviance": deviance, "null_deviance": null}
    assert told == pytest.approx(wanted | {"mcfadden_r_squared": 1 - deviance / null}, rel=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegressor(),
        LinearRegressor(penalty="ridge", alpha=0.2),
        LinearRegressor(penalty="lasso", alpha=0.3),
        LogisticClassifier(penalty="none"),
        LogisticClassifier(alpha=0.05),
    ],
    ids=repr,
)
def test_whole_weights_are_repeated_rows(model: LinearRegressor | LogisticClassifier) -> None:
    X, y = drawn()
    target = y if isinstance(model, LinearRegressor) else (y > y.mean() + X[:, 3] - 2).astype(int)
    weights = np.arange(30) % 3 + 1
    again = np.repeat(np.arange(30), weights)
    weighed, repeated = (
        model.fit(*given).coefficients() for given in ((X, target, weights), (X[again], target[again]))
    )
    assert len(again) == model.statistics_["rows"]
    told = dict(model.statistics_)
    assert model.fit(X, target, weights).statistics_ == pytest.approx(told, rel=1e-6)
    for one, other in zip(weighed, repeated, strict=True):
        names = ("estimate", "standard_error", "t", "p_value", "low", "high")
        for name in names:
            found, wanted = getattr(one, name), getattr(other, name)
            assert (found is None) == (wanted is None)
            assert wanted is None or found == pytest.approx(wanted, rel=1e-5, abs=1e-9)


def test_equal_numbers_leave_nothing_to_explain() -> None:
    told = LinearRegressor().fit(np.arange(5.0)[:, None], np.full(5, 7.0))
    assert (told.statistics_["r_squared"], told.statistics_["adjusted_r_squared"]) == (None, None)
    assert told.statistics_["residual_standard_error"] == 0
    assert [(row.standard_error, row.t, row.p_value) for row in told.coefficients()] == [(0, None, None)] * 2
    assert [(row.low, row.high) for row in told.coefficients()] == [(7, 7), (0, 0)]
