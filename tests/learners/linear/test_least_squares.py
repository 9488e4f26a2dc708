"""Least squares and ridge: certified digits, collinear and narrow data, weights, leave-one-out, intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, Ridge

from learners.linear import LinearRegressor
from learners.linear.design import make_design
from learners.linear.gaussian import Gaussian
from learners.linear.least_squares import factor
from learners.linear.penalty import Penalty
from learners.table import Column, Kind, Series, Table
from learners.validation import labels_of
from tests.learners.linear.exact import digits, least_squares, without_polynomial
from tests.learners.tables import read

POINTS = range(21)
POWERS = [[float(x**k) for k in range(1, 6)] for x in POINTS]
ONES = [float(sum(x**k for k in range(6))) for x in POINTS]
NOISE = without_polynomial(21, 6)


def wampler(number: int) -> list[float]:
    """Wampler's problems: 1 and 2 as they are; 3 to 5 with noise of 1, 100 and 10,000 times whole numbers.

    NIST's noise, like this one, has no part of a polynomial of degree 5, so that the coefficients stay 1.
    """
    if number == 2:
        return [sum(x**k / 10.0**k for k in range(6)) for x in POINTS]
    return [y + {1: 0, 3: 1, 4: 100, 5: 10_000}[number] * noise for y, noise in zip(ONES, NOISE, strict=True)]


@pytest.mark.parametrize(("number", "least"), [(1, 10), (2, 12), (3, 10), (4, 10), (5, 7)])
def test_wamplers_polynomials_have_their_digits(number: int, least: float) -> None:
    target = wampler(number)
    solution, explained = least_squares(POWERS, target)
    if number != 2:
        assert solution == [1] * 6
    model = LinearRegressor().fit(np.array(POWERS), np.array(target))
    assert min(digits(one.estimate, b) for one, b in zip(model.coefficients(), solution, strict=True)) >= least
    assert digits(model.statistics_["r_squared"], explained) >= 10


def longley() -> tuple[Table, Series]:
    table, target = read("longley", "employed")
    return table, Series(Column("employed"), np.array([float(label) for label in labels_of(target)]))


def test_longley_has_every_digit() -> None:
    """Also R^2 and the intercept as published: 0.995479004577296 and -3482258.6346."""
    table, target = longley()
    solution, explained = least_squares(table.values.tolist(), target.cells.tolist())
    model = LinearRegressor().fit(table, target)
    rows = model.coefficients()
    assert min(digits(one.estimate, b) for one, b in zip(rows, solution, strict=True)) >= 13
    assert model.statistics_["r_squared"] == pytest.approx(float(explained), rel=1e-13)
    assert model.statistics_["r_squared"] == pytest.approx(0.995479004577296, rel=1e-13)
    assert rows[0].estimate == pytest.approx(-3482258.6346, rel=1e-10)
    assert rows[-1].estimate == pytest.approx(1829.15146461, rel=1e-10)


def test_errors_and_intervals_are_those_of_the_normal_equations() -> None:
    from scipy.stats import t as student

    table, target = longley()
    # GNP and its like apart, so that the textbook's inverse has digits enough
    table = table.select(["unemployed", "armed_forces", "year"])
    model = LinearRegressor().fit(table, target)
    design = np.column_stack([np.ones(16), table.values - [3000, 2600, 1954]])
    inverse = np.linalg.inv(design.T @ design)
    b = inverse @ design.T @ target.cells
    rest = target.cells - design @ b
    error = np.sqrt(np.diag(inverse) * (rest @ rest) / 12)
    rows = model.coefficients(0.9)
    for row, estimate, wanted in zip(rows[1:], b[1:], error[1:], strict=True):
        assert row.estimate == pytest.approx(estimate, rel=1e-9)
        assert row.standard_error == pytest.approx(wanted, rel=1e-9)
        assert row.t == pytest.approx(estimate / wanted, rel=1e-9)
        assert row.p_value == pytest.approx(2 * student.sf(abs(estimate / wanted), 12), rel=1e-8)
        assert row.high == pytest.approx(estimate + student.ppf(0.95, 12) * wanted, rel=1e-9)
    lifted = np.array([1, -3000, -2600, -1954]) @ inverse @ np.array([1, -3000, -2600, -1954])
    assert rows[0].standard_error == pytest.approx(np.sqrt(lifted * (rest @ rest) / 12), rel=1e-9)
    assert model.statistics_["residual_standard_error"] == pytest.approx(np.sqrt(rest @ rest / 12), rel=1e-11)
    assert model.statistics_["degrees_of_freedom"] == pytest.approx(12)


def test_collinear_columns_share_what_they_explain() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=30)
    y = 2 * x + random.normal(size=30)
    alone = LinearRegressor().fit(x[:, None], y)
    twice = LinearRegressor().fit(np.column_stack([x, x, 3 * x + 1]), y)
    np.testing.assert_allclose(twice.predict(np.column_stack([x, x, 3 * x + 1])), alone.predict(x[:, None]), rtol=1e-9)
    found = [row.estimate for row in twice.coefficients()[1:]]
    assert found[0] == pytest.approx(found[1])
    assert found[0] * x.std() == pytest.approx(found[2] * (3 * x).std())  # alike in units of their deviations
    assert [row.standard_error for row in twice.coefficients()[1:]] == [None] * 3


def test_columns_that_nearly_agree_are_told_apart() -> None:
    """Two columns that differ by 1e-8 of their spread: what depends on the difference alone is found."""
    random = np.random.default_rng(11)
    x, z = random.normal(size=(2, 50))
    model = LinearRegressor().fit(np.column_stack([x, x + 1e-8 * z])[:40], z[:40])
    assert model.statistics_["rank"] == 3
    np.testing.assert_allclose(model.predict(np.column_stack([x, x + 1e-8 * z])[40:]), z[40:], atol=1e-5)


def test_a_column_that_hardly_varies_beside_its_size_tells_what_it_tells() -> None:
    x = 1e9 + np.arange(10.0)
    model = LinearRegressor().fit(x[:, None], 2 * np.arange(10.0))
    assert model.coefficients()[1].estimate == pytest.approx(2, rel=1e-6)
    assert model.predict(x[:, None]) == pytest.approx(2 * np.arange(10.0), abs=1e-5)


def test_a_level_of_next_to_no_weight_has_its_own_number() -> None:
    table = Table((Column("c", Kind.NOMINAL, ("a", "b")),), np.array([[0.0], [0.0], [0.0], [1.0]]))
    model = LinearRegressor().fit(table, [1.0, 2.0, 3.0, 10.0], [1.0, 1.0, 1.0, 1e-9])
    assert model.predict(table) == pytest.approx([2, 2, 2, 10], rel=1e-6)


def test_more_columns_than_rows_have_the_solution_of_least_norm() -> None:
    random = np.random.default_rng(1)
    X, y = random.normal(size=(6, 15)), random.normal(size=6)
    model = LinearRegressor().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-10)
    standard = (X - X.mean(0)) / X.std(0)
    least = np.linalg.pinv(standard) @ (y - y.mean())
    np.testing.assert_allclose([row.estimate for row in model.coefficients()[1:]], least / X.std(0), rtol=1e-8)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(-250, 250), st.integers(-290, 139))
def test_units_do_not_matter(seed: int, of_x: int, of_y: int) -> None:
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(12, 2)) + 3, random.normal(size=12)
    plain, scaled = LinearRegressor().fit(X, y), LinearRegressor().fit(X * 10.0**of_x, y * 10.0**of_y)
    np.testing.assert_allclose(scaled.predict(X * 10.0**of_x) / 10.0**of_y, plain.predict(X), rtol=1e-8, atol=1e-9)
    assert scaled.statistics_["r_squared"] == pytest.approx(plain.statistics_["r_squared"], abs=1e-9)


@pytest.mark.parametrize("alpha", [1e-4, 0.1, 3.0])
def test_ridge_is_the_peers(alpha: float) -> None:
    random = np.random.default_rng(2)
    X, y = random.normal(size=(40, 5)) * [1, 10, 0.1, 5, 1] + 7, random.normal(size=40)
    weights = random.integers(1, 4, 40).astype(float)
    mean = np.average(X, axis=0, weights=weights)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    peer = Ridge(alpha=alpha * weights.sum(), tol=1e-12).fit((X - mean) / deviation, y, weights)
    model = LinearRegressor(penalty="ridge", alpha=alpha).fit(X, y, weights)
    np.testing.assert_allclose(model.predict(X), peer.predict((X - mean) / deviation), rtol=1e-9)


@pytest.mark.parametrize("alphas", [[0.0], [2.0, 0.3, 1e-6]])
def test_leaving_out_by_the_formula_is_leaving_out(alphas: list[float]) -> None:
    """A row left out of the fit, the total of the penalty and the columns' units as they are."""
    random = np.random.default_rng(3)
    X = random.normal(size=(20, 3))
    y = X @ [1, -2, 0.5] + random.normal(size=20)
    weights = random.integers(1, 3, 20).astype(float)
    design = make_design(Table.from_array(X), weights, degree=2, gaps=False)
    found = Gaussian.of(y).left_out(design, Penalty(0.0), np.array(alphas))
    for place, alpha in enumerate(alphas):
        for row in range(20):
            kept = np.arange(20) != row
            own = np.column_stack([np.ones(20), design.standard])
            ridge = np.diag([0.0] + [alpha * weights.sum()] * design.standard.shape[1])
            matrix = own[kept].T @ (weights[kept, None] * own[kept]) + ridge
            b = np.linalg.solve(matrix, own[kept].T @ (weights[kept] * y[kept]))
            assert found[place, row] == pytest.approx(y[row] - own[row] @ b, rel=1e-8, abs=1e-10)


def test_a_row_that_alone_tells_a_coefficient_cannot_be_left_out() -> None:
    X = np.array([[0.0, 0], [1, 0], [2, 0], [3, 1]])
    design = make_design(Table.from_array(X), np.ones(4), degree=1, gaps=False)
    errors = Gaussian.of(np.arange(4.0) ** 2).left_out(design, Penalty(None), np.zeros(1))[0]
    assert np.isinf(errors).tolist() == [False, False, False, True]


def test_levels_are_compared_with_the_first_that_occurs() -> None:
    colour = Column("colour", Kind.NOMINAL, ("none", "red", "green", "blue"))
    table = Table((colour,), np.array([1.0, 1, 2, 2, 3, 3])[:, None])
    y = np.array([1.0, 3, 5, 7, 10, 14])
    model = LinearRegressor().fit(table, Series(Column("y"), y))
    rows = model.coefficients()
    assert [row.variable.text() for row in rows] == ["intercept", "[colour = green]", "[colour = blue]"]
    assert [row.estimate for row in rows] == pytest.approx([2, 4, 10])
    assert rows[1].variable.reference == "red"
    # a level that did not occur counts as the mean of those that did
    assert model.predict(Table((colour,), np.array([[0.0], [-1], [np.nan]]))) == pytest.approx([20 / 3] * 3)


def test_missing_numbers_count_as_the_mean_and_have_their_indicator() -> None:
    x = np.array([0.0, 1, 2, 3, np.nan, np.nan])
    y = np.array([1.0, 3, 5, 7, 50, 52])
    model = LinearRegressor().fit(x[:, None], y)
    assert model.predict(x[:, None]) == pytest.approx([1, 3, 5, 7, 51, 51])
    assert [row.estimate for row in model.coefficients()] == pytest.approx([1, 2, 47])
    assert model.formula().endswith("* [x0 is missing]")
    plain = LinearRegressor(missing_indicators=False).fit(x[:, None], y)
    mean = LinearRegression().fit(np.where(np.isnan(x), 1.5, x)[:, None], y)
    assert plain.predict(x[:, None]) == pytest.approx(mean.predict(np.where(np.isnan(x), 1.5, x)[:, None]))


def test_a_table_of_too_many_levels_is_refused_by_name() -> None:
    from learners.errors import DataError

    names = Column("name", Kind.NOMINAL, tuple(f"n{i}" for i in range(6_000)))
    table = Table((Column("x"), names), np.column_stack([np.arange(6_000.0)] * 2))
    with pytest.raises(DataError, match="'name' with its 6000 levels; at most 5000 variables") as caught:
        LinearRegressor().fit(table, Series(Column("y"), np.arange(6_000.0)))
    assert caught.value.field == "name"


def test_the_decomposition_counts_rank() -> None:
    X = np.random.default_rng(4).normal(size=(10, 3))
    design = make_design(Table.from_array(np.column_stack([X, X[:, 0] - X[:, 1]])), np.ones(10), degree=1, gaps=False)
    assert factor(design).rank == 3


def test_of_exact_fits_the_lowest_degree_is_chosen() -> None:
    x = np.arange(40.0)[:, None]
    assert LinearRegressor(degree=None).fit(x, 3 * x[:, 0] + 1).degree_ == 1
    assert LinearRegressor(degree=None).fit(x, 3 * x[:, 0] ** 2 + 1).degree_ == 2
    for seed in range(4):  # where what rounding leaves is least of a higher degree
        x = np.random.default_rng(seed).normal(size=(30, 1))
        model = LinearRegressor(degree=None, max_degree=4).fit(x, 0.3 * x[:, 0] + 0.1)
        assert model.degree_ == 1
        assert model.tried_ is not None
        assert model.tried_.losses.max() < 1e-28
