"""Every node has a test that gains as much as the best one, found by trying all, whatever a search leaves out."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners._accel import interpreted
from learners.columns import MISSING
from learners.table import Table
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.criteria import information_gain
from learners.trees.nodes import THRESHOLD
from learners.trees.rough_entropy import least_square
from tests.learners.trees.trees import classes

IMPURITIES = {
    "entropy": lambda shares: -sum(share * math.log2(share) for share in shares if share > 0),
    "gini": lambda shares: 1 - sum(share * share for share in shares),
}
amounts = st.floats(1e-6, 1e6)


def impurity_sum(codes, weights, impurity):
    """Weight times impurity of rows; 0 of no rows."""
    by_class = np.bincount(codes, weights)
    return by_class.sum() * impurity(by_class / by_class.sum()) if by_class.sum() > 0 else 0.0


def best_gain(cells, codes, weights, masses, impurity):
    """The most that a threshold on any column gains, by trying all, with a mass of 1 on each side.

    Rows that miss the value count as unchanged.
    """
    best = 0.0
    for column in cells.T:
        known = ~np.isnan(column) & (weights > 0)
        before = impurity_sum(codes[known], weights[known], impurity)
        for value in np.unique(column[known])[:-1]:
            sides = known & (column <= value), known & (column > value)
            after = sum(impurity_sum(codes[side], weights[side], impurity) for side in sides)
            if min(masses[side].sum() for side in sides) > 1 - 1e-9:
                best = max(best, before - after)
    return best / weights.sum()


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize(("n_classes", "weighted"), [(2, False), (2, True), (3, True)])
def test_every_node_has_the_best_threshold(criterion, n_classes, weighted):
    random = np.random.default_rng(n_classes)
    cells = random.normal(size=(90, 5))
    cells[:, 3] = np.round(cells[:, 3])  # a column with few values, which has codes
    codes = np.clip(np.round(cells[:, 1] + cells[:, 3] + random.normal(size=90)), 0, n_classes - 1).astype(int)
    cells[random.random(cells.shape) < 0.1] = MISSING
    weights = random.uniform(0.1, 3, 90) if weighted else np.ones(90)
    model = DecisionTreeClassifier(criterion=criterion, max_depth=5)
    nodes = model.fit(Table.from_array(cells), classes(*np.array(["a", "b", "c"])[codes]), weights).tree_
    shares = {0: np.ones(90)}
    for node in np.flatnonzero(nodes.test == THRESHOLD):
        own = shares[node] * weights, shares[node] * np.maximum(weights, 1)
        best = best_gain(cells, codes, *own, IMPURITIES[criterion])
        assert nodes.gain[node] == pytest.approx(best, rel=1e-9, abs=1e-12)
        column, first = cells[:, nodes.feature[node]], nodes.first_child[node]
        for child, side in ((first, column <= nodes.threshold[node]), (first + 1, column > nodes.threshold[node])):
            shares[child] = shares[node] * np.where(np.isnan(column), nodes.fraction[child], side)
    assert len(shares) > 20


@given(amounts, amounts, amounts, amounts)
def test_a_cut_that_gains_so_much_reaches_its_least_square(left_negatives, left_positives, negatives, positives):
    stats = np.array([left_negatives + negatives, left_positives + positives])
    total, both = stats.sum(), left_negatives + left_positives
    gain = information_gain([[left_negatives, left_positives], [negatives, positives]]) * total
    moment = left_positives * total - stats[1] * both
    slack = 1e-9 * total  # entropies are rounded
    assert moment * moment >= interpreted(least_square)(stats, gain - slack) * both * (total - both)
