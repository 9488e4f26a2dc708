"""Local linear regression: exact on linear data, better at edges, an answer where neighbours are singular."""

import numpy as np
import pytest

from learners.neighbors import LocalLinearRegressor, NearestNeighborsRegressor
from learners.neighbors.local_linear import equivalent_votes
from learners.table import Column, Kind, Table


@pytest.mark.parametrize("kernel", ["uniform", "gaussian", "inverse"])
def test_linear_data_are_met_exactly_beyond_their_edge_too(kernel):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 3))
    y = 3 + X @ [1.0, -2.0, 0.5]
    model = LocalLinearRegressor(kernel=kernel).fit(X, y)
    asked = np.vstack([X[:20] + 0.01, 2 * X[:20]])
    np.testing.assert_allclose(model.predict(asked), 3 + asked @ [1.0, -2.0, 0.5], rtol=1e-8, atol=1e-8)


def test_the_line_beats_the_mean_at_edges():
    generator = np.random.default_rng(1)
    x = generator.random((500, 1))
    expected = lambda at: 4 * at[:, 0] + np.sin(6 * at[:, 0])  # noqa: E731
    y = expected(x) + generator.normal(0, 0.05, 500)
    edges = np.array([[0.0], [0.005], [0.995], [1.0]])
    options = {"k": 60, "kernel": "gaussian", "bandwidth": 0.05}
    line = LocalLinearRegressor(**options).fit(x, y).predict(edges) - expected(edges)
    mean = NearestNeighborsRegressor(**options).fit(x, y).predict(edges) - expected(edges)
    assert (np.abs(line) < np.abs(mean)).all()
    assert np.abs(line).max() < np.abs(mean).max() / 3


def test_it_is_weighted_least_squares():
    generator = np.random.default_rng(2)
    off, votes, y = generator.normal(size=(9, 2)), generator.random(9), generator.normal(size=9)
    votes /= votes.sum()
    design = np.sqrt(votes)[:, None] * np.column_stack([np.ones(9), off])
    wanted = np.linalg.lstsq(design, np.sqrt(votes) * y, rcond=None)[0][0]
    factors, _ = equivalent_votes(off, votes, 1e-3)
    assert factors @ y == pytest.approx(wanted, rel=1e-10)
    assert factors.sum() == pytest.approx(1)


def test_singular_neighbourhoods_have_an_answer():
    x = np.column_stack([np.arange(10.0), 2 * np.arange(10.0)])
    y = np.arange(10.0)
    np.testing.assert_allclose(LocalLinearRegressor(k=5, ridge=1e-6).fit(x, y).predict(x), y, atol=1e-4)
    same = LocalLinearRegressor(k=4).fit(np.zeros((6, 2)), y[:6])
    assert same.predict([[0.0, 0.0]])[0] == pytest.approx(1.5)
    wide = np.random.default_rng(3).normal(size=(8, 30))
    assert np.isfinite(LocalLinearRegressor().fit(wide, y[:8]).predict(wide)).all()


def test_a_narrow_direction_is_fitted_too():
    """A column that spreads a thousandth of another one is no singular direction: linear data are met exactly."""
    generator = np.random.default_rng(6)
    X = generator.normal(size=(60, 2)) * [1, 1e-3]
    y = 1 + X @ [2.0, 3000.0]
    asked = X[:9] + np.array([0.1, 1e-4])
    found = LocalLinearRegressor(k=15, scaling="none").fit(X, y).predict(asked)
    np.testing.assert_allclose(found, 1 + asked @ [2.0, 3000.0], rtol=1e-8)


def test_the_ridge_is_a_share_of_the_widest_spread():
    """Rows on a line and a question beside it: whatever the unit of both is, the factors are the same."""
    along, votes = np.linspace(-1, 2, 7), np.full(7, 1 / 7)
    off = np.column_stack([along + 0.3, 2 * along - 0.4])
    factors, spread = equivalent_votes(off, votes, 0.01)
    np.testing.assert_allclose(equivalent_votes(1000 * off, votes, 0.01)[0], factors, rtol=1e-9)
    # across the line the rows do not spread, and are taken to by 0.01 of the squared spread along it
    line, across = np.array([1, 2]) / np.sqrt(5), np.array([2, -1]) / np.sqrt(5)
    mean, widest = off.mean(axis=0), np.mean((spread @ line) ** 2)
    slopes = line * (line @ -mean) / widest + across * (across @ -mean) / (0.01 * widest)
    np.testing.assert_allclose(factors, votes * (1 + spread @ slopes), rtol=1e-9)


@pytest.mark.parametrize("asked_of_all", [False, True])
def test_a_missing_value_counts_as_the_neighbours_mean(asked_of_all):
    """In the row that is asked for the column does not matter; in a neighbour it is filled, as by hand."""
    generator = np.random.default_rng(7)
    X = generator.normal(size=(12, 2)) + 5
    y = generator.normal(size=12)
    options = {"k": 12, "missing": "left-out", "scaling": "none"}
    if asked_of_all:
        model = LocalLinearRegressor(**options).fit(X, y)
        slope, intercept = np.polyfit(X[:, 0], y, 1)
        assert model.predict([[4.0, np.nan]])[0] == pytest.approx(intercept + slope * 4.0)
        return
    gappy, filled = X.copy(), X.copy()
    gappy[3, 1] = np.nan
    filled[3, 1] = np.delete(X[:, 1], 3).mean()
    b = np.linalg.lstsq(np.column_stack([np.ones(12), filled]), y, rcond=None)[0]
    assert LocalLinearRegressor(**options).fit(gappy, y).predict([[4.0, 6.0]])[0] == pytest.approx(b @ [1, 4, 6])


def test_a_level_counts_as_differing_or_not():
    colour = Column("colour", Kind.NOMINAL, ("r", "g"))
    table = Table((Column("x"), colour), np.column_stack([np.arange(20.0), np.arange(20) % 2]))
    y = 2 * np.arange(20.0) + 7 * (np.arange(20) % 2)
    np.testing.assert_allclose(LocalLinearRegressor(k=8).fit(table, y).predict(table), y, atol=1e-8)


def test_reasons_add_up_to_the_answer():
    generator = np.random.default_rng(5)
    X, y = generator.normal(size=(50, 2)), generator.normal(size=50)
    model = LocalLinearRegressor(k=6, choose_k="leave-one-out").fit(X, y)
    for reason, answer in zip(model.explain(X[:5] + 0.1), model.predict(X[:5] + 0.1), strict=True):
        assert reason.by == "linear"
        assert sum(one.vote for one in reason.neighbours) == pytest.approx(1)
        assert reason.replayed() == pytest.approx(answer)
