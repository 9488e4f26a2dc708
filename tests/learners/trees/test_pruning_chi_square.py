import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from learners.errors import ParameterError
from learners.trees.chi_square import chi_square, critical_values
from learners.trees.classifier import DecisionTreeClassifier
from learners.trees.nodes import LEAF
from learners.trees.pruning.chi_square import prune_chi_square
from tests.learners.trees.peers import chain
from tests.learners.trees.random_trees import random_rows, random_tree
from tests.learners.trees.trees import classes, grown_on, nominal

#: The published example: branches of 1 and 5, 2 and 0, 1 and 5 rows.
BRANCHES = {"a": (1, 5), "b": (2, 0), "c": (1, 5)}


def published():
    cells = [level for level, (yes, no) in BRANCHES.items() for _ in range(yes + no)]
    labels = [label for yes, no in BRANCHES.values() for label in ["yes"] * yes + ["no"] * no]
    return grown_on(nominal("level", cells)), classes(*labels)


def test_published_deviation_and_table():
    deviation, freedom = chi_square(list(BRANCHES.values()))
    assert deviation == pytest.approx(5.833, abs=5e-4)
    assert freedom == 2
    assert critical_values(2, 0.10) == pytest.approx(4.605, abs=1e-3)
    assert critical_values([2, 3, 3], 0.05) == pytest.approx([5.991, 7.815, 7.815], abs=1e-3)
    assert critical_values(3, 0.01) == pytest.approx(11.345, abs=1e-3)


@pytest.mark.parametrize(("significance", "leaves"), [(0.05, 1), (0.10, 3)])
def test_published_example_is_pruned_at_5_percent_and_kept_at_10(significance, leaves):
    table, target = published()
    model = DecisionTreeClassifier(nominal="multiway", pruning="chi-square", significance=significance)
    assert model.fit(table, target).n_leaves_ == leaves


def test_deviation_equals_scipys():
    rng = np.random.default_rng(0)
    for _ in range(30):
        branches = rng.integers(1, 20, size=(rng.integers(2, 6), rng.integers(2, 5)))
        peer = chi2_contingency(branches, correction=False)
        assert chi_square(branches) == pytest.approx((peer.statistic, peer.dof))


def test_empty_branches_and_classes_do_not_count():
    assert chi_square([[3, 1, 0], [0, 0, 0], [1, 4, 0]]) == pytest.approx(chi_square([[3, 1], [1, 4]]))
    assert chi_square([[3, 1], [0, 0]]) == (0.0, 0)
    assert chi_square([[3, 0], [2, 0]]) == (0.0, 0)
    assert critical_values(0, 0.5) == np.inf


def test_significance_is_checked():
    for wrong in (0.0, -1, 1.5, float("nan")):
        with pytest.raises(ParameterError, match="significance must be"):
            critical_values(1, wrong)


def test_a_test_that_tells_nothing_stays_above_one_that_does():
    """XOR: the first test is not significant, those below it are."""
    rows = [("a", "a", "no"), ("a", "b", "yes"), ("b", "a", "yes"), ("b", "b", "no")] * 10
    table = grown_on(*(nominal(name, [row[place] for row in rows]) for place, name in enumerate(("x", "y"))))
    model = DecisionTreeClassifier(pruning="chi-square", significance=0.001)
    assert model.fit(table, classes(*[row[2] for row in rows])).n_leaves_ == 4


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_is_what_the_definition_says(seed):
    """Taking back, one by one, tests with only leaves below whose deviation chance often exceeds."""
    rng = np.random.default_rng(seed)
    table = random_rows(rng, 80, missing=0.1 * (seed % 2))
    nodes = random_tree(rng, table, rng.integers(0, 3, 80), np.ones(80), 3)
    inner = {node for node in range(nodes.n_nodes) if nodes.test[node] != LEAF}
    left, found = set(inner), True
    while found:
        found = False
        for node in sorted(left, reverse=True):
            children = nodes.children(node)
            held = [nodes.value[child] for child in children if nodes.weight[child] > 0]
            deviation, freedom = chi_square(held)
            relevant = freedom > 0 and chi2.sf(deviation, freedom) <= 0.2
            if not left & set(children) and not relevant:
                left.remove(node)
                found = True
    pruned = prune_chi_square(nodes, significance=0.2)
    assert pruned.n_nodes - pruned.n_leaves == len(left)


def test_noise_is_pruned_at_about_the_significance():
    """One test of two columns that have nothing to do with the class: kept in about 5 of 100 tables."""
    rng = np.random.default_rng(1)
    kept = 0
    for _ in range(400):
        X, y = rng.integers(0, 2, (200, 1)).astype(float), rng.integers(0, 2, 200)
        kept += DecisionTreeClassifier(pruning="chi-square", significance=0.05).fit(X, y).n_leaves_ > 1
    assert 8 <= kept <= 34  # 20 expected, within 3.2 standard deviations


def test_half_a_million_levels():
    nodes = chain(500_000, np.tile([[1.0, 1.0]], (500_000, 1)))
    assert prune_chi_square(nodes).n_leaves == 1
    assert prune_chi_square(nodes, significance=1.0).n_leaves == 500_000
