"""Lasso and elastic net: scikit-learn's paths, the choice along them, and what is chosen."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, Lasso, lars_path
from sklearn.model_selection import cross_val_score

from learners.errors import ParameterError
from learners.evaluation.folds import k_fold
from learners.linear import LinearRegressor
from learners.linear.design import make_design
from learners.linear.gaussian import Gaussian
from learners.linear.penalty import Penalty
from learners.table import Table
from learners.types import FloatArray


def data(n_rows: int = 60, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 8)) * [1, 20, 0.1, 1, 1, 5, 1, 1] + [0, 5, 0, 0, -3, 0, 0, 100]
    X[:, 3] = X[:, 0] + 0.3 * X[:, 3]
    y = 3 * X[:, 0] - 0.1 * X[:, 1] + 20 * X[:, 2] + random.normal(size=n_rows)
    return X, y


def standardised(X: FloatArray) -> FloatArray:
    return (X - X.mean(0)) / X.std(0)


def test_the_lasso_path_is_the_one_of_least_angles() -> None:
    X, y = data()
    alphas, _, wanted = lars_path(standardised(X), y - y.mean(), method="lasso")
    design = make_design(Table.from_array(X), np.ones(60), degree=1, gaps=False)
    found = Gaussian.of(y).solve(design, Penalty(1.0), alphas)
    own = np.ldexp(found.coefficients[:, 0] * design.deviation, Gaussian.of(y).exponent)
    np.testing.assert_allclose(own, wanted.T, atol=1e-8)
    grid = Gaussian.of(y).grid(design, Penalty(1.0), 20)
    assert grid[0] == pytest.approx(alphas[0], rel=1e-12)  # where the first column comes in
    assert grid[-1] == pytest.approx(alphas[0] * 1e-4)


@pytest.mark.parametrize("l1_ratio", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("alpha", [0.02, 0.5])
def test_elastic_nets_are_the_peers(l1_ratio: float, alpha: float) -> None:
    X, y = data()
    peer = ElasticNet(alpha=alpha, l1_ratio=l1_ratio, tol=1e-12, max_iter=100_000).fit(standardised(X), y)
    model = LinearRegressor(penalty="elastic-net", alpha=alpha, l1_ratio=l1_ratio).fit(X, y)
    np.testing.assert_allclose(model.predict(X), peer.predict(standardised(X)), rtol=1e-7, atol=1e-7)
    zero = [row.estimate == 0 for row in model.coefficients()[1:]]
    assert zero == (np.abs(peer.coef_) < 1e-9).tolist()
    assert all(row.standard_error is None for row in model.coefficients())


def test_a_strong_lasso_leaves_the_mean_and_a_weak_one_is_least_squares() -> None:
    X, y = data()
    strong = LinearRegressor(penalty="lasso", alpha=1e6).fit(X, y)
    assert strong.predict(X) == pytest.approx(np.full(60, y.mean()))
    assert strong.formula() == repr(float(strong.intercepts_[0]))
    weak = LinearRegressor(penalty="lasso", alpha=1e-12).fit(X, y)
    assert weak.predict(X) == pytest.approx(LinearRegressor().fit(X, y).predict(X), rel=1e-9)


def test_the_strength_is_the_best_over_the_whole_path() -> None:
    X, y = data()
    model = LinearRegressor(penalty="lasso", n_alphas=12, folds=5, seed=3).fit(X, y)
    tried = model.tried_
    assert tried is not None
    assert model.alpha_ == tried.alphas[np.argmin(tried.losses)]
    place = int(np.argmin(tried.losses))
    folds = k_fold(60, 5, 3)
    splits = [(folds[number].train, folds[number].test) for number in range(5)]

    class Scaled(Lasso):
        """scales inside its fold, as ours does"""

        def fit(self, X, y):
            self.mean, self.deviation = X.mean(0), X.std(0)
            return super().fit((X - self.mean) / self.deviation, y)

        def predict(self, X):
            return super().predict((X - self.mean) / self.deviation)

    for at in (0, 5, place):
        peer = Scaled(alpha=tried.alphas[at], tol=1e-12, max_iter=100_000)
        scores = -cross_val_score(peer, X, y, cv=splits, scoring="neg_mean_squared_error")
        assert tried.losses[at] == pytest.approx(scores.mean(), rel=1e-7)
        assert tried.errors[at] == pytest.approx(scores.std(ddof=1) / np.sqrt(5), rel=1e-6)


def test_one_standard_error_takes_the_simpler_fit() -> None:
    X, y = data()
    best = LinearRegressor(penalty="lasso").fit(X, y)
    simple = LinearRegressor(penalty="lasso", selection="one-standard-error").fit(X, y)
    assert simple.alpha_ > best.alpha_
    tried = simple.tried_
    assert tried is not None
    least = int(np.argmin(tried.losses))
    assert tried.losses[tried.chosen] <= tried.losses[least] + tried.errors[least]
    assert tried.losses[tried.chosen - 1] > tried.losses[least] + tried.errors[least]
    used = [sum(row.estimate != 0 for row in model.coefficients()[1:]) for model in (best, simple)]
    assert used[1] <= used[0]
    assert {row.variable.column for row in simple.coefficients()[1:] if row.estimate} >= {"x0", "x1", "x2"}


def test_of_equally_good_strengths_the_strongest_is_taken() -> None:
    """Losses that agree to nine digits are equal: here those of the weakest 34, where the loss hardly falls."""
    generator = np.random.default_rng(35)
    x = generator.normal(size=(20, 1))
    y = 3 * x[:, 0] + generator.normal(size=20)
    model = LinearRegressor(penalty="ridge", validation="leave-one-out", n_alphas=200).fit(x, y)
    tried = model.tried_
    assert tried is not None
    assert int(np.argmin(tried.losses)) == 199
    assert tried.chosen == np.flatnonzero(tried.losses <= tried.losses[-1] * (1 + 1e-9))[0] == 166
    assert [one["chosen"] for one in tried.to_json()].index(True) == 166
    assert model.alpha_ == tried.alphas[166]


def test_of_fewer_rows_than_folds_each_is_left_out() -> None:
    X, y = data(5)
    many, five = (LinearRegressor(penalty="ridge", n_alphas=3, folds=folds).fit(X, y).tried_ for folds in (10, 5))
    assert many is not None
    assert five is not None
    assert many.losses.tolist() == five.losses.tolist()
    assert LinearRegressor(penalty="ridge", n_alphas=3).fit(X[:2], y[:2]).tried_ is not None
    assert LinearRegressor(penalty="ridge", n_alphas=3).fit(X[:1], y[:1]).tried_ is None


@pytest.mark.parametrize("selection", ["best", "one-standard-error"])
def test_where_a_row_cannot_be_left_out_no_loss_is_told_and_the_simplest_is_taken(selection: str) -> None:
    X = np.array([[0.0, 0], [1, 0], [2, 0], [3, 1]])
    model = LinearRegressor(degree=None, max_degree=2, validation="leave-one-out", selection=selection)
    tried = model.fit(X, np.arange(4.0) ** 2).tried_
    assert tried is not None
    told = [(one["degree"], one["loss"], one["standard_error"], one["chosen"]) for one in tried.to_json()]
    assert told == [(1, None, None, True), (2, None, None, False)]


@pytest.mark.parametrize("indicators", [True, False])
def test_nothing_of_a_fold_leaks_into_its_path(indicators: bool) -> None:
    """Each row left out is answered by what the other rows alone teach: levels, means, deviations and gaps too."""
    random = np.random.default_rng(5)
    x = np.where(np.arange(18) % 7 == 3, np.nan, random.normal(size=18) * 10 + 4)
    numbers = [None if np.isnan(value) else value for value in x]
    table = Table.from_columns({"x": numbers, "c": [f"level {row % 9}" for row in range(18)]})
    y = random.normal(size=18)
    options = {"penalty": "ridge", "degree": 2, "missing_indicators": indicators}
    model = LinearRegressor(folds=18, n_alphas=3, **options).fit(table, y)
    assert model.tried_ is not None
    for alpha, loss in zip(model.tried_.alphas.tolist(), model.tried_.losses.tolist(), strict=True):
        errors = []
        for row in range(18):
            others = np.flatnonzero(np.arange(18) != row)
            own = LinearRegressor(alpha=alpha, **options).fit(table.take(others), y[others])
            errors.append(own.predict(table.take(np.array([row])))[0] - y[row])
        assert loss == pytest.approx(np.mean(np.square(errors)), rel=1e-9)


@pytest.mark.parametrize("l1_ratio", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("n_rows", [60, 8, 6])
def test_a_path_begins_where_the_first_column_comes_in(l1_ratio: float, n_rows: int) -> None:
    """And ends at 1/10,000 of that, or at 1/100 where there are no more rows than columns."""
    X, y = data(n_rows)
    design = make_design(Table.from_array(X), np.ones(n_rows), degree=1, gaps=False)
    grid = Gaussian.of(y).grid(design, Penalty(l1_ratio), 9)
    options = {"l1_ratio": l1_ratio, "tol": 1e-12}
    peer = [ElasticNet(alpha=grid[0] * off, **options).fit(standardised(X), y).coef_ for off in (1.001, 0.99)]
    assert [int((coefficients != 0).sum()) for coefficients in peer] == [0, 1]
    assert grid[-1] / grid[0] == pytest.approx(1e-4 if n_rows == 60 else 1e-2)
    np.testing.assert_allclose(grid[1:] / grid[:-1], (grid[-1] / grid[0]) ** (1 / 8))
    least, less = (Gaussian.of(y).grid(design, Penalty(ratio), 9) for ratio in (1e-3, 1e-5))
    assert less.tolist() == least.tolist()
    assert least[0] == pytest.approx(grid[0] * l1_ratio / 1e-3)


def test_the_path_of_a_ridge_goes_from_nearly_the_mean_to_nearly_least_squares() -> None:
    X, y = data()
    tried = LinearRegressor(penalty="ridge", alpha=None, n_alphas=7).fit(X, y).tried_
    assert tried is not None
    largest = np.linalg.eigvalsh(np.corrcoef(X.T))[-1]
    np.testing.assert_allclose(tried.alphas, largest * np.geomspace(1e2, 1e-8, 7), rtol=1e-9)
    ends = [LinearRegressor(penalty="ridge", alpha=alpha).fit(X, y) for alpha in tried.alphas[[0, -1]].tolist()]
    assert ends[0].statistics_["r_squared"] < 0.05
    np.testing.assert_allclose(ends[1].predict(X), LinearRegressor().fit(X, y).predict(X), rtol=1e-4)


def test_folds_and_rows_count_by_their_weight() -> None:
    """The mean loss is that of all rows left out, each by its weight; its error is by the folds' own means."""
    X, y = data(20)
    weights = np.arange(20.0) % 4 + 0.5
    tried = LinearRegressor(penalty="ridge", alpha=None, n_alphas=3, folds=4, seed=1).fit(X, y, weights).tried_
    assert tried is not None
    folds = k_fold(20, 4, 1)
    for alpha, loss, error in zip(tried.alphas.tolist(), tried.losses, tried.errors, strict=True):
        means, sizes = [], []
        for number in range(4):
            train, test = folds[number].train, folds[number].test
            own = LinearRegressor(penalty="ridge", alpha=alpha).fit(X[train], y[train], weights[train])
            means.append(np.average((own.predict(X[test]) - y[test]) ** 2, weights=weights[test]))
            sizes.append(weights[test].sum())
        mean = np.average(means, weights=sizes)
        assert loss == pytest.approx(mean)
        assert error == pytest.approx(np.sqrt(np.average((means - mean) ** 2, weights=sizes) / 3))


def test_losses_by_leaving_out_are_those_of_as_many_fits() -> None:
    """Without penalty the formula is exact: each degree by n fits, a row with all its weight left out."""
    generator = np.random.default_rng(8)
    x, weights = generator.normal(size=(18, 1)), generator.integers(1, 4, 18).astype(float)
    y = np.sin(2 * x[:, 0]) + generator.normal(size=18) / 5
    model = LinearRegressor(degree=None, max_degree=4, validation="leave-one-out", selection="one-standard-error")
    tried = model.fit(x, y, weights).tried_
    assert tried is not None
    for degree, loss, error in zip(tried.degrees.tolist(), tried.losses, tried.errors, strict=True):
        squares = []
        for row in range(18):
            kept = np.arange(18) != row
            powers = np.polyfit(x[kept, 0], y[kept], degree, w=np.sqrt(weights[kept]))
            squares.append((np.polyval(powers, x[row, 0]) - y[row]) ** 2)
        mean = np.average(squares, weights=weights)
        assert loss == pytest.approx(mean, rel=1e-6)
        spread = np.average((np.array(squares) - mean) ** 2, weights=weights)
        assert error == pytest.approx(np.sqrt(spread / (weights.sum() - 1)), rel=1e-6)


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"alpha": 1.0}, "alpha"),
        ({"penalty": "ridge", "l1_ratio": 0.2}, "l1_ratio"),
        ({"penalty": "lasso", "validation": "leave-one-out"}, "validation"),
        ({"n_alphas": 5}, "n_alphas"),
    ],
)
def test_what_would_have_no_effect_is_refused(parameters: dict, field: str) -> None:
    with pytest.raises(ParameterError, match="has no effect") as caught:
        LinearRegressor(**parameters).fit(*data())
    assert caught.value.field == field
