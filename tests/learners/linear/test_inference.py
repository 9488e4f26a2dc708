"""Standard errors by closed forms, and t, p-values and intervals of estimates without penalty only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from learners import persist
from learners.catalog import dump_model, load_model
from learners.linear import LinearRegressor, LogisticClassifier
from learners.linear.coefficients import Coefficient
from learners.types import FloatArray, IntArray


def drawn() -> tuple[FloatArray, IntArray]:
    """200 rows of two numbers and a class that follows them."""
    random = np.random.default_rng(4)
    X = random.normal(size=(200, 2))
    return X, (random.random(200) < 1 / (1 + np.exp(-2.3 * X[:, 0] + X[:, 1]))).astype(np.int64)


def has_intervals(rows: list[Coefficient]) -> set[bool]:
    told = {(row.t is None, row.p_value is None, row.low is None, row.high is None) for row in rows}
    assert told <= {(True,) * 4, (False,) * 4}
    return {not absent[0] for absent in told}


def test_without_penalty_they_are_walds() -> None:
    """Maximum likelihood as the peer finds it, and the inverse of the information X' W X there."""
    X, y = drawn()
    model = LogisticClassifier(penalty="none").fit(X, y)
    peer = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(X, y)
    wanted = np.append(peer.intercept_, peer.coef_)
    shares = peer.predict_proba(X)[:, 1]
    design = np.column_stack([np.ones(200), X])
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ (design * (shares * (1 - shares))[:, None]))))
    assert model.without_intervals_ is None
    for row, estimate, error in zip(model.coefficients(), wanted, errors, strict=True):
        assert row.estimate == pytest.approx(estimate, rel=1e-5)
        assert row.standard_error == pytest.approx(error, rel=1e-5)
        assert row.p_value == pytest.approx(2 * norm.sf(abs(estimate / error)), rel=1e-3)
        assert row.low == pytest.approx(estimate - norm.ppf(0.975) * error, rel=1e-4)


@pytest.mark.parametrize("learner", [LinearRegressor(), LogisticClassifier(penalty="none")], ids=repr)
def test_what_collinear_columns_leave_open_has_none_and_all_else_has_its_own(learner: Any) -> None:
    """Of two columns that are the same what leads to 0 is known; of x and 3 x + 1 it is not, nor is the intercept."""
    X, y = drawn()
    X, target = X + np.array([2.0, 5.0]), y if learner.capabilities.task == "classification" else y + X[:, 0]
    alone = [row.standard_error for row in learner.fit(X, target).coefficients()]
    doubled = learner.fit(np.column_stack([X, X[:, 0]]), target).coefficients()
    told = [row.standard_error for row in doubled]
    assert [told[1], told[3]] == [None, None]
    assert told[2] == pytest.approx(alone[2], rel=1e-4)
    if isinstance(learner, LinearRegressor):
        assert told[0] == pytest.approx(alone[0], rel=1e-6)
        moved = learner.fit(np.column_stack([X, 3 * X[:, 0] + 1]), target).coefficients()
        assert [row.standard_error for row in moved[:2]] == [None, None]


def test_nearly_collinear_columns_have_their_large_errors() -> None:
    """The inverse of the information, of two columns of correlation 1 - 2e-5."""
    X, y = drawn()
    X[:, 1] = X[:, 0] + 0.005 * X[:, 1]
    model = LogisticClassifier(penalty="none").fit(X, y)
    shares = model.predict_proba(X)[:, 1]
    design = np.column_stack([np.ones(200), X])
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ (design * (shares * (1 - shares))[:, None]))))
    assert [row.standard_error for row in model.coefficients()] == pytest.approx(errors, rel=1e-4)
    assert errors[1] > 10


def test_of_three_classes_they_are_those_of_independent_counts() -> None:
    """Of a table of counts a class's function is its log count less the mean log count; logs have variances 1 / n."""
    counts = np.array([[30, 12, 18], [9, 25, 14]])
    x = np.repeat([0, 1], counts.sum(axis=1))
    y = np.concatenate([np.repeat(np.arange(3), own) for own in counts])
    rows = LogisticClassifier(penalty="none").fit(x[:, None], y).coefficients()
    for k in range(3):
        others = np.where(np.arange(3) == k, 2 / 3, -1 / 3)
        intercept, slope = rows[2 * k : 2 * k + 2]
        logs = np.log(counts) @ others
        assert (intercept.estimate, slope.estimate) == pytest.approx((logs[0], logs[1] - logs[0]))
        variances = (1 / counts) @ others**2
        assert intercept.standard_error == pytest.approx(np.sqrt(variances[0]))
        assert slope.standard_error == pytest.approx(np.sqrt(variances.sum()))


def test_a_ridge_tells_how_its_estimate_varies_and_no_interval() -> None:
    """Of one column in units of its deviation b / (1 + alpha), where b by least squares has variance s^2 / n."""
    random = np.random.default_rng(5)
    x = random.normal(size=40)
    y = x + random.normal(size=40)
    least = LinearRegressor().fit(x[:, None], y)
    ridge = LinearRegressor(penalty="ridge", alpha=0.25).fit(x[:, None], y)
    (_, plain), (_, shrunk) = least.coefficients(), ridge.coefficients()
    assert shrunk.estimate == pytest.approx(plain.estimate / 1.25)
    ratio = ridge.statistics_["residual_standard_error"] / least.statistics_["residual_standard_error"]
    assert shrunk.standard_error == pytest.approx(plain.standard_error / 1.25 * ratio)
    assert has_intervals(least.coefficients()) == {True}
    assert has_intervals(ridge.coefficients()) == {False}
    assert "penalty = none" in ridge.without_intervals_


def test_a_logistic_ridge_varies_by_its_sandwich() -> None:
    X, y = drawn()
    model = LogisticClassifier(alpha=0.02).fit(X, y)
    shares = model.predict_proba(X)[:, 1]
    design = np.column_stack([(X - X.mean(0)) / X.std(0), np.ones(200)])
    information = design.T @ (design * (shares * (1 - shares))[:, None])
    bread = np.linalg.inv(information + 200 * np.diag([0.02, 0.02, 0]))
    wanted = np.sqrt(np.diag(bread @ information @ bread))[:2] / X.std(0)
    assert [row.standard_error for row in model.coefficients()[1:]] == pytest.approx(wanted)


@pytest.mark.parametrize("learner", [LinearRegressor, LogisticClassifier])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"penalty": "none"}, None),
        ({"penalty": "none", "degree": 2}, None),
        *[({"penalty": penalty, "alpha": 0.0}, None) for penalty in ("ridge", "lasso", "elastic-net")],
        *[({"penalty": penalty, "alpha": 0.01}, penalty) for penalty in ("ridge", "lasso", "elastic-net")],
        ({"penalty": "ridge", "alpha": 0.01, "degree": 2}, "ridge"),
        ({"penalty": "ridge", "alpha": None}, "ridge"),
    ],
)
def test_any_penalty_leaves_them_out(learner: Any, given: dict[str, Any], words: str | None) -> None:
    X, y = drawn()
    model = learner(**given).fit(X, y if learner is LogisticClassifier else y + X[:, 0])
    for known in (model, load_model(persist.load(dump_model(model)))):
        assert has_intervals(known.coefficients()) == {words is None}
        assert (known.without_intervals_ is None) == (words is None)
        assert words is None or f"the penalty ({words}, alpha = " in known.without_intervals_
    if given.get("alpha") == 0:
        plain = learner(penalty="none").fit(X, y if learner is LogisticClassifier else y + X[:, 0])
        for row, other in zip(model.coefficients(), plain.coefficients(), strict=True):
            assert (row.estimate, row.low) == pytest.approx((other.estimate, other.low), rel=1e-9)


def test_nor_have_classes_that_count_more_than_their_rows_or_are_separable() -> None:
    X, y = drawn()
    weighed = LogisticClassifier(penalty="none", class_weight={"1": 5}).fit(X, y)
    assert has_intervals(weighed.coefficients()) == {False}
    assert {row.standard_error for row in weighed.coefficients()} == {None}
    assert "class_weight" in weighed.without_intervals_
    parted = LogisticClassifier(penalty="none").fit(X, (X[:, 0] > 0).astype(int))
    assert has_intervals(parted.coefficients()) == {False}
    assert "separable" in parted.without_intervals_
