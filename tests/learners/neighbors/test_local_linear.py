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
