"""What columns tell of the target: published gains less what chance gains, and adjusted shares of the variance."""

from __future__ import annotations

import numpy as np
import pytest

from learners.neighbors import NearestNeighborsClassifier
from learners.neighbors.column_weights import by_information
from learners.table import Column, Kind, Series, Table
from learners.types import FloatArray
from tests.learners.tables import read

ONES = np.ones(12)


def told(table: Table, target: Series, weights: FloatArray | None = None) -> list[float]:
    given = np.ones(len(table)) if weights is None else weights
    return by_information(table, target.cells, given, target.column).tolist()


def test_of_the_restaurants_columns_count_by_their_published_gains() -> None:
    """Russell and Norvig's gains; by chance b branches of two classes gain (b - 1) / (2 n ln 2) of n rows (Miller)."""
    table, target = read("restaurant", "WillWait")
    gains = {"Patrons": (0.540852, 3), "WaitEstimate": (0.207519, 4), "Hungry": (0.195710, 2), "Type": (0.0, 4)}
    found = dict(zip(table.names, told(table, target), strict=True))
    worth = {name: max(0.0, gain - (n - 1) / (24 * np.log(2))) for name, (gain, n) in gains.items()}
    assert {name: found[name] for name in gains} == pytest.approx(
        {name: own / worth["Patrons"] for name, own in worth.items()}, abs=1e-5
    )
    assert found["Type"] == 0


def test_of_numbers_columns_count_by_the_adjusted_share_of_the_variance() -> None:
    """1 - (1 - R^2)(n - 1) / (n - b), R^2 by numpy; an interval column of ten steps, and one of two levels."""
    generator = np.random.default_rng(0)
    x, level = generator.permutation(60).astype(float), (np.arange(60) % 2).astype(float)
    y = np.floor(x / 6) + 4 * level + generator.normal(size=60)
    table = Table((Column("x"), Column("level", Kind.NOMINAL, ("a", "b"))), np.column_stack([x, level]))

    def adjusted(branch: FloatArray) -> float:
        means = np.array([y[branch == one].mean() for one in branch])
        share = 1 - ((y - means) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        return 1 - (1 - share) * 59 / (60 - len(np.unique(branch)))

    wanted = np.array([adjusted(np.floor(x / 6)), adjusted(level)])
    assert told(table, Series(Column("y"), y)) == pytest.approx(wanted / wanted.max())


def test_a_gap_is_a_branch_and_a_column_without_effect_does_not_count() -> None:
    """Where a value is known or not tells the class; the value itself does not."""
    values = np.array([[np.nan, 1.0], [np.nan, 2.0]] * 5 + [[1.0, 1.0], [1.0, 2.0]] * 5)
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), np.repeat([0.0, 1.0], 10))
    assert told(Table.from_array(values), target) == [1.0, 0.0]


def test_whole_weights_are_repeated_rows() -> None:
    table, target = read("restaurant", "WillWait")
    weights = np.arange(12.0) % 3 + 1
    rows = np.repeat(np.arange(12), weights.astype(int))
    assert told(table, target, weights) == pytest.approx(told(table.take(rows), target.take(rows)))


def test_where_no_column_tells_anything_all_count() -> None:
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), np.array([0.0, 1, 0, 1]))
    assert told(Table.from_array(np.array([[0.0, 0], [0, 1], [1, 1], [1, 0]])), target) == [1.0, 1.0]


def test_the_weights_multiply_squares_of_differences() -> None:
    """The fitted distance by information gain is the one of the same weights, given."""
    table, target = read("iris", "class")
    weights = dict(zip(table.names, told(table, target), strict=True))
    by_gain = NearestNeighborsClassifier(weighting="information-gain").fit(table, target)
    given = NearestNeighborsClassifier(weighting="given", column_weights=weights).fit(table, target)
    asked = table.take(np.arange(0, 150, 7))
    for one, other in zip(by_gain.explain(asked), given.explain(asked), strict=True):
        assert [each.distance for each in one.neighbours] == pytest.approx([each.distance for each in other.neighbours])


def brier(distances: FloatArray, classes: FloatArray, k: int) -> float:
    """Leave-one-out Brier score of the k nearest others, of equally near ones the first."""
    total = 0.0
    for row, own in enumerate(distances):
        others = np.delete(np.arange(len(own)), row)
        nearest = others[np.argsort(own[others], kind="stable")][:k]
        shares = np.bincount(classes[nearest], minlength=2) / k
        total += ((shares - (np.arange(2) == classes[row])) ** 2).sum()
    return total / len(classes)


@pytest.mark.parametrize("seed", [2, 13, 31, 40])
def test_by_error_columns_go_as_a_plain_loop_has_them_go(seed: int) -> None:
    """Those that tell least first, each to none or a quarter where the error does not rise, until nothing changes.

    Differences are whole numbers, so that ties are ties in whatever order squares are added up.
    """
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 5, (48, 4)).astype(float)
    X[:2] = [[0.0] * 4, [4.0] * 4]
    classes = (X[:, 0] + X[:, 1] + generator.integers(-2, 3, 48) > 4).astype(int)
    target = Series(Column("y", Kind.NOMINAL, ("a", "b")), classes.astype(float))
    table = Table.from_array(X)
    squares = (X[:, None] - X[None]) ** 2
    order = np.argsort(told(table, target), kind="stable")
    weight, turns = np.ones(4), []
    least = brier(squares @ weight, classes, 3)
    for _ in range(3):
        before = weight
        for column in order:
            for factor in [one for one in (0.0, 0.25) if one < weight[column]]:
                tried = weight.copy()
                tried[column] = factor
                if tried.any() and brier(squares @ tried, classes, 3) <= least * (1 + 1e-12):
                    weight, least = tried, brier(squares @ tried, classes, 3)
                    break
        turns.append(weight.tolist())
        if weight is before:
            break
    model = NearestNeighborsClassifier(k=3, scaling="none", weighting="cross-validation").fit(table, target)
    assert (model.coordinates_.factor**2).tolist() == turns[-1]
    assert turns[0] != turns[1]  # a second turn matters here
    assert len(set(turns[-1])) > 1
