"""Coordinate descent by its closed forms, and by what holds at the minimum."""

from __future__ import annotations

import numpy as np
import pytest

from learners.linear import LinearRegressor, LogisticClassifier
from learners.linear.descent import elastic_net
from learners.types import FloatArray


def at_minimum(slopes: FloatArray, coefficients: FloatArray, alpha: float, l1_ratio: float, near: float) -> None:
    """The loss's slopes balance the penalty's where a coefficient is not 0, and are within it where it is."""
    pull = -slopes - alpha * (1 - l1_ratio) * coefficients
    used = coefficients != 0
    assert pull[used] == pytest.approx(alpha * l1_ratio * np.sign(coefficients[used]), abs=near)
    assert (np.abs(pull[~used]) <= alpha * l1_ratio + near).all()
    assert used.any()
    assert not used.all()


def test_of_variables_that_do_not_depend_on_each_other_moments_are_cut_and_shrunk() -> None:
    """Where products are those of the unit matrix: sign(m) (|m| - l1) / (1 + l2), or 0."""
    moments, first, second = np.array([3.0, -2.0, 0.4, -0.5]), np.array([0.5, 1.0, 0.5, 0.5]), np.arange(4.0)
    found, reached = elastic_net(np.eye(4), moments, first, second, np.zeros(4), 1.0)
    assert found == pytest.approx([2.5, -1 / 2, 0, 0])
    assert reached


def test_rounds_that_end_before_coefficients_stand_still_are_told() -> None:
    products, none = np.array([[1.0, 0.9], [0.9, 1.0]]), np.zeros(2)
    found, reached = elastic_net(products, np.array([1.0, 0.5]), none + 0.01, none, none, 1.0, 1)
    assert not reached
    assert found == pytest.approx([0.99, -(0.9 * 0.99 - 0.5 - 0.01)])  # one round by hand; equations lead far from it
    found, reached = elastic_net(products, np.array([1.0, 0.5]), none, none, none, 1.0)
    assert reached
    assert found == pytest.approx(np.linalg.solve(products, [1.0, 0.5]), rel=1e-13)  # by equations, to the last digits


def test_equations_that_lead_to_other_signs_are_not_followed() -> None:
    """One round by hand, from a start that is a little off: the equations of its signs make the second negative."""
    products, start = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([0.0, 1e-5])
    moments, first = np.array([1.0, 0.504999]), np.full(2, 0.01)
    by_hand = [0.99 - 0.5e-5, 0.25e-5 - 1e-6]
    equations = np.linalg.solve(products, moments - first)
    assert equations == pytest.approx(by_hand, abs=1e-5)  # near, but not of these signs, so no minimum
    assert equations[1] < 0 < by_hand[1]
    found, reached = elastic_net(products, moments, first, np.zeros(2), start, 1.0, 1)
    assert found == pytest.approx(by_hand, abs=1e-12)
    assert not reached
    found, reached = elastic_net(products, moments, first, np.zeros(2), start, 1.0)
    assert found == pytest.approx([0.99, 0], abs=1e-15)  # the second's pull, 0.504999 - 0.495, is within its 0.01
    assert reached


@pytest.mark.parametrize("l1_ratio", [0.4, 1.0])
def test_an_elastic_net_of_numbers_is_at_its_minimum(l1_ratio: float) -> None:
    random = np.random.default_rng(3)
    X, weights = random.normal(size=(40, 6)), random.integers(1, 4, 40).astype(float)
    X[:, 1] += X[:, 0]
    y, shares = 100 * X[:, 0] + random.normal(size=40), weights / weights.sum()
    model = LinearRegressor(penalty="elastic-net", alpha=20, l1_ratio=l1_ratio).fit(X, y, weights)
    deviation = np.sqrt(shares @ (X - shares @ X) ** 2)
    standard = (X - shares @ X) / deviation
    own = np.array([row.estimate for row in model.coefficients()[1:]]) * deviation
    at_minimum(standard.T @ (shares * (model.predict(X) - y)), own, 20, l1_ratio, 1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.4, 1.0])
def test_an_elastic_net_of_classes_is_at_its_minimum(n_classes: int, l1_ratio: float) -> None:
    random = np.random.default_rng(4)
    X, weights = random.normal(size=(60, 9)), random.integers(1, 4, 60).astype(float)
    codes, shares = np.arange(60) % n_classes, weights / weights.sum()
    X[:, 0] += codes
    model = LogisticClassifier(penalty="elastic-net", alpha=0.1, l1_ratio=l1_ratio).fit(X, codes, weights)
    deviation = np.sqrt(shares @ (X - shares @ X) ** 2)
    standard = (X - shares @ X) / deviation
    off = (model.predict_proba(X) - np.eye(n_classes)[codes])[:, -model.coefficients_.shape[0] :]
    assert shares @ off == pytest.approx(0, abs=1e-7)  # intercepts are free
    by_function = np.array([row.estimate for row in model.coefficients()]).reshape(len(model.coefficients_), -1)
    at_minimum(
        (standard.T @ (shares[:, None] * off)).T.ravel(), (by_function[:, 1:] * deviation).ravel(), 0.1, l1_ratio, 1e-7
    )
