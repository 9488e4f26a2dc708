"""What rows tell that a member did not learn from: the error to expect, and importances by shuffling."""

import numpy as np
import pytest

from learners.ensembles import BaggingClassifier, BaggingRegressor
from learners.ensembles.drawing import Draws
from learners.trees.cells import by_column
from tests.learners.tables import read


def test_shuffling_tells_which_columns_matter():
    random = np.random.default_rng(2)
    values = random.normal(size=(300, 4))
    model = BaggingRegressor(members=15, importance="permutation").fit(values, 3 * values[:, 2])
    assert np.argmax(model.feature_importances_) == 2
    assert abs(model.feature_importances_[[0, 1, 3]]).max() < 0.1 * model.feature_importances_[2]


def test_shuffled_numbers_err_as_much_as_chance_does():
    """Of m rows, half 0 and half 1, a shuffle gives others' numbers to a share m / (2 (m - 1)) on average.

    Its standard deviation is about 0.5 / sqrt(m). The numbers read the same backwards, so that turning them round
    in place of shuffling would change none.
    """
    left_out = Draws(np.ones(1000), 1.0, 0).left_out(0)
    left_out = left_out[: len(left_out) // 2 * 2]
    half, m = len(left_out) // 2, len(left_out)
    numbers = np.zeros(1000)
    numbers[::2] = 1.0
    numbers[left_out[:half]] = np.arange(half) % 2
    numbers[left_out[half:]] = numbers[left_out[:half]][::-1]
    model = BaggingRegressor(members=1, importance="permutation").fit(numbers[:, None], numbers)
    assert model.feature_importances_[0] == pytest.approx(m / (2 * (m - 1)), abs=4 * 0.5 / np.sqrt(m))


def test_importances_by_shuffling_are_the_members_mean_rise_in_error():
    """By definition: a member's squared error on its rows out of bag, one column shuffled, less that as they are."""
    generator = np.random.default_rng(10)
    values, weights = generator.normal(size=(80, 2)), generator.integers(1, 4, 80).astype(float)
    numbers = values[:, 0] + values[:, 1] / 2 + generator.normal(size=80)
    model = BaggingRegressor(members=3, min_leaf=8, importance="permutation", seed=3).fit(values, numbers, weights)
    draws, rises = Draws(weights, 1.0, 3), np.zeros((3, 2))
    for member in range(3):
        rows, chance = draws.left_out(member), draws.generator(member, 1)

        def error(cells, member=member, rows=rows):
            answers = model.members_.each(by_column(cells), hard=False)[member, :, 0]
            return np.average((answers - numbers[rows]) ** 2, weights=weights[rows])

        for column in range(2):
            shuffled = values[rows].copy()
            shuffled[:, column] = chance.permutation(shuffled[:, column])
            rises[member, column] = error(shuffled) - error(values[rows])
    assert model.feature_importances_ == pytest.approx(rises.mean(axis=0))
    assert (rises != 0).all()


def test_the_error_out_of_bag_weighs_rows():
    """Without a column to test a member answers its sample's mean."""
    random = np.random.default_rng(5)
    numbers, weights = random.normal(size=200), random.integers(1, 4, 200).astype(float)
    draws = Draws(weights, 1.0, 2)
    answer, rows = np.average(numbers, weights=draws.counts(0)), draws.left_out(0)
    model = BaggingRegressor(members=1, seed=2).fit(np.zeros((200, 1)), numbers, weights)
    expected = np.average((numbers[rows] - answer) ** 2, weights=weights[rows])
    assert len(set(weights[rows])) == 3
    assert model.out_of_bag_.error == pytest.approx(expected, rel=1e-12)
    assert model.out_of_bag_.rows == len(rows)


def test_the_error_out_of_bag_decides_by_utility():
    """By hand from the members' own shares: a spam mail that is let through costs 1, a letter that is lost 10."""
    generator = np.random.default_rng(8)
    values = generator.normal(size=(150, 3))
    labels = np.where(values[:, 0] + generator.normal(size=150) > 0, "spam", "letter")
    costs = {"spam": {"letter": -10.0}, "letter": {"spam": -1.0}}
    model = BaggingClassifier(members=7, min_leaf=5, seed=4, utility=costs).fit(values, labels)
    draws, each = Draws(np.ones(150), 1.0, 4), model.members_.each(np.ascontiguousarray(values.T), hard=False)
    sums, counts = np.zeros((150, 2)), np.zeros(150)
    for member in range(7):
        rows = draws.left_out(member)
        sums[rows] += each[member, rows]
        counts[rows] += 1
    judged = counts > 0
    spam = (sums[judged] / counts[judged, None])[:, 1]
    wrong = np.where(spam > 10 / 11, "spam", "letter") != labels[judged]
    assert model.out_of_bag_.error == pytest.approx(wrong.mean())
    assert wrong.mean() != ((spam > 0.5) != (labels[judged] == "spam")).mean()


def test_where_no_row_is_left_out_nothing_is_told_of_it():
    model = BaggingRegressor(members=2, importance="permutation").fit([[1.0]], [3.0])
    assert model.out_of_bag_ is None
    assert model.feature_importances_.tolist() == [0]
    table, target = read("iris", "class")
    assert BaggingClassifier(members=2, out_of_bag=False).fit(table, target).out_of_bag_ is None
