"""What a fit by neighbours found is told: rows that were kept, weights of columns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from learners.neighbors import LocalLinearRegressor, NearestNeighborsClassifier
from learners.neighbors.condensing import condensed
from learners.persist import dump, load
from learners.table import Table


def _clouds(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 2)) + 2.0 * y[:, None], y


def _again(model: NearestNeighborsClassifier) -> NearestNeighborsClassifier:
    """The model as it is stored and read."""
    return NearestNeighborsClassifier.from_state(load(dump(model.get_state())))


@pytest.mark.parametrize("way", ["condensed", "edited", "edited-condensed"])
def test_a_reduction_tells_how_many_rows_it_kept_and_of_how_many(way):
    X, y = _clouds()
    weights = np.r_[np.ones(50), np.zeros(10)]
    model = NearestNeighborsClassifier(k=1, scaling="none", reduction=way).fit(X, y, sample_weight=weights)
    notes = model.training_notes()
    assert notes["n_rows"] == 50  # rows without weight are none
    assert notes["kept_rows"] == len(model.origin_) < 50
    if way == "condensed":
        assert notes["kept_rows"] == len(condensed(model.index_.metric, X[:50], y[:50]))
    assert _again(model).training_notes() == notes


def test_an_editing_that_keeps_all_rows_says_so():
    X = np.array([[0.0], [0.1], [0.2], [0.3], [9.0], [9.1], [9.2], [9.3]])
    model = NearestNeighborsClassifier(k=1, reduction="edited").fit(X, [0] * 4 + [1] * 4)
    notes = model.training_notes()
    assert (notes["kept_rows"], notes["n_rows"]) == (8, 8)
    assert _again(model).training_notes() == notes


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "minkowski"])
def test_weights_by_information_are_told_by_column(metric):
    """Gains in bits, each less Miller's (branches - 1)(classes - 1) / (2 n ln 2), the largest 1."""
    columns = {"tells": list("aaaabbbb"), "half": list("aaabbbba"), "not": list("abababab"), "one": list("cccccccc")}
    model = NearestNeighborsClassifier(k=1, weighting="information-gain", metric=metric)
    model.fit(Table.from_columns(columns), list("ppppqqqq"))
    chance = 1 / (16 * math.log(2))
    half = 1 + 0.75 * math.log2(0.75) + 0.25 * math.log2(0.25)
    expected = {"tells": 1.0, "half": (half - chance) / (1 - chance), "not": 0.0, "one": 0.0}
    told = model.training_notes()["column_weights"]
    assert list(told) == list(columns)
    assert told == pytest.approx(expected, rel=1e-12)
    assert _again(model).training_notes()["column_weights"] == told


def test_weights_by_error_are_told_and_given_ones_are_not():
    X, y = _clouds()
    X = np.c_[X[:, 0], np.random.default_rng(1).normal(size=len(y)) * 5]
    found = NearestNeighborsClassifier(k=3, weighting="cross-validation").fit(X, y).training_notes()["column_weights"]
    assert set(found.values()) <= {0.0, 0.25, 1.0}
    numbers = LocalLinearRegressor(k=5, weighting="cross-validation").fit(X, X[:, 0]).training_notes()
    assert set(numbers["column_weights"]) == set(found)
    given = NearestNeighborsClassifier(k=1, weighting="given", column_weights={next(iter(found)): 2.0}).fit(X, y)
    assert given.training_notes() == {}
