"""Bishop's curve: sin(2 pi x) with noise of 0.3, by polynomials (Pattern recognition and machine learning, 1.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learners.linear import LinearRegressor
from learners.types import FloatArray

GRID = np.linspace(0, 1, 201)[:, None]


def curve(n_rows: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    x = np.linspace(0, 1, n_rows)
    return x[:, None], np.sin(2 * np.pi * x) + 0.3 * np.random.default_rng(seed).normal(size=n_rows)


def off(model: LinearRegressor) -> float:
    """Root mean square distance from the curve without noise."""
    return float(np.sqrt(np.mean((model.predict(GRID) - np.sin(2 * np.pi * GRID[:, 0])) ** 2)))


def mean_off(n_rows: int, **options: Any) -> float:
    """The same, the mean over thirty data sets."""
    return float(np.mean([off(LinearRegressor(**options).fit(*curve(n_rows, seed))) for seed in range(30)]))


def test_degree_nine_goes_through_ten_points_and_far_from_the_curve() -> None:
    x, y = curve(10)
    by_degree = {degree: LinearRegressor(degree=degree).fit(x, y) for degree in (1, 3, 9)}
    np.testing.assert_allclose(by_degree[9].predict(x), y, atol=1e-6)
    distance = {degree: mean_off(10, degree=degree) for degree in by_degree}
    assert distance[3] < 0.6 * distance[1]
    assert distance[3] < 0.4 * distance[9]


@pytest.mark.parametrize(
    ("n_rows", "options"),
    [
        (10, {"degree": 9, "penalty": "ridge", "alpha": 1e-4}),
        (100, {"degree": 9}),
        (10, {"degree": 9, "penalty": "ridge", "validation": "leave-one-out"}),
        (10, {"degree": None, "validation": "leave-one-out"}),
    ],
    ids=["lambda", "more data", "chosen lambda", "chosen degree"],
)
def test_what_repairs_degree_nine(n_rows: int, options: dict[str, Any]) -> None:
    assert mean_off(n_rows, **options) < 0.5 * mean_off(10, degree=9)


def test_the_degree_is_chosen_by_rows_left_out() -> None:
    x, y = curve(60)
    for options in ({}, {"validation": "leave-one-out"}, {"selection": "one-standard-error"}):
        model = LinearRegressor(degree=None, **options).fit(x, y)
        assert model.tried_ is not None
        assert model.tried_.degrees.tolist() == list(range(1, 10))
        assert 3 <= model.degree_ <= 6, options
        losses = model.tried_.losses
        if "selection" not in options:
            assert model.degree_ == int(np.argmin(losses)) + 1
        else:
            limit = losses.min() + model.tried_.errors[np.argmin(losses)]
            assert model.degree_ == int(np.flatnonzero(losses <= limit)[0]) + 1


def test_powers_are_told_by_the_centred_and_scaled_number() -> None:
    x = np.arange(9.0)
    model = LinearRegressor(degree=2).fit(x[:, None], x**2)
    rows = model.coefficients()
    variable = rows[2].variable
    assert variable.kind == "power"
    assert (variable.power, variable.centre) == (2, 4.0)
    assert variable.text().startswith("((x0 - 4) / 2.58")
    for value in (0.0, 7.5, 20.0):
        u = (value - variable.centre) / variable.unit
        assert rows[0].estimate + rows[1].estimate * u + rows[2].estimate * u**2 == pytest.approx(value**2, abs=1e-9)
        assert model.predict([[value]])[0] == pytest.approx(value**2, abs=1e-9)


def test_a_column_of_few_values_has_no_more_powers_than_can_be_told() -> None:
    x = np.array([0.0, 1, 0, 1, 2, 2])
    assert LinearRegressor(degree=9).fit(x[:, None], x).degree_ == 2
    assert LinearRegressor(degree=9).fit((x > 0).astype(float)[:, None], x).degree_ == 1
