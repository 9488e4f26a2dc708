"""Cut points: against their definitions, an independent search, and what is published of iris."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.preprocessing.discretise import equal_frequency, equal_width, minimum_length
from learners.trees.criteria import entropy
from tests.learners.tables import read

NUMBERS = st.lists(st.integers(-20, 20).map(float) | st.floats(-1e308, 1e308), min_size=1, max_size=40)


def ones(values):
    return np.ones(len(values))


def test_equal_width():
    assert equal_width(np.array([4.0, 0.0, 10.0]), 4).tolist() == [2.5, 5.0, 7.5]
    assert equal_width(np.array([3.0, 3.0]), 4).tolist() == []
    assert equal_width(np.empty(0), 4).tolist() == []
    assert len(equal_width(np.array([-1.7e308, 1.7e308]), 4)) == 3


def test_equal_frequency_never_parts_equal_values():
    assert equal_frequency(np.arange(8.0), np.ones(8), 4).tolist() == [1.5, 3.5, 5.5]
    assert equal_frequency(np.array([1.0, 1, 1, 1, 2, 3]), np.ones(6), 3).tolist() == [1.5]
    assert equal_frequency(np.array([1.0, 2]), np.ones(2), 5).tolist() == [1.5]
    assert equal_frequency(np.array([1.0, 2, 3]), np.array([8.0, 1, 1]), 2).tolist() == [1.5]
    assert equal_frequency(np.array([7.0]), np.ones(1), 3).tolist() == []


@given(values=NUMBERS, bins=st.integers(2, 8))
def test_cuts_separate_values_and_ascend(values, bins):
    values = np.array(values)
    codes = (np.arange(len(values)) * 7 % 3).astype(np.int64)
    for cuts in (
        equal_width(values, bins),
        equal_frequency(values, ones(values), bins),
        minimum_length(values, codes, ones(values), 3),
    ):
        assert (np.diff(cuts) > 0).all()
        assert not len(cuts) or (values.min() <= cuts[0] and cuts[-1] < values.max())
    assert len(equal_frequency(values, ones(values), bins)) < bins


@given(values=st.lists(st.integers(0, 9), min_size=1, max_size=60), bins=st.integers(2, 6))
def test_equal_frequency_cuts_where_the_weight_is_nearest(values, bins):
    values = np.array(values, dtype=float)
    cuts = equal_frequency(values, ones(values), bins)
    bounds = np.unique(values)[:-1]
    nearest = set()
    for part in range(1, bins):
        distances = [abs((values <= bound).sum() - len(values) * part / bins) for bound in bounds]
        if distances:
            nearest.add(bounds[int(np.argmin(np.round(distances, 9)))])
    assert {values[values <= cut].max() for cut in cuts} == nearest


def searched(values, codes):
    """Fayyad and Irani's method as it is written down, every cut tried."""
    bounds = np.unique(values)[:-1]

    def counts(rows):
        return np.bincount(codes[rows], minlength=3)

    def description(rows):
        return np.count_nonzero(counts(rows)) * entropy(counts(rows)) if len(codes[rows]) else 0.0

    everything = np.ones(len(values), bool)
    best, place = math.inf, None
    for bound in bounds:
        left = values <= bound
        inside = (left.sum() * entropy(counts(left)) + (~left).sum() * entropy(counts(~left))) / len(values)
        if inside < best - 1e-12:
            best, place = inside, bound
    if place is None:
        return []
    left = values <= place
    delta = math.log2(3 ** np.count_nonzero(counts(everything)) - 2) - (
        description(everything) - description(left) - description(~left)
    )
    gain = entropy(counts(everything)) - best
    if gain <= (math.log2(len(values) - 1) + delta) / len(values):
        return []
    cut = (place + values[~left].min()) / 2
    return [*searched(values[left], codes[left]), cut, *searched(values[~left], codes[~left])]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), noise=st.floats(0, 0.5))
def test_minimum_length_equals_an_independent_search(seed, noise):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 25, 80).astype(float)
    codes = np.where(rng.random(80) < noise, rng.integers(0, 3, 80), (values > 7).astype(int) + (values > 15))
    assert minimum_length(values, codes, np.ones(80), 3).tolist() == pytest.approx(searched(values, codes))


def test_weights_count_as_rows():
    rng = np.random.default_rng(1)
    values, codes = rng.integers(0, 12, 50).astype(float), rng.integers(0, 2, 50)
    codes[values > 6] = 1
    repeated = rng.integers(1, 4, 50)
    whole = minimum_length(np.repeat(values, repeated), np.repeat(codes, repeated), np.ones(repeated.sum()), 2)
    assert minimum_length(values, codes, repeated.astype(float), 2).tolist() == whole.tolist()


def test_noise_is_not_cut():
    rng = np.random.default_rng(2)
    assert minimum_length(rng.random(500), rng.integers(0, 2, 500), np.ones(500), 2).tolist() == []


def test_iris_as_published():
    """The cuts that the R package discretization gives by its mdlp."""
    table, labels = read("iris", "class")
    expected = {
        "sepallength": [5.55, 6.15],
        "sepalwidth": [2.95, 3.35],
        "petallength": [2.45, 4.75],
        "petalwidth": [0.8, 1.75],
    }
    for place, name in enumerate(table.names):
        cuts = minimum_length(table.values[:, place], labels.codes.astype(np.int64), np.ones(150), 3)
        assert cuts.tolist() == pytest.approx(expected[name])
