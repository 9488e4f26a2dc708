"""Least squares of a node against numpy's, and which terms stay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.trees.model_tree.terms import adjusted, fit_terms


def fit(design, target, weights=None, rows=None, slack=1e-9):
    """The kernel on columns given as rows of ``design``."""
    design = np.ascontiguousarray(design, dtype=float)
    weights = np.ones(len(target)) if weights is None else np.asarray(weights, dtype=float)
    return fit_terms(design, np.asarray(target, dtype=float), weights, float(rows or len(target)), slack)


def peer(design, target, weights):
    roots = np.sqrt(weights)
    matrix = np.column_stack([np.ones(len(target)), *design]) * roots[:, None]
    return np.linalg.lstsq(matrix, target * roots, rcond=None)[0]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.booleans())
def test_coefficients_are_those_of_lstsq(seed, n_variables, weighted):
    rng = np.random.default_rng(seed)
    n_rows = 60
    design = rng.normal(size=(n_variables, n_rows)) * 10.0 ** rng.integers(-3, 4, (n_variables, 1)) + rng.normal()
    target = 50 + (design / design.std(axis=1, keepdims=True)).sum(axis=0) * 5 + 0.1 * rng.normal(size=n_rows)
    weights = rng.uniform(0.2, 3, n_rows) if weighted else np.ones(n_rows)
    intercept, coefficients, kept, error = fit(design, target, weights)
    assert kept.all()  # every variable tells a lot
    # In units of each variable's spread, about its mean: in raw units lstsq itself loses half of its digits.
    mean, spread = design.mean(axis=1), design.std(axis=1)
    wanted = peer((design - mean[:, None]) / spread[:, None], target, weights)
    found = [intercept + coefficients @ mean, *(coefficients * spread)]
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
    residuals = np.abs(target - intercept - coefficients @ design)
    assert error == pytest.approx(np.average(residuals, weights=weights))


@pytest.mark.parametrize("seed", range(20))
def test_the_dropped_path_has_no_better_adjusted_error(seed):
    """Each model on the way, refitted by lstsq, is no better than the one that was kept."""
    rng = np.random.default_rng(seed)
    n_rows, n_variables = 25, 6
    design = rng.normal(size=(n_variables, n_rows))
    target = design[0] + 0.3 * design[1] + rng.normal(size=n_rows)
    _, _, kept, error = fit(design, target)
    found = error * (n_rows + kept.sum() + 1) / (n_rows - kept.sum() - 1)
    left = list(range(n_variables))
    path = []
    while True:
        solution = peer(design[left], target, np.ones(n_rows))
        residuals = target - solution[0] - solution[1:] @ design[left]
        path.append((left.copy(), np.abs(residuals).mean() * (n_rows + len(left) + 1) / (n_rows - len(left) - 1)))
        if not left:
            break
        losses = []
        for one in left:
            others = [other for other in left if other != one]
            fitted = peer(design[others], target, np.ones(n_rows))
            losses.append(((target - fitted[0] - fitted[1:] @ design[others]) ** 2).sum())
        del left[int(np.argmin(losses))]
    assert found == pytest.approx(min(value for _, value in path))
    assert list(np.flatnonzero(kept)) in [variables for variables, _ in path]


def test_of_collinear_columns_the_first_stays():
    x = np.arange(10.0)
    _, coefficients, kept, _ = fit([x, 3 * x + 1, x**2, x**2 - x], 2 * x + x**2)
    assert kept.tolist() == [True, False, True, False]
    np.testing.assert_allclose(coefficients, [2, 0, 1, 0], atol=1e-12)


@pytest.mark.parametrize("value", [0.0, 7.5, -1e300, 5e-324])
def test_a_constant_column_is_left_out(value):
    x = np.arange(6.0)
    intercept, coefficients, kept, error = fit([np.full(6, value), x], 1 - x)
    assert kept.tolist() == [False, True]
    np.testing.assert_allclose([intercept, *coefficients, error], [1, 0, -1, 0], atol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e-7, 1e7, 1e100, 1e300])
def test_hard_scales_give_finite_functions(scale):
    x = np.arange(1.0, 9.0) * scale
    intercept, coefficients, kept, _ = fit([x], np.arange(8.0))
    assert np.isfinite(intercept)
    assert np.isfinite(coefficients).all()
    assert kept[0] == (scale > 1e-140)
    if kept[0]:
        np.testing.assert_allclose(intercept + coefficients[0] * x, np.arange(8.0), atol=1e-9)


def test_fewer_rows_than_variables_is_no_wild_fit():
    rng = np.random.default_rng(1)
    design, target = rng.normal(size=(30, 5)), rng.normal(size=5)
    intercept, coefficients, kept, _ = fit(design, target)
    assert kept.sum() < 4  # five rows bear three terms and an intercept at most
    assert np.isfinite([intercept, *coefficients]).all()
    assert not fit(design[:, :1], target[:1])[2].any()
    assert fit(design[:, :1], target[:1])[0] == target[0]


def test_nothing_to_tell_leaves_the_mean():
    rng = np.random.default_rng(3)
    target = rng.normal(size=40)
    design = np.ones((1, 40))
    intercept, _, kept, error = fit(design, target)
    assert not kept.any()
    assert intercept == pytest.approx(target.mean())
    assert error == pytest.approx(np.abs(target - target.mean()).mean())
    assert fit(np.empty((0, 40)), target)[0] == pytest.approx(target.mean())


def test_a_missing_value_is_the_mean_of_the_known():
    x = np.array([0.0, 2, 4, 6, 8, np.nan, np.nan, 10])
    filled = np.where(np.isnan(x), np.nanmean(x), x)
    target = 3 * filled + 1
    intercept, coefficients, _, error = fit([x], target)
    np.testing.assert_allclose([intercept, coefficients[0], error], [1, 3, 0], atol=1e-12)


def test_weight_two_is_twice():
    rng = np.random.default_rng(4)
    design, target = rng.normal(size=(3, 20)), rng.normal(size=20)
    times = rng.integers(1, 4, 20)
    weighted = fit(design, target, times, rows=times.sum())
    repeated = fit(np.repeat(design, times, axis=1), np.repeat(target, times))
    assert weighted[2].tolist() == repeated[2].tolist()
    np.testing.assert_allclose([weighted[0], *weighted[1], weighted[3]], [repeated[0], *repeated[1], repeated[3]])


def test_adjusted_error():
    assert adjusted(2.0, 10.0, 2.0, 1.0) == 2 * 12 / 8
    assert adjusted(2.0, 10.0, 2.0, 2.0) == 2 * 14 / 8
    assert adjusted(2.0, 2.0, 2.0, 1.0) == np.inf
    assert adjusted(2.0, 1.0, 1.0, 1.0) == 2
