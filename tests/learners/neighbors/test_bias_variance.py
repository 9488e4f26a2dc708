"""The parts of k-NN's error against simulations and Haerdle's asymptotic forms."""

import numpy as np
import pytest

from learners.errors import DataError
from learners.neighbors.bias_variance import asymptotic_bias, asymptotic_variance, error_parts
from learners.neighbors.regressor import NearestNeighborsRegressor


def test_asymptotic_forms_are_met_by_simulation():
    """At 0.5, under the density 1/2 + x on (0, 1), of the target x^2 with noise."""
    generator = np.random.default_rng(0)
    n_rows, k, noise = 4_000, 800, 0.04
    answers = []
    for _ in range(150):
        x = (-1 + np.sqrt(1 + 8 * generator.random(n_rows))) / 2  # F(x) = (x + x^2) / 2
        y = x**2 + generator.normal(0, noise**0.5, n_rows)
        answers.append(NearestNeighborsRegressor(k=k, scaling="none").fit(x[:, None], y).predict([[0.5]])[0])
    bias = asymptotic_bias(k, n_rows, density=(1.0, 1.0), slope=1.0, curvature=2.0)
    error = 4 * np.sqrt(noise / k / 150)  # four standard errors of the mean
    assert np.mean(answers) - 0.25 == pytest.approx(bias, abs=error)
    assert bias > 2 * error
    assert np.var(answers) == pytest.approx(asymptotic_variance(k, noise), rel=0.35)


def test_variance_falls_and_bias_rises_with_k():
    generator = np.random.default_rng(1)
    x = generator.random((1_500, 1))
    y = np.sin(8 * x[:, 0]) + generator.normal(0, 0.2, 1_500)
    parts = error_parts(NearestNeighborsRegressor(), x, y, [1, 10, 80, 300])
    for one in parts:
        assert one.noise == pytest.approx(0.04, rel=0.1)
        assert one.variance == pytest.approx(one.noise / one.k)
        assert one.error == pytest.approx(one.noise + one.variance + one.squared_bias)
    assert [one.variance for one in parts] == sorted((one.variance for one in parts), reverse=True)
    assert abs(parts[1].squared_bias) < 0.003
    assert parts[2].squared_bias < parts[3].squared_bias
    assert parts[3].squared_bias > 0.01
    assert min(parts, key=lambda one: one.error).k == 80


@pytest.mark.parametrize("ks", [[0], [5], []])
def test_a_k_that_cannot_be_is_refused(ks):
    with pytest.raises(DataError):
        error_parts(NearestNeighborsRegressor(), np.arange(5.0)[:, None], np.arange(5.0), ks)
